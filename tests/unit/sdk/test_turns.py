"""Transactions in conflict take turns: first come, first served, and nobody starves."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda import (
    AsyncTransaction,
    InvalidInput,
    Scope,
    Store,
    Transaction,
    TransactionConflict,
)
from memoranda.log.commit import conflict_queue
from memoranda.log.commit.conflict_queue import ConflictQueue, OutOfTurn, QueueTicket
from memoranda.state.requests import KeyRead, PrefixRead
from memoranda.testing import FixedClock
from tests.cores import core_of
from tests.patience import HANG_SECONDS

_FEW = 4
"""How often work is run at most, where everybody is in one process."""
_SCOPE = Scope("default", "a")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    url = tmp_path / "store.db"
    with memoranda.open(url, durability="relaxed", embedder=None) as store:
        yield store.bind(agent_id="a")


@pytest.fixture
def _long_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everybody have its turn, however long the machine takes for it."""
    monkeypatch.setattr(conflict_queue, "TURN_SECONDS", 600.0)


def increment(transaction: Transaction, key: str = "n") -> None:
    record = transaction.get_state(key=key)
    transaction.write(key=key, value={"n": (record.value["n"] if record else 0) + 1})


def number(store: Store, key: str = "n") -> int:
    record = store.get_state(key=key)
    return 0 if record is None else int(record.value["n"])


