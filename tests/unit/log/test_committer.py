"""Group commit: who waits, who leads, who is told, and what happens when it goes wrong."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

import memoranda
from memoranda import AsyncStore, Store, StoreBusy, StoreClosed, VersionMismatch
from memoranda.calls.core import Core
from memoranda.calls.defaults import Defaults
from memoranda.calls.requests import write_key
from memoranda.log.commit import group_commit
from memoranda.log.commit.group_commit import PendingCommit
from memoranda.log.commit.staged_transaction import Request
from memoranda.model.clock import SystemClock
from memoranda.model.ids import SystemIds
from memoranda.model.limits import Limits
from memoranda.model.scope import Scope
from memoranda.sdk.local.async_calls import AsyncLocalCalls
from memoranda.sdk.local.calls import LocalCalls
from memoranda.sdk.open import assemble, load_queries
from memoranda.storage.sqlite.engine import SqliteEngine
from tests.patience import HANG_SECONDS, wait_until


class Gate:
    """Holds the leader in front of the storage's commit until it is opened."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._opened = threading.Event()
        self._opened.set()
        self.batches = 0

    def __call__(self, name: str) -> None:
        if name == "before-commit":
            self.batches += 1
            self.reached.set()
            assert self._opened.wait(HANG_SECONDS)

    def shut(self) -> None:
        self.reached.clear()
        self._opened.clear()

    def open(self) -> None:
        self._opened.set()


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open()


@pytest.fixture
def core(tmp_path: Path, gate: Gate) -> Iterator[Core]:
    engine = SqliteEngine(tmp_path / "store.db", queries=load_queries(), durability="relaxed")
    core = assemble(engine, SystemClock(), SystemIds(), Limits(), failpoint=gate)
    yield core
    gate.open()
    core.close()


@pytest.fixture
def store(core: Core) -> Store:
    return Store(LocalCalls(core), Defaults(agent_id="a"))


class Started(threading.Thread):
    """A thread that is running, and that says what came out of it: a commit or an error."""

    def __init__(self, work: Callable[[], object]) -> None:
        super().__init__()
        self._work = work
        self.result: object = None
        self.start()

    def run(self) -> None:
        try:
            result = self._work()
            self.result = result.commit_ts if isinstance(result, memoranda.Receipt) else result
        except memoranda.MemorandaError as error:
            self.result = error

    def outcome(self) -> object:
        self.join(HANG_SECONDS)
        assert not self.is_alive()
        return self.result


def queued(core: Core, count: int) -> bool:
    """Wait until so many commits are queued behind the one that is being written."""
    wait_until(lambda: len(core.committer._queue) >= count)
    return True


def test_those_who_wait_share_one_batch(core: Core, store: Store, gate: Gate) -> None:
    gate.shut()
    first = Started(lambda: store.write(key="first", value={}))
    assert gate.reached.wait(HANG_SECONDS)
    others = [Started(lambda n=n: store.write(key=f"k{n}", value={})) for n in range(8)]  # type: ignore[misc]
    assert queued(core, 8)
    gate.open()
    assert first.outcome() == 1
    assert sorted(str(other.outcome()) for other in others) == [str(n) for n in range(2, 10)]
    assert gate.batches == 2
    assert store.verify().commits == 9


def test_everybody_in_a_batch_is_woken(
    core: Core, store: Store, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "RECHECK_SECONDS", 600)
    gate.shut()
    threads = [Started(lambda: store.write(key="first", value={}))]
    assert gate.reached.wait(HANG_SECONDS)
    for number in range(8):
        version = 7 if number % 2 else None  # half of them are refused
        threads.append(
            Started(lambda v=version: store.write(key="k", value={}, expect_version=v))  # type: ignore[misc]
        )
    assert queued(core, 8)
    gate.open()
    refused = [isinstance(thread.outcome(), VersionMismatch) for thread in threads]
    assert sum(refused) == 4


