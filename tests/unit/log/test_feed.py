"""Feeds: what they cost, how they go on after an error, and that no step takes long."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest

import memoranda
from memoranda import ALL_AGENTS, ALL_NAMESPACES, Store, StoreBusy
from memoranda.log import pages
from memoranda.log.read.feed import Feed, Start
from memoranda.log.read.visibility import Selection
from memoranda.storage.port import Engine, Reader, Row
from tests.bulk import write_events
from tests.cores import core_of


class Watched:
    """An engine that counts the rows it gives, and fails when it is told to."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.rows_read = 0
        self.fails_in: int | None = None

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        with self._engine.reading() as reader:
            yield cast(Reader, WatchedReader(reader, self))

    def note(self, rows: int) -> None:
        self.rows_read += rows
        if self.fails_in is not None:
            self.fails_in -= 1
            if self.fails_in < 0:
                self.fails_in = None
                raise StoreBusy


class WatchedReader:
    def __init__(self, reader: Reader, engine: Watched) -> None:
        self._reader = reader
        self._engine = engine

    def row(self, query: str, /, **values: object) -> Row | None:
        self._engine.note(1)
        return self._reader.row(query, **values)

    def rows(self, query: str, /, **values: Any) -> list[Row]:
        rows = self._reader.rows(query, **values)
        self._engine.note(len(rows))
        return rows

    def rows_each(self, query: str, items: Sequence[Row], /) -> list[list[Row]]:
        rows_of_each = self._reader.rows_each(query, items)
        self._engine.note(sum(map(len, rows_of_each)))
        return rows_of_each

    def rows_before(
        self, query: str, following: str, item: Row, /, **values: Any
    ) -> tuple[list[Row], list[Row]]:
        return self.rows(query, **values), self.rows_each(following, [item])[0]


class Log:
    """A store of many agents, and feeds on it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.engine = Watched(core_of(store).engine)

    def feed(self, last: int | None = None, **bounds: Any) -> Feed:
        selection = Selection(**{"agent_id": "a", "namespace": "default", **bounds})
        start = Start(after_commit=0) if last is None else Start(last=last)
        return Feed(cast(Engine, self.engine), core_of(self.store).log_id, selection, start)

    def cost(self, feed: Feed) -> int:
        """Return how many rows it takes until the feed is at the end."""
        before = self.engine.rows_read
        read_on(feed)
        return self.engine.rows_read - before


def read_on(feed: Feed) -> list[int]:
    commits = [event.commit_ts for event in feed.next_page()]
    while not feed.caught_up:
        commits += [event.commit_ts for event in feed.next_page()]
    return commits


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("feed") / "store.db"
    write_events(path, 3000, agents=30)
    return path


@pytest.fixture
def log(written: Path, tmp_path: Path) -> Iterator[Log]:
    """Three thousand commits by thirty agents in turn."""
    path = shutil.copy(written, tmp_path)
    with memoranda.open(path, durability="relaxed") as store:
        yield Log(store)


MINE = [*range(1, 3001, 30)]


@pytest.mark.parametrize("namespace", ["default", ALL_NAMESPACES])
def test_it_costs_what_the_agents_own_events_cost(log: Log, namespace: Any) -> None:
    feed = log.feed(namespace=namespace)
    assert log.cost(feed) < len(MINE) + 20
    for _ in range(100):
        log.store.write(agent_id="other", key="k", value={})
    assert log.cost(feed) < 10
    log.store.write(agent_id="a", key="k", value={})
    assert log.cost(feed) < 10


def test_what_is_not_asked_for_is_not_read_again(log: Log) -> None:
    feed = log.feed(prefix="nothing", agent_id=ALL_AGENTS)
    assert log.cost(feed) >= 3000
    assert feed.position == 3000
    assert log.cost(feed) < 10


@pytest.mark.parametrize("bounds", [{}, {"agent_id": ALL_AGENTS}, {"namespace": ALL_NAMESPACES}])
def test_no_step_takes_long(log: Log, bounds: dict[str, Any]) -> None:
    feed = log.feed(prefix="nothing", **bounds)
    steps = 0
    while not steps or not feed.caught_up:
        before = log.engine.rows_read
        assert feed.next_page() == []
        assert log.engine.rows_read - before <= pages.PAGE_ROWS + 5
        steps += 1
    assert steps >= (3000 if bounds.get("agent_id") else len(MINE)) / pages.PAGE_ROWS


@pytest.mark.parametrize("bounds", [{}, {"agent_id": ALL_AGENTS}, {"namespace": ALL_NAMESPACES}])
def test_after_an_error_nothing_is_lost_or_given_twice(log: Log, bounds: dict[str, Any]) -> None:
    on = read_on(log.feed(**bounds))
    assert len(on) in (100, 3000)
    for fails_in in range(16):
        feed = log.feed(**bounds)
        log.engine.fails_in = fails_in
        result: list[int] = []
        for _ in range(40):
            with suppress(StoreBusy):
                result += [event.commit_ts for event in feed.next_page()]
        assert result == on


@pytest.mark.slow
def test_an_error_while_looking_back_changes_nothing(log: Log) -> None:
    for fails_in in range(1, 12):
        feed = log.feed(last=70)
        log.engine.fails_in = fails_in
        result: list[int] = []
        for _ in range(40):
            with suppress(StoreBusy):
                result += [event.commit_ts for event in feed.next_page()]
        assert result == MINE[-70:]


def test_the_last_events_are_found_from_the_end(log: Log) -> None:
    assert log.cost(log.feed(last=1, agent_id=ALL_AGENTS)) < 20
    assert log.cost(log.feed(last=10)) < 100
    assert read_on(log.feed(last=10)) == MINE[-10:]


def test_looking_back_is_done_in_short_steps(log: Log) -> None:
    feed = log.feed(last=5, prefix="nothing", agent_id=ALL_AGENTS)
    while not feed.caught_up:
        before = log.engine.rows_read
        assert feed.next_page() == []
        assert log.engine.rows_read - before <= pages.PAGE_ROWS + 5
