"""Beliefs: what follows from what was said, as of now or as of what was known at a commit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec
from msgspec.structs import replace

from memoranda.graph.derive import NEWEST, Holding, Place, belonging, derive, said_at
from memoranda.graph.literal import literal_of
from memoranda.graph.records import Fact
from memoranda.model import codec
from memoranda.model.graph_operations import ENTITY, Name
from memoranda.model.instant import to_datetime
from memoranda.model.refs import Evidence, MemoryRef
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader, Row


class Said(msgspec.Struct, frozen=True):
    """An assertion that stands behind a belief."""

    assertion_id: str
    place: Place
    committed_at: int
    confidence: float
    source: bytes | None


class Belief(msgspec.Struct, frozen=True):
    """An edge of the graph by its numbers, and what was said for it, oldest first."""

    subject: int
    relation: int
    held: Holding[int]
    said: tuple[Said, ...] = ()

    @property
    def edge(self) -> tuple[int, int, int]:
        """What it says, whenever that holds."""
        return self.subject, self.relation, self.held.object


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """What beliefs are asked for: whose, and on both axes of time."""

    scope: Scope
    scope_id: int
    known: int | None = None
    """The commit up to which things are known; None: all that is."""
    valid: int | None = None
    """The instant at which things hold; None: whenever."""
    relation: int | None = None
    object: int | None = None
    viewer: str | None = None
    """Who looks: others than whose they are see only what is not private. None: nobody, but all."""
    public: bool = False
    """Whether some of what they follow from is left out for that."""


def seen_by(reader: Reader, asking: Asking, viewer: str | None) -> Asking:
    """Return what is asked for as an agent sees it.

    What follows from private statements, too, is kept in the tables; without these, it is derived.
    """
    asking = replace(asking, viewer=viewer)
    if viewer in (None, asking.scope.agent_id):
        return asking
    if reader.row("graph_private_any", scope_id=asking.scope_id) is None:
        return asking
    return replace(asking, known=NEWEST if asking.known is None else asking.known, public=True)


def of_subjects(reader: Reader, asking: Asking, subjects: Sequence[int]) -> list[Belief]:
    """Return what is believed of some subjects: one query, however many they are."""
    if asking.known is not None:
        found = _known(reader, asking, subjects)
        return [each for each in found if _is_wanted(each, asking)]
    listed = _listed(subjects)
    values = {"relation": asking.relation, "valid": asking.valid, "object": asking.object}
    return [belief_of(row) for row in reader.rows("graph_edges_of", subjects=listed, **values)]


def to_objects(reader: Reader, asking: Asking, objects: Sequence[int]) -> list[Belief]:
    """Return what is believed that leads to some objects."""
    listed = _listed(objects)
    if asking.known is None:
        rows = reader.rows(
            "graph_edges_to", objects=listed, relation=asking.relation, valid=asking.valid
        )
        return [belief_of(row) for row in rows]
    rows = reader.rows("graph_subjects_naming", objects=listed, known=asking.known)
    wanted = set(objects)
    found = of_subjects(reader, replace(asking, object=None), sorted(row[0] for row in rows))
    return [each for each in found if each.held.object in wanted]


def touching(
    reader: Reader, asking: Asking, nodes: Sequence[int], *, outward: bool, inward: bool, most: int
) -> list[Belief]:
    """Return what leads from some nodes, to them, or both, up to a number: one query as of now.

    It leads to a literal, but not from there: the same value does not connect two entities.
    """
    assert asking.valid is not None, "what touches something does so at an instant"
    if asking.known is None:
        values = {"relation": asking.relation, "valid": asking.valid, "most": most}
        ways = {"outward": outward, "inward": inward}
        rows = reader.rows("graph_edges_touching", nodes=_listed(nodes), **ways, **values)
        return [belief_of(row) for row in rows]
    entities = {node for node, name in names(reader, nodes).items() if name.kind == ENTITY}
    subjects = set(entities) if outward else set()
    if inward:
        listed = _listed(sorted(entities))
        rows = reader.rows("graph_subjects_naming", objects=listed, known=asking.known)
        subjects.update(row[0] for row in rows)
    found = of_subjects(reader, asking, sorted(subjects))
    return [
        each
        for each in found
        if (outward and each.subject in entities) or (inward and each.held.object in entities)
    ][:most]


def among(reader: Reader, asking: Asking, nodes: Sequence[int], most: int) -> list[Belief]:
    """Return what leads from some nodes to others of them, up to a number: one query as of now."""
    assert asking.valid is not None, "what lies between things does so at an instant"
    if asking.known is None:
        values = {"relation": asking.relation, "valid": asking.valid, "most": most}
        rows = reader.rows("graph_edges_among", nodes=_listed(nodes), **values)
        return [belief_of(row) for row in rows]
    wanted = set(nodes)
    found = of_subjects(reader, asking, nodes)
    return [each for each in found if each.held.object in wanted][:most]


def facts_of(
    reader: Reader, scope: Scope, beliefs: Sequence[Belief], viewer: str | None = None
) -> list[Fact]:
    """Return beliefs as a viewer sees them, in the same order; None: as whose they are does."""
    beliefs = backed(reader, beliefs)
    numbers = {number for each in beliefs for number in each.edge}
    nodes = names(reader, numbers)
    found = [_fact(scope, each, nodes) for each in beliefs]
    if viewer in (None, scope.agent_id):
        return found
    hidden = hidden_sources(reader, (each for fact in found for each in fact.sources), viewer)
    return [
        replace(fact, sources=tuple(each for each in fact.sources if each not in hidden))
        for fact in found
    ]


def hidden_sources(
    reader: Reader, sources: Iterable[Evidence | None], viewer: str | None
) -> set[Evidence]:
    """Return those of the sources that somebody is not told of: private memories of others."""
    memories = [each for each in sources if isinstance(each, MemoryRef)]
    if viewer is None or not memories:
        return set()
    listed = msgspec.json.encode([each.memory_id for each in memories]).decode()
    hidden = {row[0] for row in reader.rows("memories_hidden", memory_ids=listed, viewer=viewer)}
    return {each for each in memories if each.memory_id in hidden}


def once_each(beliefs: Iterable[Belief]) -> list[Belief]:
    """Return what holds at one instant with each object of a timeline once.

    It is shown from the earliest of its edges until the last of them ends.
    """
    found: dict[tuple[int, int, int], Belief] = {}
    for each in beliefs:
        known = found.get(each.edge)
        if known is None:
            found[each.edge] = each
            continue
        last, end = max(known.held.last, each.held.last), max(known.held.end, each.held.end)
        said = tuple(sorted(known.said + each.said, key=_by_commit))
        held = replace(known.held, last=last, end=end)
        found[each.edge] = replace(known, held=held, said=said)
    return list(found.values())


def said(reader: Reader, asking: Asking, subjects: Sequence[int]) -> list[Row]:
    """Return what was known at a commit to have been said of some subjects, by timelines."""
    return reader.rows(
        "graph_said_at",
        subjects=_listed(subjects),
        known=asking.known,
        relation=asking.relation,
        public=int(asking.public),
    )


def names(reader: Reader, numbers: Iterable[int]) -> dict[int, Name]:
    """Return the names of nodes."""
    rows = reader.rows("graph_nodes", ids=_listed(sorted(numbers)))
    return {row[0]: Name(row[3], row[2], row[1]) for row in rows}


def evidence(source: bytes | None) -> Evidence | None:
    """Return what an assertion comes from, if it names anything."""
    return None if source is None else codec.decode_evidence(source)


def _known(reader: Reader, asking: Asking, subjects: Sequence[int]) -> list[Belief]:
    """Derive what was believed at a commit from what was known by then."""
    assert asking.known is not None, "what is known now stands in the tables"
    singles = {
        row[0]
        for row in reader.rows(
            "graph_singles_at",
            scope_id=asking.scope_id,
            namespace=asking.scope.namespace,
            known=asking.known,
        )
    }
    rows = said(reader, asking, subjects)
    found: list[Belief] = []
    for (subject, relation), group in groupby(rows, key=lambda row: (row[0], row[1])):
        held = _derived(list(group), single=relation in singles)
        found.extend(Belief(subject, relation, *each) for each in held)
    return found


def _derived(
    rows: Sequence[Row], *, single: bool
) -> Iterator[tuple[Holding[int], tuple[Said, ...]]]:
    """Yield the edges of one timeline, each with its assertions, oldest first."""
    statements = [said_at((row[2], row[3], row[4]), row[5], row[6], row[11]) for row in rows]
    edges = derive(statements, single=single)
    said: list[list[Said]] = [[] for _ in edges]
    for row, number in zip(rows, belonging(statements, edges, single=single), strict=True):
        if number is not None:
            place = (row[2], row[3], row[4])
            said[number].append(Said(row[7], place, row[8], row[9], row[10]))
    for held, own in zip(edges, said, strict=True):
        yield held, tuple(sorted(own, key=_by_commit))


def _is_wanted(belief: Belief, asking: Asking) -> bool:
    held, valid = belief.held, asking.valid
    return (asking.object is None or held.object == asking.object) and (
        valid is None or held.first[0] <= valid < held.end[0]
    )


def backed(reader: Reader, beliefs: Sequence[Belief]) -> list[Belief]:
    """Return beliefs with what was said for them, where that was not known yet."""
    bare = [each for each in beliefs if not each.said]
    if not bare:
        return list(beliefs)
    edges = [[*each.edge, *each.held.first, *each.held.last] for each in bare]
    said: dict[int, list[Said]] = {}
    for row in reader.rows("graph_assertions_of_edges", edges=_listed(edges)):
        known = Said(row[1], (row[2], row[3], row[4]), row[5], row[6], row[7])
        said.setdefault(row[0], []).append(known)
    backed = {id(each): tuple(said[index]) for index, each in enumerate(bare)}
    return [replace(each, said=backed.get(id(each), each.said)) for each in beliefs]


def _fact(scope: Scope, belief: Belief, nodes: Mapping[int, Name]) -> Fact:
    held, said, object_ = belief.held, belief.said, nodes[belief.held.object]
    sources = dict.fromkeys(each.source for each in said if each.source is not None)
    return Fact(
        subject=nodes[belief.subject].text,
        relation=nodes[belief.relation].text,
        object=object_.text if object_.kind == ENTITY else literal_of(object_.kind, object_.key),
        valid_from=to_datetime(held.first[0]),
        valid_to=None if held.is_open else to_datetime(held.end[0]),
        confidence=max(each.confidence for each in said),
        sources=tuple(codec.decode_evidence(source) for source in sources),
        known_from=to_datetime(said[0].committed_at),
        assertions=tuple(each.assertion_id for each in said),
        namespace=scope.namespace,
        agent_id=scope.agent_id,
    )


def belief_of(row: Row) -> Belief:
    """Return an edge of the tables."""
    held = Holding(
        row[2], (row[3], row[4], row[5]), (row[6], row[7], row[8]), (row[9], row[10], row[11])
    )
    return Belief(row[0], row[1], held)


def _by_commit(said: Said) -> tuple[int, int]:
    return said.place[1], said.place[2]


def _listed(numbers: Sequence[Any]) -> str:
    return msgspec.json.encode(numbers).decode()
