"""Bringing the graph to what the log says once something was erased.

What holds follows from what was said, and names from who was named first: so a scope in which
anything was erased is emptied, and its own operations are applied again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from recollect.graph.derive import STILL
from recollect.log import pages
from recollect.log.views import Commit, Eraser, Rewritten
from recollect.model import codec
from recollect.model.erasure import FACTS, Place, Target
from recollect.model.operations import Alias, Assert, Classify, End, Mentioned, Merge, Withdraw
from recollect.model.refs import MemoryRef, TranscriptRef
from recollect.model.scope import Scope
from recollect.storage.port import Reader, Writer

Again = Callable[[Writer, Commit, Scope], None]
"""Applies what a commit says of the facts of one scope."""
_OF_A_SCOPE = (Assert, End, Withdraw, Alias, Merge, Mentioned)
_BEYOND = b"\xff"
"""Sorts behind whatever can follow an id in an encoded reference."""
_CLEAR = ("graph_scope_edges", "graph_scope_statements", "graph_scope_roots", "graph_scope_nodes")


def places_of(reader: Reader, target: Target) -> Iterator[Place]:
    """Yield where the log has what was said on the ground of a memory or a transcript."""
    if target.kind != FACTS:
        return
    for first in (
        codec.encode(MemoryRef(target.name)).removesuffix(b"\xc0"),
        codec.encode(TranscriptRef(target.name)).removesuffix(b"\x90"),
    ):
        rows = reader.rows("graph_statements_from", first=first, beyond=first + _BEYOND)
        for (assertion_id,) in rows:
            yield from _places_of_assertion(reader, assertion_id)


def _places_of_assertion(reader: Reader, assertion_id: str) -> Iterator[Place]:
    """Yield the places of an assertion, of the end that belongs to it, and of its withdrawal."""
    withdrawn = set()
    for commit_ts, position, until in reader.rows("graph_places", assertion_id=assertion_id):
        yield commit_ts, position
        if until < STILL:
            withdrawn.add(until)
    for event in pages.events_of(reader, sorted(withdrawn)):
        for position, operation in enumerate(codec.decode_standing(event.operations)):
            if isinstance(operation, Withdraw) and operation.assertion_id == assertion_id:
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
            for commit_ts in self._commits(row[0]):
                (event,) = pages.events_of(self._writer, [commit_ts])
                self._again(self._writer, Commit.of(event), scope)

    def _commits(self, scope_id: int) -> Iterator[int]:
        after = 0
        while rows := self._writer.rows(
            "commits_of_scope", scope_id=scope_id, after=after, through=STILL, most=pages.PAGE_ROWS
        ):
            for (after,) in rows:
                yield after
