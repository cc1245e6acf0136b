"""Elsewhere: what is written in another namespace neither hides, tells nor breaks anything here."""

from __future__ import annotations

import pytest

from memoranda import ALL_NAMESPACES, MemoryRef, Store, TranscriptRef
from memoranda.testing import FixedClock, memory_store


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def store(clock: FixedClock) -> Store:
    return memory_store(clock=clock)


@pytest.fixture
def here(store: Store) -> Store:
    return store.bind(agent_id="a1", namespace="here")


@pytest.fixture
def there(store: Store) -> Store:
    return store.bind(agent_id="b1", namespace="there")


class TestSupersededFromElsewhere:
    def test_it_is_found_and_nothing_is_told(self, here: Store, there: Store) -> None:
        old = here.remember("The door opens with 1111")
        new = there.remember("The door opens with 2222")
        there.supersede(old=old.id, new=new.id)
        (hit,) = here.recall("what opens the door?")
        assert (hit.id, hit.parts["superseded"]) == (old.id, 1.0)
        context = here.recall_context("what opens the door?")
        assert "2222" not in context
        assert "superseded" not in context

    def test_it_counts_where_both_are_asked(self, here: Store, there: Store) -> None:
        old = here.remember("The door opens with 1111")
        new = there.remember("The door opens with 2222")
        there.supersede(old=old.id, new=new.id)
        hits = here.recall("what opens the door?", namespace=ALL_NAMESPACES)
        assert [hit.id for hit in hits] == [new.id]
        context = here.recall_context("what opens the door?", namespace=ALL_NAMESPACES)
        assert f"superseded by {new.id}: 2026-01-01 · The door opens with 2222" in context

    def test_what_superseded_it_here_is_named(self, here: Store, there: Store) -> None:
        old, new = here.remember("The door opens with 1111"), here.remember("It opens with 3333")
        here.supersede(old=old.id, new=new.id)
        other = there.remember("The door opens with 2222")
        there.supersede(old=old.id, new=other.id)
        assert old.id not in [hit.id for hit in here.recall("what opens the door?")]
        context = here.recall_context("what opens the door?")
        assert f"superseded by {new.id}: " in context
        assert other.id not in context

    def test_by_what_only_another_agent_sees(self, store: Store) -> None:
        one, other = (store.bind(agent_id=name, namespace="here") for name in ("a1", "a2"))
        old = one.remember("The door opens with 1111")
        new = other.remember("The door opens with 2222", visibility="private")
        other.supersede(old=old.id, new=new.id)
        assert [hit.id for hit in one.recall("door")] == [old.id]
        assert "superseded" not in one.recall_context("door")


class TestCompactedElsewhere:
    """The past of a namespace is known, whatever became of another one that it refers to."""

    @pytest.fixture
    def known(self, here: Store, there: Store, clock: FixedClock) -> int:
        """A commit as of which only one of two namespaces is known."""
        observations, words = (
            there.remember("Ann carries an umbrella"),
            there.store_transcript("Ann: rain"),
        )
        belief = here.reflect("It rains where Ann is", on=[observations.id])
        cited = here.remember("Rain was talked about", transcript=words.id)
        here.assert_fact(
            subject="Ann", relation="carries", object="umbrella", source=observations.id
        )
        there.supersede(old=cited.id, new=observations.id)
        reference = here.stats().commits
        clock.advance(60)
        here.update_memory(belief.id, content="It never rains")
        there.update_memory(observations.id, content="Ann carries nothing")
        there.compact(namespace="there", before=here.stats().commits, confirm=True)
        return reference

    @pytest.mark.parametrize("valid_at", [None, "2026-06-01T00:00:00Z"])
    def test_it_is_still_searched(self, here: Store, known: int, valid_at: str | None) -> None:
        hits = here.recall("Ann, where does it rain?", known_at=known, valid_at=valid_at)
        texts = {hit.text: hit.provenance for hit in hits}
        assert set(texts) == {
            "It rains where Ann is",
            "Rain was talked about",
            "Ann carries umbrella",
        }
        (ground,) = texts["It rains where Ann is"]
        assert isinstance(ground, MemoryRef)
        (source,) = texts["Rain was talked about"]
        assert isinstance(source, TranscriptRef)
        context = here.recall_context("Ann, where does it rain?", known_at=known, valid_at=valid_at)
        assert f"from memory {ground.memory_id}" in context
        assert f"from transcript {source.transcript_id}\n" in f"{context}\n"
