"""The oracle of the graph, held to examples worked out by hand, and to what makes it worth having.

`Day` 1 to 30 are instants; commits follow one another, one for each step, unless a test says so.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda import CardinalityPolicy, ExistingEdge, Scope, TemporalEdgeResolver
from memoranda import Edge as NewEdge
from tests.property.graph_oracle import Edge, GraphOracle, Literal, Object
from tests.property.model import Refused

SCOPE = Scope("default", "ada")
Span = tuple[Object, int, int | None]
"""An object, and the days its edge begins and ends."""


def day(number: int) -> datetime:
    return datetime(2026, 6, number, tzinfo=UTC)


def spans(edges: list[Edge]) -> list[Span]:
    return [
        (edge.object, edge.valid_from.day, edge.valid_to.day if edge.valid_to else None)
        for edge in edges
    ]


class Jobs(GraphOracle):
    """Alice's jobs, of which she has one at a time."""

    def __init__(self, *, single: bool = True) -> None:
        super().__init__()
        if single:
            self.begin()
            self.set_cardinality("works at", single=True)

    def say(self, job: Object, since: int, until: int | None = None, **more: object) -> str:
        self.begin()
        end = None if until is None else day(until)
        return self.assert_fact("alice", "works at", job, day(since), valid_to=end, **more)  # type: ignore[arg-type]

    def leave(self, job: Object | None, at: int) -> str:
        self.begin()
        return self.end_fact("alice", "works at", job, day(at))

    def take_back(self, id_: str) -> None:
        self.begin()
        self.retract(id_)

    def seen(self, known_at: int | None = None) -> list[Span]:
        return spans(self.timeline("alice", "works at", known_at))

    def on(self, at: int, known_at: int | None = None) -> list[Span]:
        return spans(self.facts(day(at), known_at))


# One object at a time


def test_the_next_assertion_ends_the_one_before() -> None:
    jobs = Jobs()
    jobs.say("acme", 1)
    jobs.say("globex", 5)
    assert jobs.seen() == [("acme", 1, 5), ("globex", 5, None)]
    assert jobs.on(4) == [("acme", 1, 5)]
    assert jobs.on(5) == [("globex", 5, None)]


def test_a_backdated_fact_takes_its_place_and_does_not_win() -> None:
    jobs = Jobs()
    jobs.say("globex", 5)
    jobs.say("acme", 1)
    assert jobs.seen() == [("acme", 1, 5), ("globex", 5, None)]


def test_a_restatement_folds_into_the_edge_that_began_first() -> None:
    jobs = Jobs()
    late = jobs.say("acme", 5, confidence=0.4)
    early = jobs.say("acme", 1, confidence=0.9, source="note")
    (edge,) = jobs.timeline("alice", "works at")
    assert spans([edge]) == [("acme", 1, None)]
    assert (edge.confidence, edge.known_from) == (0.9, 2)
    assert (edge.assertions, edge.sources) == ((late, early), (late, "note"))


def test_what_is_restated_after_a_late_interruption_opens_again() -> None:
    jobs = Jobs()
    jobs.say("acme", 1)
    jobs.say("acme", 9)
    jobs.say("globex", 5)
    assert jobs.seen() == [("acme", 1, 5), ("globex", 5, 9), ("acme", 9, None)]
    assert jobs.seen(known_at=3) == [("acme", 1, None)]


def test_an_interrupted_fact_does_not_resume_by_itself() -> None:
    jobs = Jobs()
    jobs.say("acme", 1)
    jobs.say("globex", 5, until=7)
    assert jobs.seen() == [("acme", 1, 5), ("globex", 5, 7)]
    assert jobs.on(8) == []


def test_an_end_of_something_else_ends_nothing() -> None:
    jobs = Jobs()
    jobs.say("acme", 1)
    jobs.leave("globex", 3)
    jobs.say("acme", 5)
    assert jobs.seen() == [("acme", 1, None)]


def test_an_end_of_the_holder_or_of_all_ends_it() -> None:
    for ended in ("acme", None):
        jobs = Jobs()
        jobs.say("acme", 1)
        jobs.leave(ended, 3)
        jobs.say("acme", 5)
        assert jobs.seen() == [("acme", 1, 3), ("acme", 5, None)]


def test_an_end_before_anything_began_ends_nothing() -> None:
    jobs = Jobs()
    jobs.leave(None, 1)
    jobs.say("acme", 2)
    assert jobs.seen() == [("acme", 2, None)]


def test_at_one_instant_the_last_commit_holds_and_the_others_are_kept_empty() -> None:
    jobs = Jobs()
    jobs.say("acme", 1)
    jobs.say("globex", 1)
    jobs.say("initech", 1)
    assert jobs.seen() == [("acme", 1, 1), ("globex", 1, 1), ("initech", 1, None)]
    assert jobs.on(1) == [("initech", 1, None)]


