"""What SQL sees of memories, links, transcripts and notices, beside what the SDK says of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

import memoranda
from memoranda import ALL_NAMESPACES, Corruption, Invalidation, Store
from memoranda.testing import FixedClock, FixedIds

LONG = "é" * 5000
VIEWS = ("memories", "links", "transcripts", "notices")


def fill(store: Store) -> None:
    """Two notices, one of them resolved, and everything that leads there."""
    planner = store.bind(agent_id="planner", namespace="team")
    words = planner.store_transcript(
        "I never fly", occurred_at="1969-12-31T23:59:59.999999Z", ttl=60
    )
    planner.store_transcript("é")
    ground = planner.remember(
        "Ann does not fly", title="ground", transcript=words.id, tags=["ann"], metadata={"n": 1.5}
    )
    old = planner.reflect("slowly", on=[ground.id], title="old")
    for title in ("kept", "open"):
        planner.reflect(title, on=[old.id], title=title, visibility="private")
    new = planner.reflect(LONG, on=[ground.id], title="new")
    planner.supersede(old=old.id, new=new.id)
    (notice, _) = planner.invalidations()
    planner.resolve_invalidation(notice.id, decision="keep", note="fine")
    planner.update_memory(ground.id, content="Ann never flies")
    planner.touch(ground.id)
    memory = planner.remember("gone", ttl=3600, event_time="2026-02-07T12:00:00+02:00")
    planner.link(source=memory.id, target=ground.id, relation="contradicts")
    planner.unlink(source=memory.id, target=ground.id, relation="contradicts")
    planner.retract_memory(planner.remember("retracted", title="r").id)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, path: Path) -> Iterator[Store]:
    url = path if request.param == "file" else ":memory:"
    with memoranda.open(url, clock=FixedClock(), ids=FixedIds()) as opened:
        fill(opened)
        yield opened


def ask(store: Store, query: str, *parameters: object) -> list[dict[str, Any]]:
    return list(store.sql(query, parameters))


def text_of(time: datetime | None) -> str | None:
    return None if time is None else time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def test_memories_are_what_is_listed(store: Store) -> None:
    rows = ask(store, "SELECT * FROM memories ORDER BY commit_ts")
    memories = store.list_memories(namespace=ALL_NAMESPACES, agent_id="planner", content=True)
    for row, memory in zip(rows, memories, strict=True):
        for name in ("id", "namespace", "agent_id", "visibility", "kind", "tier", "title"):
            assert row[name] == getattr(memory, name)
        for name in ("version", "reflection_depth", "access_count"):
            assert row[name] == getattr(memory, name)
        for name in ("created_at", "updated_at", "expires_at", "last_accessed_at"):
            assert row[name] == text_of(getattr(memory, name))
        assert memory.content is not None
        assert row["size"] == len(memory.content.encode())
        assert row["content"] == (None if memory.content == LONG else memory.content)
        details = json.loads(row["details"])
        assert details.pop("event_time") == text_of(memory.event_time)
        for name in ("tags", "citations"):
            assert tuple(details.pop(name)) == getattr(memory, name)
        for name, value in details.items():
            assert value == getattr(memory, name)
    assert {row["title"] for row in rows} == {"ground", "old", "kept", "open", "new", None}


def test_private_and_expired_memories_are_there_and_retracted_ones_are_not(path: Path) -> None:
    clock = FixedClock()
    with memoranda.open(path, clock=clock, ids=FixedIds()) as store:
        fill(store)
        clock.advance(7200)
        result = ask(store, "SELECT title FROM memories WHERE visibility = 'private'")
        assert [row["title"] for row in result] == ["kept", "open"]
        (target,) = ask(store, "SELECT content, expires_at FROM memories WHERE expires_at < ?", "3")
        assert target["content"] == "gone"
        assert ask(store, "SELECT 1 FROM memories WHERE title = 'r'") == []


def test_links_are_those_that_hold(store: Store) -> None:
    rows = ask(store, "SELECT * FROM links ORDER BY commit_ts, source, target")
    stored_value = {
        (link.source, link.relation, link.target, text_of(link.valid_from))
        for memory in store.list_memories(namespace=ALL_NAMESPACES, agent_id="planner")
        for link in store.links(memory.id, agent_id="planner")
    }
    result = [(row["source"], row["relation"], row["target"], row["since"]) for row in rows]
    assert set(result) == stored_value
    assert len(result) == len(stored_value) == 5
    assert "contradicts" not in {row["relation"] for row in rows}
    times = ask(
        store, "SELECT l.since, e.committed_at FROM links AS l JOIN events AS e USING (commit_ts)"
    )
    assert all(row["since"] == row["committed_at"] for row in times)


def test_transcripts_are_those_kept(store: Store) -> None:
    first, second = ask(store, "SELECT * FROM transcripts ORDER BY commit_ts")
    assert (first["size"], second["size"]) == (11, 2)
    # a time before 1970 is counted down to, not up from
    assert first["occurred_at"] == "1969-12-31T23:59:59.999999Z"
    assert second["occurred_at"] is None
    for row in (first, second):
        transcript = store.get_transcript(row["id"])
        assert transcript is not None
        assert (row["namespace"], row["agent_id"]) == ("team", "planner")
        assert row["created_at"] == text_of(transcript.created_at)
        assert row["expires_at"] == text_of(transcript.expires_at)


def test_notices_are_the_inbox(store: Store) -> None:
    rows = ask(store, "SELECT * FROM notices ORDER BY commit_ts, id")
    reports = store.invalidations(agent_id="planner", status="all")

    def by_time(notice: Invalidation) -> tuple[datetime, str]:
        return notice.created_at, notice.id

    for row, notice in zip(rows, sorted(reports, key=by_time), strict=True):
        assert (row["id"], row["namespace"]) == (notice.id, "team/_invalidations")
        assert (row["agent_id"], row["by_agent"]) == (notice.agent_id, notice.by)
        assert row["dependent"] == notice.dependent_id
        assert row["invalidated"] == notice.invalidated_id
        assert row["invalidating"] == notice.invalidating_id
        for name in ("decision", "note", "replacement", "resolved_by"):
            assert row[name] == getattr(notice, name)
        for name in ("created_at", "resolved_at"):
            assert row[name] == text_of(getattr(notice, name))
    assert {row["decision"] for row in rows} == {"keep", None}


def test_a_notice_is_in_its_own_view_only(store: Store) -> None:
    assert ask(store, "SELECT id FROM memories INTERSECT SELECT id FROM notices") == []


@pytest.mark.parametrize("view", VIEWS)
def test_only_counting_works_too(store: Store, view: str) -> None:
    (row,) = ask(store, f"SELECT count(*) AS n FROM {view}")
    assert row["n"] == len(ask(store, f"SELECT * FROM {view}"))
    assert row["n"] > 1


@pytest.mark.parametrize(
    ("view", "column"),
    [
        ("memories", "id"),
        ("links", "source"),
        ("links", "target"),
        ("transcripts", "id"),
        ("notices", "id"),
    ],
)
def test_an_id_is_found_without_reading_the_whole_view(
    store: Store, view: str, column: str
) -> None:
    steps = ask(store, f"EXPLAIN QUERY PLAN SELECT * FROM {view} WHERE {column} = ?", "x")
    assert steps
    assert not [step["detail"] for step in steps if step["detail"].startswith("SCAN")]


def test_the_ways_around_the_views_stay_closed(store: Store) -> None:
    for statement in (
        "SELECT details_json(x'90')",
        "SELECT instant_text(0)",
        "SELECT rowid FROM memories",
        "SELECT private FROM memories",
        "SELECT digest FROM transcripts",
        "WITH memories AS (SELECT * FROM main.memory) SELECT * FROM memories",
    ):
        with pytest.raises(memoranda.InvalidInput, match="query"):
            ask(store, statement)


def test_damaged_details_are_the_stores_fault(path: Path) -> None:
    with memoranda.open(path) as store:
        fill(store)
        beside = apsw.Connection(str(path))
        beside.execute("UPDATE memory_state SET details = x'c1' WHERE details IS NOT NULL")
        beside.close()
        with pytest.raises(Corruption, match="details"):
            ask(store, "SELECT details FROM memories")
        with pytest.raises(Corruption, match="details"):
            list(store.list_memories(namespace="team"))
