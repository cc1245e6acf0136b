"""Ends that come from a memory or from words: they say so, and go with what they come from."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memoranda import InvalidInput, MemoryRef, NotFound, Store
from memoranda.model.refs import TranscriptRef
from memoranda.testing import FixedClock

TALK = "Ann: I left Acme."
LATER = 400 * 86_400.0


def day(number: int) -> datetime:
    return datetime(2025, 1, number, tzinfo=UTC)


def about(object_: str | None = "Acme", **more: Any) -> dict[str, Any]:
    return {"subject": "Ann", "relation": "works at", "object": object_, **more}


def held(store: Store, **when: Any) -> list[tuple[str, datetime | None]]:
    facts = store.timeline(subject="Ann", relation="works at", **when)
    return [(str(fact.object), fact.valid_to) for fact in facts]


def told(store: Store, kind: str) -> list[dict[str, Any]]:
    """What replay shows of the operations of a kind."""
    result = [operation for event in store.replay(kinds=[kind]) for operation in event.operations]
    return [operation.value for operation in result if operation.value is not None]


def check(store: Store) -> None:
    """The chain holds, and the views are what the log gives."""
    store.verify(deep=True)
    result = store.rebuild()
    assert result.identical, result.differing


class TestSource:
    def test_it_is_a_memory_or_a_transcript(self, agent: Store) -> None:
        memory = agent.remember("she left")
        words = agent.store_transcript(TALK)
        sources = [
            (memory.id, None, {"memory_id": memory.id, "version": 1}),
            (MemoryRef(memory.id), None, {"memory_id": memory.id, "version": 1}),
            (words.id, None, {"transcript_id": words.id, "spans": ()}),
            (words.id, [(5, 11)], {"transcript_id": words.id, "spans": ((5, 11),)}),
        ]
        for source, spans, _ in sources:
            agent.end_fact(allow_unknown=True, **about(at=day(2), source=source, spans=spans))
        ends = told(agent, "end")
        assert [end["source"] for end in ends] == [output for _, _, output in sources]
        check(agent)

    def test_without_one_nothing_is_said_of_it(self, agent: Store) -> None:
        agent.end_fact(allow_unknown=True, **about(at=day(2)))
        (end,) = told(agent, "end")
        assert "source" not in end

    def test_one_that_is_none_is_refused(self, agent: Store) -> None:
        memory = agent.remember("x").id
        secret = agent.remember("secret", visibility="private").id
        transcript = agent.store_transcript("short").id
        with pytest.raises(NotFound, match="no such thing"):
            agent.end_fact(allow_unknown=True, **about(source="no such thing"))
        with pytest.raises(NotFound, match="no transcript 'gone'"):
            agent.end_fact(allow_unknown=True, **about(source=TranscriptRef("gone")))
        for source, spans in ((memory, [(0, 1)]), (None, [(0, 1)]), (transcript, [(3, 99)])):
            with pytest.raises(InvalidInput, match=r"^spans"):
                agent.end_fact(allow_unknown=True, **about(source=source, spans=spans))
        with pytest.raises(InvalidInput, match=r"^source: 7 is no source"):
            agent.end_fact(allow_unknown=True, **about(source=7))
        with pytest.raises(NotFound):
            agent.end_fact(allow_unknown=True, **about(source=secret, agent_id="a2"))
        assert list(agent.replay(kinds=["end"])) == []

    def test_it_ended_when_that_happened(self, agent: Store) -> None:
        agent.assert_fact(**about(valid_from=day(1)))
        memory = agent.remember("she left", event_time=day(9))
        with agent.begin_transaction() as transaction:
            transaction.end_fact(allow_unknown=True, **about(source=memory))
            (fact,) = transaction.timeline(subject="Ann", relation="works at")
            assert fact.valid_to == day(9)
        assert held(agent) == [("Acme", day(9))]
        agent.end_fact(allow_unknown=True, **about(source=memory, at=day(5)))
        assert held(agent) == [("Acme", day(5))]

    def test_a_fact_has_the_sources_of_what_was_said_for_it(self, agent: Store) -> None:
        memory = agent.remember("she left")
        agent.assert_fact(**about(valid_from=day(1)))
        agent.end_fact(allow_unknown=True, **about(source=memory, at=day(2)))
        (fact,) = agent.facts(include_closed=True)
        assert fact.sources == ()

    def test_it_is_explained(self, agent: Store) -> None:
        words = agent.store_transcript(TALK)
        agent.assert_fact(**about(valid_from=day(1)))
        ended = agent.end_fact(
            allow_unknown=True, **about(at=day(2), source=words.id, spans=[(5, 11)])
        )
        (fact,) = agent.facts(include_closed=True)
        end = agent.explain(fact).end
        assert end is not None
        assert (end.id, end.at, end.actor) == (ended.assertion_id, day(2), "a1")
        assert (end.source, end.quotes) == (TranscriptRef(words.id, ((5, 11),)), ("I left",))
        assert agent.explain(fact, known_at=ended.commit_ts - 1).end is None  # type: ignore[operator]

    def test_one_that_was_said_with_an_assertion_comes_from_the_same(self, agent: Store) -> None:
        words = agent.store_transcript(TALK)
        fact = agent.assert_fact(**about(valid_from=day(1), valid_to=day(2), source=words.id))
        end = agent.explain(str(fact.assertion_id)).end
        assert end is not None
        assert (end.id, end.quotes) == (fact.assertion_id, (TALK,))

    def test_what_another_object_ended_has_none(self, agent: Store) -> None:
        agent.set_cardinality(relation="works at", cardinality="single")
        agent.assert_fact(**about(valid_from=day(1)))
        agent.assert_fact(**about("Globex", valid_from=day(2)))
        (fact, _) = agent.facts(include_closed=True)
        assert fact.valid_to == day(2)
        assert agent.explain(fact).end is None


@pytest.mark.parametrize("field", ["memory_id", "transcript_id", "facts_from"])
class TestForgetting:
    def source(self, agent: Store, field: str) -> str:
        if field == "transcript_id":
            return agent.store_transcript(TALK).id
        return agent.remember("she left").id

    def test_it_is_as_if_it_was_never_said(self, agent: Store, field: str) -> None:
        source = self.source(agent, field)
        agent.assert_fact(**about(valid_from=day(1)))
        agent.end_fact(allow_unknown=True, **about(at=day(2), source=source))
        agent.end_fact(allow_unknown=True, **about("Secret Ltd", at=day(3), source=source))
        agent.end_fact(allow_unknown=True, **about(at=day(5)))
        head = agent.stats().commits
        assert held(agent) == [("Acme", day(2))]
        forget: dict[str, Any] = {field: source}
        preview = agent.forget(**forget, dry_run=True).preview
        assert preview is not None
        assert preview.by_type["end"] == 2
        agent.forget(**forget, reason="asked to")
        assert held(agent) == [("Acme", day(5))]
        assert held(agent, known_at=head - 1) == [("Acme", None)]
        assert agent.entity("Secret Ltd") is None
        assert len(list(agent.replay(kinds=["end"]))) == 1
        check(agent)
        with pytest.raises(NotFound):
            agent.forget(facts_from=source)

    def test_its_retraction_goes_too(self, agent: Store, field: str) -> None:
        source = self.source(agent, field)
        ended = agent.end_fact(allow_unknown=True, **about("Secret Ltd", at=day(2), source=source))
        agent.retract_fact(assertion_id=ended.assertion_id, reason="another Secret Ltd")
        forget: dict[str, Any] = {field: source}
        agent.forget(**forget)
        assert list(agent.replay(kinds=["end", "withdraw"])) == []
        assert list(agent.entities()) == []
        check(agent)

    def test_also_when_it_was_summed_up(self, agent: Store, field: str) -> None:
        source = self.source(agent, field)
        agent.assert_fact(**about(valid_from=day(1)))
        ended = agent.end_fact(allow_unknown=True, **about("Secret Ltd", at=day(2), source=source))
        agent.retract_fact(assertion_id=ended.assertion_id)
        agent.end_fact(allow_unknown=True, **about(at=day(3), source=source))
        agent.write(key="k", value={})
        agent.compact(before=agent.stats().commits, confirm=True)
        assert agent.entity("Secret Ltd") is not None
        assert held(agent) == [("Acme", day(3))]
        forget: dict[str, Any] = {field: source}
        agent.forget(**forget)
        assert held(agent) == [("Acme", None)]
        assert agent.entity("Secret Ltd") is None
        check(agent)


def test_others_ends_from_what_an_agent_had_go_with_it(store: Store) -> None:
    ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
    source = ann.remember("she left")
    bob.assert_fact(**about(valid_from=day(1)))
    bob.end_fact(allow_unknown=True, **about(at=day(2), source=source.id))
    bob.forget(whole_agent="ann")
    assert held(bob) == [("Acme", None)]
    check(store)


def test_what_an_end_comes_from_is_not_swept(agent: Store, clock: FixedClock) -> None:
    source = agent.remember("she left", ttl=60)
    agent.end_fact(allow_unknown=True, **about(at=day(2), source=source.id))
    agent.remember("alone", ttl=60)
    clock.advance(LATER)
    assert agent.sweep() is not None
    assert [item["content"] for item in told(agent, "remember")] == ["she left"]
    check(agent)


def test_what_an_end_comes_from_stays_in_a_compaction(agent: Store) -> None:
    source = agent.remember("she left")
    agent.assert_fact(**about(valid_from=day(1)))
    agent.end_fact(allow_unknown=True, **about(at=day(2), source=source))
    agent.update_memory(source.id, content="she did not")
    agent.write(key="k", value={})
    agent.compact(before=agent.stats().commits, confirm=True)
    (fact,) = agent.facts(include_closed=True)
    end = agent.explain(fact).end
    assert end is not None
    assert end.quotes == ("she left",)
    check(agent)


def test_what_was_extracted_as_an_end_goes_with_the_words(agent: Store) -> None:
    agent.assert_fact(subject="Ann", relation="works at", object="Acme", valid_from=day(1))
    report = agent.import_chat("Ann: I left Acme.\nAnn: I left Globex.", extractor="rules")
    assert report.extraction is not None
    (fact,) = agent.facts(include_closed=True)
    end = agent.explain(fact).end
    assert end is not None
    assert end.quotes == ("I left Acme.",)
    agent.forget(transcript_id=report.transcript_id)
    assert held(agent) == [("Acme", None)]
    assert agent.entity("Globex") is None
    check(agent)
