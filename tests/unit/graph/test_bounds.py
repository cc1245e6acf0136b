"""Assertions with both ends: each holds for its own time, and what holds is the union of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from memoranda import Edge, ExistingEdge, FactRef, Literal, MemoryRef, Store
from memoranda.graph import timeline_store
from memoranda.testing import FixedClock, memory_store

ABOUT: dict[str, Any] = {"subject": "Ann", "relation": "knows"}
Span = tuple[str, int, int | None]
"""An object, and the days it holds from and to."""


@pytest.fixture(
    params=[timeline_store.SMALL_TIMELINE_STATEMENTS, 0], ids=["short", "long"], autouse=True
)
def _timelines(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let timelines be derived as a whole, and let them be taken for too long for that."""
    monkeypatch.setattr(timeline_store, "SMALL_TIMELINE_STATEMENTS", request.param)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def agent(clock: FixedClock) -> Iterator[Store]:
    with memory_store(clock=clock) as opened:
        yield opened.bind(agent_id="a1")


def day(number: int) -> datetime:
    return datetime(2025, 1, number, tzinfo=UTC)


def say(
    store: Store, since: int, until: int | None = None, object_: str = "Bob", **more: Any
) -> str:
    answer = store.assert_fact(**told(since, until, object_), **more)
    assert answer.assertion_id is not None
    return answer.assertion_id


def told(since: int, until: int | None = None, object_: str = "Bob") -> dict[str, Any]:
    end = None if until is None else day(until)
    return {**ABOUT, "object": object_, "valid_from": day(since), "valid_to": end}


def spans(facts: list[Any]) -> list[Span]:
    return [
        (str(fact.object), fact.valid_from.day, fact.valid_to and fact.valid_to.day)
        for fact in facts
    ]


def seen(store: Store, **when: Any) -> list[Span]:
    return spans(store.timeline(**ABOUT, **when))


def check(store: Store) -> None:
    store.verify(deep=True)
    result = store.rebuild()
    assert result.identical, result.differing


def test_one_statement_does_not_cut_another_short(agent: Store) -> None:
    say(agent, 1, 20)
    say(agent, 5, 10)
    say(agent, 3)
    say(agent, 15, 25)
    expected = [("Bob", 1, 20), ("Bob", 3, None), ("Bob", 5, 10), ("Bob", 15, 25)]
    assert seen(agent) == expected
    assert spans(agent.facts(include_closed=True)) == expected
    assert seen(agent, known_at=2) == [("Bob", 1, 20), ("Bob", 5, 10)]
    assert spans(agent.facts(valid_at=day(2))) == [("Bob", 1, 20)]
    assert spans(agent.facts(valid_at=day(22))) == [("Bob", 3, None)]
    check(agent)


def test_an_object_is_shown_once_until_the_last_of_its_statements_ends(agent: Store) -> None:
    one, two = say(agent, 1, 10), say(agent, 5, 20)
    (fact,) = agent.facts(valid_at=day(7))
    assert (fact.valid_from, fact.valid_to, fact.assertions) == (day(1), day(20), (one, two))
    assert spans(agent.facts(valid_at=day(12))) == [("Bob", 5, 20)]
    assert spans(agent.facts(valid_at=day(7), known_at=1)) == [("Bob", 1, 10)]


def test_the_same_beginning_lasts_as_long_as_anybody_says(agent: Store) -> None:
    ids = [say(agent, 1, 5), say(agent, 1, 9), say(agent, 1, 7)]
    (fact,) = agent.timeline(**ABOUT)
    assert (fact.valid_to, fact.assertions) == (day(9), tuple(ids))
    ids.append(say(agent, 1))
    assert seen(agent) == [("Bob", 1, None)]
    for id_, end in ((ids[3], 9), (ids[1], 7), (ids[0], 7)):
        agent.retract_fact(assertion_id=id_)
        assert seen(agent) == [("Bob", 1, end)]
    assert [seen(agent, known_at=commit) for commit in (1, 2, 3, 4, 5)] == [
        [("Bob", 1, end)] for end in (5, 9, 9, None, 9)
    ]
    check(agent)


