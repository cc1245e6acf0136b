"""Lost connections: writes take effect once, and events come once, in order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

import memoranda
from memoranda import AsyncStore, CommitUnknown, Store, Unavailable
from memoranda.server.http.settings import HttpSettings
from memoranda.testing import FixedIds
from tests.patience import wait_until
from tests.server_process import ServerThread
from tests.tcp_proxy import TcpProxy

Result = TypeVar("Result")
WRITERS = 6


class Cutter(threading.Thread):
    """Cuts connections again and again: each time when some more writes were acknowledged."""

    def __init__(self, proxy: TcpProxy, acknowledged: list[Any], cuts: int) -> None:
        super().__init__()
        self._proxy = proxy
        self._acknowledged = acknowledged
        self._cuts = cuts
        self._chance = FixedIds("cuts")
        self.is_over = threading.Event()

    def run(self) -> None:
        for _ in range(self._cuts):
            more = 1 + self._chance.entropy(1)[0] % 20
            goal = len(self._acknowledged) + more
            wait_until(lambda goal=goal: len(self._acknowledged) >= goal)  # type: ignore[misc]
            self._proxy.cut()
        self.is_over.set()


@pytest.mark.parametrize("cuts", [8, pytest.param(60, marks=pytest.mark.slow)])
def test_threads_write_through_cuts(store: Store, far: Store, proxy: TcpProxy, cuts: int) -> None:
    journal: list[tuple[int, Any]] = []
    cutter = Cutter(proxy, journal, cuts)

    def write(writer: int) -> None:
        number = 0
        while not cutter.is_over.is_set():
            number += 1
            value = {"writer": writer, "number": number}
            if number % 5:
                commit = far.write(key=f"k{writer}", value=value).commit_ts
            else:
                with far.begin_transaction() as transaction:
                    transaction.write(key=f"k{writer}", value=value)
                assert transaction.commit_ts is not None
                commit = transaction.commit_ts
            journal.append((commit, value))

    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(WRITERS)]
    for thread in (cutter, *writers):
        thread.start()
    for thread in (cutter, *writers):
        thread.join()
    assert proxy.connections > 1
    journal.sort(key=lambda entry: entry[0])
    assert [(event.commit_ts, event.operations[0].value) for event in store.replay()] == journal


def test_tasks_write_through_cuts(store: Store, through: str, proxy: TcpProxy) -> None:
    journal: list[tuple[int, Any]] = []
    cutter = Cutter(proxy, journal, 8)

    async def write(agent: AsyncStore, writer: int) -> None:
        number = 0
        while not cutter.is_over.is_set():
            number += 1
            value = {"writer": writer, "number": number}
            journal.append(((await agent.write(key=f"k{writer}", value=value)).commit_ts, value))

    async def work() -> None:
        async with await memoranda.open_async(through) as opened:
            agent = opened.bind(agent_id="a")
            await asyncio.gather(*(write(agent, writer) for writer in range(WRITERS)))

    cutter.start()
    asyncio.run(work())
    cutter.join()
    assert proxy.connections > 1
    journal.sort(key=lambda entry: entry[0])
    assert [(event.commit_ts, event.operations[0].value) for event in store.replay()] == journal


PAGES_BYTES = 3 * 1024 * 1024
"""Bytes of some pages of events, which are of 1 MiB."""


def fill(store: Store, count: int, size: int = 8192) -> None:
    for number in range(count):
        store.write(key=f"k{number}", value={"n": number, "text": "x" * size})


@pytest.mark.slow
def test_a_replay_goes_on_where_it_was(store: Store, far: Store, proxy: TcpProxy) -> None:
    fill(store, 800)
    proxy.cut_after_bytes = PAGES_BYTES
    events = far.replay()
    store.write(key="later", value={})
    assert [event.commit_ts for event in events] == [*range(1, 801)]
    assert proxy.connections > 2


@pytest.mark.slow
def test_an_asynchronous_replay_goes_on_where_it_was(
    store: Store, through: str, proxy: TcpProxy
) -> None:
    fill(store, 800)

    async def work() -> list[int]:
        async with await memoranda.open_async(through) as opened:
            proxy.cut_after_bytes = PAGES_BYTES
            events: Any = opened.bind(agent_id="a").replay()
            await events
            store.write(key="later", value={})
            return [event.commit_ts async for event in events]

    assert asyncio.run(work()) == [*range(1, 801)]
    assert proxy.connections > 2


@pytest.mark.slow
def test_a_subscription_goes_on_where_it_was(store: Store, far: Store, proxy: TcpProxy) -> None:
    fill(store, 600)
    proxy.cut_after_bytes = PAGES_BYTES
    commits = []
    for event in far.subscribe(after_commit=0):
        commits.append(event.commit_ts)
        if event.commit_ts == 600:
            proxy.cut()
            fill(store, 20)
        if event.commit_ts == 620:
            break
    assert commits == [*range(1, 621)]
    assert proxy.connections > 2


def test_a_subscription_to_what_comes_next_misses_nothing(
    store: Store, far: Store, proxy: TcpProxy
) -> None:
    fill(store, 5, 1)
    with far.subscribe(kinds="write", prefix="next") as subscription:
        proxy.is_down = True
        proxy.cut()
        store.write(key="next", value={})
        fill(store, 5, 1)
        proxy.is_down = False
        assert next(subscription).commit_ts == 6


def test_an_asynchronous_subscription_goes_on_where_it_was(
    store: Store, through: str, proxy: TcpProxy
) -> None:
    fill(store, 60)

    async def work() -> list[int]:
        commits = []
        async with await memoranda.open_async(through) as opened:
            subscription = opened.bind(agent_id="a").subscribe(after_commit=0)
            async for event in subscription:
                commits.append(event.commit_ts)
                if event.commit_ts % 20 == 0:
                    proxy.cut()
                if event.commit_ts == 60:
                    await asyncio.to_thread(fill, store, 30)
                if event.commit_ts == 90:
                    break
        return commits

    assert asyncio.run(work()) == [*range(1, 91)]


def test_a_read_is_asked_again(store: Store, far: Store, proxy: TcpProxy) -> None:
    store.write(key="k", value={"n": 1})
    for _ in range(5):
        proxy.cut()
        record = far.get_state(key="k")
        assert record is not None
        assert record.value == {"n": 1}
        assert far.verify().commits == 1
        assert [*far.list_keys()] == ["k"]


@pytest.mark.slow
def test_a_listing_that_has_begun_says_that_it_ended(
    store: Store, far: Store, proxy: TcpProxy
) -> None:
    fill(store, 800)
    proxy.cut_after_bytes = PAGES_BYTES
    records = far.scan_prefix(prefix="k")
    with pytest.raises(Unavailable, match=r"was lost after \d+ items of a list: ask for it again"):
        list(records)


def persist(call: Callable[[], Result]) -> Result:
    """Call until the server answers: gRPC itself pauses between attempts to connect."""
    while True:
        with suppress(Unavailable):
            return call()


class TestAServerThatDoesNotComeBack:
    @pytest.fixture
    def impatient(self, through: str) -> Iterator[Store]:
        with persist(lambda: memoranda.open(through, timeout=0.5)) as opened:
            yield opened.bind(agent_id="a")

    def test_calls_say_so(self, impatient: Store, proxy: TcpProxy) -> None:
        subscription = impatient.subscribe()
        proxy.is_down = True
        proxy.cut()
        for call in (
            lambda: impatient.get_state(key="k"),
            lambda: list(impatient.replay()),
            impatient.verify,
            lambda: next(subscription),
        ):
            with pytest.raises(Unavailable, match="does not answer") as refused:
                call()
            assert refused.value.gave_up
        proxy.is_down = False
        assert persist(lambda: impatient.write(key="k", value={})).commit_ts == 1
        assert persist(lambda: next(subscription)).commit_ts == 1

    def test_a_write_that_was_not_sent_has_no_effect(
        self, impatient: Store, proxy: TcpProxy
    ) -> None:
        proxy.refuse()
        proxy.cut()
        with pytest.raises(Unavailable, match="does not answer") as refused:
            impatient.write(key="k", value={})
        assert refused.value.gave_up
        proxy.accept()
        assert persist(lambda: impatient.write(key="k", value={})).commit_ts == 1

    def test_a_write_that_may_have_arrived_is_unknown(
        self, store: Store, impatient: Store, proxy: TcpProxy
    ) -> None:
        impatient.write(key="k", value={"n": 1})
        proxy.holds_answers = True
        errors: list[CommitUnknown] = []

        def write() -> None:
            with pytest.raises(CommitUnknown) as refused:
                impatient.write(key="k", value={"n": 2})
            errors.append(refused.value)

        thread = threading.Thread(target=write)
        thread.start()
        wait_until(lambda: store.stats().commits == 2)
        proxy.is_down = True
        proxy.cut()
        thread.join()
        proxy.is_down = proxy.holds_answers = False
        again = persist(lambda: impatient.write(key="k", value={"n": 2}, txn_id=errors[0].txn_id))
        assert (again.commit_ts, store.stats().commits) == (2, 2)


def test_a_server_that_starts_again(tmp_path: Path, scheme: str) -> None:
    with ServerThread(folder=tmp_path, create=["acme"]) as first:
        ports = first.server.port, first.server.http_port
        store = memoranda.open(first.url(scheme)).bind(agent_id="a")
        subscription = store.subscribe()
        store.write(key="k", value={})
        first.stop(5.0)
    with ServerThread(folder=tmp_path, port=ports[0], http=HttpSettings(port=ports[1])):
        assert store.write(key="k", value={}).commit_ts == 2
        assert store.get_state(key="k") is not None
        assert [next(subscription).commit_ts for _ in range(2)] == [1, 2]
        store.close()
