"""Facts: saying what holds, ending it, taking it back, and asking on both axes of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from unittest import mock

import pytest

from memoranda import (
    EdgeResolution,
    IdempotencyMismatch,
    InvalidInput,
    Literal,
    NotFound,
    OperationType,
    RelationCardinality,
    Store,
)
from memoranda.graph import as_of
from memoranda.model.limits import Limits
from memoranda.model.refs import MemoryRef, TranscriptRef
from memoranda.testing import FixedClock
from tests.answers import as_read
from tests.contract.opener import Opener


def day(number: int) -> datetime:
    return datetime(2025, 6, number, tzinfo=UTC)


# One moment


@contextmanager
def interrupted(step: str, work: Callable[[], object]) -> Iterator[list[str]]:
    """Do something else in the middle of a read, before one of its steps."""
    done, calls = getattr(as_of, step), list[str]()

    def late(*args: Any) -> Any:
        calls.append(step)
        if len(calls) == 1:
            work()
        return done(*args)

    with mock.patch.object(as_of, step, late):
        yield calls


@pytest.mark.parametrize("known_at", [None, 1])
def test_a_long_list_of_facts_is_of_one_moment(reopen: Opener, known_at: int | None) -> None:
    """Somebody ends every fact while a list of them, longer than a page, is being read."""
    agent, other = reopen().bind(agent_id="a1"), reopen().bind(agent_id="a1")
    with agent.begin_transaction() as tx:
        for number in range(600):
            tx.assert_fact(subject=f"s{number}", relation="is", object="here", valid_from=day(1))

    def end_all() -> None:
        with other.begin_transaction() as tx:
            for number in range(600):
                tx.end_fact(subject=f"s{number}", relation="is", at=day(2))

    with interrupted("beliefs_of_subjects", end_all) as calls:
        facts = agent.facts(include_closed=True, known_at=known_at)
    assert len(calls) > 1
    assert len(facts) == 600
    assert {fact.valid_to for fact in facts} == {None}
    assert {fact.valid_to for fact in agent.facts(include_closed=True)} == {day(2)}


def test_what_is_retracted_while_it_is_read_is_read_whole(reopen: Opener) -> None:
    agent, other = reopen().bind(agent_id="a1"), reopen().bind(agent_id="a1")
    agent.assert_fact(subject="alice", relation="knows", object="bob", valid_from=day(1))

    def retract() -> None:
        other.retract_fact(subject="alice", relation="knows")

    with interrupted("to_facts", retract):
        (fact,) = agent.timeline(subject="alice", relation="knows")
    assert fact.object == "bob"
    assert len(fact.assertions) == 1
    assert agent.timeline(subject="alice", relation="knows") == []


# Since when, and until when


def test_what_comes_from_a_memory_without_a_time_ends_after_now(agent: Store) -> None:
    undated = agent.remember("no date").id
    dated = agent.remember("dated", event_time=day(1)).id
    about: dict[str, Any] = {"subject": "alice", "relation": "knows", "object": "bob"}
    for source, until in ((undated, day(2)), (None, day(2)), (dated, day(1))):
        with pytest.raises(InvalidInput, match=r"^valid_to: .* is not after "):
            agent.assert_fact(**about, source=source, valid_to=until)
    agent.assert_fact(**about, source=dated, valid_to=day(2))
    (fact,) = agent.facts(include_closed=True)
    assert (fact.valid_from, fact.valid_to) == (day(1), day(2))


def about(object_: str | Literal = "bob", **more: Any) -> dict[str, Any]:
    return {"subject": "alice", "relation": "knows", "object": object_, **more}


def test_it_holds_since_the_commit_unless_something_says_otherwise(agent: Store) -> None:
    memory = agent.remember("met in June", event_time=day(3))
    undated = agent.remember("met some day")
    for object_, more in (
        ("now", {}),
        ("then", {"source": memory.id}),
        ("some day", {"source": undated.id}),
        ("said", {"source": memory.id, "valid_from": day(9)}),
    ):
        agent.assert_fact(**about(object_, **more))
    result = {fact.object: fact for fact in agent.facts(include_closed=True)}
    assert result["then"].valid_from == day(3)
    assert result["said"].valid_from == day(9)
    for name in ("now", "some day"):
        assert result[name].valid_from == result[name].known_from
    assert agent.end_fact(**about("now")).close[0].object_key == "now"
    assert [fact.object for fact in agent.facts()] == ["then", "said", "some day"]


def test_times_are_given_with_any_offset_and_never_without(agent: Store) -> None:
    agent.assert_fact(**about(valid_from="2025-06-01T09:00:00+09:00", valid_to=day(2)))
    (fact,) = agent.facts(valid_at="2025-06-01T00:00:00Z")
    assert (fact.valid_from, fact.valid_to) == (day(1), day(2))
    naive = datetime(2025, 6, 1)  # noqa: DTZ001
    for call in (
        lambda: agent.assert_fact(**about(valid_from=naive)),
        lambda: agent.assert_fact(**about(valid_to="2025-06-01")),
        lambda: agent.end_fact(**about(at=naive)),
        lambda: agent.facts(valid_at=naive),
        lambda: agent.timeline(subject="alice", relation="knows", known_at=naive),
    ):
        with pytest.raises(InvalidInput, match=r"^(valid_from|valid_to|at|valid_at|known_at): "):
            call()


# Sources


def test_a_source_is_a_memory_or_a_transcript(agent: Store) -> None:
    memory = agent.remember("she knows bob")
    transcript = agent.store_transcript("alice: I know bob")
    sources = [
        (memory.id, None, MemoryRef(memory.id, 1)),
        (memory, None, MemoryRef(memory.id, 1)),
        (MemoryRef(memory.id, 1), None, MemoryRef(memory.id, 1)),
        (transcript.id, None, TranscriptRef(transcript.id)),
        (transcript.id, [(0, 5)], TranscriptRef(transcript.id, ((0, 5),))),
        (TranscriptRef(transcript.id, ((0, 5),)), None, TranscriptRef(transcript.id, ((0, 5),))),
    ]
    for number, (source, spans, _) in enumerate(sources):
        agent.assert_fact(**about(f"p{number}", source=source, spans=spans))
    sourcess = [fact.sources for fact in agent.facts()]
    assert sourcess == [(ref,) for _, _, ref in sources]


def test_each_source_is_named_once(agent: Store) -> None:
    one, two = (agent.remember(text).id for text in ("one", "two"))
    for source in (one, two, None, one):
        agent.assert_fact(**about(source=source, valid_from=day(1), confidence=0.5))
    (fact,) = agent.facts()
    assert fact.sources == (MemoryRef(one, 1), MemoryRef(two, 1))
    assert len(fact.assertions) == 4


def test_a_source_that_is_none_is_refused(agent: Store) -> None:
    memory = agent.remember("x").id
    transcript = agent.store_transcript("short").id
    with pytest.raises(NotFound, match="no such thing"):
        agent.assert_fact(**about(source="no such thing"))
    with pytest.raises(NotFound, match="has no version 7"):
        agent.assert_fact(**about(source=MemoryRef(memory, 7)))
    with pytest.raises(NotFound, match="no transcript 'gone'"):
        agent.assert_fact(**about(source=TranscriptRef("gone")))
    for source, spans in ((memory, [(0, 1)]), (None, [(0, 1)]), (transcript, [(3, 99)])):
        with pytest.raises(InvalidInput, match=r"^spans"):
            agent.assert_fact(**about(source=source, spans=spans))
    with pytest.raises(InvalidInput, match=r"^source: 7 is no source"):
        agent.assert_fact(**about(source=7))
    assert agent.facts() == []


def test_a_memory_nobody_else_sees_is_nobody_elses_source(agent: Store) -> None:
    secret = agent.remember("secret", visibility="private").id
    agent.assert_fact(**about(source=secret))
    with pytest.raises(NotFound):
        agent.assert_fact(**about(source=secret, agent_id="a2"))


# Confidence, names, values


@pytest.mark.parametrize("confidence", [-0.1, 1.1, float("nan"), True, "high", None])
def test_confidence_is_from_0_to_1(agent: Store, confidence: object) -> None:
    with pytest.raises(InvalidInput, match=r"^confidence: "):
        agent.assert_fact(**about(confidence=confidence))
    for sure in (0, 0.25, 1):
        agent.assert_fact(**about(confidence=sure, valid_from=day(1)))
    assert [fact.confidence for fact in agent.facts()] == [1.0]


@pytest.mark.parametrize("field", ["subject", "relation", "object"])
@pytest.mark.parametrize("name", ["", " _ ", "x" * 513, "a\nb", "a\0b", "\ud800", 7, None])
def test_a_name_names_something(agent: Store, field: str, name: object) -> None:
    with pytest.raises(InvalidInput, match=rf"^{field}: "):
        agent.assert_fact(**about() | {field: name})
    if name is not None:
        with pytest.raises(InvalidInput, match=rf"^{field}: "):
            agent.facts(**{field: name})  # type: ignore[arg-type]


def test_names_are_compared_by_their_form_and_shown_as_first_written(agent: Store) -> None:
    agent.assert_fact(subject="Ann Lee", relation="Works_At", object="ACME", valid_from=day(1))
    agent.assert_fact(subject="ann_lee", relation="works  at", object="acme", valid_from=day(1))
    (fact,) = agent.facts(subject="ANN LEE", relation="WORKS AT", object="Acme")
    assert (fact.subject, fact.relation, fact.object) == ("Ann Lee", "Works_At", "ACME")
    assert len(fact.assertions) == 2
    assert str(fact) == "Ann Lee Works_At ACME"


def test_values_are_what_they_are(agent: Store) -> None:
    time = datetime(2025, 6, 1, 9, tzinfo=timezone(timedelta(hours=9)))
    values: list[Any] = [1, 1.0, True, "1", "bob", "Bob", 2.5, date(2025, 6, 1), time, day(1)]
    for value in values:
        agent.assert_fact(**about(Literal(value), valid_from=day(1)))
    agent.assert_fact(**about("bob", valid_from=day(1)))
    objects = [fact.object for fact in agent.facts()]
    output = [value.value if isinstance(value, Literal) else f"entity {value}" for value in objects]
    expected = [1, True, "1", "bob", "Bob", 2.5, date(2025, 6, 1), day(1), "entity bob"]
    assert [(type(value), value) for value in output] == [
        (type(value), value) for value in expected
    ]
    (result,) = agent.facts(object=Literal(1.0))
    assert len(result.assertions) == 2
    assert agent.facts(object=Literal(False)) == []


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), "", 10**640, None, datetime(2025, 1, 1)],  # noqa: DTZ001
    ids=str,
)
def test_what_is_no_value_is_refused(agent: Store, value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^object: "):
        agent.assert_fact(**about(Literal(value)))


# Whose, when, and as known when


def test_agents_and_namespaces_have_beliefs_of_their_own(agent: Store) -> None:
    for who, job in (({}, "a"), ({"agent_id": "a2"}, "b"), ({"namespace": "n"}, "c")):
        agent.assert_fact(**about(job, valid_from=day(1), **who))
    for who, job in (({}, "a"), ({"agent_id": "a2"}, "b"), ({"namespace": "n"}, "c")):
        assert [fact.object for fact in agent.facts(**who)] == [job]  # type: ignore[arg-type]
        (fact,) = agent.timeline(subject="alice", relation="knows", **who)
        assert (fact.agent_id, fact.namespace) == (
            who.get("agent_id", "a1"),
            who.get("namespace", "default"),
        )
    assert agent.facts(namespace="never used") == []


def test_known_at_is_a_commit_or_a_time(agent: Store, clock: FixedClock) -> None:
    agent.set_cardinality(relation="knows", cardinality="single")
    agent.assert_fact(**about("bob", valid_from=day(1)))
    clock.advance(60)
    agent.assert_fact(**about("cy", valid_from=day(2)))
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for known_at in (2, start + timedelta(seconds=59), "2026-01-01T00:00:59Z"):
        (fact,) = agent.facts(known_at=known_at)
        assert (fact.object, fact.valid_to) == ("bob", None)
    for later in (3, 99, "2027-01-01T00:00:00Z", None):
        (fact,) = agent.facts(known_at=later)
        assert fact.object == "cy"
    for early in (0, 1, "2025-01-01T00:00:00Z"):
        assert agent.facts(valid_at=day(3), known_at=early) == []
    for wrong in (-1, True, "yesterday", 1.5):
        with pytest.raises(InvalidInput, match=r"^known_at: "):
            agent.facts(known_at=wrong)  # type: ignore[arg-type]


def test_closed_ones_are_shown_when_asked_for(agent: Store) -> None:
    agent.assert_fact(**about(valid_from=day(1), valid_to=day(2)))
    assert agent.facts() == []
    assert [fact.object for fact in agent.facts(include_closed=True)] == ["bob"]
    with pytest.raises(InvalidInput, match=r"^valid_at: "):
        agent.facts(valid_at=day(1), include_closed=True)


# Taking back


def test_a_fact_is_retracted_by_what_it_says(agent: Store) -> None:
    for object_, since in (("bob", 1), ("BOB", 2), ("cy", 3)):
        agent.assert_fact(**about(object_, valid_from=day(since)))
    answer = agent.retract_fact(subject="Alice", relation="KNOWS", object="Bob", reason="a rumour")
    assert [edge.object_key for edge in answer.close] == ["bob", "bob"]
    assert [fact.object for fact in agent.facts()] == ["cy"]
    with pytest.raises(NotFound, match="nobody has asserted 'alice knows bob'"):
        agent.retract_fact(**about())
    agent.retract_fact(subject="alice", relation="knows")
    assert agent.facts() == []


def test_to_retract_again_changes_nothing(agent: Store) -> None:
    fact = agent.assert_fact(**about(valid_from=day(1), valid_to=day(2)))
    ended = agent.end_fact(**about(at=day(5)))
    for answer in (fact, ended):
        first = agent.retract_fact(assertion_id=answer.assertion_id)
        again = agent.retract_fact(assertion_id=answer.assertion_id)
        assert first.commit_ts is not None
        assert as_read(again) == EdgeResolution(open=None)
        assert again.outcome == "unchanged"
    assert agent.stats().commits == 4
    assert agent.facts(include_closed=True) == []


def test_only_ones_own_is_retracted_and_only_what_was_said(agent: Store) -> None:
    text = agent.assert_fact(**about()).assertion_id
    for more in ({"agent_id": "a2"}, {"namespace": "n"}):
        with pytest.raises(NotFound, match="has no assertion"):
            agent.retract_fact(assertion_id=text, **more)
        with pytest.raises(NotFound):
            agent.retract_fact(**about(), **more)
    with pytest.raises(NotFound, match="'never said'"):
        agent.retract_fact(assertion_id="never said")


def test_contradictory_arguments_are_refused(agent: Store) -> None:
    text = agent.assert_fact(**about()).assertion_id
    for arguments in ({"assertion_id": text, "subject": "alice"}, {}, {"subject": "alice"}):
        with pytest.raises(InvalidInput, match=r"^assertion_id: "):
            agent.retract_fact(**arguments)
    with pytest.raises(InvalidInput, match=r"^valid_to: .* is not after"):
        agent.assert_fact(**about(valid_from=day(2), valid_to=day(2)))
    for cardinality in ("one", None, 1):
        with pytest.raises(InvalidInput, match=r"^cardinality: "):
            agent.set_cardinality(relation="knows", cardinality=cardinality)  # type: ignore[arg-type]


# Once, and on record


def test_an_assertion_under_a_name_happens_once(reopen: Opener) -> None:
    agent, other = reopen().bind(agent_id="a1"), reopen().bind(agent_id="a1")
    answers = [
        store.assert_fact(**about(valid_from=day(1)), txn_id="t")
        for store in (agent, agent, other, other)
    ]
    assert answers[0].assertion_id is not None
    assert answers == [answers[0]] * 4
    assert agent.stats().commits == 1
    with pytest.raises(IdempotencyMismatch):
        agent.assert_fact(**about("cy", valid_from=day(1)), txn_id="t")


def test_a_cardinality_that_is_so_already_is_no_event(agent: Store) -> None:
    assert agent.set_cardinality(relation="knows", cardinality="multi").commit_ts == 0
    assert agent.set_cardinality(relation="knows", cardinality="single").commit_ts == 1
    single = RelationCardinality.SINGLE_VALUED
    assert agent.set_cardinality(relation="KNOWS", cardinality=single).commit_ts == 1
    assert agent.stats().commits == 1


def test_a_cardinality_is_a_namespaces(agent: Store) -> None:
    for who in ({}, {"agent_id": "a2"}, {"namespace": "n"}):
        for number in (1, 2):
            agent.assert_fact(**about(f"p{number}", valid_from=day(number), **who))
    agent.set_cardinality(relation="knows", cardinality="single")
    result = [
        len(agent.facts(**who))  # type: ignore[arg-type]
        for who in ({}, {"agent_id": "a2"}, {"namespace": "n"})
    ]
    assert result == [1, 1, 2]


def test_much_is_derived_anew_only_when_asked(open_store: Opener) -> None:
    agent = open_store(limits=Limits(derived_statements=3)).bind(agent_id="a1")
    for number in range(1, 5):
        agent.assert_fact(**about(f"p{number}", valid_from=day(number)))
    with pytest.raises(InvalidInput, match=r"^allow_large: 4 statements .* limit of 3"):
        agent.set_cardinality(relation="knows", cardinality="single")
    agent.set_cardinality(relation="knows", cardinality="single", allow_large=True)
    assert [fact.object for fact in agent.facts()] == ["p4"]


def test_replay_tells_what_was_said(agent: Store) -> None:
    agent.set_cardinality(relation="Works_At", cardinality="single")
    text = agent.assert_fact(
        subject="Alice", relation="Works_At", object="a|b%", valid_from=day(1), confidence=0.5
    ).assertion_id
    end = agent.end_fact(subject="alice", relation="works at", at=day(2)).assertion_id
    agent.retract_fact(assertion_id=text, reason="a rumour")
    agent.alias(entity="Alice", alias="Al")
    agent.assert_fact(subject="Bob", relation="age", object=Literal(7), valid_from=day(1))
    agent.merge_entities(source="Bob", into="Alice")
    reports = [(op.type, op.key) for event in agent.replay() for op in event.operations]
    assert reports == [
        (OperationType.CARDINALITY, "relation:works at"),
        (OperationType.ASSERT, "fact:alice|works at|a%7Cb%25"),
        (OperationType.END, "fact:alice|works at|"),
        (OperationType.WITHDRAW, f"assertion:{text}"),
        (OperationType.ALIAS, "entity:alice"),
        (OperationType.ASSERT, "fact:bob|age|7"),
        (OperationType.MERGE, "entity:alice"),
    ]
    values = [op.value or {} for event in agent.replay() for op in event.operations]
    assert values[0] == {"relation": "Works_At", "cardinality": "single"}
    assert (
        values[1].items() >= {"assertion_id": text, "subject": "Alice", "confidence": 0.5}.items()
    )
    assert values[2].items() >= {"assertion_id": end, "object": None}.items()
    assert values[3] == {"reason": "a rumour"}
    assert values[4] == {"entity": "Alice", "alias": "Al"}
    assert values[5].items() >= {"object": "7", "object_kind": "number"}.items()
    assert values[6] == {"source": "Bob", "into": "Alice"}
    only = agent.replay(kinds=[OperationType.WITHDRAW])
    assert [op.key for event in only for op in event.operations] == [f"assertion:{text}"]


# At one instant


def test_at_one_instant_what_was_said_last_counts(agent: Store) -> None:
    for cardinality, expected in (
        ("multi", [("bob", day(5), None)]),
        ("single", [("bob", day(5), day(5)), ("bob", day(5), None)]),
    ):
        relation = f"knows {cardinality}"
        agent.set_cardinality(relation=relation, cardinality=cardinality)
        reference: dict[str, Any] = {"subject": "alice", "relation": relation, "object": "bob"}
        agent.assert_fact(**reference, valid_from=day(5))
        agent.end_fact(**reference, at=day(5))
        assert agent.facts(relation=relation) == []
        agent.assert_fact(**reference, valid_from=day(5))
        facts = agent.timeline(subject="alice", relation=relation)
        assert [(fact.object, fact.valid_from, fact.valid_to) for fact in facts] == expected
        again = agent.timeline(subject="alice", relation=relation, known_at=agent.stats().commits)
        assert again == facts
    assert agent.rebuild().identical