def test_at_one_instant_a_holder_can_come_back() -> None:
    jobs = Jobs()
    jobs.say("acme", 1)
    jobs.say("globex", 5)
    jobs.say("acme", 5)
    assert jobs.seen() == [("acme", 1, 5), ("globex", 5, 5), ("acme", 5, None)]


def test_an_end_at_the_instant_of_the_assertion_counts_if_it_comes_after_it() -> None:
    jobs = Jobs()
    jobs.say("acme", 1)
    jobs.leave("acme", 1)
    assert jobs.seen() == [("acme", 1, 1)]
    jobs.say("acme", 1)
    assert jobs.seen() == [("acme", 1, 1), ("acme", 1, None)]


def test_within_a_commit_the_position_decides() -> None:
    jobs = Jobs()
    jobs.begin()
    jobs.assert_fact("alice", "works at", "acme", day(1))
    jobs.assert_fact("alice", "works at", "globex", day(1))
    assert jobs.seen() == [("acme", 1, 1), ("globex", 1, None)]


def test_overlapping_spans_of_one_job_end_at_the_first_end() -> None:
    jobs = Jobs()
    jobs.say("acme", 1, until=5)
    jobs.say("acme", 3, until=9)
    assert jobs.seen() == [("acme", 1, 5)]


# Retracting


def test_what_is_retracted_is_gone_from_that_commit_on_and_known_before() -> None:
    jobs = Jobs()
    jobs.say("acme", 1)
    wrong = jobs.say("globex", 5)
    jobs.take_back(wrong)
    assert jobs.seen() == [("acme", 1, None)]
    assert jobs.seen(known_at=3) == [("acme", 1, 5), ("globex", 5, None)]
    assert jobs.seen(known_at=1) == []


def test_an_assertion_takes_its_own_end_along_and_no_other() -> None:
    jobs = Jobs()
    jobs.say("acme", 1)
    wrong = jobs.say("acme", 2, until=5)
    jobs.leave("acme", 8)
    assert jobs.seen() == [("acme", 1, 5)]
    jobs.take_back(wrong)
    assert jobs.seen() == [("acme", 1, 8)]


def test_an_end_can_be_retracted() -> None:
    jobs = Jobs()
    jobs.say("acme", 1)
    wrong = jobs.leave(None, 5)
    jobs.take_back(wrong)
    assert jobs.seen() == [("acme", 1, None)]
    assert jobs.seen(known_at=3) == [("acme", 1, 5)]


def test_what_remains_of_an_edge_carries_what_remains() -> None:
    jobs = Jobs()
    first = jobs.say("acme", 1, confidence=0.9)
    second = jobs.say("acme", 5, confidence=0.4)
    jobs.take_back(first)
    (edge,) = jobs.timeline("alice", "works at")
    assert spans([edge]) == [("acme", 5, None)]
    assert (edge.confidence, edge.sources, edge.known_from) == (0.4, (second,), 3)


def test_nothing_is_retracted_twice() -> None:
    jobs = Jobs()
    assertion_id = jobs.say("acme", 1, until=3)
    assert jobs.live_ids() == [assertion_id]
    jobs.take_back(assertion_id)
    steps = list(jobs.steps)
    jobs.take_back(assertion_id)
    assert jobs.steps == steps
    with pytest.raises(Refused):
        jobs.retract("never said")


def test_every_assertion_of_a_fact_is_retracted_at_once() -> None:
    jobs = Jobs(single=False)
    jobs.say("acme", 1)
    jobs.say("ACME", 5)
    jobs.say("globex", 3)
    jobs.begin()
    jobs.retract_all("Alice", "works at", "Acme")
    assert jobs.seen() == [("globex", 3, None)]
    with pytest.raises(Refused):
        jobs.retract_all("alice", "works at", "acme")
    jobs.retract_all("alice", "works at")
    assert jobs.seen() == []


# Many objects at once


def test_assertions_live_side_by_side() -> None:
    jobs = Jobs(single=False)
    jobs.say("acme", 1)
    jobs.say("globex", 5)
    assert jobs.seen() == [("acme", 1, None), ("globex", 5, None)]
    assert jobs.on(5) == [("acme", 1, None), ("globex", 5, None)]


def test_the_same_again_is_a_source_and_later_again_is_another_edge() -> None:
    jobs = Jobs(single=False)
    one = jobs.say("acme", 1, confidence=0.2)
    jobs.say("acme", 5)
    two = jobs.say("acme", 1, confidence=0.6)
    assert jobs.seen() == [("acme", 1, None), ("acme", 5, None)]
    first = jobs.timeline("alice", "works at")[0]
    assert (first.sources, first.confidence, first.known_from) == ((one, two), 0.6, 1)


