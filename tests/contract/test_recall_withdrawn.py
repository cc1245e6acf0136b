"""Recall and what was taken back: the words that it was drawn from are not found instead."""

from __future__ import annotations

import pytest

from memoranda import Hit, Store, Transcript
from memoranda.testing import FixedClock
from tests.contract.opener import Opener
from tests.embedders import Hashing

OFFER = "Ben: I can drive everyone on Friday"
REPLY = "Ann: the train on Friday leaves at nine"
QUESTION = "Who can drive on Friday?"


@pytest.fixture
def agent(open_store: Opener) -> Store:
    """A new store with an embedder, bound to one agent."""
    return open_store(embedder=Hashing()).bind(agent_id="a1")


@pytest.fixture
def talk(agent: Store) -> Transcript:
    return agent.store_transcript(f"{OFFER}\n{REPLY}")


def passages(hits: list[Hit]) -> list[str]:
    return [hit.text for hit in hits if hit.kind == "passage"]


def remember(agent: Store, talk: Transcript, text: str = "Ben drives", **details: object) -> str:
    """Remember something that cites the offer."""
    span = talk.find("I can drive everyone on Friday")
    memory = agent.remember(text, transcript=talk.id, spans=[span], **details)  # type: ignore[arg-type]
    return memory.id


def drive(agent: Store, talk: Transcript, **details: object) -> str:
    """Assert a fact that is drawn from the offer."""
    fact = agent.assert_fact(
        subject="Ben",
        relation="drives",
        object="all",
        source=talk.id,
        spans=[talk.find(OFFER)],
        **details,  # type: ignore[arg-type]
    )
    assert fact.assertion_id is not None
    return fact.assertion_id


class TestMemories:
    def test_a_superseded_one(self, agent: Store, talk: Transcript) -> None:
        old = remember(agent, talk)
        before = agent.stats().commits
        assert OFFER in [hit.text for hit in agent.recall(QUESTION, kinds=["passage"])]
        new = agent.remember("Everyone takes the train")
        agent.supersede(old=old, new=new.id)
        assert passages(agent.recall(QUESTION)) == [REPLY]
        then = agent.recall(QUESTION, kinds=["passage"], known_at=before)
        assert passages(then) == [OFFER, REPLY]

    def test_on_request_it_is_marked(self, agent: Store, talk: Transcript) -> None:
        old = remember(agent, talk)
        agent.supersede(old=old, new=agent.remember("Everyone takes the train").id)
        hits = agent.recall(QUESTION, kinds=["passage"], include_superseded=True)
        marks = {hit.text: hit.parts["superseded"] for hit in hits}
        assert marks == {OFFER: 0.5, REPLY: 1.0}
        prompt = agent.recall_context(QUESTION, kinds=["passage"])
        lines = prompt.splitlines()
        (number,) = [index for index, line in enumerate(lines) if OFFER in line]
        assert lines[number + 1].strip() == "superseded: nothing that was drawn from it stands"
        assert prompt.count("superseded") == 1

    def test_a_retracted_one(self, agent: Store, talk: Transcript) -> None:
        agent.retract_memory(remember(agent, talk))
        assert passages(agent.recall(QUESTION)) == [REPLY]
        hits = agent.recall(QUESTION, kinds=["passage"], include_superseded=True)
        assert {hit.text: hit.parts["superseded"] for hit in hits} == {OFFER: 0.5, REPLY: 1.0}

    def test_an_expired_one(self, agent: Store, talk: Transcript, clock: FixedClock) -> None:
        remember(agent, talk, ttl=60)
        assert OFFER in passages(agent.recall(QUESTION, kinds=["passage"]))
        clock.advance(3600)
        agent.remember("later")
        assert passages(agent.recall(QUESTION)) == [REPLY]
        assert passages(agent.recall(QUESTION, include_superseded=True)) == [REPLY]
        hits = agent.recall(QUESTION, kinds=["passage"], include_expired=True)
        assert {hit.text: hit.parts["superseded"] for hit in hits} == {OFFER: 1.0, REPLY: 1.0}

    def test_of_several_one_that_stands_is_enough(self, agent: Store, talk: Transcript) -> None:
        agent.retract_memory(remember(agent, talk))
        remember(agent, talk, "Ben has a car")
        assert OFFER in passages(agent.recall(QUESTION, kinds=["passage"]))

    def test_also_one_that_cites_all_of_it(self, agent: Store, talk: Transcript) -> None:
        agent.retract_memory(remember(agent, talk))
        agent.remember("They spoke of Friday", transcript=talk.id)
        assert OFFER in passages(agent.recall(QUESTION, kinds=["passage"]))

    def test_a_citation_of_all_says_nothing_of_a_part(self, agent: Store, talk: Transcript) -> None:
        agent.retract_memory(agent.remember("They spoke of Friday", transcript=talk.id).id)
        assert passages(agent.recall(QUESTION, kinds=["passage"])) == [OFFER, REPLY]
        short = agent.store_transcript("Kim drives on Friday")
        agent.retract_memory(agent.remember("Kim does", transcript=short.id).id)
        assert "Kim drives on Friday" not in passages(agent.recall(QUESTION))

    def test_a_small_part_is_not_all_of_it(self, agent: Store) -> None:
        text = f"{OFFER}, and on the way we can stop at the lake where the old mill was restored"
        talk = agent.store_transcript(text)
        agent.retract_memory(remember(agent, talk))
        assert passages(agent.recall(QUESTION)) == [text]

    def test_what_is_forgotten_cites_nothing(self, agent: Store, talk: Transcript) -> None:
        memory = remember(agent, talk)
        agent.retract_memory(memory)
        agent.forget(memory_id=memory, reason="asked to")
        assert OFFER in passages(agent.recall(QUESTION))

    def test_before_it_was_superseded(self, agent: Store, talk: Transcript) -> None:
        old = remember(agent, talk, event_time="2020-01-01T00:00:00Z")
        new = agent.remember("Everyone takes the train", event_time="2030-01-01T00:00:00Z")
        agent.supersede(old=old, new=new.id)
        options = {"kinds": ["passage"], "valid_at": "2028-01-01T00:00:00Z"}
        assert OFFER in passages(agent.recall(QUESTION, **options))  # type: ignore[arg-type]
        options["valid_at"] = "2031-01-01T00:00:00Z"
        assert passages(agent.recall(QUESTION, **options)) == [REPLY]  # type: ignore[arg-type]

    def test_what_is_drawn_from_it_later_does_not_keep_it(
        self, agent: Store, talk: Transcript
    ) -> None:
        agent.retract_memory(remember(agent, talk, event_time="2020-01-01T00:00:00Z"))
        remember(agent, talk, "Ben has a car", event_time="2030-01-01T00:00:00Z")
        options = {"kinds": ["passage"], "valid_at": "2028-01-01T00:00:00Z"}
        assert passages(agent.recall(QUESTION, **options)) == [REPLY]  # type: ignore[arg-type]
        options["valid_at"] = "2031-01-01T00:00:00Z"
        assert OFFER in passages(agent.recall(QUESTION, **options))  # type: ignore[arg-type]


