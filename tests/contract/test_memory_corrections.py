"""Memories said again, retried, touched, seen by others, and read where they are only staged."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

import memoranda
from memoranda import ALL_NAMESPACES, Memory, ReflectionTooDeep, Store
from memoranda.memory.overlay import TransactionOverlay
from memoranda.memory.requests import LinkMemories
from memoranda.memory.rules import MemoryRules
from memoranda.memory.settings import SettingsCache
from memoranda.model.ids import derive_id
from memoranda.model.intervals import NEWEST
from memoranda.storage.port import Reader, Result, Row
from memoranda.testing import FixedClock
from tests.cores import core_of

HOUR = 3600
MOMENT = timedelta(microseconds=1)
"""How far apart commits are when no time passes."""


class TestRetries:
    """A titled memory is remembered under a txn_id; then the title moves on; then the retry."""

    def test_the_retry_gives_the_memory_that_had_the_title(self, agent: Store) -> None:
        old = agent.remember("old", title="T")
        first = agent.remember("new", title="T", txn_id="x")
        agent.update_memory(old.id, title="U")
        assert agent.remember("new", title="T", txn_id="x") == first
        assert (first.id, first.outcome) == (old.id, "updated")
        other = agent.remember("another", title="T")
        assert agent.remember("new", title="T", txn_id="x") == first
        assert other.id != old.id

    def test_it_does_so_where_nothing_changed(self, agent: Store) -> None:
        old = agent.remember("same", title="T")
        first = agent.remember("same", title="T", txn_id="x")
        agent.update_memory(old.id, title="U")
        agent.remember("another", title="T")
        assert agent.remember("same", title="T", txn_id="x") == first
        assert (first.id, first.outcome) == (old.id, "unchanged")

    def test_it_is_the_same_request_with_a_transcript(self, agent: Store) -> None:
        words = agent.store_transcript("words")
        old = agent.remember("old", title="T")
        first = agent.remember("new", title="T", transcript=words.id, txn_id="x")
        agent.update_memory(old.id, title="U")
        assert agent.remember("new", title="T", transcript=words.id, txn_id="x") == first
        assert [cited.memory_id for cited in agent.memories_for(words.id)] == [old.id]

    def test_it_is_the_same_request_for_a_reflection(self, agent: Store) -> None:
        ground = agent.remember("ground")
        old = agent.reflect("old", on=[ground.id], title="T")
        first = agent.reflect("new", on=[ground.id], title="T", txn_id="x")
        again = agent.reflect("old", on=[agent.remember("more").id], title="T", txn_id="y")
        agent.update_memory(old.id, title="U")
        assert agent.reflect("new", on=[ground.id], title="T", txn_id="x") == first
        assert first.id == again.id == old.id
        assert len(agent.links(old.id)) == 2
        assert agent.rebuild().identical


class TestOutcomes:
    def test_only_what_begins_is_created(self, agent: Store) -> None:
        memory = agent.remember("x", tier="short")
        assert memory.outcome == "created"
        assert agent.touch(memory.id).outcome == "updated"
        ground = agent.remember("ground")
        assert agent.reflect("y", on=[ground.id]).outcome == "created"

    @pytest.mark.parametrize(
        "act",
        [
            lambda store, memory: store.touch(memory),
            lambda store, memory: store.update_memory(memory, priority=9),
            lambda store, memory: store.promote(memory),
            lambda store, memory: store.retract_memory(memory),
            lambda store, _: store.remember("y", title="t"),
        ],
    )
    def test_what_is_returned_names_no_private_superseder(
        self, store: Store, act: Callable[[Store, str], Memory]
    ) -> None:
        mine, theirs = store.bind(agent_id="a"), store.bind(agent_id="b")
        memory = mine.remember("x", title="t", tier="mid")
        secret = theirs.remember("z", visibility="private")
        theirs.supersede(old=memory.id, new=secret.id)
        assert act(mine, memory.id).superseded_by is None
        assert theirs.remember("again", title="t").superseded_by == secret.id

    def test_a_private_reflection_on_behalf_of_another(self, store: Store) -> None:
        bound = store.bind(agent_id="a")
        ground = bound.remember("ground")
        reflection = bound.reflect("x", on=[ground.id], agent_id="b", visibility="private")
        assert (reflection.agent_id, reflection.reflection_depth) == ("b", 1)
        assert bound.get_memory(reflection.id) is None
        assert store.get_memory(reflection.id, agent_id="b") is not None

    def test_a_reflection_of_no_kind_is_one(self, agent: Store) -> None:
        ground = agent.remember("ground")
        unsaid: dict[str, Any] = {"kind": None}
        assert agent.reflect("x", on=[ground.id], **unsaid).kind == "reflection"

    def test_who_begins_to_reflect_on_what_is_superseded_is_notified(self, agent: Store) -> None:
        ground = agent.remember("ground")
        old = agent.reflect("old", on=[ground.id])
        new = agent.reflect("new", on=[ground.id])
        agent.supersede(old=old.id, new=new.id)
        late = agent.remember("late")
        link = agent.link(source=late.id, target=old.id, relation="reflects_on")
        assert link.notified == (late.id,)
        assert [notice.dependent_id for notice in agent.invalidations()] == [late.id]


class TestFinding:
    def test_a_title_goes_on_to_the_shared_one(self, agent: Store) -> None:
        own = agent.remember("own", title="T", visibility="private")
        shared = agent.remember("shared", title="T")
        agent.retract_memory(own.id)
        memory = agent.get_memory(title="T")
        assert memory is not None
        assert memory.id == shared.id

    def test_every_namespace_has_also_the_last(self, agent: Store) -> None:
        for namespace in ("a", "\U0010ffff", "\U0010ffff/x"):
            agent.remember(namespace, namespace=namespace)
        every = agent.list_memories(namespace=ALL_NAMESPACES, content=True)
        assert [memory.content for memory in every] == ["a", "\U0010ffff", "\U0010ffff/x"]
        alone = agent.list_memories(namespace="\U0010ffff", children=False, content=True)
        assert [memory.content for memory in alone] == ["\U0010ffff"]


class TestLifetimes:
    def test_what_has_expired_is_there_when_it_is_said_again(
        self, agent: Store, clock: FixedClock
    ) -> None:
        first = agent.remember("x", title="t", tier="short")
        clock.advance(7 * HOUR)
        again = agent.remember("x", title="t", tier="short")
        assert (again.id, again.outcome) == (first.id, "updated")
        assert again.expires_at == datetime(2026, 1, 1, 13, tzinfo=UTC)
        assert agent.get_memory(title="t") is not None
        assert agent.rebuild().identical

    @pytest.mark.parametrize(
        "act",
        [
            lambda store, memory: store.touch(memory),
            lambda store, _: store.remember("x", title="t"),
            lambda store, _: store.remember("y", title="t"),
        ],
    )
    def test_what_has_an_end_of_its_own_lasts_as_long_again(
        self, agent: Store, clock: FixedClock, act: Callable[[Store, str], Memory]
    ) -> None:
        memory = agent.remember("x", title="t", ttl=60)
        for _ in range(2):
            clock.advance(30)
            agent.update_memory(memory.id, priority=agent.touch(memory.id).access_count)
            clock.advance(10)
            now = clock.now()
            end = act(agent, memory.id).expires_at
            assert end == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=now, seconds=60)
        assert agent.rebuild().identical

    def test_so_does_what_is_touched_where_it_is_staged(self, agent: Store) -> None:
        with agent.begin_transaction() as transaction:
            memory = transaction.remember("x", ttl=60)
            transaction.touch(memory)
        result = agent.get_memory(memory)
        assert result is not None
        assert result.expires_at == datetime(2026, 1, 1, 0, 1, tzinfo=UTC)

    def test_no_end_for_what_has_none_is_no_version(self, agent: Store) -> None:
        memory = agent.remember("x")
        same = agent.update_memory(memory.id, ttl=None)
        assert (same.version, same.outcome) == (1, "unchanged")
        agent.update_memory(memory.id, ttl=60)
        assert agent.update_memory(memory.id, ttl=None).expires_at is None

    def test_nothing_becomes_a_reflection_where_there_are_none(self, agent: Store) -> None:
        agent.configure(max_reflection_depth=0)
        memory = agent.remember("x", title="t")
        with pytest.raises(ReflectionTooDeep):
            agent.update_memory(memory.id, kind="reflection")
        with pytest.raises(ReflectionTooDeep):
            agent.remember("x", title="t", kind="reflection")
        assert len(list(agent.memory_history(memory.id))) == 1


class TestWithinATransaction:
    def test_what_supersedes_is_seen_until_it_does_no_longer(self, agent: Store) -> None:
        old, new, newer = (agent.remember(word).id for word in ("old", "new", "newer"))
        agent.supersede(old=old, new=new)

        def superseder() -> str | None:
            memory = transaction.get_memory(old)
            assert memory is not None
            return memory.superseded_by

        with agent.begin_transaction() as transaction:
            assert superseder() == new
            transaction.supersede(old=old, new=newer)
            assert superseder() == newer
            transaction.unlink(source=newer, target=old, relation="supersedes")
            assert superseder() == new
            transaction.unlink(source=new, target=old, relation="supersedes")
            assert superseder() is None
            transaction.supersede(old=old, new=new)
            assert superseder() == new

    def test_a_private_superseder_is_not_seen(self, store: Store) -> None:
        mine, theirs = store.bind(agent_id="a"), store.bind(agent_id="b")
        memory = mine.remember("x").id
        secret = theirs.remember("z", visibility="private").id
        with theirs.begin_transaction() as transaction:
            transaction.supersede(old=memory, new=secret)
            result = transaction.get_memory(memory)
            assert result is not None
            assert result.superseded_by == secret
        with mine.begin_transaction() as transaction:
            result = transaction.get_memory(memory)
            assert result is not None
            assert result.superseded_by is None

    def test_what_is_touched_is_there_again(self, agent: Store, clock: FixedClock) -> None:
        memory = agent.remember("x", tier="short").id
        clock.advance(7 * HOUR)
        with agent.begin_transaction() as transaction:
            assert transaction.get_memory(memory) is None
            transaction.touch(memory)
            result = transaction.get_memory(memory)
            assert result is not None
            assert (result.access_count, result.expires_at) == (1, None)

    def test_a_new_end_is_not_known_yet(self, agent: Store) -> None:
        memory = agent.remember("x", tier="short").id
        with agent.begin_transaction() as transaction:
            transaction.update_memory(memory, ttl=60)
            result = transaction.get_memory(memory)
            assert result is not None
            assert result.expires_at is None
        stored_item = agent.get_memory(memory)
        assert stored_item is not None
        assert stored_item.expires_at == datetime(2026, 1, 1, 0, 1, tzinfo=UTC) + MOMENT

    def test_a_title_goes_on_to_the_shared_one(self, agent: Store) -> None:
        own = agent.remember("own", title="T", visibility="private")
        shared = agent.remember("shared", title="T")
        with agent.begin_transaction() as transaction:
            transaction.retract_memory(own.id)
            memory = transaction.get_memory(title="T")
            assert memory is not None
            assert memory.id == shared.id

    def test_a_notice_can_be_resolved_where_it_is_caused(self, agent: Store) -> None:
        ground = agent.remember("ground").id
        old, new = (agent.reflect(word, on=[ground]).id for word in ("old", "new"))
        resting = agent.reflect("resting", on=[old]).id
        notice = derive_id("notice", resting, old, new)
        with agent.begin_transaction() as transaction:
            transaction.supersede(old=old, new=new)
            staged = transaction.get_memory(notice)
            assert staged is not None
            assert staged.metadata is not None
            assert (staged.metadata["dependent_id"], staged.metadata["timestamp"]) == (
                resting,
                None,
            )
            transaction.resolve_invalidation(notice, decision="retract")
            assert transaction.get_memory(resting) is None
        (resolved,) = agent.invalidations(status="resolved")
        assert (resolved.id, resolved.decision) == (notice, "retract")
        assert agent.get_memory(resting) is None
        assert agent.rebuild().identical


class CountingReader:
    """Counts what is asked of another reader."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.asked = 0

    def row(self, query: str, /, **values: object) -> Row | None:
        self.asked += 1
        return self._reader.row(query, **values)

    def rows(self, query: str, /, *, budget: int | None = None, **values: object) -> list[Row]:
        self.asked += 1
        return self._reader.rows(query, budget=budget, **values)

    def cached(self, read: Callable[..., Result], /, *arguments: Hashable) -> Result:
        return read(self, *arguments)


@pytest.mark.parametrize("before", [False, True])
def test_telling_many_asks_no_more_than_telling_one(*, before: bool) -> None:
    queries = []
    for count in (1, 20):
        with memoranda.open(":memory:").bind(agent_id="a") as store:
            ground = store.remember("ground").id
            old, new = (store.reflect(word, on=[ground]).id for word in ("old", "new"))
            for number in range(count):
                store.reflect(str(number), on=[old])
            if before:
                store.supersede(old=old, new=new)
                store.unlink(source=new, target=old, relation="supersedes")
            with core_of(store).engine.reading() as reader:
                counting = CountingReader(reader)
                rules = MemoryRules(
                    TransactionOverlay(cast(Reader, counting), NEWEST, SettingsCache())
                )
                decided = list(rules.decide(LinkMemories("a", new, old, "supersedes")))
            assert len(decided) == 1 + (0 if before else count)
            queries.append(counting.asked)
    assert queries[0] == queries[1]
