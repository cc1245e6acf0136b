"""What the graph of one scope is, said as simply as possible: every step, and answers from all.

Nothing is kept but the steps. Each answer is derived anew from those with `commit <= known_at`:
first what names mean then, then the marks on every timeline, then the edges between the marks.
Commits are numbers that grow; `known_at=None` is the last one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple, TypeVar

from memoranda.graph.entities import normal_name
from tests.property.model import Refused


class Literal(NamedTuple):
    """A value, not a name: equal only to the same text of the same kind."""

    kind: str
    text: str


Object = str | Literal
Place = tuple[str, str]
"""A timeline's subject, as what its name means, and its relation."""


@dataclass(frozen=True)
class Step:
    commit: int
    position: int


@dataclass(frozen=True)
class Mark(Step):
    """A point on a timeline."""

    id: str
    subject: str
    relation: str
    object: Object | None
    """None: whatever holds then. Only an end can mean that."""
    instant: datetime

    @property
    def order(self) -> tuple[datetime, int, int]:
        return (self.instant, self.commit, self.position)


@dataclass(frozen=True)
class Assertion(Mark):
    confidence: float
    source: str
    until: datetime | None = None
    """The end it was said with."""


@dataclass(frozen=True)
class End(Mark):
    source: str | None = None
    with_assertion: bool = False
    """Whether it was said with an assertion: where there are many objects, it ends that alone."""


@dataclass(frozen=True)
class Retraction(Step):
    id: str


@dataclass(frozen=True)
class Cardinality(Step):
    relation: str
    single: bool


@dataclass(frozen=True)
class Naming(Step):
    """From here on `name`, and all that means the same, means what `means` means."""

    name: str
    means: str


@dataclass(frozen=True)
class Edge:
    """What follows from assertions, and from what ends them."""

    subject: str
    relation: str
    object: Object
    valid_from: datetime
    valid_to: datetime | None
    confidence: float
    sources: tuple[str, ...]
    """One for each assertion, in the order of commits."""
    known_from: int
    assertions: tuple[str, ...]
    """The ids, in the order of commits."""

    def holds(self, at: datetime) -> bool:
        return self.valid_from <= at and (self.valid_to is None or at < self.valid_to)


Kind = TypeVar("Kind", bound=Step)


