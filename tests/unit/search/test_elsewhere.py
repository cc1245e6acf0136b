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
        told = here.recall_context("what opens the door?")
        assert "2222" not in told
        assert "superseded" not in told

    def test_it_counts_where_both_are_asked(self, here: Store, there: Store) -> None:
        old = here.remember("The door opens with 1111")
        new = there.remember("The door opens with 2222")
        there.supersede(old=old.id, new=new.id)
        found = here.recall("what opens the door?", namespace=ALL_NAMESPACES)
        assert [hit.id for hit in found] == [new.id]
        told = here.recall_context("what opens the door?", namespace=ALL_NAMESPACES)
        assert f"superseded by {new.id}: 2026-01-01 · The door opens with 2222" in told

    def test_what_superseded_it_here_is_named(self, here: Store, there: Store) -> None:
        old, new = here.remember("The door opens with 1111"), here.remember("It opens with 3333")
        here.supersede(old=old.id, new=new.id)
        other = there.remember("The door opens with 2222")
        there.supersede(old=old.id, new=other.id)
        assert old.id not in [hit.id for hit in here.recall("what opens the door?")]
        told = here.recall_context("what opens the door?")
        assert f"superseded by {new.id}: " in told
        assert other.id not in told

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
        seen, words = there.remember("Ann carries an umbrella"), there.store_transcript("Ann: rain")
        belief = here.reflect("It rains where Ann is", on=[seen.id])
        cited = here.remember("Rain was talked about", transcript=words.id)
        here.assert_fact(subject="Ann", relation="carries", object="umbrella", source=seen.id)
        there.supersede(old=cited.id, new=seen.id)
        known = here.stats().commits
        clock.advance(60)
        here.update_memory(belief.id, content="It never rains")
        there.update_memory(seen.id, content="Ann carries nothing")
        there.compact(namespace="there", before=here.stats().commits, confirm=True)
        return known

    @pytest.mark.parametrize("valid_at", [None, "2026-06-01T00:00:00Z"])
    def test_it_is_still_searched(self, here: Store, known: int, valid_at: str | None) -> None:
        found = here.recall("Ann, where does it rain?", known_at=known, valid_at=valid_at)
        texts = {hit.text: hit.provenance for hit in found}
        assert set(texts) == {
            "It rains where Ann is",
            "Rain was talked about",
            "Ann carries umbrella",
        }
        (ground,) = texts["It rains where Ann is"]
        assert isinstance(ground, MemoryRef)
        (source,) = texts["Rain was talked about"]
        assert isinstance(source, TranscriptRef)
        told = here.recall_context("Ann, where does it rain?", known_at=known, valid_at=valid_at)
        assert f"from memory {ground.memory_id}" in told
        assert f"from transcript {source.transcript_id}\n" in f"{told}\n"
