"""Bringing the graph to what the log says once something was erased.

What holds follows from what was said, and names from who was named first: so a scope in which
anything was erased is emptied, and its own operations are applied again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from memoranda.graph.derive import STILL
from memoranda.graph.explaining import hidden_from
from memoranda.graph.names import normal_name
from memoranda.log import pages
from memoranda.log.views import Commit, Eraser, Rewritten
from memoranda.model import codec
from memoranda.model.erasure import ENTITY, FACT, FACTS, Place, Target
from memoranda.model.graph_operations import ENTITY as NAMED
from memoranda.model.graph_operations import Name
from memoranda.model.operations import (
    Alias,
    AnyOperation,
    Assert,
    Classify,
    End,
    Mentioned,
    Merge,
    Withdraw,
)
from memoranda.model.refs import MemoryRef, TranscriptRef
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader, Writer

Again = Callable[[Writer, Commit, Scope], None]
"""Applies what a commit says of the facts of one scope."""
_OF_A_SCOPE = (Assert, End, Withdraw, Alias, Merge, Mentioned)
_BEYOND = b"\xff"
"""Sorts behind whatever can follow an id in an encoded reference."""
_CLEAR = ("graph_scope_edges", "graph_scope_statements", "graph_scope_roots", "graph_scope_nodes")


def places_of(reader: Reader, target: Target, viewer: str | None) -> Iterator[Place]:
    """Yield where the log has an assertion, what names an entity, or what a source gave."""
    if target.kind == FACT:
        if viewer is not None and hidden_from(reader, [target.name], viewer):
            return
        yield from _places_of_assertions(reader, [target.name])
    elif target.kind == ENTITY:
        yield from _places_of_entity(reader, target)
    elif target.kind == FACTS:
        yield from _places_from(reader, target)


def names_of(reader: Reader, target: Target) -> list[Name]:
    """Return the names of an entity: every one that means what the name asked for means."""
    scope = target.scope
    if target.kind != ENTITY or scope is None:
        return []
    row = reader.row("scope_find", agent_id=scope.agent_id, namespace=scope.namespace)
    if row is None:
        return []
    key = normal_name(target.name)
    rows = reader.rows("graph_names_of_entity", scope_id=row[0], kind=NAMED, key=key)
    return [Name(text, key) for key, text in rows]


def _places_of_entity(reader: Reader, target: Target) -> Iterator[Place]:
    """Yield where a scope's operations name an entity, and what belongs to such assertions."""
    names, scope = names_of(reader, target), target.scope
    if not names or scope is None:
        return
    keys = {name.key for name in names}
    row = reader.row("scope_find", agent_id=scope.agent_id, namespace=scope.namespace)
    assert row is not None, "a scope with names has a number"
    said: dict[str, None] = {}
    for commit_ts in commits_of(reader, row[0]):
        (event,) = pages.events_of(reader, [commit_ts])
        for position, operation in enumerate(codec.decode_standing(event.operations)):
            if operation.scope != scope or keys.isdisjoint(_named(operation)):
                continue
            yield commit_ts, position
            if isinstance(operation, Assert | End):
                said[operation.assertion_id] = None
    yield from _places_of_assertions(reader, said)


def _named(operation: AnyOperation) -> set[str]:
    """Return the keys of the entities that an operation names."""
    names: tuple[Name | None, ...] = ()
    if isinstance(operation, Assert | End):
        names = (operation.subject, operation.object)
    elif isinstance(operation, Alias):
        names = (operation.entity, operation.alias)
    elif isinstance(operation, Merge):
        names = (operation.source, operation.into)
    elif isinstance(operation, Mentioned):
        names = operation.names
    return {name.key for name in names if name is not None and name.kind == NAMED}


def _places_from(reader: Reader, target: Target) -> Iterator[Place]:
    """Yield where the log has what was said on the ground of a memory or a transcript."""
    for first in (
        codec.encode(MemoryRef(target.name)).removesuffix(b"\xc0"),
        codec.encode(TranscriptRef(target.name)).removesuffix(b"\x90"),
    ):
        rows = reader.rows("graph_statements_from", first=first, beyond=first + _BEYOND)
        yield from _places_of_assertions(reader, dict.fromkeys(row[0] for row in rows))


def _places_of_assertions(reader: Reader, ids: Iterable[str]) -> Iterator[Place]:
    """Yield the places of assertions, of the ends that belong to them, and of their withdrawals."""
    withdrawn: dict[int, set[str]] = {}
    for assertion_id in ids:
        for commit_ts, position, until in reader.rows("graph_places", assertion_id=assertion_id):
            yield commit_ts, position
            if until < STILL:
                withdrawn.setdefault(until, set()).add(assertion_id)
    for event in pages.events_of(reader, sorted(withdrawn)):
        gone = withdrawn[event.commit_ts]
        for position, operation in enumerate(codec.decode_standing(event.operations)):
            if isinstance(operation, Withdraw) and operation.assertion_id in gone:
                yield event.commit_ts, position


class GraphEraser(Eraser):
    """Applies again what is left in the scopes in which something was erased."""

    def __init__(self, writer: Writer, again: Again) -> None:
        self._writer = writer
        self._again = again
        self._scopes: set[Scope] = set()

    def take(self, rewritten: Rewritten, /) -> None:
        """Note whose facts are concerned."""
        for _, before, after in rewritten.changes():
            if isinstance(before, _OF_A_SCOPE):
                self._scopes.add(before.scope)
            elif isinstance(before, Classify) and not isinstance(after, Classify):
                self._writer.run(
                    "graph_cardinality_drop",
                    namespace=before.namespace,
                    relation=before.relation.key,
                )

    def finish(self) -> None:
        """Empty the scopes concerned, and apply what is left of each in order."""
        for scope in sorted(self._scopes):
            row = self._writer.row("scope_find", agent_id=scope.agent_id, namespace=scope.namespace)
            assert row is not None, "a scope with facts has a number"
            for query in _CLEAR:
                self._writer.run(query, scope_id=row[0])
            for commit_ts in commits_of(self._writer, row[0]):
                (event,) = pages.events_of(self._writer, [commit_ts])
                self._again(self._writer, Commit.of(event), scope)


def commits_of(reader: Reader, scope_id: int) -> Iterator[int]:
    """Yield the commits that touched a scope, in order."""
    after = 0
    while rows := reader.rows(
        "commits_of_scope", scope_id=scope_id, after=after, through=STILL, most=pages.PAGE_ROWS
    ):
        for (after,) in rows:
            yield after
