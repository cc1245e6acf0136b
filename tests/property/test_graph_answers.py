"""What a store answers to an assertion: the difference it made, and what memoir's resolver says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from memoranda import (
    CardinalityPolicy,
    Edge,
    EdgeResolution,
    ExistingEdge,
    Fact,
    Scope,
    Store,
    TemporalEdgeResolver,
)
from memoranda.graph import timeline_store
from memoranda.testing import memory_store
from tests.cores import core_of
from tests.quick import often

SCOPE = Scope("default", "a")
OBJECTS = ("acme", "globex", "initech")
MANY = 60
FEW = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(
    scope="module",
    params=[timeline_store.SMALL_TIMELINE_STATEMENTS, 0],
    ids=["short", "long"],
    autouse=True,
)
def _timelines(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let timelines be derived as a whole, and let them be taken for too long for that."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(timeline_store, "SMALL_TIMELINE_STATEMENTS", request.param)
        yield


def day(number: int) -> datetime:
    return datetime(2025, 6, number, tzinfo=UTC)


def jobs(*, single: bool = True) -> Store:
    store = memory_store().bind(agent_id="a")
    if single:
        store.set_cardinality(relation="works at", cardinality="single")
    return store


class Act(NamedTuple):
    """One call; `which` picks what to retract."""

    name: str
    object: str
    day: int
    ends: bool
    which: int


acts = st.builds(
    Act,
    st.sampled_from(["assert"] * 5 + ["end", "end all", "retract", "retract all"]),
    st.sampled_from(OBJECTS),
    st.integers(1, 28),
    st.sampled_from([False, False, True]),
    st.integers(0, 10**6),
)
ABOUT: dict[str, Any] = {"subject": "alice", "relation": "works at"}
Call = tuple[str, dict[str, Any]]

Begin = tuple[datetime, str]
"""How an edge is known: when it begins, and by which assertion."""


class Histories:
    """A store, and what it was told, to say which assertion an edge begins with."""

    def __init__(self, *, single: bool) -> None:
        self.store = jobs(single=single)
        self.begins: dict[str, datetime] = {}
        self.ids: list[str] = []

    def call(self, act: Act) -> Call:
        """Return what to call; what there is nothing to retract for is said instead."""
        at, stands = day(act.day), {fact.object for fact in self.timeline(None).values()}
        if act.name in ("end", "end all"):
            ended = act.object if act.name == "end" else None
            return "end_fact", {**ABOUT, "object": ended, "at": at, "allow_unknown": True}
        if act.name == "retract" and self.ids:
            return "retract_fact", {"assertion_id": self.ids[act.which % len(self.ids)]}
        if act.name == "retract all" and stands:
            return "retract_fact", {**ABOUT, "object": act.object if act.object in stands else None}
        text = {**ABOUT, "object": act.object, "valid_from": at, "confidence": act.day / 100}
        return "assert_fact", {**text, "valid_to": at.replace(month=7) if act.ends else None}

    def ask(self, call: Call, txn_id: str) -> EdgeResolution:
        method, values = call
        answer: EdgeResolution = getattr(self.store, method)(**values, txn_id=txn_id)
        text = answer.assertion_id
        if text is not None and text not in self.ids:
            self.ids.append(text)
        if text is not None and method == "assert_fact":
            self.begins[text] = values["valid_from"]
        return answer

    def again(self, call: Call, txn_id: str) -> EdgeResolution:
        """Ask once more, when the store has to find out what it did."""
        core_of(self.store).effects.forget()
        return self.ask(call, txn_id)

    def timeline(self, known_at: int | None) -> dict[Begin, Fact]:
        facts = self.store.timeline(subject="alice", relation="works at", known_at=known_at)
        return {self.begin(fact): fact for fact in facts}

    def begin(self, fact: Fact) -> Begin:
        """Ids come in the order of commits: the first of those from its beginning is its first."""
        same = (
            assertion for assertion in fact.assertions if self.begins[assertion] == fact.valid_from
        )
        return fact.valid_from, next(same)

    def difference(self, commit_ts: int, assertion_id: str | None) -> EdgeResolution:
        """Say what a commit did, from what was known before it and behind it."""
        before, after = self.timeline(commit_ts - 1), self.timeline(commit_ts)
        own = next((fact for fact in after.values() if assertion_id in fact.assertions), None)
        moves = {
            place: now
            for place, was in before.items()
            if place not in after
            for other, now in after.items()
            if other not in before and now.object == was.object and overlap(was, now)
        }
        closed, changed, reopened = [], [], []
        for place, was in before.items():
            now = after.get(place)
            if now is None and place in moves:
                changed.append((existing(was), existing(moves[place])))
            elif now is None or ends(now) < ends(was):
                closed.append(existing(was))
            elif ends(now) > ends(was):
                if now.valid_to is None:
                    reopened.append(existing(now))
                else:
                    changed.append((existing(was), existing(now)))
        start = [now for place, now in after.items() if place not in before]
        reopened += [existing(now) for now in start if now is not own and now not in moves.values()]
        folded = None if own is None else before.get(self.begin(own))
        confidence = 0.0 if own is None else self.confidence(assertion_id)
        return EdgeResolution(
            open=None if own is None else opened(own, confidence),
            close=tuple(closed),
            changed=tuple(changed),
            folded=None if folded is None else existing(folded),
            reopened=tuple(reopened),
            assertion_id=assertion_id,
            commit_ts=commit_ts,
        )

    def confidence(self, assertion_id: str | None) -> float:
        assert assertion_id is not None
        return self.begins[assertion_id].day / 100


def ends(fact: Fact) -> tuple[bool, datetime]:
    return (fact.valid_to is None, fact.valid_to or fact.valid_from)


def overlap(one: Fact, other: Fact) -> bool:
    return all(
        late.valid_to is None or early.valid_from <= late.valid_to
        for early, late in ((one, other), (other, one))
    )


def existing(fact: Fact) -> ExistingEdge:
    assert isinstance(fact.object, str)
    return ExistingEdge(fact.subject, fact.relation, fact.object, fact.valid_from, fact.valid_to)


def opened(fact: Fact, confidence: float) -> Edge:
    assert isinstance(fact.object, str)
    return Edge(fact.subject, fact.relation, fact.object, confidence, fact.valid_from)


def check_answers(taken: list[Act], *, single: bool) -> None:
    history = Histories(single=single)
    answers: list[tuple[Call, EdgeResolution]] = []
    for number, act in enumerate(taken):
        call = history.call(act)
        answer = history.ask(call, f"t{number}")
        assert answer.commit_ts is not None
        assert answer.committed_at is not None
        assert answer.outcome is not None
        bare = replace(answer, committed_at=None, outcome=None)
        assert bare == history.difference(answer.commit_ts, answer.assertion_id), call
        assert history.again(call, f"t{number}") == answer, call
        answers.append((call, answer))
    history.store.alias(entity="Acme Ltd", alias="acme")
    history.store.alias(entity="Alice Lee", alias="alice")
    for number, (call, answer) in enumerate(answers):
        assert history.again(call, f"t{number}") == answer, "as known before the names changed"


ON_DAYS = st.lists(acts, min_size=1, max_size=12, unique_by=lambda act: act.day)
ACTS = st.lists(acts, min_size=1, max_size=12)
STATEMENTS = st.lists(
    st.tuples(st.sampled_from(OBJECTS), st.integers(1, 28)), unique_by=lambda s: s[1]
)


@FEW
@given(ON_DAYS)
def test_an_answer_is_the_difference_it_made(taken: list[Act]) -> None:
    check_answers(taken, single=True)


ENDED_TWICE = [
    Act(name, "acme", day, ends=False, which=0)
    for name, day in (("end", 2), ("assert", 1), ("assert", 1), ("end", 2), ("retract", 1))
]
"""It ends at the instant it did when one of the two is taken back."""


@FEW
@example(ENDED_TWICE, 6)
@given(ACTS, st.integers(2, 6))
def test_an_answer_about_many_objects_is_the_difference(taken: list[Act], days: int) -> None:
    check_answers([act._replace(day=1 + act.day % days) for act in taken], single=False)


def spans(edges: Iterable[ExistingEdge]) -> list[tuple[str, int, int | None]]:
    return [
        (edge.object_key, edge.valid_from.day, edge.valid_to.day if edge.valid_to else None)
        for edge in edges
    ]


class Told(NamedTuple):
    """An answer in short: objects, and the days they begin and end."""

    open: tuple[str, int] | None
    close: list[tuple[str, int, int | None]]
    changed: list[tuple[str, int, int | None]]
    """Both sides of each change."""
    folded: list[tuple[str, int, int | None]]
    reopened: list[tuple[str, int, int | None]]

    @classmethod
    def of(cls, answer: EdgeResolution) -> Told:
        new = answer.open
        return cls(
            None if new is None else (new.object_key, new.valid_from.day),
            spans(answer.close),
            spans(edge for pair in answer.changed for edge in pair),
            spans([answer.folded] if answer.folded else []),
            spans(answer.reopened),
        )


SAID = ("assert", "acme", 1), ("assert", "globex", 5), ("assert", "acme", 9)
CASES: list[tuple[str, tuple[tuple[str, str, int], ...], tuple[str, str, int], Told]] = [
    ("opened", (), SAID[0], Told(("acme", 1), [], [], [], [])),
    ("closed", SAID[:1], SAID[1], Told(("globex", 5), [("acme", 1, None)], [], [], [])),
    (
        "folded",
        SAID[:1],
        ("assert", "acme", 4),
        Told(("acme", 1), [], [], [("acme", 1, None)], []),
    ),
    (
        "backdated between two",
        (SAID[0], SAID[1]),
        ("assert", "initech", 3),
        Told(("initech", 3), [("acme", 1, 5)], [], [], []),
    ),
    (
        "extended backwards",
        SAID[2:],
        SAID[0],
        Told(("acme", 1), [], [("acme", 9, None), ("acme", 1, None)], [], []),
    ),
    (
        "split and reopened",
        (SAID[0], SAID[2]),
        SAID[1],
        Told(("globex", 5), [("acme", 1, None)], [], [], [("acme", 9, None)]),
    ),
    (
        "the interrupter retracted",
        SAID,
        ("retract", "globex", 5),
        Told(None, [("globex", 5, 9), ("acme", 9, None)], [], [], [("acme", 1, None)]),
    ),
    ("ended", SAID[:1], ("end", "acme", 4), Told(None, [("acme", 1, None)], [], [], [])),
    ("an end of something else", SAID[:1], ("end", "globex", 4), Told(None, [], [], [], [])),
]


@pytest.mark.parametrize(
    ("statements", "last", "resolver"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_an_answer_tells(
    statements: tuple[tuple[str, str, int], ...], last: tuple[str, str, int], resolver: Told
) -> None:
    history, answer = Histories(single=True), EdgeResolution(open=None)
    for number, (name, object_, at) in enumerate((*statements, last)):
        call = history.call(Act(name, object_, at, False, 0))
        if name == "retract":
            call = ("retract_fact", {**ABOUT, "object": object_})
        answer = history.ask(call, f"t{number}")
        assert history.again(call, f"t{number}") == answer
    assert Told.of(answer) == resolver


def test_an_answer_about_very_much_is_found_out() -> None:
    """Of a large commit nothing is remembered."""
    store = jobs(single=False)
    for number in range(1, 21):
        store.assert_fact(**ABOUT, object=f"o{number}", valid_from=day(number))
    answer = store.retract_fact(**ABOUT)
    assert [edge.object_key for edge in answer.close] == [f"o{number}" for number in range(1, 21)]


@FEW
@given(STATEMENTS)
def test_a_resolver_on_the_store_says_what_the_store_does(
    statements: list[tuple[str, int]],
) -> None:
    store = jobs()
    resolver = TemporalEdgeResolver(store, CardinalityPolicy.with_single_valued(["works at"]))
    for relation in ("works at", "knows"):
        for object_, since in sorted(statements, key=lambda item: item[1]):
            edge = Edge("alice", relation, object_, 0.5, day(since))
            foreseen = resolver.resolve(SCOPE, edge)
            answer = store.assert_fact(
                subject="Alice",
                relation=relation,
                object=object_,
                valid_from=day(since),
                confidence=0.5,
            )
            assert (answer.open, answer.close) == (foreseen.open, foreseen.close)


test_answers_often = often(test_an_answer_is_the_difference_it_made, MANY, ON_DAYS)
test_answers_about_many_objects_often = often(
    test_an_answer_about_many_objects_is_the_difference, MANY, ACTS, st.integers(2, 6)
)
test_a_resolver_often = often(
    test_a_resolver_on_the_store_says_what_the_store_does, MANY, STATEMENTS
)
