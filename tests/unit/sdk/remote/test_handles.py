"""The life of a remote store: closing, interrupts, forks, and answers that nobody reads."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import FrameType

import pytest

import memoranda
from memoranda import InvalidInput, Store, StoreClosed
from memoranda.sdk.remote.grpc import channel
from memoranda.sdk.remote.http import async_connection, connection
from memoranda.server.write_queue import OutcomeMessage, WriteQueue
from memoranda.storage import thread_locks
from tests.patience import HANG_SECONDS, wait_until
from tests.server_process import ServerThread
from tests.tcp_proxy import TcpProxy


@pytest.fixture
def patient_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let connections stay open while a proxy holds answers back, however slow the machine is."""
    options = dict(channel._OPTIONS) | {"grpc.keepalive_time_ms": int(2 * HANG_SECONDS * 1000)}
    monkeypatch.setattr(channel, "_OPTIONS", tuple(options.items()))
    for module in (connection, async_connection):
        monkeypatch.setattr(module, "SILENCE_SECONDS", 2 * HANG_SECONDS)


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch) -> OutcomeGate:
    """What the server sends outcomes of writes through."""
    gate = OutcomeGate()
    take = WriteQueue.take

    async def pass_gate(queue: WriteQueue) -> OutcomeMessage:
        message = await take(queue)
        while gate.is_closed:
            await asyncio.sleep(0.01)
        return message

    monkeypatch.setattr(WriteQueue, "take", pass_gate)
    return gate


class OutcomeGate:
    """Holds outcomes back in the server, which goes on to answer everything else.

    If a proxy held back all that the server sends, its pings would have no answer either: the
    server would end the connection after some seconds, maybe before a slow test has sent its write.
    """

    is_closed = False


def test_writes_on_their_way_end_before_it_is_closed(store: Store, url: str) -> None:
    own = memoranda.open(url).bind(agent_id="a")
    acknowledged: list[int] = []

    def write(writer: int) -> None:
        try:
            while True:
                acknowledged.append(own.write(key=f"k{writer}", value={}).commit_ts)
        except StoreClosed:
            return

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(acknowledged) > 40)
    own.close()
    for thread in threads:
        thread.join(HANG_SECONDS)
    assert sorted(acknowledged) == [event.commit_ts for event in store.replay()]


def test_tasks_end_before_it_is_closed(store: Store, url: str) -> None:
    async def work() -> list[int]:
        async with await memoranda.open_async(url) as opened:
            agent = opened.bind(agent_id="a")
            writes = [asyncio.create_task(agent.write(key=f"k{n}", value={})) for n in range(50)]
            await asyncio.sleep(0)
        return [(await write).commit_ts for write in writes]

    assert sorted(asyncio.run(work())) == [event.commit_ts for event in store.replay()]


def test_nothing_works_afterwards(store: Store) -> None:
    transaction = store.begin_transaction()
    transaction.write(key="k", value={})
    subscription = store.subscribe(timeout=0)
    store.close()
    store.close()
    for call in (
        lambda: store.write(key="k", value={}),
        lambda: store.get_state(key="k"),
        lambda: store.list_keys(),
        transaction.commit,
        store.begin_transaction,
        store.verify,
        store.subscribe,
    ):
        with pytest.raises(StoreClosed):
            call()
    assert list(subscription) == []


def test_closing_ends_a_subscription_that_waits(store: Store) -> None:
    received: list[int] = []
    subscription = store.subscribe()
    thread = threading.Thread(
        target=lambda: received.extend(event.commit_ts for event in subscription)
    )
    thread.start()
    store.write(key="k", value={})
    wait_until(lambda: received == [1])
    store.close()
    thread.join(HANG_SECONDS)
    assert not thread.is_alive()


def test_an_interrupt_leaves_the_stream_to_others(
    store: Store, url: str, outcomes: OutcomeGate
) -> None:
    commits: list[int] = []

    def interrupt() -> None:
        wait_until(lambda: store.stats().commits == 3)
        os.kill(os.getpid(), signal.SIGINT)

    with memoranda.open(url) as opened:
        client = opened.bind(agent_id="a")
        client.write(key="k", value={})
        outcomes.is_closed = True
        other = threading.Thread(
            target=lambda: commits.append(client.write(key="other", value={}).commit_ts)
        )
        other.start()
        interrupter = threading.Thread(target=interrupt)
        interrupter.start()
        with pytest.raises(KeyboardInterrupt):
            client.write(key="mine", value={})
        interrupter.join()
        outcomes.is_closed = False
        other.join(HANG_SECONDS)
        assert client.write(key="k", value={}).commit_ts == 4
    assert len(commits) == 1


class LineInterrupt:
    """Interrupts this thread before the n-th line that it runs of a remote store's modules.

    A function's lines count once. A `with` line comes again when its block ends; no signal is
    handled between the last call of the block and the one that releases the lock.
    """

    MODULES = (str(Path(connection.__file__).parents[1]), thread_locks.__file__)

    def __init__(self, number: int) -> None:
        self._lines_left = number
        self._lines: set[tuple[FrameType, int]] = set()
        self.has_come = False

    def __call__(self, frame: FrameType, event: str, _: object) -> LineInterrupt | None:
        if not frame.f_code.co_filename.startswith(self.MODULES):
            return None
        line = frame, frame.f_lineno
        if event == "line" and line not in self._lines and not self.has_come:
            self._lines.add(line)
            self._lines_left -= 1
            if self._lines_left < 0:
                self.has_come = True
                raise KeyboardInterrupt
        return self