def test_a_read_shows_an_object_once_from_its_earliest_edge_that_holds() -> None:
    jobs = Jobs(single=False)
    jobs.say("acme", 1)
    jobs.leave("acme", 3)
    jobs.say("acme", 5)
    jobs.say("acme", 7)
    assert jobs.seen() == [("acme", 1, 3), ("acme", 5, None), ("acme", 7, None)]
    assert jobs.on(2) == [("acme", 1, 3)]
    assert jobs.on(4) == []
    assert jobs.on(9) == [("acme", 5, None)]
    assert spans(jobs.current_edges("alice", "works at")) == [("acme", 5, None)]


def test_what_is_shown_once_has_what_is_said_for_all_its_edges_that_hold() -> None:
    jobs = Jobs(single=False)
    late = jobs.say("acme", 7, confidence=0.9)
    early = jobs.say("acme", 5, confidence=0.4, source="note")
    (before,) = jobs.facts(day(6))
    assert (before.assertions, before.confidence, before.known_from) == ((early,), 0.4, 2)
    (both,) = jobs.facts(day(7))
    assert spans([both]) == [("acme", 5, None)]
    assert (both.assertions, both.sources) == ((late, early), (late, "note"))
    assert (both.confidence, both.known_from) == (0.9, 1)


def test_an_end_ends_all_edges_of_its_object_that_began_before() -> None:
    jobs = Jobs(single=False)
    jobs.say("acme", 1)
    jobs.say("acme", 4)
    jobs.say("acme", 8)
    jobs.say("globex", 1)
    jobs.leave("acme", 6)
    ended = [("acme", 1, 6), ("globex", 1, None), ("acme", 4, 6), ("acme", 8, None)]
    assert jobs.seen() == ended
    jobs.leave(None, 9)
    assert jobs.seen()[1:] == [("globex", 1, 9), ("acme", 4, 6), ("acme", 8, 9)]


def test_an_end_counts_only_after_the_last_assertion_of_its_instant() -> None:
    jobs = Jobs(single=False)
    jobs.say("acme", 5)
    jobs.leave("acme", 5)
    assert jobs.seen() == [("acme", 5, 5)]
    jobs.say("acme", 5)
    assert jobs.seen() == [("acme", 5, None)]
    assert jobs.seen(known_at=2) == [("acme", 5, 5)]


# Cardinality, names, values


def test_a_change_of_cardinality_changes_the_whole_timeline_from_then_on() -> None:
    jobs = Jobs(single=False)
    jobs.say("acme", 1)
    jobs.say("globex", 5)
    jobs.begin()
    jobs.set_cardinality("Works_At", single=True)
    assert jobs.seen() == [("acme", 1, 5), ("globex", 5, None)]
    assert jobs.seen(known_at=2) == [("acme", 1, None), ("globex", 5, None)]
    jobs.begin()
    jobs.set_cardinality("works at", single=False)
    assert jobs.seen() == jobs.seen(known_at=2)


def test_an_alias_gathers_what_was_said_under_it_before_and_after() -> None:
    jobs = Jobs()
    jobs.say("acme", 1)
    jobs.say("Acme_Inc", 3)
    assert jobs.seen() == [("acme", 1, 3), ("acme inc", 3, None)]
    jobs.begin()
    jobs.alias("acme", "Acme Inc")
    jobs.say("ACME INC", 5)
    assert jobs.seen() == [("acme", 1, None)]
    assert jobs.seen(known_at=3) == [("acme", 1, 3), ("acme inc", 3, None)]
    assert spans(jobs.facts(day(9), object_="acme inc")) == [("acme", 1, None)]


def test_an_alias_has_one_meaning() -> None:
    jobs = Jobs()
    jobs.say("globex", 1)
    jobs.begin()
    jobs.alias("acme", "the firm")
    jobs.alias("acme", "the firm")
    with pytest.raises(Refused):
        jobs.alias("globex", "the firm")
    jobs.merge("acme", "globex")
    jobs.alias("globex", "the firm")
    assert jobs.names() == {"the firm": "acme", "acme": "globex"}


def test_a_merge_joins_timelines_and_is_unknown_before() -> None:
    jobs = Jobs()
    jobs.say("acme", 1)
    jobs.begin()
    jobs.assert_fact("A. Smith", "works at", "globex", day(5))
    jobs.begin()
    jobs.merge("A. Smith", "Alice")
    assert jobs.seen() == [("acme", 1, 5), ("globex", 5, None)]
    assert jobs.timeline("a. smith", "works at") == jobs.timeline("alice", "works at")
    assert jobs.seen(known_at=3) == [("acme", 1, None)]
    assert spans(jobs.timeline("a. smith", "works at", 3)) == [("globex", 5, None)]


