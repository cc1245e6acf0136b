"""Many facts at once: batches, rows that cannot be taken, and saying each row once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memoranda import AssertedFacts, InvalidInput, Literal, MemorandaError, NotFound, Store
from tests.answers import counts


def person(number: int, **more: Any) -> dict[str, Any]:
    return {
        "subject": f"p{number}",
        "relation": "age",
        "object": Literal(number),
        "valid_from": "2020-01-01T00:00:00Z",
        **more,
    }


def people(count: int) -> Iterator[dict[str, Any]]:
    return (person(number) for number in range(1, count + 1))


def subjects(agent: Store) -> list[str]:
    return [fact.subject for fact in agent.facts()]


def test_rows_are_asserted_in_transactions_of_a_batch(agent: Store) -> None:
    reports: list[tuple[int, int]] = []
    done = agent.assert_facts(people(7), batch=3, progress=lambda *item: reports.append(item))
    assert counts(done) == AssertedFacts(asserted=7)
    assert reports == [(3, 0), (6, 0), (7, 0)]
    assert [len(event.operations) for event in agent.replay()] == [3, 3, 1]
    assert subjects(agent) == [f"p{number}" for number in range(1, 8)]


def test_progress_knows_the_whole_of_a_list(agent: Store) -> None:
    reports: list[tuple[int, int]] = []
    agent.assert_facts(list(people(4)), batch=3, progress=lambda *item: reports.append(item))
    assert reports == [(3, 4), (4, 4)]


def test_no_more_than_a_batch_is_held(agent: Store) -> None:
    read: list[int] = []

    def rows() -> Iterator[dict[str, Any]]:
        for number in range(1, 8):
            read.append(number)
            yield person(number)

    ahead: list[int] = []
    agent.assert_facts(rows(), batch=2, progress=lambda done, _: ahead.append(len(read) - done))
    assert max(ahead) == 0


def test_nothing_is_no_commit(agent: Store) -> None:
    assert agent.assert_facts([]) == AssertedFacts()
    assert list(agent.replay()) == []


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (person(0, confidence=2), "row 5, confidence: 2 is not"),
        (person(0, valid_to="2019-01-01T00:00:00Z"), "row 5, valid_to: "),
        (person(0, colour="red"), "row 5, fact: has 'colour'"),
        (person(0, subject=None), "row 5, subject: is missing"),
        ({"subject": "x"}, "row 5, relation: is missing"),
        ("words", "row 5, fact: 'words' is no mapping"),
        (person(0, source="no such memory"), "row 5: "),
    ],
)
def test_an_error_says_which_row_and_what_stays(agent: Store, bad: Any, message: str) -> None:
    rows = [person(1), person(2), person(3), person(4), bad, person(6)]
    with pytest.raises((InvalidInput, NotFound)) as caught:
        agent.assert_facts(rows, batch=3)
    assert str(caught.value).startswith(message)
    assert "(the 3 before row 4 are asserted)" in str(caught.value)
    assert subjects(agent) == ["p1", "p2", "p3"]


def test_an_error_in_the_first_batch_leaves_nothing(agent: Store) -> None:
    with pytest.raises(InvalidInput, match="nothing is asserted"):
        agent.assert_facts([person(1), person(2, confidence=-1)])
    assert subjects(agent) == []


def test_rows_that_cannot_be_taken_are_told_and_the_others_go_on(agent: Store) -> None:
    rows = [
        person(1),
        person(2, source="missing"),
        person(3, confidence="much"),
        person(4),
        person(5, source="missing too"),
        person(6),
    ]
    reports: list[tuple[int, Any, str]] = []

    def reject(number: int, row: Any, error: MemorandaError) -> None:
        reports.append((number, row, str(error)))

    # `reject` is no coroutine, and is given by name: it reaches an asynchronous store as it is
    done = agent.assert_facts(rows, batch=4, reject=reject)
    assert counts(done) == AssertedFacts(asserted=3, rejected=3)
    assert [number for number, _, _ in reports] == [2, 3, 5]
    assert all(row is rows[number - 1] for number, row, _ in reports)
    assert "missing too" in reports[2][2]
    assert subjects(agent) == ["p1", "p4", "p6"]


def test_a_batch_of_nothing_but_wrong_rows_is_no_commit(agent: Store) -> None:
    wrong = [person(1, confidence=7), person(2, source="missing")]
    done = agent.assert_facts(wrong, reject=lambda *_: None)
    assert counts(done) == AssertedFacts(rejected=2)
    assert list(agent.replay()) == []


def test_on_one_occasion_a_row_is_said_once_in_whatever_batches(agent: Store) -> None:
    first = agent.assert_facts(people(5), batch=2, once="census")
    assert counts(first) == AssertedFacts(asserted=5)
    again = agent.assert_facts(people(6), batch=4, once="census")
    assert counts(again) == AssertedFacts(asserted=1, unchanged=5)
    commits = len(list(agent.replay()))
    assert counts(agent.assert_facts(people(6), once="census")) == AssertedFacts(unchanged=6)
    assert len(list(agent.replay())) == commits
    assert all(len(fact.assertions) == 1 for fact in agent.facts())


def test_the_same_row_twice_is_one_on_one_occasion(agent: Store) -> None:
    rows = [person(1), person(1, subject="P1"), person(1, confidence=0.5)]
    done = agent.assert_facts(rows, once="census")
    assert counts(done) == AssertedFacts(asserted=2, unchanged=1)
    assert counts(agent.assert_facts([person(1)], once="another")) == AssertedFacts(asserted=1)
    assert counts(agent.assert_facts([person(1)])) == AssertedFacts(asserted=1)
    (fact,) = agent.facts()
    assert len(fact.assertions) == 4


def test_what_was_retracted_stays_so_on_the_same_occasion(agent: Store) -> None:
    agent.assert_facts(people(3), once="census")
    agent.retract_fact(subject="p2", relation="age")
    done = agent.assert_facts(people(3), once="census")
    assert counts(done) == AssertedFacts(unchanged=2, retracted=1)
    assert subjects(agent) == ["p1", "p3"]
    assert counts(agent.assert_facts(people(3), once="later")) == AssertedFacts(asserted=3)
    assert subjects(agent) == ["p1", "p2", "p3"]


def test_once_is_for_one_fact_as_well(agent: Store) -> None:
    text: Any = {"subject": "Ann", "relation": "works at", "object": "Acme", "once": "letter 7"}
    instance = agent.assert_fact(**text)
    assert instance.open is not None
    assert agent.assert_fact(**text).open is None
    (fact,) = agent.facts()
    assert fact.assertions == (instance.assertion_id,)
    with pytest.raises(InvalidInput, match="once"):
        agent.assert_fact(subject="a", relation="b", object="c", once="")


def test_agents_and_namespaces_are_of_all_rows_or_of_one(store: Store) -> None:
    rows = [person(1), person(2, agent_id="bob"), person(3, namespace="team")]
    store.assert_facts(rows, agent_id="ann", namespace="home")
    assert subjects(store.bind(agent_id="ann", namespace="home")) == ["p1"]
    assert subjects(store.bind(agent_id="bob", namespace="home")) == ["p2"]
    assert subjects(store.bind(agent_id="ann", namespace="team")) == ["p3"]


@pytest.mark.parametrize("batch", [0, -1, 1.5, True, 10_001, None])
def test_a_batch_is_a_number_of_rows(agent: Store, batch: Any) -> None:
    with pytest.raises(InvalidInput, match="batch"):
        agent.assert_facts([], batch=batch)


@pytest.mark.parametrize("facts", [7, "text", {"subject": "a"}, None])
def test_facts_are_a_list(agent: Store, facts: Any) -> None:
    with pytest.raises(InvalidInput, match="facts"):
        agent.assert_facts(facts)


def test_a_list_of_refusals_names_their_places(agent: Store) -> None:
    with agent.begin_transaction() as transaction:
        transaction.assert_fact(**person(1))
        transaction.assert_fact(**person(2, source="missing"))
        (place,) = transaction.refusals()
        assert place == 1
        transaction.abort()
