"""Reading facts and entities, on both axes of time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from memoranda.graph import beliefs
from memoranda.graph.beliefs import Asking
from memoranda.graph.derive import NEWEST
from memoranda.graph.records import Entity, Fact
from memoranda.graph.requests import TimelineRead
from memoranda.graph.resolution import ExistingEdge, RelationCardinality
from memoranda.log import horizons
from memoranda.log.moments import Asked
from memoranda.model.graph_operations import Name
from memoranda.model.instant import to_datetime
from memoranda.model.scope import Scope
from memoranda.storage.port import Engine, Reader

_PAGE = 256


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which facts are asked for."""

    scope: Scope
    subject: Name | None = None
    relation: Name | None = None
    object: Name | None = None
    known: int | None = None
    valid: int | None = None
    """None: whenever they hold."""
    viewer: str | None = None
    """Who asks; None: nobody in particular, who sees all."""


def facts(reader: Reader, wanted: Wanted) -> list[Fact]:
    """Return facts in the order in which their subjects came up, all as of one snapshot."""
    asking = asking_of(reader, wanted)
    if asking is None:
        return []
    if wanted.subject is not None:
        subject = node_at(reader, asking.scope_id, wanted.subject, asking.known)
        return [] if subject is None else _of_subjects(reader, asking, [subject])
    if asking.object is not None:
        return _shown(reader, asking, beliefs.to_objects(reader, asking, [asking.object]))
    found: list[Fact] = []
    after = 0
    while page := _entities(reader, asking, after):
        found.extend(_of_subjects(reader, asking, page))
        after = page[-1]
    return found


class Facts:
    """Facts as of a commit, a page of subjects at a time."""

    def __init__(self, engine: Engine, wanted: Wanted) -> None:
        self._engine = engine
        self._wanted = wanted
        self._after = 0
        self._done = False

    def next_page(self) -> list[Fact]:
        """Return the facts of the next subjects that have any."""
        page: list[Fact] = []
        while not page and not self._done:
            with self._engine.snapshot() as reader:
                page = self._page(reader)
        return page

    def _page(self, reader: Reader) -> list[Fact]:
        asking = asking_of(reader, self._wanted)
        if asking is None or self._wanted.subject is not None or asking.object is not None:
            self._done = True
            return facts(reader, self._wanted)
        subjects = _entities(reader, asking, self._after)
        if not subjects:
            self._done = True
            return []
        self._after = subjects[-1]
        return _of_subjects(reader, asking, subjects)


def asking_of(reader: Reader, wanted: Wanted) -> Asking | None:
    """Return what is asked for by numbers; None if anything it names was never heard of."""
    scope = wanted.scope
    if wanted.known is not None:
        horizons.check(reader, (scope.namespace,), wanted.known)
    row = reader.row("scope_find", agent_id=scope.agent_id, namespace=scope.namespace)
    if row is None:
        return None
    asking = Asking(scope=scope, scope_id=row[0], known=wanted.known, valid=wanted.valid)
    if wanted.relation is not None:
        relation = node_at(reader, asking.scope_id, wanted.relation, asking.known)
        if relation is None:
            return None
        asking = replace(asking, relation=relation)
    if wanted.object is not None:
        object_ = node_at(reader, asking.scope_id, wanted.object, asking.known)
        if object_ is None:
            return None
        asking = replace(asking, object=object_)
    return beliefs.seen_by(reader, asking, wanted.viewer)


def node_at(reader: Reader, scope_id: int, name: Name, known: int | None) -> int | None:
    """Return the number of what a name meant at a commit."""
    row = reader.row(
        "graph_node_at",
        scope_id=scope_id,
        kind=name.kind,
        key=name.key,
        known=NEWEST if known is None else known,
    )
    return None if row is None else int(row[0])


def instant_of(reader: Reader, asked: Asked) -> int:
    """Return the time it is at a moment: not before that of its commit, however the clock goes."""
    row = reader.row("event_time", commit_ts=asked.commit)
    return max(asked.now, row[0] if row else 0)


def timeline_changed(reader: Reader, read: TimelineRead, since: int) -> bool:
    """Say whether anything that a timeline follows from has changed since a commit."""
    values = {
        "agent_id": read.scope.agent_id,
        "namespace": read.scope.namespace,
        "subject": read.subject,
        "relation": read.relation,
        "since": since,
    }
    queries = ("graph_timeline_changed", "graph_cardinality_changed")
    return any(reader.row(query, **values) for query in queries)


