"""Sweeping: what nothing needs goes when its time is long over; no belief loses its ground."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memoranda import ALL_NAMESPACES, InvalidInput, Store, TranscriptRef
from memoranda.testing import FixedClock

DAY = 86_400
LATER = 40 * DAY


def check(store: Store) -> None:
    """The chain holds, and the views are what the log gives."""
    store.verify()
    result = store.rebuild()
    assert result.identical, result.differing


def words(store: Store) -> set[str]:
    """What is still there, expired or not, read from the log."""
    return {
        str(operation.value["content"])
        for event in store.replay()
        for operation in event.operations
        if operation.value is not None and "content" in operation.value
    }


class TestMemories:
    def test_what_is_long_over_goes(self, agent: Store, clock: FixedClock) -> None:
        for content, ttl in (("over", 60), ("just over", LATER - 60), ("not over", 2 * LATER)):
            agent.remember(content, ttl=ttl)
        agent.remember("for ever")
        clock.advance(LATER)
        certificate = agent.sweep()
        assert certificate is not None
        assert (certificate.target, certificate.operations) == ("sweep", 1)
        assert certificate.reason == "its time is over"
        assert words(agent) == {"just over", "not over", "for ever"}
        assert agent.sweep() is None
        check(agent)

    def test_how_long_is_up_to_the_caller(self, agent: Store, clock: FixedClock) -> None:
        agent.remember("over", ttl=60)
        clock.advance(120)
        assert agent.sweep() is None
        assert agent.sweep(expired_for=61) is None
        assert agent.sweep(expired_for=timedelta(seconds=59)) is not None
        assert words(agent) == set()

    def test_a_dry_run_erases_nothing(self, agent: Store, clock: FixedClock) -> None:
        agent.remember("over", ttl=60)
        clock.advance(LATER)
        commits = agent.stats().commits
        certificate = agent.sweep(dry_run=True)
        assert certificate is not None
        assert certificate.preview is not None
        assert certificate.preview.by_type == {"remember": 1}
        assert agent.stats().commits == commits
        assert words(agent) == {"over"}

    def test_ground_of_what_stays_stays_at_any_depth(self, agent: Store, clock: FixedClock) -> None:
        ground = agent.remember("ground", ttl=60)
        middle = agent.reflect("middle", on=[ground.id], ttl=60)
        top = agent.reflect("top", on=[middle.id])
        copied = agent.remember("copied from", ttl=60)
        agent.link(source=top.id, target=copied.id, relation="derived_from")
        beside = agent.remember("beside", ttl=60)
        agent.link(source=top.id, target=beside.id, relation="related_to")
        clock.advance(LATER)
        assert agent.sweep() is not None
        assert words(agent) == {"ground", "middle", "top", "copied from"}
        agent.unlink(source=top.id, target=middle.id, relation="reflects_on")
        assert agent.sweep() is not None
        assert words(agent) == {"top", "copied from"}
        check(agent)

    def test_ground_is_reached_through_what_is_forgotten(
        self, agent: Store, clock: FixedClock
    ) -> None:
        ground = agent.remember("ground", ttl=60)
        middle = agent.reflect("middle", on=[ground.id])
        agent.reflect("top", on=[middle.id])
        agent.forget(memory_id=middle.id)
        clock.advance(LATER)
        assert agent.sweep() is None

    def test_what_facts_come_from_stays_with_its_own_ground(
        self, agent: Store, clock: FixedClock
    ) -> None:
        ground = agent.remember("ground", ttl=60)
        source = agent.reflect("source", on=[ground.id], ttl=60)
        agent.assert_fact(subject="a", relation="knows", object="b", source=source.id)
        agent.remember("alone", ttl=60)
        clock.advance(LATER)
        assert agent.sweep() is not None
        assert words(agent) == {"ground", "source"}
        assert len(agent.facts()) == 1
        check(agent)

    def test_another_agents_private_ones_too(self, agent: Store, clock: FixedClock) -> None:
        agent.remember("mine", agent_id="other", visibility="private", ttl=60)
        clock.advance(LATER)
        assert agent.sweep() is not None
        assert words(agent.bind(agent_id="other")) == set()

    def test_a_namespace_and_those_below_it(self, agent: Store, clock: FixedClock) -> None:
        for namespace in ("team", "team/a", "teams", "other"):
            agent.remember(namespace, namespace=namespace, ttl=60)
        clock.advance(LATER)
        assert agent.sweep() is None, "the handle's own has none"
        certificate = agent.sweep(namespace="team")
        assert certificate is not None
        assert certificate.operations == 2
        certificate = agent.sweep(namespace=ALL_NAMESPACES)
        assert certificate is not None
        assert certificate.operations == 2
        check(agent)

    def test_a_notice_is_left_alone(self, agent: Store, clock: FixedClock) -> None:
        first = agent.remember("first")
        reflection = agent.reflect("drawn", on=[first.id])
        agent.reflect("on top", on=[reflection.id])
        better = agent.reflect("better", on=[first.id])
        agent.supersede(old=reflection.id, new=better.id)
        (notice,) = agent.invalidations()
        agent.resolve_invalidation(notice.id, decision="keep")
        clock.advance(1000 * DAY)
        assert agent.sweep(namespace=ALL_NAMESPACES) is None

    def test_a_txn_id_sweeps_once(self, agent: Store, clock: FixedClock) -> None:
        agent.remember("over", ttl=60)
        clock.advance(LATER)
        first = agent.sweep(txn_id="t")
        agent.remember("over, too", ttl=60)
        clock.advance(LATER)
        assert agent.sweep(txn_id="t") == first
        assert words(agent) == {"over, too"}

    @pytest.mark.parametrize("wrong", [0, -1, "soon", None])
    def test_a_time_that_is_none_is_refused(self, agent: Store, wrong: object) -> None:
        with pytest.raises(InvalidInput, match="expired_for"):
            agent.sweep(expired_for=wrong)  # type: ignore[arg-type]


class TestKeys:
    """What the current value of a key rests on stays, also through older versions of keys."""

    def test_a_memory_that_a_value_cites_stays(self, agent: Store, clock: FixedClock) -> None:
        ground = agent.remember("ground", ttl=60)
        cited = agent.reflect("cited", on=[ground], ttl=60)
        agent.remember("not cited", ttl=60)
        agent.write(key="plan", value={"n": 1}, because=[cited])
        clock.advance(LATER)
        assert agent.sweep() is not None
        assert words(agent) == {"ground", "cited"}
        agent.write(key="plan", value={"n": 2})
        assert agent.sweep() is not None
        assert words(agent) == set()
        check(agent)

    def test_words_that_a_value_cites_stay(self, agent: Store, clock: FixedClock) -> None:
        transcript = agent.store_transcript("the words of a plan")
        words_of_plan = TranscriptRef(transcript.id, (transcript.find("a plan"),))
        agent.write(key="plan", value={}, because=[words_of_plan])
        clock.advance(LATER)
        assert agent.sweep() is None
        assert agent.get_transcript(transcript.id) is not None
        agent.delete(key="plan")
        assert agent.sweep() is not None
        assert agent.get_transcript(transcript.id) is None
        check(agent)

    def test_so_does_what_a_cited_older_version_rests_on(
        self, agent: Store, clock: FixedClock
    ) -> None:
        cited = agent.remember("cited", ttl=60)
        transcript = agent.store_transcript("words")
        first = agent.write(key="first", value={}, because=[cited])
        second = agent.write(key="second", value={}, because=[first, TranscriptRef(transcript.id)])
        agent.write(key="third", value={}, because=[second])
        agent.write(key="second", value={})
        agent.write(key="first", value={})
        clock.advance(LATER)
        assert agent.sweep() is None
        assert words(agent) == {"cited"}
        agent.delete(key="third")
        assert agent.sweep() is not None
        assert words(agent) == set()
        assert agent.get_transcript(transcript.id) is None
        check(agent)


class TestTranscripts:
    def test_one_that_nothing_cites_goes_when_its_time_is_over(
        self, agent: Store, clock: FixedClock
    ) -> None:
        agent.configure(namespace="kept", transcript_retention=100 * DAY)
        transcript = agent.store_transcript("nobody cites this")
        stored_item = agent.store_transcript("kept for longer", namespace="kept")
        cited = agent.store_transcript("cited words")
        source = agent.store_transcript("what a fact comes from")
        memory = agent.remember("of them", transcript=cited.id)
        agent.assert_fact(subject="a", relation="knows", object="b", source=source.id)
        clock.advance(29 * DAY)
        assert agent.sweep(namespace=ALL_NAMESPACES) is None
        clock.advance(2 * DAY)
        assert agent.sweep(namespace=ALL_NAMESPACES) is not None
        assert [list_transcript.id for list_transcript in agent.list_transcripts()] == [
            cited.id,
            source.id,
        ]
        assert agent.get_transcript(transcript.id) is None
        assert agent.get_transcript(stored_item.id) is not None
        agent.forget(memory_id=memory.id)
        assert agent.sweep() is not None, "a forgotten memory holds nothing"
        assert agent.get_transcript(cited.id) is None
        check(agent)

    def test_it_goes_with_the_memory_that_cites_it(self, agent: Store, clock: FixedClock) -> None:
        transcript = agent.store_transcript("words")
        agent.remember("of them", transcript=transcript.id, ttl=60)
        clock.advance(LATER)
        certificate = agent.sweep()
        assert certificate is not None
        assert certificate.operations == 2
        assert agent.get_transcript(transcript.id) is None
        check(agent)
