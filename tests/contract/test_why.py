"""Why: what something rests on, down to the words, and whether that is still believed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, cast

import pytest

from memoranda import (
    FactRef,
    InvalidInput,
    KeyRef,
    Memory,
    MemoryRef,
    NotFound,
    Reason,
    Store,
    TranscriptRef,
)
from memoranda.testing import FixedClock

WORDS = "I never fly. The train is fine."


def story(store: Store) -> tuple[Memory, Memory]:
    """Words, a memory of them, a reflection on it, a goal, and a plan because of both."""
    talk = store.store_transcript(WORDS)
    ground = store.remember(
        "Ann does not fly", transcript=talk.id, spans=[talk.find("I never fly")]
    )
    belief = store.reflect("Ann travels slowly", on=[ground.id])
    store.write(key="goal", value={"city": "Oslo"})
    store.write(key="plan", value={"by": "train"}, because=[belief, KeyRef("goal")])
    return ground, belief


def told(reasons: Iterable[Reason]) -> list[tuple[str | None, str]]:
    return [(reason.relation, reason.summary) for reason in reasons]


def head(store: Store) -> int:
    return store.stats().commits


class TestTheTree:
    def test_it_leads_from_a_value_to_the_words(self, agent: Store) -> None:
        ground, belief = story(agent)
        reason = agent.why("plan")
        assert told(reason.walk()) == [
            (None, '{"by":"train"}'),
            ("because", "Ann travels slowly"),
            ("reflects_on", "Ann does not fly"),
            ("quotes", "I never fly"),
            ("because", '{"city":"Oslo"}'),
        ]
        plan, slow, flying, words, goal = reason.walk()
        assert [item.kind for item in (plan, slow, words)] == ["key", "memory", "transcript"]
        assert plan.ref == KeyRef("plan", 1, "a1", "default")
        assert (slow.ref, flying.ref) == (belief.ref, MemoryRef(ground.id, 1))
        assert isinstance(words.ref, TranscriptRef)
        assert words.ref.spans == ((0, 11),)
        assert goal.ref == KeyRef("goal", 1, "a1", "default")
        assert [item.commit_ts for item in reason.walk()] == [5, 3, 2, 1, 4]
        assert slow.committed_at == belief.created_at
        assert {(item.actor, item.agent_id) for item in reason.walk()} == {("a1", "a1")}
        assert all(item.believed and not item.is_stale for item in reason.walk())

    def test_it_begins_anywhere(self, agent: Store) -> None:
        ground, belief = story(agent)
        whole = agent.why(KeyRef("plan", 1))
        for ref in (belief, belief.ref, MemoryRef(belief.id)):
            assert agent.why(ref).because == whole.because[0].because
        assert told(agent.why(ground).because) == [("quotes", "I never fly")]

    def test_who_committed_it_is_not_whose_it_is(self, store: Store) -> None:
        store.bind(agent_id="boss").write(key="k", value={}, agent_id="a", namespace="lab")
        reason = store.why("k", agent_id="a", namespace="lab")
        assert (reason.agent_id, reason.actor) == ("a", "boss")
        assert store.why(KeyRef("k", agent_id="a", namespace="lab")) == reason

    def test_what_is_derived_rests_on_what_it_comes_from(self, agent: Store) -> None:
        one, other = agent.remember("one"), agent.remember("other")
        agent.link(source=one.id, target=other.id, relation="derived_from")
        agent.link(source=one.id, target=agent.remember("aside").id, relation="related_to")
        assert told(agent.why(one).because) == [("derived_from", "other")]
        agent.unlink(source=one.id, target=other.id, relation="derived_from")
        assert agent.why(one).because == ()

    def test_a_whole_transcript_is_quoted_by_its_beginning(self, agent: Store) -> None:
        talk = agent.store_transcript("é" * 5000)
        memory = agent.remember("much was said", transcript=talk.id)
        (words,) = agent.why(memory).because
        assert words.ref == TranscriptRef(talk.id)
        assert words.summary.startswith("ééé")
        assert words.summary.endswith("…")
        assert len(words.summary) < 1000

    def test_every_span_is_a_quotation(self, agent: Store) -> None:
        talk = agent.store_transcript(WORDS)
        spans = [talk.find("I never fly"), talk.find("train")]
        memory = agent.remember("about trains", transcript=talk.id, spans=spans)
        assert told(agent.why(memory).because) == [("quotes", "I never fly"), ("quotes", "train")]

    def test_long_content_is_cut(self, agent: Store) -> None:
        memory = agent.remember("ä" * 50_000)
        agent.write(key="k", value={"text": "x" * 5000}, because=[memory])
        assert all(
            item.summary.endswith("…") and len(item.summary) < 1000
            for item in agent.why("k").walk()
        )

    def test_what_was_met_above_is_not_unfolded_again(self, agent: Store) -> None:
        ground, belief = story(agent)
        agent.write(key="k", value={}, because=[belief, ground, ground])
        reason = agent.why("k")
        assert [item.repeated for item in reason.because] == [False, True, True]
        assert [item.summary for item in reason.because[1:]] == ["Ann does not fly"] * 2
        assert all(item.because == () for item in reason.because[1:])

    def test_a_lattice_costs_what_it_has(self, agent: Store) -> None:
        below = ["k0a", "k0b"]
        for key in below:
            agent.write(key=key, value={})
        for level in range(1, 25):  # as a tree it would have 2 ** 25 leaves
            keys = [f"k{level}a", f"k{level}b"]
            for key in keys:
                agent.write(key=key, value={}, because=[KeyRef(item) for item in below])
            below = keys
        assert len(list(agent.why("k24a").walk())) == 1 + 2 + 2 * 2 * 23
        agent.write(key="k0b", value={"new": 1})
        assert agent.why("k24a").is_stale

    def test_a_chain_may_be_deep(self, agent: Store) -> None:
        agent.configure(max_reflection_depth=2000)
        memory = agent.remember("ground")
        ground = memory.id
        with agent.begin_transaction() as transaction:
            last = ground
            for number in range(1100):
                last = transaction.reflect(f"r{number}", on=[last])
            transaction.write(key="k", value={}, because=[MemoryRef(last)])
        assert len(list(agent.why("k").walk())) == 1102
        agent.retract_memory(ground)
        result = list(agent.why("k").walk())
        assert all(item.is_stale for item in result)
        assert [item.stale for item in result if item.stale] == [("retracted",)]

    def test_keys_that_rest_on_each_other_come_to_an_end(self, agent: Store) -> None:
        agent.write(key="a", value={"n": 1})
        for number in range(2, 5):
            agent.write(key="b", value={"n": number}, because=[KeyRef("a")])
            agent.write(key="a", value={"n": number}, because=[KeyRef("b"), KeyRef("a")])
        reason = agent.why("a")
        assert len(list(reason.walk())) < 30
        assert reason.stale == ()
        assert reason.is_stale


class TestStale:
    def test_superseded_and_not_before_at_every_moment(self, agent: Store) -> None:
        ground, belief = story(agent)
        agent.write(key="later", value={}, because=[KeyRef("plan")])
        before = head(agent)
        newer = agent.reflect("Ann travels calmly", on=[ground.id])
        agent.supersede(old=belief.id, new=newer.id)
        for at in range(5, head(agent) + 1):
            reason = agent.why("plan", at=at)
            slow, goal = reason.because
            assert reason.is_stale == slow.is_stale == (at == before + 2)
            assert slow.believed == (at < before + 2)
            assert not reason.stale
            assert not goal.is_stale
            assert not slow.because[0].is_stale, "it spreads upwards only"
        assert agent.why("plan").because[0].stale == ("superseded by “Ann travels calmly”",)
        assert agent.why("later").is_stale
        assert agent.why(newer).is_stale is False
        agent.unlink(source=newer.id, target=belief.id, relation="supersedes")
        assert not agent.why("plan").is_stale

    def test_a_newer_value_and_a_deletion(self, agent: Store) -> None:
        story(agent)
        agent.write(key="goal", value={"city": "Rome"})
        assert agent.why("plan").because[1].stale == ("key is now at version 2",)
        assert agent.why("plan").because[1].summary == '{"city":"Oslo"}'
        agent.delete(key="goal")
        assert agent.why("plan").because[1].stale == ("deleted",)
        assert agent.why("plan", at=6).because[1].stale == ("key is now at version 2",)
        assert agent.why("plan", at=5).because[1].stale == ()
        assert agent.why(KeyRef("goal", 1)).stale == ("deleted",)

    def test_going_on_from_an_earlier_value_is_no_ground_for_doubt(self, agent: Store) -> None:
        agent.write(key="goal", value={})
        agent.write(key="count", value={"n": 1}, because=[KeyRef("goal")])
        for number in (2, 3):
            agent.write(key="count", value={"n": number}, because=[KeyRef("count")])
        assert not any(item.is_stale for item in agent.why("count").walk())
        assert agent.why(KeyRef("count", 2)).stale == ("key is now at version 3",)
        agent.write(key="goal", value={"n": 1})
        third, second, first, goal = agent.why("count").walk()
        assert all(item.is_stale for item in (third, second, first, goal))
        assert [item.believed for item in (third, second, first, goal)] == [True] * 3 + [False]
        store = agent.bind(namespace="lab")
        store.write(key="goal", value={}, because=[KeyRef("goal", namespace="default")])
        agent.write(key="goal", value={"n": 2})
        assert store.why("goal").is_stale, "the same name elsewhere is another key"

    def test_a_retraction_says_why_and_can_be_taken_back(self, agent: Store) -> None:
        memory = agent.remember("it rains", title="weather")
        agent.write(key="coat", value={}, because=[memory])
        agent.retract_memory(memory.id, reason="it was the neighbour's hose")
        (ground,) = agent.why("coat").because
        assert ground.stale == ("retracted: it was the neighbour's hose",)
        assert ground.summary == "it rains"
        again = agent.remember("it rains", title="weather")
        assert agent.why("coat").because[0].stale == (f"revised: version {again.version}",)
        agent.write(key="coat", value={}, because=[again])
        assert not agent.why("coat").is_stale

    def test_a_revision(self, agent: Store) -> None:
        memory = agent.remember("it rains", title="weather")
        agent.write(key="coat", value={}, because=[memory])
        agent.update_memory(memory.id, content="it snows")
        (ground,) = agent.why("coat").because
        assert (ground.summary, ground.stale) == ("it rains", ("revised: version 2",))
        agent.touch(memory.id)
        agent.write(key="boots", value={}, because=[memory.ref, MemoryRef(memory.id)])
        old, new = agent.why("boots").because
        assert (old.stale, new.stale) == (("revised: version 2",), ())
        assert (old.commit_ts, new.commit_ts) == (1, 3)

    def test_a_reflection_rests_on_what_it_was_drawn_from(self, agent: Store) -> None:
        memory = agent.remember("it rains")
        with agent.begin_transaction() as transaction:
            belief = transaction.reflect("a wet week", on=[memory.id])
            transaction.update_memory(memory.id, content="it snows")
        (ground,) = agent.why(MemoryRef(belief)).because
        assert (ground.summary, ground.stale) == ("it rains", ("revised: version 2",))
        later = agent.reflect("a white week", on=[memory.id])
        assert not agent.why(later).is_stale

    def test_expiry_goes_by_the_time_asked_about(self, agent: Store, clock: FixedClock) -> None:
        memory = agent.remember("it rains", ttl=60)
        agent.write(key="coat", value={}, because=[memory])
        assert memory.expires_at is not None
        assert not agent.why("coat").is_stale
        just_before = memory.expires_at - timedelta(microseconds=1)
        assert not agent.why("coat", at=just_before).is_stale
        assert agent.why("coat", at=memory.expires_at).because[0].stale == ("expired",)
        clock.advance(61)
        assert agent.why("coat").because[0].stale == ("expired",)
        assert not agent.why("coat", at=2).is_stale

    def test_several_doubts_are_all_told(self, agent: Store, clock: FixedClock) -> None:
        old, new = agent.remember("old", ttl=60), agent.remember("new")
        agent.supersede(old=old.id, new=new.id)
        agent.retract_memory(old.id)
        clock.advance(61)
        assert agent.why(MemoryRef(old.id)).stale == (
            "superseded by “new”",
            "retracted",
            "expired",
        )


class TestTheMoment:
    def test_the_version_is_that_of_the_moment(self, agent: Store) -> None:
        agent.write(key="k", value={"n": 1})
        agent.write(key="k", value={"n": 2}, because=[KeyRef("k", 1)])
        assert agent.why("k", at=1).summary == '{"n":1}'
        assert told(agent.why("k").walk()) == [(None, '{"n":2}'), ("because", '{"n":1}')]

    def test_what_is_not_there_is_named(self, agent: Store) -> None:
        agent.write(key="k", value={})
        memory = agent.remember("x")
        agent.delete(key="k")
        refs: list[tuple[Any, str, int | None]] = [
            ("nothing", "nothing", None),
            ("k", "no value", None),
            ("k", "no value", 0),
            (KeyRef("k", 3), "no version 3", None),
            (KeyRef("k", 2), "no version 2", 2),
            (MemoryRef("nobody"), "nobody", None),
            (MemoryRef(memory.id), memory.id, 1),
            (MemoryRef(memory.id, 2), "version 2", None),
            (FactRef("f1"), "f1", None),
            (TranscriptRef("t1"), "t1", None),
        ]
        for ref, by_name, at in refs:
            with pytest.raises(NotFound, match=by_name):
                agent.why(ref, at=at)
        assert agent.why(KeyRef("k", 2)).summary == "deleted"
        assert agent.why("k", at=1).summary == "{}"

    @pytest.mark.parametrize("ref", [None, 5, TranscriptRef(""), "", MemoryRef(""), ["k"]])
    def test_what_is_no_reference_is_refused(self, agent: Store, ref: object) -> None:
        with pytest.raises(InvalidInput, match="ref"):
            agent.why(cast(Any, ref))

    def test_a_key_is_somebodys(self, store: Store) -> None:
        with pytest.raises(InvalidInput, match="agent_id"):
            store.why("k")


class TestPrivacy:
    def test_what_may_not_be_seen_is_not_told(self, store: Store) -> None:
        ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
        secret = bob.remember("the safe's number", visibility="private")
        belief = bob.reflect("there is a safe", on=[secret.id])
        bob.write(key="plan", value={}, because=[secret, belief])
        for reason in (ann.why(KeyRef("plan", agent_id="bob")), ann.why(belief)):
            (hidden,) = [item for item in reason.walk() if item.hidden and not item.because][:1]
            assert (hidden.ref, hidden.commit_ts, hidden.actor) == (None, None, None)
            assert not any(
                "safe's" in item.summary or secret.id in repr(item.ref) for item in reason.walk()
            )
        with pytest.raises(NotFound, match=secret.id):
            ann.why(secret)
        assert not any(item.hidden for item in bob.why("plan").walk())
        bob.retract_memory(secret.id)
        assert not ann.why(belief).is_stale
        assert bob.why(belief).is_stale

    def test_a_secret_successor_is_not_named(self, store: Store) -> None:
        ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
        old = ann.remember("old")
        new = bob.remember("new", visibility="private")
        bob.supersede(old=old.id, new=new.id)
        assert ann.why(old).stale == ()
        assert bob.why(old).stale == ("superseded by “new”",)

    def test_a_long_or_forgotten_successor(self, agent: Store) -> None:
        old, new = agent.remember("old"), agent.remember("so  many\nwords " * 20)
        agent.supersede(old=old.id, new=new.id)
        (mark,) = agent.why(old).stale
        assert mark.startswith("superseded by “so many words so many")
        assert mark.endswith("…”")
        assert len(mark) < 80
        agent.forget(memory_id=new.id)
        assert agent.why(old).stale == (f"superseded by memory {new.id}",)


class TestStaleKeys:
    def test_they_are_found_at_every_moment(self, agent: Store) -> None:
        ground, _ = story(agent)
        agent.write(key="later", value={}, because=[KeyRef("plan")])
        agent.write(key="other", value={}, because=[KeyRef("goal")])
        fine = head(agent)
        agent.retract_memory(ground.id)
        assert [stale_key.ref for stale_key in agent.stale_keys()] == [
            KeyRef("later", 1, "a1", "default"),
            KeyRef("plan", 1, "a1", "default"),
        ]
        assert list(agent.stale_keys()) == [agent.why("later"), agent.why("plan")]
        assert list(agent.stale_keys(at=fine)) == []
        assert [stale_key.summary for stale_key in agent.stale_keys(prefix="l")] == ["{}"]
        agent.write(key="plan", value={"by": "boat"})
        assert [stale_key.ref for stale_key in agent.stale_keys()] == [
            KeyRef("later", 1, "a1", "default")
        ]
        agent.delete(key="later")
        assert list(agent.stale_keys()) == []
        assert list(agent.stale_keys(namespace="elsewhere")) == []

    def test_there_may_be_many(self, agent: Store) -> None:
        memory = agent.remember("ground")
        with agent.begin_transaction() as transaction:
            for number in range(600):
                because = [memory] if number % 100 == 7 or number > 500 else []
                transaction.write(key=f"k{number:03}", value={"n": number}, because=because)
        assert list(agent.stale_keys()) == []
        agent.retract_memory(memory.id)
        summarys = [stale_key.summary for stale_key in agent.stale_keys()]
        target = [n for n in range(600) if n % 100 == 7 or n > 500]
        assert summarys == [f'{{"n":{n}}}' for n in target]

    def test_the_moment_is_that_of_the_call(self, agent: Store) -> None:
        memory = agent.remember("ground")
        agent.write(key="k", value={}, because=[memory])
        stale = agent.stale_keys()
        agent.retract_memory(memory.id)
        assert list(stale) == []