def test_merges_follow_one_another_and_one_back_changes_nothing() -> None:
    jobs = Jobs()
    jobs.begin()
    for name in "abc":
        jobs.assert_fact(name, "is", "somebody", day(1))
    jobs.merge("a", "b")
    jobs.alias("a", "also a")
    jobs.merge("b", "c")
    jobs.merge("c", "a")
    assert jobs.names() == {"a": "b", "also a": "b", "b": "c"}


def test_a_value_is_no_name() -> None:
    jobs = Jobs()
    jobs.say(Literal("text", "Acme"), 1)
    jobs.say("acme", 3)
    jobs.begin()
    jobs.end_fact("globex", "works at", None, day(1))
    jobs.merge("acme", "globex")
    assert jobs.seen() == [(Literal("text", "Acme"), 1, 3), ("globex", 3, None)]
    jobs.leave(Literal("text", "acme"), 2)
    jobs.leave(Literal("text", "Acme"), 2)
    assert jobs.seen()[0] == (Literal("text", "Acme"), 1, 2)


def test_what_cannot_be_is_refused() -> None:
    jobs = Jobs()
    for until in (4, 5):
        with pytest.raises(Refused):
            jobs.say("acme", 5, until=until)
    with pytest.raises(Refused):
        jobs.merge("alice", "nobody")
    with pytest.raises(Refused):
        jobs.say(" _", 5)
    assert jobs.seen() == []


def test_subjects_and_relations_do_not_meet() -> None:
    jobs = Jobs()
    jobs.say("acme", 1)
    jobs.begin()
    jobs.assert_fact("bob", "works at", "globex", day(2))
    jobs.assert_fact("alice", "knows", "bob", day(2))
    jobs.end_fact("bob", "works at", None, day(4))
    assert jobs.seen() == [("acme", 1, None)]
    assert jobs.on(3) == [("bob", 2, None), ("acme", 1, None), ("globex", 2, 4)]
    assert spans(jobs.facts(day(3), subject="Bob")) == [("globex", 2, 4)]
    assert spans(jobs.facts(day(3), relation="KNOWS")) == [("bob", 2, None)]


# What makes a derived timeline worth having

statements = st.tuples(st.sampled_from(["acme", "globex", "initech"]), st.integers(1, 9))


@pytest.mark.parametrize("single", [True, False])
@given(data=st.data())
def test_the_order_of_arrival_does_not_matter(data: st.DataObject, *, single: bool) -> None:
    facts = data.draw(st.lists(statements, min_size=2, max_size=7, unique_by=lambda item: item[1]))
    timelines = []
    for order in (facts, data.draw(st.permutations(facts))):
        jobs = Jobs(single=single)
        for job, since in order:
            jobs.say(job, since)
        timelines.append(jobs.seen())
    assert timelines[0] == timelines[1]


class Catalog:
    """Does what a resolver decides, as its caller would."""

    def __init__(self) -> None:
        self.edges: list[ExistingEdge] = []

    def current_edges(self, scope: Scope, subject_key: str, relation: str) -> list[ExistingEdge]:
        return [edge for edge in self.edges if edge.valid_to is None]

    def put(self, resolver: TemporalEdgeResolver, new: NewEdge) -> None:
        answer = resolver.resolve(SCOPE, new)
        for closed in answer.close:
            self.edges.remove(closed)
            self.edges.append(
                ExistingEdge(
                    closed.subject_key,
                    closed.relation,
                    closed.object_key,
                    closed.valid_from,
                    new.valid_from,
                )
            )
        assert answer.open is not None
        opened = answer.open
        edge = ExistingEdge(
            opened.subject_key, opened.relation, opened.object_key, opened.valid_from
        )
        if edge not in self.edges:
            self.edges.append(edge)


@given(st.lists(statements, max_size=7, unique_by=lambda item: item[1]))
def test_a_resolver_that_sees_what_is_current_agrees_while_time_goes_forward(
    facts: list[tuple[str, int]],
) -> None:
    catalog, jobs = Catalog(), Jobs()
    resolver = TemporalEdgeResolver(catalog, CardinalityPolicy.with_single_valued(["works at"]))
    for job, since in sorted(facts, key=lambda item: item[1]):
        jobs.say(job, since)
        catalog.put(resolver, NewEdge("alice", "works at", job, 1.0, day(since)))
    result = [
        (edge.object_key, edge.valid_from.day, edge.valid_to.day if edge.valid_to else None)
        for edge in sorted(catalog.edges, key=lambda edge: edge.valid_from)
    ]
    assert result == jobs.seen()