def test_an_interrupt_at_any_line_leaves_the_stream_to_others(store: Store) -> None:
    for number in count():
        interrupt = LineInterrupt(number)
        sys.settrace(interrupt)
        with suppress(KeyboardInterrupt):
            store.write(key="mine", value={})
        sys.settrace(None)
        if not interrupt.has_come:
            break
        with ThreadPoolExecutor(1) as threads:
            threads.submit(store.write, key="other", value={}).result(HANG_SECONDS)
    assert number > 10, "the write has so many lines"


def test_a_cancelled_task_leaves_the_stream_to_others(
    store: Store, url: str, outcomes: OutcomeGate
) -> None:
    async def work() -> None:
        async with await memoranda.open_async(url) as opened:
            agent = opened.bind(agent_id="a")
            await agent.write(key="k", value={})
            outcomes.is_closed = True
            mine, other = (asyncio.create_task(agent.write(key=k, value={})) for k in "ab")
            await asyncio.to_thread(wait_until, lambda: store.stats().commits == 3)
            mine.cancel()
            with pytest.raises(asyncio.CancelledError):
                await mine
            outcomes.is_closed = False
            assert (await other).commit_ts in (2, 3)
            assert (await agent.write(key="k", value={})).commit_ts == 4

    asyncio.run(work())


@pytest.mark.slow
def test_an_answer_that_nobody_reads_is_cancelled(store: Store, server: ServerThread) -> None:
    for number in range(600):
        store.write(key=f"k{number}", value={"text": "x" * 8192})
    idle = server.server.call_count
    listings = [store.replay(), store.scan_prefix(prefix=""), store.subscribe(after_commit=0)]
    for listing in listings:
        next(iter(listing))
    begun = [store.replay(), store.scan_prefix(prefix="")]  # nothing was read of them
    assert server.server.call_count > idle
    del listing, listings, begun
    gc.collect()
    wait_until(lambda: server.server.call_count <= idle)


@pytest.mark.slow
def test_asynchronous_answers_that_nobody_reads_are_cancelled(
    store: Store, url: str, server: ServerThread
) -> None:
    for number in range(600):
        store.write(key=f"k{number}", value={"text": "x" * 8192})

    async def work() -> None:
        async with await memoranda.open_async(url) as opened:
            agent = opened.bind(agent_id="a")
            idle = server.server.call_count
            replay = agent.replay()
            await anext(replay)
            await replay.aclose()  # type: ignore[attr-defined]
            subscription = agent.subscribe(after_commit=0)
            await anext(subscription)
            subscription.close()
            await asyncio.to_thread(wait_until, lambda: server.server.call_count <= idle)

    asyncio.run(work())


def test_a_subscription_that_is_closed_while_it_begins_is_cancelled(
    patient_channels: None, server: ServerThread, through: str, proxy: TcpProxy
) -> None:
    async def work() -> None:
        async with await memoranda.open_async(through) as opened:
            await asyncio.to_thread(wait_until, lambda: server.server.call_count == 0)
            proxy.holds_answers = True
            subscription = opened.bind(agent_id="a").subscribe(after_commit=0)
            waiting = asyncio.ensure_future(anext(subscription, None))
            await asyncio.to_thread(wait_until, lambda: server.server.call_count == 1)
            subscription.close()
            proxy.holds_answers = False
            assert await waiting is None
            await asyncio.to_thread(wait_until, lambda: server.server.call_count == 0)

    asyncio.run(work())


def test_the_bound_of_a_replay_is_fixed_when_it_is_called(store: Store) -> None:
    store.write(key="k", value={})
    events = store.replay()
    store.write(key="k", value={})
    assert [event.commit_ts for event in events] == [1]


def test_a_wrong_argument_is_refused_by_the_call(store: Store) -> None:
    with pytest.raises(InvalidInput, match="after_commit"):
        store.replay(after_commit="nonsense")
    with pytest.raises(InvalidInput, match="kinds"):
        store.subscribe(kinds="nonsense")


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda store: store.backup("copy.db"), "make_backup cannot be sent to (grpc|http)://"),
        (lambda store: store.fork("copy.db", at=0), "make_fork cannot be sent to (grpc|http)://"),
        (
            lambda store: store.export_log("log.jsonl"),
            "export_log cannot be sent to (grpc|http)://",
        ),
    ],
)
def test_what_needs_the_file_says_so(store: Store, call: object, problem: str) -> None:
    assert callable(call)
    with pytest.raises(InvalidInput, match=f"{problem}.*Open the file where the server has it"):
        call(store)


def test_progress_is_reported(store: Store) -> None:
    for _ in range(10):
        store.write(key="k", value={})
    steps: list[tuple[int, int]] = []
    assert store.verify(progress=lambda *step: steps.append(step)).commits == 10
    assert steps[-1] == (10, 10)


FORK = """
import os, sys, threading
import memoranda

store = memoranda.open(sys.argv[1]).bind(agent_id="a")
store.write(key="k", value={})
child = os.fork()
if child == 0:
    refused = 0
    for call in (
        lambda: store.write(key="k", value={}),
        lambda: store.get_state(key="k"),
        lambda: store.replay(),
        lambda: store.subscribe(),
    ):
        try:
            call()
        except memoranda.StoreClosed as error:
            refused += "before the process forked" in str(error)
    store.close()
    os._exit(0 if refused == 4 else 1)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0
assert store.write(key="k", value={}).commit_ts == 2
store.close()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_opens_it_itself(url: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(
        [sys.executable, "-c", FORK, url], check=True, env=environment, timeout=HANG_SECONDS
    )