def entities_of(
    reader: Reader, scope: Scope, numbers: Sequence[int], known: int | None
) -> list[Entity]:
    """Return entities by their numbers, with all their names, in the order of first mention."""
    rows = reader.rows(
        "graph_names_at",
        ids=msgspec.json.encode(numbers).decode(),
        known=NEWEST if known is None else known,
    )
    names: dict[int, list[tuple[int, str, str, int]]] = {}
    for root, node, key, name, since in rows:
        names.setdefault(root, []).append((node, key, name, since))
    return [_entity(scope, root, names[root]) for root in sorted(names)]


def entity(reader: Reader, wanted: Wanted, name: Name) -> Entity | None:
    """Return what a name meant at a commit."""
    asking = asking_of(reader, wanted)
    root = None if asking is None else node_at(reader, asking.scope_id, name, wanted.known)
    if asking is None or root is None or not _shown_nodes(reader, asking, [root]):
        return None
    return entities_of(reader, wanted.scope, [root], wanted.known)[0]


def _shown_nodes(reader: Reader, asking: Asking, numbers: Sequence[int]) -> list[int]:
    """Return those of some entities that came up in anything the viewer may see."""
    if not asking.public:
        return [*numbers]
    listed = msgspec.json.encode(numbers).decode()
    hidden = {row[0] for row in reader.rows("graph_nodes_private", ids=listed)}
    return [each for each in numbers if each not in hidden]


def is_shown(reader: Reader, asking: Asking, number: int) -> bool:
    """Say whether an entity came up in anything the viewer may see."""
    return bool(_shown_nodes(reader, asking, [number]))


def current_edges(reader: Reader, wanted: Wanted) -> list[ExistingEdge]:
    """Return the edges of a timeline that have no end, each object's earliest, by their keys."""
    asking = asking_of(reader, wanted)
    assert wanted.subject is not None, "a timeline has a subject"
    subject = None if asking is None else node_at(reader, asking.scope_id, wanted.subject, None)
    if asking is None or subject is None:
        return []
    edges = beliefs.of_subjects(reader, asking, [subject])
    found = beliefs.once_each(each for each in edges if each.held.is_open)
    names = beliefs.names(reader, {number for each in found for number in each.edge})
    return [
        ExistingEdge(
            names[each.subject].key,
            names[each.relation].key,
            names[each.held.object].key,
            to_datetime(each.held.first[0]),
        )
        for each in found
    ]


def cardinalities(reader: Reader, namespace: str) -> dict[str, RelationCardinality]:
    """Return what was said of relations in a namespace, in the order of their names."""
    rows = reader.rows("graph_cardinalities", namespace=namespace)
    kinds = (RelationCardinality.MULTI_VALUED, RelationCardinality.SINGLE_VALUED)
    return {relation: kinds[single] for relation, single in rows}


def unclassified(reader: Reader, namespace: str, relation: str) -> bool:
    """Say whether a relation has neither been used in a namespace nor been said anything of."""
    where = {"namespace": namespace, "relation": relation}
    if reader.row("graph_cardinality_find", **where) is not None:
        return False
    return reader.row("graph_relation_used", **where) is None


class Entities:
    """The entities of a scope, a page at a time."""

    def __init__(self, engine: Engine, wanted: Wanted) -> None:
        self._engine = engine
        self._wanted = wanted
        self._after = 0

    def next_page(self) -> list[Entity]:
        """Return the next entities."""
        wanted = self._wanted
        with self._engine.snapshot() as reader:
            asking = asking_of(reader, wanted)
            while asking is not None and (found := _entities(reader, asking, self._after)):
                self._after = found[-1]
                shown = _shown_nodes(reader, asking, found)
                if shown:
                    return entities_of(reader, wanted.scope, shown, wanted.known)
        return []


def _entity(scope: Scope, root: int, names: Iterable[tuple[int, str, str, int]]) -> Entity:
    own = next(each for each in names if each[0] == root)
    return Entity(
        name=own[2],
        key=own[1],
        aliases=tuple(each[2] for each in names if each[0] != root),
        known_from=to_datetime(min(each[3] for each in names)),
        namespace=scope.namespace,
        agent_id=scope.agent_id,
    )


def _of_subjects(reader: Reader, asking: Asking, subjects: Sequence[int]) -> list[Fact]:
    return _shown(reader, asking, beliefs.of_subjects(reader, asking, subjects))


def _shown(reader: Reader, asking: Asking, found: list[beliefs.Belief]) -> list[Fact]:
    """Return beliefs as facts; what holds at one instant with each object once."""
    if asking.valid is not None:
        found = beliefs.once_each(beliefs.backed(reader, found))
    return beliefs.facts_of(reader, asking.scope, found, asking.viewer)


def _entities(reader: Reader, asking: Asking, after: int) -> list[int]:
    rows = reader.rows(
        "graph_entities_page",
        scope_id=asking.scope_id,
        known=NEWEST if asking.known is None else asking.known,
        after=after,
        most=_PAGE,
    )
    return [row[0] for row in rows]