class TestCompany:
    """Those who were written together are waited for."""

    @pytest.fixture
    def together(self, core: Core, store: Store, gate: Gate) -> None:
        """Write a batch of three."""
        gate.shut()
        leader = Started(lambda: store.write(key="leader", value={}))
        assert gate.reached.wait(HANG_SECONDS)
        others = [Started(lambda: store.write(key="k", value={})) for _ in range(3)]
        assert queued(core, 3)
        gate.open()
        assert [item.outcome() is not None for item in (leader, *others)] == [True] * 4
        assert gate.batches == 2

    @pytest.mark.usefixtures("together")
    def test_they_are_written_together_again(
        self, core: Core, store: Store, gate: Gate, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(group_commit, "_PEER_WAIT_SECONDS", HANG_SECONDS)
        first = Started(lambda: store.write(key="k", value={}))
        assert queued(core, 1)
        assert gate.batches == 2, "the leader waits"
        others = [Started(lambda: store.write(key="k", value={})) for _ in range(2)]
        assert {item.outcome() for item in (first, *others)} == {5, 6, 7}
        assert gate.batches == 3

    @pytest.mark.usefixtures("together")
    def test_nobody_is_waited_for_twice_in_vain(
        self, core: Core, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert store.write(key="k", value={}).commit_ts == 5
        assert core.committer._last_batch_size == 1
        monkeypatch.setattr(group_commit, "_PEER_WAIT_SECONDS", HANG_SECONDS)
        assert Started(lambda: store.write(key="k", value={})).outcome() == 6


def test_one_refusal_in_a_batch_is_nobody_elses(core: Core, store: Store, gate: Gate) -> None:
    gate.shut()
    first = Started(lambda: store.write(key="k", value={}))
    assert gate.reached.wait(HANG_SECONDS)
    refused = Started(lambda: store.write(key="k", value={}, expect_version=7))
    assert queued(core, 1)
    started = Started(lambda: store.write(key="k", value={}, expect_version=1))
    assert queued(core, 2)
    gate.open()
    assert (first.outcome(), started.outcome()) == (1, 2)
    assert isinstance(refused.outcome(), VersionMismatch)


def test_the_same_txn_id_twice_in_one_batch_happens_once(
    core: Core, store: Store, gate: Gate
) -> None:
    gate.shut()
    first = Started(lambda: store.write(key="k", value={}))
    assert gate.reached.wait(HANG_SECONDS)
    twins = [Started(lambda: store.write(key="k", value={}, txn_id="t")) for _ in range(2)]
    assert queued(core, 2)
    gate.open()
    assert [first.outcome(), *(twin.outcome() for twin in twins)] == [1, 2, 2]


def test_a_full_queue_says_so(
    core: Core, store: Store, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "MAX_QUEUED_COMMITS", 2)
    gate.shut()
    waiting = [Started(lambda: store.write(key="k", value={}))]
    assert gate.reached.wait(HANG_SECONDS)
    waiting += [Started(lambda: store.write(key="k", value={})) for _ in range(2)]
    assert queued(core, 2)
    transaction = store.begin_transaction()
    transaction.write(key="k", value={})
    with pytest.raises(StoreBusy, match="2 commits"):
        transaction.commit()
    gate.open()
    assert sorted(str(one.outcome()) for one in waiting) == ["1", "2", "3"]
    assert store.write(key="k", value={}).commit_ts == 4


def test_a_queue_is_full_by_bytes_too(
    core: Core, store: Store, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "MAX_QUEUED_BYTES", 1000)
    gate.shut()
    first = Started(lambda: store.write(key="k", value={}))
    assert gate.reached.wait(HANG_SECONDS)
    transaction = store.begin_transaction()
    transaction.write(key="k", value={"text": "x" * 2000})
    with pytest.raises(StoreBusy, match="try again"):
        transaction.commit()
    gate.open()
    assert first.outcome() == 1


def test_closing_waits_for_what_was_taken(core: Core, store: Store, gate: Gate) -> None:
    gate.shut()
    item = [Started(lambda: store.write(key="k", value={}))]
    assert gate.reached.wait(HANG_SECONDS)
    item.append(Started(lambda: store.write(key="k", value={})))
    assert queued(core, 1)
    closing = Started(store.close)
    while not core.committer._closed:
        threading.Event().wait(0.01)
    with pytest.raises(StoreClosed):
        store.write(key="k", value={})
    gate.open()
    assert [one.outcome() for one in item] == [1, 2]
    assert closing.outcome() is None


def test_an_error_nobody_expected_leaves_nobody_waiting(core: Core, gate: Gate) -> None:
    store = Store(LocalCalls(core), Defaults(agent_id="a"))
    store.write(key="k", value={})
    core.committer._writer.failpoint = lambda name: 1 / 0 if name == "appended" else None  # type: ignore[assignment]
    with pytest.raises(ZeroDivisionError):
        store.write(key="k", value={"lost": True})
    core.committer._writer.failpoint = gate
    assert store.write(key="k", value={}).commit_ts == 2
    assert store.verify().commits == 2
    assert store.rebuild().identical


class Interrupted(deque[PendingCommit]):
    """A queue whose leader is interrupted as soon as it has taken something from it, once."""

    interrupts = 1

    def popleft(self) -> PendingCommit:
        item = super().popleft()
        if self.interrupts:
            self.interrupts = 0
            raise KeyboardInterrupt
        return item


def test_an_interrupt_while_a_batch_is_taken_leaves_nobody_waiting(
    core: Core, store: Store, gate: Gate
) -> None:
    gate.shut()
    first = Started(lambda: store.write(key="first", value={}))
    assert gate.reached.wait(HANG_SECONDS)
    settled = Settled()
    pending = [core.committer.submit(_request(core, n), settled) for n in range(3)]
    core.committer._queue = Interrupted(core.committer._queue)
    gate.open()
    assert first.outcome() == 1
    assert all(settled.count.acquire(timeout=HANG_SECONDS) for _ in pending)
    assert [item.result().commit_ts for item in pending] == [2, 3, 4]
    assert core.committer._queued_bytes == 0
    assert store.write(key="k", value={}).commit_ts == 5


class Settled:
    """A channel that counts what it is told of."""

    def __init__(self) -> None:
        self.count = threading.Semaphore(0)

    def settle(self, settled: Sequence[PendingCommit]) -> None:
        """Count."""
        self.count.release(len(settled))


def _request(core: Core, number: int) -> Request:
    scope = Scope("default", "a")
    return core.request("a", write_key(core.limits, scope, f"k{number}", {}, None, ()), None)


class Later(SystemClock):
    """The time in an hour."""

    monotonic = staticmethod(lambda: time.monotonic() + 3_600)


def test_a_deadline_that_passes_in_the_queue_is_noticed(
    core: Core, store: Store, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate.shut()
    first = Started(lambda: store.write(key="k", value={}))
    assert gate.reached.wait(HANG_SECONDS)
    transaction = store.begin_transaction(timeout=3_000)
    transaction.write(key="late", value={})
    late = Started(transaction.commit)
    assert queued(core, 1)
    monkeypatch.setattr(core.committer._writer, "_clock", Later())
    gate.open()
    assert first.outcome() == 1
    assert isinstance(late.outcome(), memoranda.TransactionExpired)
    assert list(store.list_keys()) == ["k"]


def test_what_was_only_busy_is_tried_again(core: Core, store: Store, gate: Gate) -> None:
    refusals = [StoreBusy(), StoreBusy()]

    def busy_at_first(name: str) -> None:
        if name == "batch-begun" and refusals:
            raise refusals.pop()

    core.committer._writer.failpoint = busy_at_first
    assert store.write(key="k", value={}).commit_ts == 1
    assert refusals == []


def test_a_failure_between_log_and_views_undoes_both(core: Core, store: Store, gate: Gate) -> None:
    def fail(name: str) -> None:
        if name == "appended":
            raise memoranda.StoreFull

    core.committer._writer.failpoint = fail
    transaction = store.begin_transaction()
    transaction.write(key="k", value={})
    with pytest.raises(memoranda.StoreFull):
        transaction.commit()
    core.committer._writer.failpoint = gate
    assert list(store.replay()) == []
    assert store.stats().commits == 0
    assert store.write(key="k", value={}).commit_ts == 1


class TestAsyncio:
    def test_the_loop_goes_on_while_a_commit_waits(self, core: Core, gate: Gate) -> None:
        async def work(store: AsyncStore) -> None:
            gate.shut()
            commit = asyncio.create_task(store.write(key="k", value={}))
            await asyncio.to_thread(gate.reached.wait, HANG_SECONDS)
            ticks = 0
            for _ in range(20):
                await asyncio.sleep(0.001)
                ticks += 1
            assert (ticks, commit.done()) == (20, False)
            assert await store.get_state(key="k") is None
            gate.open()
            assert (await commit).commit_ts == 1

        self.run(core, work)

    @staticmethod
    def run(core: Core, work: Callable[[AsyncStore], object]) -> None:
        async def main() -> None:
            await work(AsyncStore(AsyncLocalCalls(core), Defaults(agent_id="a")))  # type: ignore[misc]

        asyncio.run(main())

    def test_tasks_share_batches(self, core: Core, gate: Gate) -> None:
        async def work(store: AsyncStore) -> None:
            handles = [store.bind(agent_id=f"a{n}") for n in range(50)]
            commits = await asyncio.gather(*(handle.write(key="k", value={}) for handle in handles))
            assert sorted(receipt.commit_ts for receipt in commits) == [*range(1, 51)]

        self.run(core, work)
        assert gate.batches == 1

    def test_tasks_that_were_written_together_are_waited_for(
        self, core: Core, gate: Gate, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(group_commit, "_PEER_WAIT_SECONDS", 0.0)
        monkeypatch.setattr(group_commit, "_RETURN_SECONDS", HANG_SECONDS)

        async def work(store: AsyncStore) -> None:
            agent = store.bind(agent_id="a")
            await asyncio.gather(*(agent.write(key="k", value={}) for _ in range(3)))
            first = asyncio.create_task(agent.write(key="k", value={}))
            await asyncio.sleep(0.05)
            assert gate.batches == 1, "the leader waits"
            await asyncio.gather(first, *(agent.write(key="k", value={}) for _ in range(2)))

        self.run(core, work)
        assert gate.batches == 2

    def test_cancelling_takes_back_what_is_not_being_written(self, core: Core, gate: Gate) -> None:
        async def work(store: AsyncStore) -> None:
            gate.shut()
            first = asyncio.create_task(store.write(key="written", value={}))
            await asyncio.to_thread(gate.reached.wait, HANG_SECONDS)
            second = asyncio.create_task(store.write(key="queued", value={}))
            await asyncio.to_thread(queued, core, 1)
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
            first.cancel()
            await asyncio.sleep(0.05)
            assert not first.done(), "what is being written completes"
            gate.open()
            with pytest.raises(asyncio.CancelledError):
                await first
            assert [key async for key in store.list_keys()] == ["written"]
            assert (await store.write(key="after", value={})).commit_ts == 2

        self.run(core, work)

    def test_threads_and_tasks_commit_side_by_side(self, core: Core) -> None:
        sync = Store(LocalCalls(core), Defaults(agent_id="b"))

        async def work(store: AsyncStore) -> None:
            threads = [
                Started(lambda: [sync.write(key="k", value={}).commit_ts for _ in range(20)])
                for _ in range(3)
            ]
            for _ in range(20):
                await asyncio.gather(*(store.write(key=f"k{n}", value={}) for n in range(3)))
            await asyncio.to_thread(lambda: [thread.outcome() for thread in threads])

        self.run(core, work)
        assert sync.verify().commits == 120

    @pytest.mark.slow
    def test_a_loop_that_went_away_hinders_nobody(self, core: Core, gate: Gate) -> None:
        gate.shut()
        loop = asyncio.new_event_loop()
        store = AsyncStore(AsyncLocalCalls(core), Defaults(agent_id="a"))
        task = loop.create_task(store.write(key="k", value={}))
        loop.run_until_complete(asyncio.to_thread(gate.reached.wait, HANG_SECONDS))
        task.cancel()
        loop.call_later(0.05, loop.stop)
        loop.run_forever()
        loop.close()
        gate.open()
        assert (
            Store(LocalCalls(core), Defaults(agent_id="a")).write(key="k", value={}).commit_ts == 2
        )


@pytest.mark.slow
def test_what_was_taken_is_written_before_the_interpreter_exits(tmp_path: Path) -> None:
    code = """
import asyncio, sys, memoranda

async def main():
    store = await memoranda.open_async(sys.argv[1])
    for n in range(50):
        asyncio.get_running_loop().create_task(store.write(agent_id="a", key=f"k{n}", value={}))
    await asyncio.sleep(0)

loop = asyncio.new_event_loop()
loop.run_until_complete(main())
"""
    path = tmp_path / "store.db"
    command = [sys.executable, "-W", "ignore", "-c", code, str(path)]
    subprocess.run(command, check=True, timeout=HANG_SECONDS, capture_output=True)
    with memoranda.open(path) as store:
        assert store.verify().commits == 50


@pytest.mark.slow
def test_a_handle_does_not_survive_a_fork(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    code = """
import os, sys, memoranda
store = memoranda.open(sys.argv[1]).bind(agent_id="a")
store.write(key="k", value={})
child = os.fork()
if child == 0:
    refused = 0
    for call in (lambda: store.write(key="k", value={}), lambda: store.get_state(key="k")):
        try:
            call()
        except memoranda.StoreClosed as error:
            refused += "open the store again" in str(error)
    store.close()
    memoranda.open(sys.argv[1]).write(agent_id="a", key="k", value={})
    os._exit(0 if refused == 2 else 1)
assert os.waitpid(child, 0)[1] == 0
assert store.write(key="k", value={}).commit_ts == 3
assert store.verify().commits == 3
"""
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=HANG_SECONDS)


@pytest.mark.slow
def test_an_interrupt_while_waiting_takes_the_commit_back(tmp_path: Path) -> None:
    code = """
import os, sys, threading, time, signal
from memoranda.calls.requests import write_key
from memoranda.sdk.open import assemble, load_queries
from memoranda.calls.defaults import Defaults
from memoranda.storage.sqlite.engine import SqliteEngine
from memoranda.model.clock import SystemClock
from memoranda.model.ids import SystemIds
from memoranda.model.limits import Limits
from memoranda.model.scope import Scope
from memoranda.sdk.local.calls import LocalCalls
from memoranda import Store

held, go = threading.Event(), threading.Event()
def failpoint(name):
    if name == "before-commit" and not go.is_set():
        held.set(); go.wait(300)
engine = SqliteEngine(__import__("pathlib").Path(sys.argv[1]), queries=load_queries())
core = assemble(engine, SystemClock(), SystemIds(), Limits(), failpoint)
store = Store(LocalCalls(core), Defaults("a"))
leader = threading.Thread(target=lambda: store.write(key="first", value={}))
leader.start(); held.wait(300)
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored in the background
def interrupt():
    while not core.committer._queue:
        time.sleep(0.01)
    time.sleep(0.1)  # it waits by now
    os.kill(os.getpid(), signal.SIGINT)
interrupting = threading.Thread(target=interrupt)
try:
    interrupting.start()
    store.write(key="interrupted", value={})
except KeyboardInterrupt:
    print("interrupted")
go.set(); leader.join()
assert list(store.list_keys()) == ["first"], list(store.list_keys())
assert store.write(key="after", value={}).commit_ts == 2
"""
    command = [sys.executable, "-c", code, str(tmp_path / "store.db")]
    done = subprocess.run(command, check=True, timeout=HANG_SECONDS, capture_output=True, text=True)
    assert done.stdout == "interrupted\n"


@pytest.mark.slow
def test_the_write_ahead_log_stays_bounded_under_busy_readers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoranda.storage.sqlite.wal._CHECKPOINT_PAGES", 50)
    monkeypatch.setattr("memoranda.storage.sqlite.wal.TRUNCATE_PAGES", 200)
    path = tmp_path / "store.db"
    reader_code = """
import sys, memoranda
store = memoranda.open(sys.argv[1], create=False)
print("reading", flush=True)
while True:
    list(store.scan_prefix(agent_id="a", prefix=""))
"""
    with memoranda.open(path, durability="relaxed") as store:
        agent = store.bind(agent_id="a")
        agent.write(key="k", value={})
        command = [sys.executable, "-c", reader_code, str(path)]
        readers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
        try:
            for reader in readers:
                assert reader.stdout is not None
                reader.stdout.readline()
            sizes = []
            for number in range(600):
                agent.write(key=f"k{number % 30}", value={"text": "x" * 3000})
                sizes.append(store.stats().journal_bytes)
        finally:
            for reader in readers:
                reader.send_signal(signal.SIGKILL)
                reader.communicate()
    assert max(sizes) < 4 * 200 * 4096
