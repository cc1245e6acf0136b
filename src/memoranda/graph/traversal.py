"""Walking the graph: what is near, how two entities hang together, and a part of it as a whole.

A walk is breadth first and at one instant: it passes through what holds then and nothing else.
Entities are its nodes; a literal is a leaf, for many may share a value without having to do with
each other. Of ways that are equally short, the one whose entities were mentioned first is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from memoranda.errors import InvalidInput
from memoranda.graph import beliefs
from memoranda.graph.beliefs import Asking, Belief
from memoranda.graph.inputs import BOTH, IN, OUT
from memoranda.graph.records import Fact, Neighbor, Subgraph
from memoranda.model.graph_operations import ENTITY
from memoranda.storage.port import Reader

MOST = 10_000
"""How many nodes a walk may reach."""
_FACTS_A_NODE = 10
"""How many facts a walk may look at in a hop, for each node it may reach."""


class Step(msgspec.Struct, frozen=True):
    """A node that was reached: in which hop, from where, and by what."""

    node: int
    hop: int
    origin: int
    via: tuple[Belief, ...]
    """One fact. It is several beliefs where its object was said to hold from several instants."""

    @property
    def is_outward(self) -> bool:
        """Whether it leads from a subject to an object."""
        return self.via[0].subject == self.origin


class Walk:
    """A walk that goes a hop at a time, with one read for each."""

    def __init__(
        self,
        reader: Reader,
        asking: Asking,
        starts: Iterable[int],
        *,
        direction: str = BOTH,
        field: str = "hops",
        most: int = MOST,
    ) -> None:
        self._reader = reader
        self._asking = asking
        self._outward, self._inward = direction != IN, direction != OUT
        self._field = field
        self._most = most
        self.hops = 0
        self.reached: dict[int, Step | None] = dict.fromkeys(starts)
        """Every node so far, in order, and how it was reached; None: the walk starts there."""
        self._last = list(self.reached)

    def go(self) -> list[Step]:
        """Go a hop further, and return what was not reached before, in order."""
        self.check()
        self.hops += 1
        new: list[Step] = []
        for step in self._steps() if self._last else ():
            if step.node not in self.reached:
                self.reached[step.node] = step
                new.append(step)
        self._last = [step.node for step in new]
        return new

    def way_to(self, node: int) -> list[Step]:
        """Return the steps that lead to a node which was reached."""
        way: list[Step] = []
        while (step := self.reached[node]) is not None:
            way.append(step)
            node = step.origin
        return way[::-1]

    def facts(self) -> list[Belief]:
        """Return everything that holds between the nodes that were reached."""
        most = self._most * _FACTS_A_NODE
        found = beliefs.among(self._reader, self._asking, sorted(self.reached), most + 1)
        self._check_count(len(found), most, "facts")
        return found

    def check(self) -> None:
        """Refuse to have come too far."""
        self._check_count(len(self.reached), self._most, "entities and values")

    def _steps(self) -> list[Step]:
        """Return where the facts lead that touch what the last hop reached, the best ways first."""
        most = self._most * _FACTS_A_NODE
        found = beliefs.touching(
            self._reader,
            self._asking,
            self._last,
            outward=self._outward,
            inward=self._inward,
            most=most + 1,
        )
        self._check_count(len(found), most, "facts")
        places = {node: place for place, node in enumerate(self._last)}

        def order(step: Step) -> tuple[int, int, bool, int]:
            return places[step.origin], step.node, not step.is_outward, step.via[0].relation

        return sorted(self._ways(found, places), key=order)

    def _ways(self, found: Sequence[Belief], places: Iterable[int]) -> Iterator[Step]:
        facts: dict[tuple[int, int, int], list[Belief]] = {}
        for each in found:
            facts.setdefault(each.edge, []).append(each)
        for (subject, _, object_), via in facts.items():
            if self._outward and subject in places:
                yield Step(object_, self.hops, subject, tuple(via))
            if self._inward and object_ in places:
                yield Step(subject, self.hops, object_, tuple(via))

    def _check_count(self, count: int, most: int, what: str) -> None:
        if count > most:
            raise InvalidInput(
                self._field,
                f"more than {most} {what} are within reach: give fewer hops, or a relation",
            )


def neighbors(
    reader: Reader,
    asking: Asking,
    start: int,
    hops: int,
    direction: str = BOTH,
    *,
    most: int = MOST,
) -> list[Neighbor]:
    """Return what is so many hops away at most, the nearest first."""
    walk = Walk(reader, asking, [start], direction=direction, most=most)
    steps: list[Step] = []
    while walk.hops < hops and (new := walk.go()):
        steps += new
    walk.check()
    facts = _facts(reader, asking, steps)
    return [
        Neighbor(fact.object if step.is_outward else fact.subject, step.hop, fact)
        for step, fact in zip(steps, facts, strict=True)
    ]


def path(
    reader: Reader,
    asking: Asking,
    source: int,
    target: int,
    max_hops: int,
    direction: str = BOTH,
    *,
    most: int = MOST,
) -> list[Fact] | None:
    """Return the facts of a shortest way from one entity to another; None: there is no such way."""
    walk = Walk(reader, asking, [source], direction=direction, field="max_hops", most=most)
    while target not in walk.reached:
        if walk.hops >= max_hops or not walk.go():
            return None
    return _facts(reader, asking, walk.way_to(target))


def subgraph(
    reader: Reader, asking: Asking, starts: Iterable[int], hops: int, *, most: int = MOST
) -> Subgraph:
    """Return what is so many hops away at most from any of some entities, and all in between."""
    walk = Walk(reader, asking, starts, most=most)
    while walk.hops < hops and walk.go():
        pass
    walk.check()
    shown = beliefs.once_each(beliefs.backed(reader, walk.facts()))
    names = beliefs.names(reader, walk.reached)
    entities = (names[node] for node in sorted(walk.reached))
    return Subgraph(
        entities=tuple(name.text for name in entities if name.kind == ENTITY),
        facts=tuple(beliefs.facts_of(reader, asking.scope, shown, asking.viewer)),
    )


def _facts(reader: Reader, asking: Asking, steps: Sequence[Step]) -> list[Fact]:
    """Return the fact that each step passes."""
    passed = beliefs.backed(reader, [each for step in steps for each in step.via])
    return beliefs.facts_of(reader, asking.scope, beliefs.once_each(passed), asking.viewer)
