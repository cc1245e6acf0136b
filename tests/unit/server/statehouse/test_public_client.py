"""The public client of Statehouse, as PyPI has it, against a server of ours in another process."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memoranda.server.statehouse import statehouse_pb2
from tests.patience import HANG_SECONDS

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
SCRIPT = HERE / "public_client.py"
PACKAGE = "statehouse==0.1.1"
SCENARIOS = (
    "transactions",
    "commits_in_order",
    "double_commits",
    "timeouts",
    "reads",
    "replays",
    "values",
    "commands",
)


@pytest.fixture(scope="module")
def interpreter() -> Path:
    """Give an interpreter that has the client, in an environment of its own that is kept."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "memoranda-tests")
    version = ".".join(map(str, sys.version_info[:2]))
    folder = cache / f"{PACKAGE}-{version}"
    done = folder / "installed"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # workers of one run share it
        if not done.exists():
            install(folder)
            done.touch()
    return folder / "bin" / "python"


def install(folder: Path) -> None:
    venv.create(folder, with_pip=True, clear=True)
    command = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", PACKAGE]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=HANG_SECONDS)
    if answer.returncode:
        problem = answer.stderr.strip().splitlines()[-1:]
        pytest.skip(f"PyPI cannot be reached, so {PACKAGE} was NOT TESTED: {problem}")


class Server:
    """A server in another process, which can be started again at the same address."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._port = 0
        self._process: subprocess.Popen[str] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    def start(self) -> None:
        command = [sys.executable, "-m", "memoranda", "serve", "--embedder", "none", "--json"]
        place = ["--db", str(self._path), "--grpc", self.address]
        self._process = subprocess.Popen([*command, *place], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self._port = json.loads(self._process.stdout.readline())["port"]

    def kill(self) -> None:
        """End it at once, as a crash does."""
        assert self._process is not None
        self._process.kill()
        self._process.communicate(timeout=HANG_SECONDS)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "store.db")
    server.start()
    yield server
    server.kill()


@contextmanager
def client(interpreter: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run a scenario; it has failed if the client ends with an error."""
    process = subprocess.Popen(
        [interpreter, SCRIPT, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
        _, problems = process.communicate(timeout=HANG_SECONDS)
    finally:
        process.kill()
    assert process.returncode == 0, problems


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_client_works_unchanged(interpreter: Path, server: Server, scenario: str) -> None:
    with client(interpreter, scenario, server.address):
        pass


def test_the_client_goes_on_after_a_restart(interpreter: Path, server: Server) -> None:
    with client(interpreter, "restarts", server.address) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline()
        server.kill()
        server.start()
        process.stdin.write("done\n")
        process.stdin.flush()


def test_messages_are_those_of_the_client(interpreter: Path) -> None:
    with client(interpreter, "descriptors", str(statehouse_pb2.__file__)):
        pass
