"""One of several processes that use a store at once: threads that transact, and one that watches.

Each thread keeps a record of every transaction: what it read at which version, when it began and
ended, and its commit. The records go to a file, a line each. `MEMORANDA_TEST_BREAK=reads` leaves
out the check of what a transaction read, to see that a check of the records finds out.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from random import Random

import memoranda
from memoranda import Store, StoreBusy, Transaction, TransactionConflict, VersionMismatch
from memoranda.log.commit.batch import BatchWriter
from tests.crash.serializability import Done

KEYS = [f"key/{number}" for number in range(6)]
COUNTER = "counter"


class Contender:
    """One thread's work, and its records."""

    def __init__(self, store: Store, name: str, least: int) -> None:
        self._store = store.bind(agent_id="all")
        self._random = Random(name)
        self._name = name
        self._least = least
        """How many transactions it tries at least."""
        self._kinds = (self.move, self.move, self.blind, self.insert, self.look)
        self.records: list[Done] = []
        self.counted = 0

    def run(self, until: float) -> None:
        """Go on until the time is over, and until there is enough to check on a busy machine."""
        while time.monotonic() < until or len(self.records) < self._least or not self.counted:
            self.transact(self._random.choice(self._kinds))
            if self._random.random() < 0.3:
                self.count()

    def transact(self, work: Callable[[Transaction, Done], None]) -> None:
        """Run a transaction once, and record it; one that is refused has read all the same."""
        ns = time.monotonic_ns()
        transaction = self._store.begin_transaction()
        done = Done(f"{self._name}-{len(self.records)}", begun=ns)
        work(transaction, done)
        commit_ts: int | None = None
        try:
            commit_ts = transaction.commit()
        except (TransactionConflict, StoreBusy):
            done.writes.clear()
        ended = time.monotonic_ns()
        commit_ts = commit_ts if done.writes else None
        record = {**asdict(done), "commit_ts": commit_ts, "ended": ended}
        self.records.append(Done(**record))

    def move(self, transaction: Transaction, done: Done) -> None:
        """Read two keys, write one of them and another."""
        one, two, three = self._random.sample(KEYS, 3)
        total = self.read(transaction, done, one) + self.read(transaction, done, two)
        self.write(transaction, done, one, total)
        self.write(transaction, done, three, total)

    def blind(self, transaction: Transaction, done: Done) -> None:
        for key in self._random.sample(KEYS, 2):
            self.write(transaction, done, key, 1)

    def insert(self, transaction: Transaction, done: Done) -> None:
        """Look at what there is, and add to it."""
        prefix = f"new/{self._random.randrange(16)}/"
        result = {entry.key: entry.version for entry in transaction.scan_prefix(prefix=prefix)}
        done.scans[prefix] = result
        self.write(transaction, done, f"{prefix}{len(result)}", len(result))

    def look(self, transaction: Transaction, done: Done) -> None:
        for key in KEYS:
            self.read(transaction, done, key)
        prefix = "new/1/"
        entries = transaction.scan_prefix(prefix=prefix)
        done.scans[prefix] = {item.key: item.version for item in entries}

    def read(self, transaction: Transaction, done: Done, key: str) -> int:
        record = transaction.get_state(key=key)
        done.reads[key] = record.version if record else 0
        return int(record.value["n"]) % 1_000 if record else 0

    def write(self, transaction: Transaction, done: Done, key: str, number: int) -> None:
        transaction.write(key=key, value={"n": number, "by": done.name})
        done.writes[key] = 0  # which version it became, the log knows

    def count(self) -> None:
        """Raise the counter by one, with compare-and-set."""
        record = self._store.get_state(key=COUNTER)
        reached, version = (record.value["n"], record.version) if record else (0, 0)
        try:
            self._store.write(key=COUNTER, value={"n": reached + 1}, expect_version=version)
        except (VersionMismatch, StoreBusy):
            return
        self.counted += 1


def watch(store: Store, until: float) -> None:
    """Replay over and over: always in order without a gap, and never other than before."""
    before: list[tuple[int, bytes]] = []
    while time.monotonic() < until:
        events = [(event.commit_ts, event.hash) for event in store.replay(agent_id="all")]
        assert [commit_ts for commit_ts, _ in events] == list(range(1, len(events) + 1))
        assert events[: len(before)] == before
        before = events
        time.sleep(0.05)


def run_together(jobs: list[Callable[[], None]]) -> None:
    """Run each job in a thread; if any fails, so does this."""
    failures: list[BaseException] = []

    def guard(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=guard, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def compete(
    url: str, name: str, seconds: float, threads: int, least: int
) -> tuple[list[Done], int]:
    """Use the store for so long; return the records and how often the counter was raised."""
    with memoranda.open(url, embedder=None) as store:
        until = time.monotonic() + seconds
        contenders = [Contender(store, f"{name}-{number}", least) for number in range(threads)]
        run_together(
            [
                *(partial(contender.run, until) for contender in contenders),
                partial(watch, store, until),
            ]
        )
    records = [record for contender in contenders for record in contender.records]
    return records, sum(contender.counted for contender in contenders)


def main() -> None:
    url, name, seconds, threads, least, output = sys.argv[1:]
    if os.environ.get("MEMORANDA_TEST_BREAK") == "reads":
        BatchWriter._check_reads = lambda *_: None  # type: ignore[method-assign]
    records, counted = compete(url, name, float(seconds), int(threads), int(least))
    with Path(output).open("w") as file:
        file.write(f"{counted}\n")
        for record in records:
            file.write(json.dumps(asdict(record)) + "\n")


if __name__ == "__main__":
    main()
