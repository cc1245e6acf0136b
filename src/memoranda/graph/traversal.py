"""Traverse the graph: neighbors, shortest paths and subgraphs.

A traversal is breadth-first and at one instant of valid time: it follows the facts that hold then.
It passes through entities; a literal is a leaf, because many entities may share a value without
being related. Among paths of the same length, it takes the one whose entities were mentioned first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from memoranda.errors import InvalidInput
from memoranda.graph import as_of
from memoranda.graph.as_of import Belief, ResolvedQuery
from memoranda.graph.records import Fact, Neighbor, Subgraph
from memoranda.graph.requests import BOTH, IN, OUT
from memoranda.model.operations.graph import ENTITY
from memoranda.storage.port import Reader

MAX_NODES = 10_000
"""The most nodes a traversal may reach: it bounds the time and memory of one call."""
_MAX_FACTS_PER_NODE = 10
"""The most facts read in one hop, for each node the traversal may reach."""


class Step(msgspec.Struct, frozen=True):
    """How a node was reached: in which hop, from which node, by which fact."""

    node: int
    hop: int
    origin: int
    via: tuple[Belief, ...]
    """The beliefs of one fact: several if its object was asserted for several start times."""

    @property
    def is_outward(self) -> bool:
        """Whether the step leads from a subject to an object."""
        return self.via[0].subject == self.origin


class Traversal:
    """A breadth-first traversal that advances one hop at a time, with one query per hop."""

    def __init__(
        self,
        reader: Reader,
        query: ResolvedQuery,
        starts: Iterable[int],
        *,
        direction: str = BOTH,
        field: str = "hops",
        max_nodes: int = MAX_NODES,
    ) -> None:
        self._reader = reader
        self._query = query
        self._outward, self._inward = direction != IN, direction != OUT
        self._field = field
        self._max_nodes = max_nodes
        self.hops = 0
        self.reached: dict[int, Step | None] = dict.fromkeys(starts)
        """Every node so far, in order, and the step that reached it; None: a start node."""
        self._frontier = list(self.reached)

    def go(self) -> list[Step]:
        """Advance one hop, and return the steps to nodes not reached before, in order."""
        self.check()
        self.hops += 1
        new: list[Step] = []
        for step in self._steps() if self._frontier else ():
            if step.node not in self.reached:
                self.reached[step.node] = step
                new.append(step)
        self._frontier = [step.node for step in new]
        return new

    def path_to(self, node: int) -> list[Step]:
        """Return the steps that lead to a node that was reached."""
        steps: list[Step] = []
        while (step := self.reached[node]) is not None:
            steps.append(step)
            node = step.origin
        return steps[::-1]

    def facts(self) -> list[Belief]:
        """Return the beliefs between the nodes that were reached."""
        limit = self._max_nodes * _MAX_FACTS_PER_NODE
        beliefs = as_of.beliefs_among(self._reader, self._query, sorted(self.reached), limit + 1)
        self._check_count(len(beliefs), limit, "facts")
        return beliefs

    def check(self) -> None:
        """Raise `InvalidInput` if too many nodes were reached."""
        self._check_count(len(self.reached), self._max_nodes, "entities and values")

    def _steps(self) -> list[Step]:
        """Return the steps from the frontier, in the order in which they are preferred.

        First by the position of the origin in the frontier, then by node id, which is the order of
        first mention.
        """
        limit = self._max_nodes * _MAX_FACTS_PER_NODE
        beliefs = as_of.beliefs_touching(
            self._reader,
            self._query,
            self._frontier,
            outward=self._outward,
            inward=self._inward,
            limit=limit + 1,
        )
        self._check_count(len(beliefs), limit, "facts")
        positions = {node: position for position, node in enumerate(self._frontier)}

        def order(step: Step) -> tuple[int, int, bool, int]:
            return positions[step.origin], step.node, not step.is_outward, step.via[0].relation

        return sorted(self._steps_along(beliefs, positions), key=order)

    def _steps_along(self, beliefs: Sequence[Belief], frontier: Collection[int]) -> Iterator[Step]:
        facts: dict[tuple[int, int, int], list[Belief]] = {}
        for belief in beliefs:
            facts.setdefault(belief.triple, []).append(belief)
        for (subject, _, object_), via in facts.items():
            if self._outward and subject in frontier:
                yield Step(object_, self.hops, subject, tuple(via))
            if self._inward and object_ in frontier:
                yield Step(subject, self.hops, object_, tuple(via))

    def _check_count(self, count: int, limit: int, noun: str) -> None:
        if count > limit:
            raise InvalidInput(
                self._field,
                f"more than {limit} {noun} are within reach: give fewer hops, or a relation",
            )


def neighbors(
    reader: Reader,
    query: ResolvedQuery,
    start: int,
    hops: int,
    direction: str = BOTH,
    *,
    max_nodes: int = MAX_NODES,
) -> list[Neighbor]:
    """Return the nodes within a number of hops, the nearest first."""
    traversal = Traversal(reader, query, [start], direction=direction, max_nodes=max_nodes)
    steps: list[Step] = []
    while traversal.hops < hops and (new := traversal.go()):
        steps += new
    traversal.check()
    facts = _facts(reader, query, steps)
    return [
        Neighbor(fact.object if step.is_outward else fact.subject, step.hop, fact)
        for step, fact in zip(steps, facts, strict=True)
    ]


def path(
    reader: Reader,
    query: ResolvedQuery,
    source: int,
    target: int,
    max_hops: int,
    direction: str = BOTH,
    *,
    max_nodes: int = MAX_NODES,
) -> list[Fact] | None:
    """Return the facts of a shortest path between two entities; None: there is none."""
    traversal = Traversal(
        reader, query, [source], direction=direction, field="max_hops", max_nodes=max_nodes
    )
    while target not in traversal.reached:
        if traversal.hops >= max_hops or not traversal.go():
            return None
    return _facts(reader, query, traversal.path_to(target))


def subgraph(
    reader: Reader,
    query: ResolvedQuery,
    starts: Iterable[int],
    hops: int,
    *,
    max_nodes: int = MAX_NODES,
) -> Subgraph:
    """Return the nodes within a number of hops of some entities, and all facts between them."""
    traversal = Traversal(reader, query, starts, max_nodes=max_nodes)
    while traversal.hops < hops and traversal.go():
        pass
    traversal.check()
    beliefs = as_of.coalesce(as_of.with_assertions(reader, traversal.facts()))
    names = as_of.node_names(reader, traversal.reached)
    entities = (names[node] for node in sorted(traversal.reached))
    return Subgraph(
        entities=tuple(name.text for name in entities if name.kind == ENTITY),
        facts=tuple(as_of.to_facts(reader, query.scope, beliefs, query.viewer)),
    )


def _facts(reader: Reader, query: ResolvedQuery, steps: Sequence[Step]) -> list[Fact]:
    """Return the fact of each step."""
    beliefs = as_of.with_assertions(reader, [belief for step in steps for belief in step.via])
    return as_of.to_facts(reader, query.scope, as_of.coalesce(beliefs), query.viewer)
