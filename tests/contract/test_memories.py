"""Memories: remembered, revised, retracted, found, and gone when their time is over."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from itertools import accumulate
from typing import Any

import pytest

from memoranda import (
    ALL_NAMESPACES,
    InvalidInput,
    Limits,
    Memory,
    NotFound,
    OperationType,
    Store,
    TitleTaken,
    VersionMismatch,
)
from memoranda.model.clock import Instant
from memoranda.testing import FixedClock
from tests.contract.opener import Opener

HOUR = 3600
LONG = "é" * 5000


def contents(store: Store, **filters: Any) -> list[str | None]:
    return [memory.content for memory in store.list_memories(content=True, **filters)]


class TestRemember:
    def test_everything_said_is_kept(self, agent: Store) -> None:
        text: dict[str, Any] = {
            "kind": "decision",
            "tier": "mid",
            "tags": ["b", "a"],
            "priority": 9,
            "confidence": 0.25,
            "source": "test",
            "metadata": {"n": 1, "nested": {"x": [1, 2.5, None, "é"]}},
            "event_time": "2026-02-07T12:00:00+02:00",
            "source_uri": "https://example.org/x",
            "citations": ["one", "two"],
            "entity_id": "e1",
            "confidence_source": "model",
        }
        memory = agent.remember("Oslo it is", title="where", namespace="team/eng", **text)
        read = agent.get_memory(memory.id)
        assert read is not None
        for field, value in text.items():
            if field in ("tags", "citations"):
                value = tuple(value)
            if field == "event_time":
                value = datetime(2026, 2, 7, 10, tzinfo=UTC)
            assert getattr(read, field) == value
        assert (read.content, read.title, read.namespace) == ("Oslo it is", "where", "team/eng")
        assert (read.agent_id, read.version, read.visibility) == ("a1", 1, "namespace")
        assert read.created_at == read.updated_at == datetime(2026, 1, 1, tzinfo=UTC)
        assert read.expires_at == datetime(2026, 1, 8, tzinfo=UTC)
        assert memory.outcome == "created"
        assert read.outcome is None

    def test_what_is_not_said_has_these_values(self, agent: Store) -> None:
        memory = agent.remember("x")
        assert (memory.kind, memory.tier, memory.priority) == ("observation", "long", 5)
        assert (memory.confidence, memory.source, memory.metadata) == (1.0, "api", None)
        assert (memory.tags, memory.citations, memory.event_time) == ((), (), None)
        assert (memory.expires_at, memory.title, memory.access_count) == (None, None, 0)

    @pytest.mark.parametrize("content", ["short", LONG])
    def test_content_of_any_length_comes_back(self, agent: Store, content: str) -> None:
        memory = agent.remember(content)
        assert memory.content == content
        assert contents(agent) == [content]
        assert agent.rebuild().identical
        assert agent.verify().commits == 1
        assert contents(agent) == [content]

    def test_long_content_stands_beside_the_log(self, agent: Store) -> None:
        agent.remember(LONG)
        (event,) = agent.replay()
        value = event.operations[0].value
        assert value is not None
        assert "content" not in value
        assert value["content_size"] == 10_000

    def test_it_is_an_event_of_its_owner(self, store: Store) -> None:
        memory = store.remember("x", agent_id="a", namespace="team/eng")
        (event,) = store.replay(agent_id="a", namespace="team/eng")
        (operation,) = event.operations
        assert operation.type is OperationType.REMEMBER
        assert operation.key == f"memory:{memory.id}"
        assert operation.value is not None
        assert operation.value["content"] == "x"

    def test_without_an_agent_nobody_remembers(self, store: Store) -> None:
        with pytest.raises(InvalidInput, match="agent_id"):
            store.remember("x")


class TestTitles:
    def test_a_title_is_an_identity(self, agent: Store, clock: FixedClock) -> None:
        first = agent.remember("one", title="t", tags=["old"])
        clock.advance(60)
        second = agent.remember("two", title="t", priority=7)
        assert (second.id, second.version, second.outcome) == (first.id, 2, "updated")
        assert (second.content, second.tags, second.priority) == ("two", ("old",), 7)
        assert second.created_at == first.created_at
        assert second.updated_at is not None
        assert first.updated_at is not None
        assert second.updated_at - first.updated_at == timedelta(seconds=60)
        assert [memory.content for memory in agent.memory_history(first.id)] == ["one", "two"]

    def test_saying_the_same_again_changes_nothing(self, agent: Store) -> None:
        first = agent.remember("one", title="t", metadata={"k": 1})
        again = agent.remember("one", title="t", metadata={"k": 1})
        assert (again.outcome, again.id, again.version) == ("unchanged", first.id, 1)
        assert len(list(agent.replay())) == 1

    def test_without_a_title_there_is_no_identity(self, agent: Store) -> None:
        assert agent.remember("x").id != agent.remember("x").id

    def test_the_creator_stays(self, store: Store) -> None:
        first = store.remember("x", title="t", agent_id="a")
        second = store.remember("y", title="t", agent_id="b")
        assert (second.id, second.agent_id) == (first.id, "a")

    def test_a_title_is_of_its_namespace(self, agent: Store) -> None:
        here = agent.remember("x", title="t")
        there = agent.remember("x", title="t", namespace="elsewhere")
        assert here.id != there.id

    def test_a_conflict_can_be_an_error(self, agent: Store) -> None:
        agent.remember("x", title="t")
        with pytest.raises(TitleTaken, match="'t'"):
            agent.remember("y", title="t", on_conflict="error")
        assert contents(agent) == ["x"]

    def test_a_tier_is_never_lowered_and_a_kind_not_forgotten(self, agent: Store) -> None:
        agent.remember("x", title="t", tier="mid", kind="claim")
        lower = agent.remember("y", title="t", tier="short")
        assert (lower.tier, lower.kind) == ("mid", "claim")
        assert agent.remember("z", title="t", tier="long").expires_at is None
        assert agent.remember("z", title="t", tier="short").tier == "long"

    def test_saying_it_again_never_shortens_its_life_but_a_ttl_does(
        self, agent: Store, clock: FixedClock
    ) -> None:
        agent.remember("x", title="t", ttl=timedelta(days=30), tier="short")
        assert agent.remember("y", title="t").expires_at == datetime(2026, 1, 31, tzinfo=UTC)
        clock.step(60)
        shorter = agent.remember("z", title="t", ttl=60)
        assert shorter.expires_at == datetime(2026, 1, 1, 0, 2, tzinfo=UTC)

    def test_a_memory_is_found_by_its_title(self, agent: Store) -> None:
        memory = agent.remember("x", title="t")
        result = agent.get_memory(title="t")
        assert result is not None
        assert result.id == memory.id
        assert agent.get_memory(title="t", namespace="elsewhere") is None
        assert agent.get_memory(title="other") is None

    def test_a_memory_can_take_another_title(self, agent: Store) -> None:
        memory = agent.remember("x", title="old")
        agent.remember("y", title="taken")
        with pytest.raises(TitleTaken):
            agent.update_memory(memory.id, title="taken")
        agent.update_memory(memory.id, title="new")
        assert agent.get_memory(title="old") is None
        assert agent.remember("z", title="old").id != memory.id
        assert agent.remember("z", title="new").id == memory.id


class TestUpdate:
    def test_only_what_is_given_changes(self, agent: Store) -> None:
        memory = agent.remember("x", title="t", tags=["a"], metadata={"k": 1}, ttl=HOUR)
        changed = agent.update_memory(memory.id, priority=8)
        assert (changed.outcome, changed.version, changed.priority) == ("updated", 2, 8)
        assert (changed.content, changed.title, changed.tags) == ("x", "t", ("a",))
        assert (changed.metadata, changed.expires_at) == ({"k": 1}, memory.expires_at)
        cleared = agent.update_memory(memory.id, metadata=None, title=None, content=LONG)
        assert (cleared.metadata, cleared.title, cleared.content) == (None, None, LONG)
        assert agent.update_memory(memory.id, tags=[]).content == LONG

    def test_no_difference_is_no_version(self, agent: Store) -> None:
        memory = agent.remember("x", tags=["a"])
        same = agent.update_memory(memory.id, content="x", tags=["a"])
        assert (same.outcome, same.version) == ("unchanged", 1)
        assert len(list(agent.replay())) == 1

    def test_a_compare_and_set(self, agent: Store) -> None:
        memory = agent.remember("x")
        agent.update_memory(memory.id, content="y", expect_version=1)
        with pytest.raises(VersionMismatch):
            agent.update_memory(memory.id, content="z", expect_version=1)

    def test_every_version_can_be_read(self, agent: Store) -> None:
        memory = agent.remember("1", kind="claim")
        agent.update_memory(memory.id, content="2")
        agent.update_memory(memory.id, priority=1)
        agent.update_memory(memory.id, content=LONG)
        history = list(agent.memory_history(memory.id))
        assert [item.content for item in history] == ["1", "2", "2", LONG]
        assert [item.priority for item in history] == [5, 5, 1, 1]
        for number, item in enumerate(history, start=1):
            assert agent.get_memory(memory.id, version=number) == item
        assert agent.get_memory(memory.id, version=5) is None

    def test_a_history_of_many_pages_has_each_version_as_it_ended(self, agent: Store) -> None:
        memory = agent.remember("0")
        uses = [0, 40, 1, 100, *[0] * 70, 3]
        for number, used in enumerate(uses):
            with agent.begin_transaction() as transaction:
                transaction.update_memory(memory.id, content=f"{number}, changed")
                for _ in range(used):
                    transaction.touch(memory.id)
        _, *history = agent.memory_history(memory.id)
        assert [item.version for item in history] == list(range(2, len(uses) + 2))
        assert [item.access_count for item in history] == list(accumulate(uses))
        assert list(agent.memory_history("nobody")) == []

    def test_what_is_not_there_cannot_be_changed(self, agent: Store) -> None:
        changes: list[Callable[[], object]] = [
            lambda: agent.update_memory("nobody", content="x"),
            lambda: agent.retract_memory("nobody"),
            lambda: agent.touch("nobody"),
            lambda: agent.promote("nobody"),
        ]
        for change in changes:
            with pytest.raises(NotFound, match="nobody"):
                change()

    def test_an_unknown_argument_is_refused(self, agent: Store) -> None:
        unknown: dict[str, Any] = {"contents": "x"}
        with pytest.raises(TypeError, match="contents"):
            agent.remember("x", **unknown)
        with pytest.raises(TypeError, match="contents"):
            agent.update_memory("m", **unknown)


class TestRetract:
    def test_it_is_hidden_and_its_history_stays(self, agent: Store) -> None:
        memory = agent.remember("x", title="t")
        agent.retract_memory(memory.id, reason="I misheard")
        assert agent.get_memory(memory.id) is None
        assert agent.get_memory(title="t") is None
        assert contents(agent) == []
        first, last = agent.memory_history(memory.id)
        assert (first.retracted, last.retracted, last.reason) == (False, True, "I misheard")
        assert agent.get_memory(memory.id, version=1) is not None
        assert agent.get_memory(memory.id, version=2) is None

    def test_twice_is_once(self, agent: Store) -> None:
        memory = agent.remember("x")
        assert agent.retract_memory(memory.id).outcome == "deleted"
        assert agent.retract_memory(memory.id).outcome == "unchanged"
        assert len(list(agent.replay())) == 2

    def test_remembering_its_title_brings_it_back(self, agent: Store) -> None:
        memory = agent.remember("x", title="t")
        agent.retract_memory(memory.id)
        with pytest.raises(NotFound, match="retracted"):
            agent.update_memory(memory.id, content="y")
        again = agent.remember("x", title="t")
        assert (again.id, again.version, again.outcome) == (memory.id, 3, "updated")
        assert contents(agent) == ["x"]


class TestTiers:
    @pytest.mark.parametrize(("tier", "hours"), [("short", 6), ("mid", 7 * 24), ("long", None)])
    def test_how_long_they_last(
        self, agent: Store, clock: FixedClock, tier: str, hours: int | None
    ) -> None:
        memory = agent.remember("x", tier=tier)
        if hours is None:
            clock.advance(1e9)
            assert agent.get_memory(memory.id) is not None
            return
        clock.advance(hours * HOUR - 1)
        assert agent.get_memory(memory.id) is not None
        clock.advance(1)
        assert agent.get_memory(memory.id) is None
        assert contents(agent) == []

    def test_expiry_hides_and_nothing_else(self, agent: Store, clock: FixedClock) -> None:
        memory = agent.remember("x", title="t", ttl=HOUR)
        clock.advance(2 * HOUR)
        assert agent.get_memory(memory.id) is None
        assert agent.get_memory(memory.id, version=1) is not None
        assert agent.get_memory(memory.id, at=1) is not None
        assert agent.get_memory(memory.id, at="2026-01-01T00:30:00Z") is not None
        assert agent.get_memory(memory.id, at="2026-01-01T01:30:00Z") is None
        assert [item.content for item in agent.memory_history(memory.id)] == ["x"]
        assert agent.remember("y", title="t").id == memory.id

    def test_touching_counts_and_extends(self, agent: Store, clock: FixedClock) -> None:
        memory = agent.remember("x", tier="short")
        clock.advance(5 * HOUR)
        touched = agent.touch(memory.id)
        assert (touched.access_count, touched.version) == (1, 1)
        assert touched.last_accessed_at == datetime(2026, 1, 1, 5, tzinfo=UTC)
        assert touched.expires_at == datetime(2026, 1, 1, 11, tzinfo=UTC)
        assert agent.touch(memory.id).access_count == 2
        before = agent.get_memory(memory.id, at=1)
        assert before is not None
        assert (before.access_count, before.last_accessed_at) == (0, None)

    def test_touching_never_shortens(self, agent: Store) -> None:
        memory = agent.remember("x", tier="short", ttl=timedelta(days=9))
        assert agent.touch(memory.id).expires_at == memory.expires_at
        forever = agent.remember("y")
        assert agent.touch(forever.id).expires_at is None

    def test_reading_counts_nothing(self, agent: Store) -> None:
        memory = agent.remember("x")
        agent.get_memory(memory.id)
        list(agent.list_memories())
        read = agent.get_memory(memory.id)
        assert read is not None
        assert read.access_count == 0
        assert len(list(agent.replay())) == 1

    def test_promoting_lets_it_last(self, agent: Store, clock: FixedClock) -> None:
        memory = agent.remember("x", tier="short")
        clock.advance(24 * HOUR)
        assert agent.promote(memory.id, tier="mid").expires_at == datetime(2026, 1, 9, tzinfo=UTC)
        stored_item = agent.promote(memory.id)
        assert (stored_item.tier, stored_item.expires_at, stored_item.outcome) == (
            "long",
            None,
            "updated",
        )
        assert agent.promote(memory.id).outcome == "unchanged"
        with pytest.raises(InvalidInput, match="below"):
            agent.promote(memory.id, tier="short")


class TestLists:
    def test_filters(self, store: Store) -> None:
        for number in range(6):
            store.remember(
                f"m{number}",
                agent_id="a" if number % 2 else "b",
                namespace="team/eng" if number < 4 else "team",
                kind="claim" if number in (0, 5) else "event",
                tier="mid" if number in (1, 5) else "long",
                tags=["x", "y"] if number == 3 else ["x"],
                metadata={"n": number, "half": number / 2, "odd": bool(number % 2)},
            )
        store.remember("other", agent_id="a", namespace="teams")

        def listed(**filters: Any) -> list[str | None]:
            return contents(store, **{"namespace": "team", **filters})

        assert listed() == ["m4", "m5", "m0", "m1", "m2", "m3"]
        assert listed(children=False) == ["m4", "m5"]
        assert listed(namespace="team/eng") == ["m0", "m1", "m2", "m3"]
        assert listed(namespace=ALL_NAMESPACES) == ["m4", "m5", "m0", "m1", "m2", "m3", "other"]
        assert listed(agent_id="a") == ["m5", "m1", "m3"]
        assert listed(kind="claim") == ["m5", "m0"]
        assert listed(tier="mid", kind="claim") == ["m5"]
        assert listed(tags=["y", "x"]) == ["m3"]
        assert listed(metadata={"n": 2}) == ["m2"]
        assert listed(metadata={"odd": True, "half": 0.5}) == ["m1"]
        assert listed(metadata={"n": True}) == []
        assert listed(metadata={"absent": None}) == []

    def test_made_between_two_times(self, agent: Store, clock: FixedClock) -> None:
        for hour in range(5):
            agent.remember(f"m{hour}", title=f"t{hour}")
            clock.advance(HOUR)
        agent.remember("m2 again", title="t2")  # made at two, whenever it is changed
        one, three = (datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in (1, 3))
        between = {"created_after": one, "created_before": three}
        assert contents(agent, **between) == ["m1", "m2 again"]
        assert contents(agent, created_after=three) == ["m3", "m4"]
        assert contents(agent, created_before=one) == ["m0"]
        moment = timedelta(microseconds=1)
        assert contents(agent, created_after=three + moment) == ["m4"]
        assert contents(agent, created_before=one + moment) == ["m0", "m1"]
        assert contents(agent, **between, at=2) == ["m1"]
        assert contents(agent, created_after=three, created_before=one) == []
        assert contents(agent, created_after=one, created_before=one) == []

    @pytest.mark.parametrize(
        "three",
        [
            "2026-01-01T03:00:00Z",
            "2026-01-01T08:30:00+05:30",
            "2025-12-31 22:00:00.000000-05:00",
            datetime(2026, 1, 1, 4, tzinfo=timezone(timedelta(hours=1))),
        ],
    )
    def test_one_instant_in_several_words(
        self, agent: Store, clock: FixedClock, three: Instant
    ) -> None:
        for hour in range(5):
            agent.remember(f"m{hour}")
            clock.advance(HOUR)
        assert contents(agent, created_after=three) == ["m3", "m4"]
        assert contents(agent, created_before=three) == ["m0", "m1", "m2"]

    @pytest.mark.parametrize("field", ["created_after", "created_before"])
    @pytest.mark.parametrize(
        "value",
        ["yesterday", "2026-01-01T03:00:00", "2026-02-30T00:00:00Z", "", 3, datetime(2026, 1, 1)],  # noqa: DTZ001
    )
    def test_what_is_no_time_is_refused_at_once(self, agent: Store, field: str, value: Any) -> None:
        with pytest.raises(InvalidInput) as caught:
            agent.list_memories(**{field: value})
        assert caught.value.field == field

    def test_pages_of_a_stretch_of_time(self, agent: Store, clock: FixedClock) -> None:
        start = datetime(2026, 1, 1, tzinfo=UTC)
        for day in range(3):
            with agent.begin_transaction() as transaction:
                for number in range(300):
                    transaction.remember(f"{day}/{number}", tags=["odd"] if number % 2 else [])
            clock.advance(24 * HOUR)
        first, last = start + timedelta(days=1), start + timedelta(days=2)
        stretch = {"created_after": first, "created_before": last}
        assert contents(agent, **stretch) == [f"1/{number}" for number in range(300)]
        assert contents(agent, **stretch, tags=["odd"]) == [f"1/{n}" for n in range(1, 300, 2)]
        assert len(list(agent.list_memories(created_after=first))) == 600

    def test_namespaces_are_paths_not_prefixes(self, agent: Store) -> None:
        for namespace in ("a", "a/b", "a-b", "a.b", "a0", "ab", "a b"):
            agent.remember(namespace, namespace=namespace)
        assert contents(agent, namespace="a") == ["a", "a/b"]

    def test_content_comes_only_when_asked_for(self, agent: Store) -> None:
        agent.remember("x")
        assert [memory.content for memory in agent.list_memories()] == [None]

    def test_pages_join_without_a_seam(self, agent: Store) -> None:
        with agent.begin_transaction() as transaction:
            for number in range(600):
                transaction.remember(f"{number}", tags=["even"] if number % 2 == 0 else [])
        assert contents(agent) == [str(number) for number in range(600)]
        assert contents(agent, tags=["even"]) == [str(number) for number in range(0, 600, 2)]

    def test_what_comes_later_is_not_in_a_list_that_was_begun(self, agent: Store) -> None:
        agent.remember("x")
        memories = agent.list_memories(content=True)
        agent.remember("y")
        assert [memory.content for memory in memories] == ["x"]

    def test_a_list_of_the_past(self, agent: Store) -> None:
        memory = agent.remember("x", tags=["old"])
        agent.update_memory(memory.id, content="y", tags=[])
        agent.remember("later")
        agent.retract_memory(memory.id)
        assert contents(agent, at=1) == ["x"]
        assert contents(agent, at=2) == ["y"]
        assert contents(agent, at=2, tags=["old"]) == []
        assert contents(agent, at=0) == []
        assert contents(agent) == ["later"]


BAD: list[tuple[str, dict[str, Any]]] = [
    ("content", {"content": ""}),
    ("content", {"content": 7}),
    ("content", {"content": "a\0b"}),
    ("content", {"content": "\ud800"}),
    ("title", {"title": ""}),
    ("title", {"title": "x" * 513}),
    ("kind", {"kind": "guess"}),
    ("tier", {"tier": "forever"}),
    ("tags", {"tags": "x"}),
    ("tags", {"tags": [""]}),
    ("tags", {"tags": [str(number) for number in range(51)]}),
    ("priority", {"priority": 0}),
    ("priority", {"priority": 11}),
    ("priority", {"priority": True}),
    ("confidence", {"confidence": 1.01}),
    ("confidence", {"confidence": float("nan")}),
    ("confidence", {"confidence": "1"}),
    ("source", {"source": ""}),
    ("metadata", {"metadata": [1]}),
    ("metadata", {"metadata": {"x": float("inf")}}),
    ("metadata", {"metadata": {"x": "y" * 70_000}}),
    ("ttl", {"ttl": 0}),
    ("ttl", {"ttl": timedelta(seconds=-1)}),
    ("ttl", {"ttl": "1 hour"}),
    ("event_time", {"event_time": datetime(2026, 1, 1)}),  # noqa: DTZ001
    ("visibility", {"visibility": "public"}),
    ("on_conflict", {"on_conflict": "ignore"}),
    ("spans", {"spans": [(0, 1)]}),
    ("citations", {"citations": "x"}),
    ("namespace", {"namespace": "team/_invalidations"}),
]


@pytest.mark.parametrize(("field", "arguments"), BAD, ids=lambda value: str(value)[:40])
def test_bad_input_is_named_and_nothing_is_written(
    agent: Store, field: str, arguments: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput) as caught:
        agent.remember(**{"content": "x", **arguments})
    assert caught.value.field.startswith(field)
    assert list(agent.replay()) == []


def test_limits_are_the_stores_own(open_store: Opener) -> None:
    agent = open_store(limits=Limits(content_bytes=10, title_characters=3)).bind(agent_id="a")
    assert agent.remember("x" * 10, title="été").version == 1
    with pytest.raises(InvalidInput, match="limit is 10"):
        agent.remember("x" * 11)
    with pytest.raises(InvalidInput, match="limit is 3"):
        agent.remember("x", title="four")


def test_a_memory_needs_a_name_to_be_got(agent: Store) -> None:
    with pytest.raises(InvalidInput, match="one of the two"):
        agent.get_memory()
    with pytest.raises(InvalidInput, match="one of the two"):
        agent.get_memory("m", title="t")


def test_a_store_that_is_opened_again_remembers(reopen: Opener) -> None:
    first = reopen()
    memory = first.remember(LONG, title="t", agent_id="a")
    first.close()
    again = reopen().bind(agent_id="a")
    read = again.get_memory(title="t")
    assert isinstance(read, Memory)
    assert (read.id, read.content) == (memory.id, LONG)
    assert again.remember(LONG, title="t").outcome == "unchanged"