class GraphOracle:
    """One scope. Steps go to the commit that was begun last; each takes the next position."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.commit = 0
        self._position = 0

    # Steps

    def begin(self, commit: int | None = None) -> int:
        """Begin a commit: the next one, or a later one where others had commits between."""
        number = self.commit + 1 if commit is None else commit
        assert number > self.commit
        self.commit, self._position = number, 0
        return number

    def assert_fact(
        self,
        subject: str,
        relation: str,
        object_: Object,
        valid_from: datetime,
        *,
        valid_to: datetime | None = None,
        confidence: float = 1.0,
        source: str | None = None,
        id_: str | None = None,
    ) -> str:
        """Say that it holds from `valid_from` on; with `valid_to`, also that it ends then."""
        if valid_to is not None and valid_to <= valid_from:
            raise Refused("InvalidInput")
        text = self._new_id(id_)
        who, how, what = _name(subject), _name(relation), _object(object_)
        why = source or text
        mark = Assertion(*self._place(), text, who, how, what, valid_from, confidence, why)
        self._add(replace(mark, until=valid_to))
        if valid_to is not None:
            end = End(*self._place(), text, who, how, what, valid_to, with_assertion=True)
            self._add(end)
        return text

    def end_fact(
        self,
        subject: str,
        relation: str,
        object_: Object | None,
        at: datetime,
        *,
        source: str | None = None,
        id_: str | None = None,
    ) -> str:
        """Say that it stopped being true; without an object, that whatever holds then did."""
        text = self._new_id(id_)
        ended = None if object_ is None else _object(object_)
        self._add(End(*self._place(), text, _name(subject), _name(relation), ended, at, source))
        return text

    def retract(self, id_: str) -> None:
        """Say that an assertion or an end was said in error; to say so again changes nothing."""
        if id_ in self.live_ids():
            self._add(Retraction(*self._place(), id_))
        elif not any(mark.id == id_ for mark in self._steps(Mark, None)):
            raise Refused("NotFound")

    def retract_all(self, subject: str, relation: str, object_: Object | None = None) -> None:
        """Say that every assertion of a fact, or of all of a timeline, was said in error."""
        names = self.names()
        who, how = _meaning(names, _name(subject)), _name(relation)
        what = None if object_ is None else _resolved(names, _object(object_))
        matching = [
            mark.id
            for mark in self._marks(None)
            if isinstance(mark, Assertion)
            and (mark.subject, mark.relation) == (who, how)
            and what in (None, mark.object)
        ]
        if not matching:
            raise Refused("NotFound")
        for id_ in matching:
            self.retract(id_)

    def set_cardinality(self, relation: str, *, single: bool) -> None:
        if (_name(relation) in self.single_valued()) != single:
            self._add(Cardinality(*self._place(), _name(relation), single))

    def alias(self, entity: str, alias: str) -> None:
        """Let `alias` mean what `entity` means, unless it was made to mean something else."""
        names, name, means = self.names(), _name(alias), _name(entity)
        if _meaning(names, name) not in (name, _meaning(names, means)):
            raise Refused("InvalidInput")
        self._unite(name, means)

    def merge(self, entity: str, into: str) -> None:
        """Let everything that means `entity` mean `into`; both were heard of before."""
        if not {_name(entity), _name(into)} <= self.heard_of():
            raise Refused("NotFound")
        self._unite(_name(entity), _name(into))

    # Answers

    def facts(
        self,
        valid_at: datetime,
        known_at: int | None = None,
        *,
        subject: str | None = None,
        relation: str | None = None,
        object_: Object | None = None,
    ) -> list[Edge]:
        """Return what holds at an instant; each object once, with all that is said for it then."""
        names = self.names(known_at)
        text, result = self._assertions(), []
        for edges in self.timelines(known_at).values():
            result.extend(_each_object_once([edge for edge in edges if edge.holds(valid_at)], text))
        return [
            edge
            for edge in result
            if (subject is None or edge.subject == _meaning(names, _name(subject)))
            and (relation is None or edge.relation == _name(relation))
            and (object_ is None or edge.object == _resolved(names, _object(object_)))
        ]

    def timeline(self, subject: str, relation: str, known_at: int | None = None) -> list[Edge]:
        """Return all edges of a subject and a relation, those that held for no time as well."""
        place = (_meaning(self.names(known_at), _name(subject)), _name(relation))
        return self.timelines(known_at).get(place, [])

    def current_edges(self, subject: str, relation: str, known_at: int | None = None) -> list[Edge]:
        """Return the edges that have no end; each object once, from its earliest."""
        edges = self.timeline(subject, relation, known_at)
        current = [edge for edge in edges if edge.valid_to is None]
        return _each_object_once(current, self._assertions())

    def timelines(self, known_at: int | None = None) -> dict[Place, list[Edge]]:
        """Return every timeline that has an edge, by its subject and its relation."""
        single = self.single_valued(known_at)
        groups: dict[Place, list[Mark]] = {}
        for mark in self._marks(known_at):
            groups.setdefault((mark.subject, mark.relation), []).append(mark)
        derived = {}
        for place in sorted(groups):
            marks = sorted(groups[place], key=lambda mark: mark.order)
            derive = _single_valued if place[1] in single else _multi_valued
            if edges := derive(marks):
                derived[place] = edges
        return derived

    def names(self, known_at: int | None = None) -> dict[str, str]:
        """Return what each name means that was made to mean something else."""
        names: dict[str, str] = {}
        for step in self._steps(Naming, known_at):
            name, means = _meaning(names, step.name), _meaning(names, step.means)
            if name != means:
                names[name] = means
        return names

    def single_valued(self, known_at: int | None = None) -> set[str]:
        """Return the relations that are single-valued: what was set last counts, none is before."""
        single: set[str] = set()
        for step in self._steps(Cardinality, known_at):
            if step.single:
                single.add(step.relation)
            else:
                single.discard(step.relation)
        return single

    def heard_of(self, known_at: int | None = None) -> set[str]:
        """Return every name that anything was said of, also what was taken back since."""
        heard: set[str] = set()
        for step in self._steps(Step, known_at):
            if isinstance(step, Naming):
                heard |= {step.name, step.means}
            elif isinstance(step, Mark):
                heard.add(step.subject)
                if isinstance(step.object, str):
                    heard.add(step.object)
        return heard

    def live_ids(self, known_at: int | None = None) -> list[str]:
        """Return the ids that can be retracted, oldest first."""
        return list(dict.fromkeys(mark.id for mark in self._marks(known_at)))

    # Inside

    def _steps(self, kind: type[Kind], known_at: int | None) -> list[Kind]:
        last = self.commit if known_at is None else known_at
        return [step for step in self.steps if isinstance(step, kind) and step.commit <= last]

    def _assertions(self) -> dict[str, Assertion]:
        return {mark.id: mark for mark in self._steps(Assertion, None)}

    def _marks(self, known_at: int | None) -> list[Mark]:
        """Return what was said and not taken back, with names replaced by what they mean."""
        names = self.names(known_at)
        retracted = {step.id for step in self._steps(Retraction, known_at)}
        return [
            replace(
                mark,
                subject=_meaning(names, mark.subject),
                object=None if mark.object is None else _resolved(names, mark.object),
            )
            for mark in self._steps(Mark, known_at)
            if mark.id not in retracted
        ]

    def _unite(self, name: str, means: str) -> None:
        names = self.names()
        if _meaning(names, name) != _meaning(names, means):
            self._add(Naming(*self._place(), name, means))

    def _place(self) -> tuple[int, int]:
        return (self.commit, self._position)

    def _add(self, step: Step) -> None:
        assert self.commit, "begin a commit first"
        self.steps.append(step)
        self._position += 1

    def _new_id(self, chosen_id: str | None) -> str:
        return chosen_id or f"said-{len(self.steps) + 1}"


def _single_valued(marks: list[Mark]) -> list[Edge]:
    """Scan the marks: an assertion sets the holder, an end of it clears it."""
    edges: list[Edge] = []
    reports: list[Assertion] = []
    """The assertions of the edge that is open; none if none is."""
    for mark in marks:
        if isinstance(mark, Assertion):
            if reports and reports[0].object != mark.object:
                edges.append(_edge(reports, until=mark.instant))
                reports = []
            reports.append(mark)
        elif reports and mark.object in (None, reports[0].object):
            edges.append(_edge(reports, until=mark.instant))
            reports = []
    return [*edges, _edge(reports, until=None)] if reports else edges


def _multi_valued(marks: list[Mark]) -> list[Edge]:
    """Take the assertions of each object and instant together: the union of what each says."""
    groups: dict[tuple[Object | None, datetime], list[Assertion]] = {}
    for mark in marks:
        if isinstance(mark, Assertion):
            groups.setdefault((mark.object, mark.instant), []).append(mark)
    edges = []
    for value in groups.values():
        ends = [_end_of(mark, marks) for mark in value]
        reference = [end for end in ends if end is not None]
        edges.append(_edge(value, until=max(reference) if len(reference) == len(ends) else None))
    return edges


def _end_of(assertion: Assertion, marks: list[Mark]) -> datetime | None:
    """Return where an assertion ends: with its own end, or with one of its object behind it."""
    ends = [] if assertion.until is None else [assertion.until]
    for mark in marks:
        alone = isinstance(mark, End) and not mark.with_assertion
        if alone and mark.object in (None, assertion.object) and mark.order > assertion.order:
            ends.append(mark.instant)
    return min(ends, default=None)


def _edge(assertions: list[Assertion], *, until: datetime | None) -> Edge:
    first = assertions[0]
    assert first.object is not None
    by_commit = sorted(assertions, key=lambda mark: (mark.commit, mark.position))
    return Edge(
        subject=first.subject,
        relation=first.relation,
        object=first.object,
        valid_from=first.instant,
        valid_to=until,
        confidence=max(mark.confidence for mark in assertions),
        sources=tuple(mark.source for mark in by_commit),
        known_from=by_commit[0].commit,
        assertions=tuple(mark.id for mark in by_commit),
    )


def _each_object_once(edges: list[Edge], assertions: dict[str, Assertion]) -> list[Edge]:
    """Give each object's first edge what is said for any, and the last of their ends."""
    by_object: dict[Object, list[Edge]] = {}
    for edge in edges:
        by_object.setdefault(edge.object, []).append(edge)
    return [_united(same, assertions) for same in by_object.values()]


def _united(edges: list[Edge], assertions: dict[str, Assertion]) -> Edge:
    reports = [assertions[id_] for edge in edges for id_ in edge.assertions]
    reports.sort(key=lambda mark: (mark.commit, mark.position))
    ends = [edge.valid_to for edge in edges if edge.valid_to is not None]
    return replace(
        edges[0],
        valid_to=max(ends) if len(ends) == len(edges) else None,
        confidence=max(mark.confidence for mark in reports),
        sources=tuple(mark.source for mark in reports),
        known_from=reports[0].commit,
        assertions=tuple(mark.id for mark in reports),
    )


def _meaning(names: dict[str, str], name: str) -> str:
    while name in names:
        name = names[name]
    return name


def _resolved(names: dict[str, str], object_: Object) -> Object:
    return object_ if isinstance(object_, Literal) else _meaning(names, object_)


def _name(text: str) -> str:
    if not (form := normal_name(text)):
        raise Refused("InvalidInput")
    return form


def _object(object_: Object) -> Object:
    return object_ if isinstance(object_, Literal) else _name(object_)