def in_threads(count: int, work: Callable[[int], None]) -> list[BaseException]:
    failures: list[BaseException] = []

    def run(name: int) -> None:
        try:
            work(name)
        except BaseException as error:  # noqa: BLE001 - told by the test
            failures.append(error)

    threads = [threading.Thread(target=run, args=(name,)) for name in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


@pytest.mark.usefixtures("_long_turns")
def test_threads_that_count_together_all_succeed(store: Store) -> None:
    runs: Counter[tuple[int, int]] = Counter()

    def count(name: int) -> None:
        for step in range(10):

            def work(transaction: Transaction, step: int = step) -> None:
                runs[name, step] += 1
                increment(transaction)

            store.transact(work)

    assert in_threads(16, count) == []
    assert number(store) == 160
    assert max(runs.values()) <= _FEW
    assert core_of(store).turns.tickets == []


@pytest.mark.usefixtures("_long_turns")
@pytest.mark.parametrize("url", [":memory:", "store.db"])
def test_tasks_that_count_together_all_succeed(tmp_path: Path, url: str) -> None:
    runs: Counter[int] = Counter()

    async def count() -> int:
        place = url if url == ":memory:" else tmp_path / url
        async with await memoranda.open_async(place, durability="relaxed", embedder=None) as store:
            bound = store.bind(agent_id="a")

            async def one(name: int) -> None:
                async def work(transaction: AsyncTransaction) -> None:
                    runs[name] += 1
                    record = await transaction.get_state(key="n")
                    await asyncio.sleep(0)
                    value = (record.value["n"] if record else 0) + 1
                    await transaction.write(key="n", value={"n": value})

                await bound.transact(work)

            await asyncio.gather(*map(one, range(100)))
            record = await bound.get_state(key="n")
            assert record is not None
            return int(record.value["n"])

    assert asyncio.run(count()) == 100
    assert max(runs.values()) <= _FEW


def test_one_call_forms_take_turns_too(store: Store) -> None:
    memory_id = store.remember("first", title="one").id

    def update(name: int) -> None:
        store.remember(f"version {name}", title="one", on_conflict="update")

    assert in_threads(20, update) == []
    assert store.get_memory(memory_id=memory_id) is not None
    assert store.verify().commits == 21


class Held:
    """A transaction that has its turn and goes on when it is told to."""

    def __init__(self, store: Store, key: str) -> None:
        self.runs = 0
        self.inside, self.go = threading.Event(), threading.Event()
        self._key = key
        self.thread = threading.Thread(target=store.transact, args=(self.work,))
        store.write(key=key, value={"n": 0})
        self._store = store

    def work(self, transaction: Transaction) -> None:
        self.runs += 1
        increment(transaction, self._key)
        if self.runs == 1:  # a conflict, behind which it is in the line
            self._store.write(key=self._key, value={"n": 0})
            return
        self.inside.set()
        assert self.go.wait(HANG_SECONDS)

    def __enter__(self) -> Held:
        self.thread.start()
        assert self.inside.wait(HANG_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self.go.set()
        self.thread.join()


@pytest.mark.usefixtures("_long_turns")
def test_who_reads_something_else_is_not_kept_waiting(store: Store) -> None:
    runs = 0

    def work(transaction: Transaction) -> None:
        nonlocal runs
        runs += 1
        increment(transaction, "other")

    with Held(store, "n"):
        store.transact(work)
        store.write(key="n", value={"n": 5})
        assert number(store, "other") == 1
    assert runs == 1


@pytest.mark.usefixtures("_long_turns")
def test_who_reads_the_same_goes_after_who_was_first(store: Store) -> None:
    with Held(store, "n") as stored_value:
        late = threading.Thread(target=store.transact, args=(increment,))
        late.start()
        while len(core_of(store).turns.tickets) < 2:
            assert late.is_alive()
        assert number(store) == 0
    late.join()
    assert number(store) == 2
    assert stored_value.runs == 2


def test_who_takes_too_long_keeps_nobody_waiting(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conflict_queue, "TURN_SECONDS", 0.01)
    monkeypatch.setattr("memoranda.sdk.store.handle.TURN_SECONDS", 0.01)
    with Held(store, "n") as stored_value:
        store.transact(increment)
        assert number(store) == 1
    assert number(store) == 2
    assert stored_value.runs == 3


def test_who_gives_up_is_in_nobodys_way(store: Store) -> None:
    def work(transaction: Transaction) -> None:
        increment(transaction)
        store.write(key="n", value={"n": 0})

    with pytest.raises(TransactionConflict):
        store.transact(work, retries=3)
    assert core_of(store).turns.tickets == []


def test_without_retries_nobody_waits_for_others(store: Store) -> None:
    with Held(store, "n"):
        store.transact(increment, retries=0)
        assert number(store) == 1


class TestLine:
    def test_they_go_in_the_order_in_which_they_came(self) -> None:
        line = ConflictQueue(FixedClock())
        places = [QueueTicket(line) for _ in range(5)]
        for turn in places:
            turn.join([KeyRead(_SCOPE, "k")], overtaken=True)
        for turn in places:
            assert [place for place in places if place.reads and place.is_due()] == [turn]
            turn.end()

    def test_a_range_is_about_its_keys(self) -> None:
        line = ConflictQueue(FixedClock())
        whole, part, other = QueueTicket(line), QueueTicket(line), QueueTicket(line)
        whole.join([PrefixRead(_SCOPE, "a/")], overtaken=True)
        part.join([KeyRead(_SCOPE, "a/b")], overtaken=True)
        other.join([KeyRead(_SCOPE, "b"), PrefixRead(_SCOPE, "c")], overtaken=True)
        assert whole.is_due()
        assert not part.is_due()
        assert other.is_due()
        with pytest.raises(OutOfTurn):
            QueueTicket(line).check([PrefixRead(_SCOPE, "")])
        QueueTicket(line).check([PrefixRead(Scope("default", "b"), ""), KeyRead(_SCOPE, "a")])
        whole.end()
        assert part.is_due()

    def test_who_is_in_conflict_again_keeps_its_place(self) -> None:
        line = ConflictQueue(FixedClock())
        first, second = QueueTicket(line), QueueTicket(line)
        for turn in (first, second, first):
            turn.join([KeyRead(_SCOPE, "k")], overtaken=True)
        assert first.is_due()
        assert not second.is_due()
        assert first.overtaken == 1
        assert second.pause() > first.pause() > 0

    def test_one_that_is_gone_without_a_word_is_not_waited_for(self) -> None:
        line = ConflictQueue(FixedClock())
        first, second = QueueTicket(line), QueueTicket(line)
        for turn in (first, second):
            turn.join([KeyRead(_SCOPE, "k")], overtaken=True)
        del first, turn
        assert second.is_due()


class TestColours:
    def test_an_asynchronous_function_is_refused_by_a_store(self, store: Store) -> None:
        async def stage(transaction: Transaction) -> None:
            transaction.write(key="k", value={})

        work: Any = stage
        with pytest.raises(InvalidInput, match=r"work: .*is asynchronous.*open_async"):
            store.transact(work)
        assert store.get_state(key="k") is None

    def test_a_plain_function_is_refused_by_an_asynchronous_store(self) -> None:
        def plain(transaction: AsyncTransaction) -> None:
            transaction.write(key="k", value={})

        async def attempt() -> object:
            async with await memoranda.open_async(":memory:") as store:
                bound = store.bind(agent_id="a")
                wrong: Any = plain
                with pytest.raises(InvalidInput, match=r"work: .*is not asynchronous"):
                    await bound.transact(wrong)
                return await bound.get_state(key="k")

        assert asyncio.run(attempt()) is None


_COUNTER = """
import sys, threading, memoranda
store = memoranda.open(sys.argv[1], embedder=None).bind(agent_id="a")
def work(transaction):
    record = transaction.get_state(key="n")
    transaction.write(key="n", value={"n": (record.value["n"] if record else 0) + 1})
def count():
    for _ in range(15):
        store.transact(work)
threads = [threading.Thread(target=count) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


@pytest.mark.slow
def test_processes_that_count_together_all_succeed(store: Store, tmp_path: Path) -> None:
    command = [sys.executable, "-c", _COUNTER, str(tmp_path / "store.db")]
    children = [subprocess.Popen(command) for _ in range(4)]
    assert [child.wait(HANG_SECONDS) for child in children] == [0, 0, 0, 0]
    assert number(store) == 4 * 4 * 15