class TestScopes:
    def test_what_others_keep_to_themselves_does_not_count(
        self, agent: Store, talk: Transcript
    ) -> None:
        other = agent.bind(agent_id="a2")
        other.retract_memory(remember(other, talk, visibility="private"))
        assert OFFER in passages(agent.recall(QUESTION))
        assert passages(other.recall(QUESTION)) == [REPLY]

    def test_nor_what_another_namespace_has(self, agent: Store, talk: Transcript) -> None:
        other = agent.bind(agent_id="a1", namespace="elsewhere")
        other.retract_memory(remember(other, talk))
        assert OFFER in passages(agent.recall(QUESTION))


class TestFacts:
    def test_an_ended_one(self, agent: Store, talk: Transcript, clock: FixedClock) -> None:
        drive(agent, talk)
        assert OFFER in passages(agent.recall(QUESTION, kinds=["passage"]))
        clock.advance(3600)
        agent.end_fact(subject="Ben", relation="drives", object="all")
        assert passages(agent.recall(QUESTION)) == [REPLY]
        hits = agent.recall(QUESTION, kinds=["passage"], include_superseded=True)
        assert {hit.text: hit.parts["superseded"] for hit in hits} == {OFFER: 0.5, REPLY: 1.0}

    def test_a_retracted_one(self, agent: Store, talk: Transcript) -> None:
        fact = drive(agent, talk)
        before = agent.stats().commits
        agent.retract_fact(assertion_id=fact)
        assert passages(agent.recall(QUESTION)) == [REPLY]
        then = agent.recall(QUESTION, kinds=["passage"], known_at=before)
        assert OFFER in passages(then)

    def test_one_that_holds_is_enough(self, agent: Store, talk: Transcript) -> None:
        drive(agent, talk)
        agent.retract_memory(remember(agent, talk))
        assert OFFER in passages(agent.recall(QUESTION, kinds=["passage"]))

    def test_one_that_is_to_begin(self, agent: Store, talk: Transcript) -> None:
        drive(agent, talk, valid_from="2090-01-01")
        assert OFFER in passages(agent.recall(QUESTION))

    def test_a_private_one_of_another(self, agent: Store, talk: Transcript) -> None:
        other = agent.bind(agent_id="a2")
        fact = drive(other, talk, visibility="private")
        other.retract_fact(assertion_id=fact)
        assert OFFER in passages(agent.recall(QUESTION))

    def test_shared_ones(self, agent: Store, talk: Transcript) -> None:
        agent.configure(facts="shared")
        fact = drive(agent, talk)
        other = agent.bind(agent_id="a2")
        assert OFFER in passages(other.recall(QUESTION, kinds=["passage"]))
        agent.retract_fact(assertion_id=fact)
        assert passages(other.recall(QUESTION)) == [REPLY]
