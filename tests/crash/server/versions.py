"""Servers of other versions of the package."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import memoranda

GOLDEN = Path(__file__).parents[2] / "golden"
SUFFIX = ".tar.xz"


def unpack_released(folder: Path) -> Path:
    """Unpack the package of the last release before this version, and return its folder."""
    archives = {
        _numbers(path.name.removesuffix(SUFFIX)): path for path in GOLDEN.glob(f"*{SUFFIX}")
    }
    this = _numbers(memoranda.__version__)
    # While this version is not released, it has the number of the last release.
    number = max((number for number in archives if number < this), default=max(archives))
    with tarfile.open(archives[number]) as archive:
        archive.extractall(folder, filter="data")
    return folder


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


class OtherVersion:
    """`memoranda serve` of the package in a folder, as a process of its own."""

    def __init__(self, folder: Path, arguments: list[str], errors: Path) -> None:
        options = ("--json", "--embedder", "none")
        with errors.open("a") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "memoranda", "serve", *options, *arguments],
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd=folder,
                env=os.environ | {"PYTHONPATH": str(folder)},
            )
        assert self._process.stdout is not None
        assert self._process.stdout.readline(), "the server did not start"

    def kill(self) -> None:
        """End it as a crash does; a second call has no effect."""
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
