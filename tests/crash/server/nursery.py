"""The parent of servers that get killed: it runs `memoranda serve` in forks of itself.

Python and the server's modules are loaded by then, so that a server listens a tenth of a second
after it was ordered. No thread runs in this process and no store is open.

It reads one order a line, does it, and answers with one line.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.crash.kills import ROOT


class Order(msgspec.Struct):
    """Start a server, or end the one that runs."""

    arguments: list[str] = []
    """Those of `memoranda serve`."""
    killed_after: float | None = None
    """Seconds after which the started server is killed, whether it listens or not."""
    signal: int = 0
    """Sent to the server that runs; 0: start one."""


class Answer(msgspec.Struct):
    """What came of an order."""

    is_listening: bool = False
    status: int | None = None
    """How the server ended: minus a signal, or its exit code."""


class ServerNursery:
    """The other end: orders servers."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def start(self, arguments: list[str]) -> None:
        """Start a server, and wait until it listens."""
        answer = self._send(Order(arguments))
        assert answer.is_listening, f"the server did not start: it ended with {answer.status}"

    def start_and_kill(self, arguments: list[str], seconds: float) -> None:
        """Start a server, and kill it so much later."""
        answer = self._send(Order(arguments, seconds))
        assert answer.status == -signal.SIGKILL, f"the server ended with {answer.status}"

    def end(self, number: int) -> int:
        """Send the server a signal, wait for its end, and return how it ended."""
        status = self._send(Order(signal=number)).status
        assert status is not None, "it has ended"
        return status

    def _send(self, order: Order) -> Answer:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(order) + b"\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._process.stdout.readline(), type=Answer)


@contextmanager
def server_nursery(errors: Path) -> Iterator[ServerNursery]:
    """Lend a nursery; what its servers write to stderr goes to a file."""
    with (
        errors.open("a") as stderr,
        subprocess.Popen(
            [sys.executable, "-m", "tests.crash.server.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=ROOT,
        ) as process,
    ):  # its servers end with it
        yield ServerNursery(process)


# The process.


class Servers:
    """Runs one server at a time."""

    def __init__(self) -> None:
        self._child = 0

    def do(self, order: Order) -> Answer:
        """Do what was ordered."""
        if order.signal:
            os.kill(self._child, order.signal)
            return Answer(status=self._ended())
        output = self._start(order.arguments)
        if order.killed_after is not None:
            time.sleep(order.killed_after)
            os.kill(self._child, signal.SIGKILL)
            os.close(output)
            return Answer(status=self._ended())
        with os.fdopen(output) as announced:
            is_listening = bool(announced.readline())
        return Answer(is_listening) if is_listening else Answer(status=self._ended())

    def end(self) -> None:
        """End the server that runs, if there is one."""
        if self._child:
            os.kill(self._child, signal.SIGKILL)
            self._ended()

    def _ended(self) -> int:
        _, status = os.waitpid(self._child, 0)
        self._child = 0
        return os.waitstatus_to_exitcode(status)

    def _start(self, arguments: list[str]) -> int:
        """Fork a server, and return the pipe on which it says where it listens."""
        output, own = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(own, sys.stdout.fileno())
            os.set_inheritable(sys.stdout.fileno(), False)
            _serve(arguments)
        os.close(own)
        self._child = child
        return output


def _serve(arguments: list[str]) -> None:
    """Be `memoranda serve`."""
    from memoranda.cli.main import run

    sys.argv = ["memoranda", "serve", "--json", "--embedder", "none", *arguments]
    code = 1
    try:
        run()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        os._exit(code)


def main() -> None:
    import memoranda.cli.commands.serve
    import memoranda.server.log_lines
    import memoranda.server.process  # noqa: F401

    servers = Servers()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    try:
        for line in sys.stdin:
            answers.write(msgspec.json.encode(servers.do(msgspec.json.decode(line, type=Order))))
            answers.write(b"\n")
            answers.flush()
    finally:
        servers.end()


if __name__ == "__main__":
    main()
