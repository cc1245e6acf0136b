"""What an audit of one agent reads: its own commits, however long the log is."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memoranda import ALL_NAMESPACES, LinkCycle, Store
from memoranda.storage.port import Reader
from memoranda.testing import memory_store
from tests.cores import core_of

OTHERS = (20, 2_000)


class Counting:
    """A reader that counts the events it reads."""

    def __init__(self, reader: Reader, counts: dict[str, int]) -> None:
        self._reader = reader
        self._counts = counts
        self.coverage = reader.coverage

    def row(self, query: str, /, **values: object) -> Any:
        row = self._reader.row(query, **values)
        self._count(query, row is not None)
        return row

    def rows(self, query: str, /, **values: Any) -> Any:
        rows = self._reader.rows(query, **values)
        self._count(query, len(rows))
        return rows

    def rows_each(self, query: str, items: Any, /) -> Any:
        rows_of_each = self._reader.rows_each(query, items)
        self._count(query, sum(map(len, rows_of_each)))
        return rows_of_each

    def rows_before(self, query: str, following: str, item: Any, /, **values: Any) -> Any:
        return self.rows(query, **values), self.rows_each(following, [item])[0]

    def _count(self, query: str, rows: int) -> None:
        if query == "event_head":
            return
        if query.startswith("event_"):
            self._counts["events"] += rows


@contextmanager
def counted(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    engine, counts = core_of(store).engine, {"events": 0}
    reading, caller = engine.reading, threading.get_ident()

    @contextmanager
    def counting() -> Iterator[Any]:
        with reading() as reader:
            yield Counting(reader, counts) if threading.get_ident() == caller else reader

    with monkeypatch.context() as patch:
        patch.setattr(engine, "reading", counting)
        yield counts


def filled(others: int) -> Store:
    """Return a store in which ann did seven things, three of them to what is bob's."""
    store = memory_store()
    ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
    first, second = (bob.remember(text).id for text in ("first", "second"))
    for number in range(others):
        bob.write(key="k", value={"n": number})
        if number in (3, 9):
            ann.write(key="k", value={})
            ann.remember("mine")
        if number == 12:
            ann.link(source=first, target=second, relation="supersedes")
            ann.touch(first)
            with pytest.raises(LinkCycle):
                ann.link(source=second, target=first, relation="supersedes")
    return store


@pytest.mark.parametrize("others", OTHERS)
def test_an_agents_audit_reads_its_own_commits(
    others: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = filled(others)
    with counted(store, monkeypatch) as counts:
        event_types = [audit_event.event_type for audit_event in store.audit_events(agent_id="ann")]
    assert event_types == [
        "state.written", "memory.stored", "state.written", "memory.stored",
        "link.created", "memory.touched", "link.cycle_refused",
    ]  # fmt: skip
    assert counts["events"] == 7


@pytest.mark.parametrize("others", OTHERS)
@pytest.mark.parametrize(
    ("event_type", "events"), [("link.cycle_refused", 1), ("log.epoch_begun", 1)]
)
def test_what_the_engine_does_itself_is_found_at_once(
    others: int, event_type: str, events: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = filled(others)
    with counted(store, monkeypatch) as counts:
        assert len(list(store.audit_events(event_type=event_type))) == events
    assert counts["events"] == events


def test_an_agent_that_is_unknown_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled(20)
    with counted(store, monkeypatch) as counts:
        assert list(store.audit_events(agent_id="nobody of that name")) == []
    assert counts["events"] == 0


def test_the_answers_are_those_of_reading_everything() -> None:
    store = filled(20)
    everything = list(store.audit_events())
    for name in ("ann", "bob", "local", "_engine"):
        expected = [item for item in everything if item.agent_id == name]
        assert list(store.audit_events(agent_id=name)) == expected
        for after in (0, 5, 21):
            behind = [item for item in expected if item.commit_ts > after]
            assert list(store.audit_events(agent_id=name, after_commit=after)) == behind


def test_a_replay_does_not_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled(20)
    head = store.stats().commits
    with counted(store, monkeypatch) as counts:
        events = store.replay(agent_id="ann", namespace=ALL_NAMESPACES, through_commit=head)
        assert len(list(events)) == 4
    assert counts["events"] == 4


def test_nobody_else_sees_where_it_is_indexed() -> None:
    store = filled(20)
    rows = store.sql("SELECT namespace, agent_id FROM agents ORDER BY 2")
    assert [tuple(row.values()) for row in rows] == [("default", "ann"), ("default", "bob")]
    assert store.stats().agents == 2
    assert store.rebuild().identical
