"""A process of clients: lanes that share one store of a server, and readers that go on meanwhile.

It is told to stop by a line on its input, and answers with a line once its lanes have ended. The
next line tells the last commit of the log: once the subscription has received that, it ends.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

import grpc
import msgspec

import memoranda
from memoranda import Store, Unavailable
from tests.contract.blocking import Blocking, Loop
from tests.crash.kills import ROOT
from tests.crash.server.journal import Journal
from tests.crash.server.lanes import Lane
from tests.crash.server.statehouse_lane import StatehouseLane
from tests.crash.server.watching import Replayer, Watcher
from tests.patience import HANG_SECONDS, wait_until

LANES = 8
"""Lanes of a process; the last one is a client of Statehouse."""


class Assignment(msgspec.Struct):
    """What a process of clients is to do."""

    name: str
    url: str
    """The store: over gRPC, or over HTTP."""
    address: str
    """Where the server listens for gRPC."""
    folder: str
    """Where journals go."""
    seed: str
    is_async: bool = False
    patience: float = HANG_SECONDS
    """Seconds for which a lost connection is made again."""


class ClientProcess:
    """The other end: starts and ends a process of clients."""

    def __init__(self, assignment: Assignment, broken: str = "") -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.server.client", msgspec.json.encode(assignment)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "MEMORANDA_TEST_BREAK": broken},
        )

    def wait_until_ready(self) -> None:
        """Wait until the lanes have begun."""
        self._expect("begun")

    def stop(self) -> None:
        """Tell the lanes to stop."""
        self._tell("stop")

    def wait_until_quiet(self) -> None:
        """Wait until they have."""
        self._expect("quiet")

    def end(self, through: int) -> None:
        """Let the readers end with this commit, and the process with them."""
        self._tell(str(through))

    def wait(self) -> None:
        """Wait until it has ended well."""
        status = self._process.wait(HANG_SECONDS)
        assert status == 0, f"a client ended with {status}"

    def kill(self) -> None:
        """End it if it runs."""
        self._process.kill()
        self._process.communicate()

    def check_running(self) -> None:
        """Raise if it has ended by itself."""
        status = self._process.poll()
        assert status is None, f"a client ended with {status}"

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()

    def _expect(self, line: str) -> None:
        assert self._process.stdout is not None
        answer = self._process.stdout.readline().decode().strip()
        assert answer == line, f"a client said {answer!r} instead of {line!r}"


# The process.


class Threads:
    """The threads of a process; one that fails ends the process."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []

    def start(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=self._guarded, args=(work,), daemon=True)
        self._threads.append(thread)
        thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(HANG_SECONDS)
            assert not thread.is_alive(), "a lane hangs"

    @staticmethod
    def _guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException:  # noqa: BLE001 - whatever went wrong, the campaign has failed
            traceback.print_exc()
            os._exit(3)


@contextmanager
def opened(assignment: Assignment) -> Iterator[Store]:
    """Open the store of a server, of either sort."""
    url, timeout = assignment.url, assignment.patience
    if not assignment.is_async:
        with until_open(lambda: memoranda.open(url, timeout=timeout)) as store:
            yield store
        return
    with Loop() as loop:
        target = until_open(lambda: loop.run(memoranda.open_async(url, timeout=timeout)))
        store = cast(Store, Blocking(target, loop))
        with store:
            yield store


def until_open(open_store: Callable[[], Any]) -> Any:
    """Open a store, also if the patience of its client is short for that."""
    while True:
        try:
            return open_store()
        except Unavailable:
            continue


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def work(assignment: Assignment) -> None:
    """Do as assigned."""
    folder, seed = Path(assignment.folder), assignment.seed
    stopped = threading.Event()
    with ExitStack() as ends:
        store = ends.enter_context(opened(assignment))
        options = [("grpc.max_reconnect_backoff_ms", 500)]
        channel = ends.enter_context(grpc.insecure_channel(assignment.address, options))
        lanes, readers = Threads(), Threads()
        watcher = Watcher(store, folder / f"{assignment.name}.watched")
        replayer = Replayer(store, watcher, folder / f"{assignment.name}.replayed")
        readers.start(watcher.run)
        readers.start(partial(replayer.run, stopped.is_set))
        for number in range(LANES):
            name = f"{assignment.name}-{number}"
            journal = Journal(folder / f"{name}.journal")
            ends.callback(journal.close)
            if number < LANES - 1:
                lane: Lane | StatehouseLane = Lane(store, name, journal, seed)
            else:
                lane = StatehouseLane(channel, name, journal, seed)
            lanes.start(partial(lane.run, stopped.is_set))
        tell("begun")
        sys.stdin.readline()
        stopped.set()
        lanes.join()
        tell("quiet")
        through = int(sys.stdin.readline())
        wait_until(lambda: watcher.last >= through)
        watcher.close()
        readers.join()


def main() -> None:
    assignment = msgspec.json.decode(sys.argv[1], type=Assignment)
    broken = os.environ.get("MEMORANDA_TEST_BREAK")
    if broken == "retries":
        _forget_txn_ids()
    work(assignment)


def _forget_txn_ids() -> None:
    """Let every write that is sent again have a new id, as if it were another one."""
    from memoranda.model.ids import SystemIds
    from memoranda.sdk.remote.writes import WriteQueue

    send_again = WriteQueue.send_again

    def send_as_new(queue: WriteQueue, batch: Any = None, *, may_be_committed: bool) -> None:
        numbers = None if batch is None else {write.id for write in batch.writes}
        for pending in queue._unanswered.values():
            if numbers is None or pending.number in numbers:
                pending.message.txn_id = SystemIds().unique()
        send_again(queue, batch, may_be_committed=may_be_committed)

    WriteQueue.send_again = send_as_new  # type: ignore[method-assign,assignment]


if __name__ == "__main__":
    main()