@pytest.mark.parametrize("object_", ["Bob", None])
def test_an_end_ends_every_statement_that_holds_then(agent: Store, object_: str | None) -> None:
    say(agent, 1, 20)
    say(agent, 2, 4)
    say(agent, 3)
    say(agent, 12, 15)
    say(agent, 1, 20, "Cy")
    end = agent.end_fact(**ABOUT, object=object_, at=day(8))
    cy = ("Cy", 1, 20 if object_ else 8)
    assert seen(agent) == [
        *(("Bob", 1, 8), cy, ("Bob", 2, 4), ("Bob", 3, 8)),
        ("Bob", 12, 15),
    ]
    say(agent, 6, 30)
    assert ("Bob", 6, 8) in seen(agent), "whatever comes later and begins before"
    agent.retract_fact(assertion_id=end.assertion_id)
    assert seen(agent) == [
        *(("Bob", 1, 20), ("Cy", 1, 20), ("Bob", 2, 4), ("Bob", 3, None)),
        *(("Bob", 6, 30), ("Bob", 12, 15)),
    ]
    check(agent)


@pytest.mark.parametrize("object_", ["Bob", None])
def test_an_end_at_the_instant_of_a_beginning_ends_what_was_said_before(
    agent: Store, object_: str | None
) -> None:
    say(agent, 1, 20)
    end = agent.end_fact(**ABOUT, object=object_, at=day(1))
    assert seen(agent) == [("Bob", 1, 1)]
    say(agent, 1, 10)
    assert seen(agent) == [("Bob", 1, 10)]
    agent.retract_fact(assertion_id=end.assertion_id)
    assert seen(agent) == [("Bob", 1, 20)]
    check(agent)


def test_retracting_a_statement_takes_its_end_along(agent: Store) -> None:
    say(agent, 1, 20)
    inner = say(agent, 5, 10)
    agent.retract_fact(assertion_id=inner)
    assert seen(agent) == [("Bob", 1, 20)]
    agent.retract_fact(**ABOUT, object="Bob")
    assert seen(agent) == []
    assert agent.stats().commits == 4
    check(agent)


def test_a_change_of_cardinality_derives_it_anew(agent: Store) -> None:
    say(agent, 1, 20)
    say(agent, 5, 10)
    say(agent, 7, 12, "Cy")
    both = [("Bob", 1, 20), ("Bob", 5, 10), ("Cy", 7, 12)]
    single = [("Bob", 1, 7), ("Cy", 7, 12)]
    assert seen(agent) == both
    agent.set_cardinality(relation="knows", cardinality="single")
    assert seen(agent) == single
    agent.set_cardinality(relation="knows", cardinality="multi")
    assert seen(agent) == both
    assert seen(agent, known_at=4) == single
    check(agent)


def test_where_there_is_one_object_at_a_time_an_end_clears_the_holder(agent: Store) -> None:
    agent.set_cardinality(relation="knows", cardinality="single")
    say(agent, 1, 20)
    inner = say(agent, 5, 10)
    assert seen(agent) == [("Bob", 1, 10)]
    agent.retract_fact(assertion_id=inner)
    assert seen(agent) == [("Bob", 1, 20)]
    check(agent)


def test_entities_that_become_one_keep_their_years(agent: Store) -> None:
    say(agent, 1, 20)
    say(agent, 5, 10, "Robert")
    agent.assert_fact(subject="Annie", relation="knows", object="Bob", valid_from=day(3))
    agent.merge_entities(source="Robert", into="Bob")
    agent.merge_entities(source="Annie", into="Ann")
    assert seen(agent) == [("Bob", 1, 20), ("Bob", 3, None), ("Bob", 5, 10)]
    agent.end_fact(**ABOUT, object="Robert", at=day(7))
    assert seen(agent) == [("Bob", 1, 7), ("Bob", 3, 7), ("Bob", 5, 7)]
    check(agent)


def test_a_transaction_sees_it_before_it_is_committed(agent: Store) -> None:
    say(agent, 1, 20)
    with agent.begin_transaction() as tx:
        tx.assert_fact(**told(5, 10))
        inner = tx.assert_fact(**told(1, 25))
        tx.assert_fact(**told(3))
        staged = spans(tx.timeline(**ABOUT))
        assert staged == [("Bob", 1, 25), ("Bob", 3, None), ("Bob", 5, 10)]
    assert seen(agent) == staged
    with agent.begin_transaction() as tx:
        tx.retract_fact(assertion_id=inner)
        tx.end_fact(**ABOUT, object="Bob", at=day(8))
        staged = spans(tx.timeline(**ABOUT))
        assert staged == [("Bob", 1, 8), ("Bob", 3, 8), ("Bob", 5, 8)]
    assert seen(agent) == staged


