"""What callers may say of memories: refused before it is staged, with the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from memoranda import InvalidInput, Store

OUTSIDE = [
    "9999-12-31T23:59:59-12:00",
    "0001-01-01T00:00:00+12:00",
    datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
    datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
]
LAST = "9999-12-31T23:59:59.999999Z"
FIRST = "0001-01-01T00:00:00Z"
TOO_LONG = 100_000
CENTURY = 100 * 365 * 24 * 3600


class TestTimes:
    @pytest.mark.parametrize("time", OUTSIDE)
    @pytest.mark.parametrize(
        "call",
        [
            lambda agent, time: agent.remember("x", event_time=time),
            lambda agent, time: agent.store_transcript("x", occurred_at=time),
            lambda agent, time: agent.get_memory("x", at=time),
        ],
    )
    def test_what_utc_cannot_show_is_refused(
        self, agent: Store, call: Callable[[Store, Any], object], time: Any
    ) -> None:
        with pytest.raises(InvalidInput, match=r"(_time|at): .* outside the years 1 to 9999"):
            call(agent, time)
        assert list(agent.list_memories()) == []
        assert list(agent.list_transcripts()) == []

    @pytest.mark.parametrize("time", [FIRST, LAST])
    def test_the_first_and_the_last_are_shown(self, agent: Store, time: str) -> None:
        memory = agent.remember("x", event_time=time)
        assert memory.event_time == datetime.fromisoformat(time)
        assert agent.store_transcript("x", occurred_at=time).occurred_at == memory.event_time

    @pytest.mark.parametrize(
        "call",
        [
            lambda agent: agent.remember("x", event_time="9" * TOO_LONG),
            lambda agent: agent.remember("x", event_time=f"2026-13-01T00:00:00.{'1' * TOO_LONG}Z"),
            lambda agent: agent.remember("x", event_time=b"9" * TOO_LONG),
            lambda agent: agent.audit_events(event_type="x" * TOO_LONG),
            lambda agent: agent.audit_events(after_commit="x" * TOO_LONG),
            lambda agent: agent.replay(after_commit="x" * TOO_LONG),
        ],
    )
    def test_a_long_one_is_not_said_again(
        self, agent: Store, call: Callable[[Store], object]
    ) -> None:
        with pytest.raises(InvalidInput) as refused:
            call(agent)
        assert len(str(refused.value)) < 1_000


class TestLifetimes:
    @pytest.mark.parametrize("lifetime", [100 * CENTURY, timedelta.max, 2**80, 1e300, float("inf")])
    @pytest.mark.parametrize(
        ("field", "call"),
        [
            ("ttl", lambda agent, length: agent.remember("x", ttl=length)),
            ("ttl", lambda agent, length: agent.store_transcript("x", ttl=length)),
            ("tiers.mid", lambda agent, length: agent.configure(tiers={"mid": length})),
            ("transcript_retention", lambda agent, it: agent.configure(transcript_retention=it)),
        ],
    )
    def test_one_whose_end_could_not_be_shown_is_refused(
        self, agent: Store, field: str, call: Callable[[Store, Any], object], lifetime: Any
    ) -> None:
        with pytest.raises(InvalidInput, match=rf"^{field}: .* is over \d+ seconds: give less"):
            call(agent, lifetime)

    def test_centuries_are_fine(self, agent: Store) -> None:
        memory = agent.remember("x", ttl=3 * CENTURY)
        assert memory.expires_at is not None
        assert memory.expires_at.year > 2300


@pytest.mark.parametrize("after", [2**63, 2**80, str(10**19 - 1)])
def test_the_trail_ends_where_the_log_does(agent: Store, after: Any) -> None:
    agent.remember("x")
    assert list(agent.audit_events(after_commit=after)) == []


class TestReads:
    @pytest.mark.parametrize("tags", [5, None, "abc", b"abc", [1], [""], 2**80])
    def test_tags_are_a_list_of_texts(self, agent: Store, tags: Any) -> None:
        agent.remember("x", tags=["a", "b", "c"])
        with pytest.raises(InvalidInput, match=r"^tags: "):
            agent.list_memories(tags=tags)

    @pytest.mark.parametrize("wanted", [None, "x", "", 2**80, 1.5, [1]])
    def test_yes_or_no_is_said_by_anything(self, agent: Store, wanted: Any) -> None:
        memory, other = agent.remember("x"), agent.remember("y")
        edge = {"source": memory.id, "target": other.id, "relation": "related_to"}
        agent.link(**edge)
        agent.unlink(**edge)
        listing = next(agent.list_memories(content=wanted))
        assert listing.content == ("x" if wanted else None)
        assert len(agent.links(memory.id, include_closed=wanted)) == bool(wanted)

    @pytest.mark.parametrize("after", ["x", 1.5, -5, True, 2**80])
    def test_a_quote_is_looked_for_behind_an_offset(self, agent: Store, after: Any) -> None:
        transcript = agent.store_transcript("x and x")
        assert transcript.find("x", after=1) == (6, 7)
        with pytest.raises(InvalidInput, match=r"^after: "):
            transcript.find("x", after=after)

    def test_a_long_quote_is_not_said_again(self, agent: Store) -> None:
        with pytest.raises(InvalidInput, match=r"^quote: .{,200}$"):
            agent.store_transcript("x").find("q" * TOO_LONG)


@pytest.mark.parametrize(
    ("decision", "replacement", "remedy"),
    [
        ("revise", None, "is missing: 'revise' needs the memory"),
        ("keep", "x", "goes with the decision 'revise' only, and this is 'keep'"),
    ],
)
def test_a_replacement_goes_with_revising(
    agent: Store, decision: str, replacement: str | None, remedy: str
) -> None:
    ground = agent.remember("ground")
    old, new = (agent.reflect(text, on=[ground]) for text in ("old", "new"))
    agent.reflect("on the old one", on=[old])
    agent.supersede(old=old, new=new)
    (notice,) = agent.invalidations()
    with pytest.raises(InvalidInput, match=f"^replacement: {remedy}"):
        agent.resolve_invalidation(notice.id, decision=decision, replacement=replacement)
