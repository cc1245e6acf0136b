"""Processes that write while servers are killed, replaced or moved, and what they must find."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.crash.failover_client import open_store
from tests.patience import HANG_SECONDS, wait_until

_CLIENTS = 3


class Client:
    """A process that writes, and what it was told."""

    def __init__(self, url: str, name: str) -> None:
        self.name = name
        self.commits: list[int] = []
        """The commit of each number that was acknowledged."""
        self.times: list[float] = []
        self.loss: str | None = None
        """What it said when it found that an acknowledged commit is gone: its last words."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.failover_client", url, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                if line.startswith("LogForked"):
                    self.loss = line
                    continue
                number, commit_ts = map(int, line.split())
                assert number == len(self.commits)
                self.commits.append(commit_ts)
                self.times.append(time.monotonic())

    def wait_for_more(self, count: int = 5) -> None:
        """Wait until more writes are acknowledged."""
        goal = len(self.commits) + count
        wait_until(lambda: len(self.commits) >= goal)

    def stop(self) -> int:
        """Let the process end after its last write, and return its exit code."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has failed
            self._process.stdin.close()
        exit_code = self._process.wait(HANG_SECONDS)
        self._reader.join()
        return exit_code


@contextmanager
def clients_of(url: str) -> Iterator[list[Client]]:
    """Run clients, and check what they leave."""
    with running_clients(url) as clients:
        yield clients
        for client in clients:
            client.wait_for_more()
    assert [client.stop() for client in clients] == [0] * len(clients)
    check(url, clients)


@contextmanager
def running_clients(url: str) -> Iterator[list[Client]]:
    """Run clients that write; stop them in the end, whatever has failed."""
    open_store(url).close()
    clients = [Client(url, f"client-{number}") for number in range(_CLIENTS)]
    try:
        for client in clients:
            client.wait_for_more()
        yield clients
    finally:
        for client in clients:
            client.stop()


def check(url: str, clients: list[Client]) -> None:
    """Check that every acknowledged write is in the log once, and that the log is whole."""
    with open_store(url) as store:
        verification = store.verify(deep=True)
        for client in clients:
            events = [*store.replay(agent_id=client.name)]
            values = [event.operations[0].value or {} for event in events]
            numbers = [value["n"] for value in values]
            assert numbers == [*range(len(numbers))], "nothing is lost or doubled"
            acknowledged = [event.commit_ts for event in events[: len(client.commits)]]
            assert acknowledged == client.commits
            assert len(events) - len(client.commits) <= 1, "one write was perhaps on its way"
        assert verification.commits >= sum(len(client.commits) for client in clients)