def test_what_an_assertion_did_is_answered(agent: Store) -> None:
    agent.assert_fact(**told(1, 20), txn_id="one")
    answer = agent.assert_fact(**told(5, 10), txn_id="two")
    assert answer.open == Edge("ann", "knows", "bob", 1.0, day(5))
    assert (answer.close, answer.changed, answer.folded, answer.reopened) == ((), (), None, ())
    longer = agent.assert_fact(**told(1, 25), txn_id="three")
    old, new = (ExistingEdge("ann", "knows", "bob", day(1), day(end)) for end in (20, 25))
    assert (longer.folded, longer.changed, longer.close) == (old, ((old, new),), ())
    shorter = agent.assert_fact(**told(1, 2), txn_id="four")
    assert (shorter.folded, shorter.changed, shorter.close) == (new, (), ())
    ended = agent.end_fact(**ABOUT, object="Bob", at=day(7))
    inner = ExistingEdge("ann", "knows", "bob", day(5), day(10))
    assert ended.close == (new, inner)
    assert agent.assert_fact(**told(1, 25), txn_id="three") == longer, "told again, the same"


def test_what_is_forgotten_leaves_the_others_as_they_were_said(agent: Store) -> None:
    source = agent.remember("she met him")
    say(agent, 1, 20)
    say(agent, 5, 10, source=source.id)
    say(agent, 1, 25, source=source.id)
    assert seen(agent) == [("Bob", 1, 25), ("Bob", 5, 10)]
    agent.forget(memory_id=source.id)
    assert seen(agent) == [("Bob", 1, 20)]
    check(agent)


def test_a_compaction_keeps_both_ends(agent: Store) -> None:
    say(agent, 1, 20)
    inner = say(agent, 5, 10)
    target = say(agent, 1, 25)
    agent.retract_fact(assertion_id=target)
    agent.write(key="k", value={})
    agent.compact(before=agent.stats().commits, confirm=True)
    assert seen(agent) == [("Bob", 1, 20), ("Bob", 5, 10)]
    agent.retract_fact(assertion_id=inner)
    assert seen(agent) == [("Bob", 1, 20)]
    check(agent)


def test_an_end_is_explained_by_the_statement_it_belongs_to(agent: Store) -> None:
    sources = [agent.remember(text) for text in ("until the fifth", "until the ninth")]
    one = say(agent, 1, 5, source=sources[0].id)
    two = say(agent, 1, 9, source=sources[1].id)
    end = agent.explain(one).end
    assert end is not None
    assert (end.id, end.at, end.source) == (two, day(9), MemoryRef(sources[1].id, 1))


def test_what_holds_by_another_statement_is_not_stale(agent: Store, clock: FixedClock) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    about = {**ABOUT, "object": "Bob"}
    until = start.replace(day=5)
    ref = FactRef(str(agent.assert_fact(**about, valid_from=start, valid_to=until).assertion_id))
    agent.write(key="plan", value={}, because=[ref])
    longer = agent.assert_fact(**about, valid_from=start.replace(day=2))
    clock.advance(10 * 86_400)
    assert not agent.why("plan").is_stale
    agent.end_fact(**about, at=start.replace(day=8))
    assert agent.why("plan").because[0].stale == ("ended on 2026-01-08",)
    agent.retract_fact(assertion_id=longer.assertion_id)
    assert agent.why("plan").because[0].stale == ("ended on 2026-01-05",)


def test_a_value_that_is_no_entity_has_its_years_too(agent: Store) -> None:
    for since, until in ((1, 20), (5, 10)):
        agent.assert_fact(
            subject="Ann",
            relation="weighs",
            object=Literal(70),
            valid_from=day(since),
            valid_to=day(until),
        )
    assert spans(agent.timeline(subject="Ann", relation="weighs")) == [("70", 1, 20), ("70", 5, 10)]
