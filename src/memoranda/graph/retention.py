"""Keeping facts through a compaction: what was said and stands, and what something rests on."""

from __future__ import annotations

from collections.abc import Iterator

from memoranda.log import pages
from memoranda.log.retaining import Decision, Keeper, Retained, rests_on
from memoranda.model import codec
from memoranda.model.erasure import Place
from memoranda.model.graph_operations import Name
from memoranda.model.ids import IdSource
from memoranda.model.operations import (
    AnyOperation,
    Assert,
    AssertPrivately,
    End,
    EndFrom,
    EndPrivately,
    Mentioned,
    Withdraw,
    WithdrawPrivately,
)
from memoranda.storage.port import Engine, Reader

_SALT_BYTES = 16


class GraphKeeper(Keeper):
    """Keeps the statements that stood at the horizon.

    Where something rests on a fact, all of its timeline stays: how the fact was believed when it
    was relied on follows from what was said by then. Names and cardinalities stay. What was taken
    back goes in the same commit as what took it back, or it would stand again in between.
    """

    kinds = (
        Assert,
        AssertPrivately,
        End,
        EndFrom,
        EndPrivately,
        Withdraw,
        WithdrawPrivately,
    )

    def __init__(self, notes: Retained, ids: IdSource) -> None:
        self._notes = notes
        self._ids = ids
        self._relied: set[Place] = set()
        """The statements that were taken back, and that a belief of the past rests on."""

    def look(self, _: Reader, __: Place, operation: AnyOperation, /) -> None:
        """Note which memories facts, and the ends of facts, come from."""
        if isinstance(operation, (Assert, End)):
            for ref in rests_on(operation):
                self._notes.rely(ref)

    def settle(self, engine: Engine, /) -> None:
        """Find the statements that stay although they were taken back."""
        horizon = self._notes.horizon
        for assertion_id in self._notes.facts:
            with engine.reading() as reader:
                rows = reader.rows(
                    "graph_timeline_withdrawn", assertion_id=assertion_id, horizon=horizon
                )
            self._relied.update((commit_ts, position) for commit_ts, position in rows)

    def left_of(
        self, reader: Reader, place: Place, operation: AnyOperation, /
    ) -> AnyOperation | None:
        """Return all of it, names that came up in it, or nothing."""
        if isinstance(operation, Withdraw):
            said = self._said(reader, operation)
            return operation if any(left is whole for _, whole, left in said) else None
        assert isinstance(operation, (Assert, End)), "nothing else is decided on here"
        if self._stands(reader, place, operation):
            return operation
        asserted = self._asserted_with(reader, place, operation)
        if asserted is not None:  # it has the same names, and bounds what was asserted
            before = (place[0], place[1] - 1)
            return operation if self.left_of(reader, before, asserted) is asserted else None
        named = [operation.subject, operation.relation, operation.object]
        names = tuple(name for name in named if name and _is_new(reader, place, operation, name))
        if not names:
            return None
        if operation.source is not None:  # who forgets the source, forgets the names with it
            return operation
        scope, salt = operation.scope, self._ids.entropy(_SALT_BYTES)
        return Mentioned(scope.namespace, scope.agent_id, names, salt)

    def along_with(self, reader: Reader, operation: AnyOperation, /) -> Iterator[Decision]:
        """Yield what an operation took back."""
        if isinstance(operation, Withdraw):
            yield from self._said(reader, operation)

    def _said(self, reader: Reader, operation: Withdraw) -> Iterator[Decision]:
        """Yield what an operation took back, and what is left of it."""
        rows = reader.rows("graph_places", assertion_id=operation.assertion_id)
        for commit_ts, position, _ in rows:
            (event,) = pages.events_of(reader, [commit_ts])
            said = codec.decode_standing(event.operations)[position]
            if isinstance(said, (Assert, End)):
                place = (commit_ts, position)
                yield place, said, self.left_of(reader, place, said)

    def _stands(self, reader: Reader, place: Place, operation: Assert | End) -> bool:
        """Say whether a statement stood at the horizon, or a belief of the past rests on it."""
        if place in self._relied:
            return True
        rows = reader.rows("graph_places", assertion_id=operation.assertion_id)
        until = {(commit_ts, position): until for commit_ts, position, until in rows}
        return place not in until or until[place] > self._notes.horizon

    def _asserted_with(
        self, reader: Reader, place: Place, operation: Assert | End
    ) -> Assert | None:
        """Return the assertion that an end was said with, if it was: it stands right before it."""
        if not isinstance(operation, End) or not place[1]:
            return None
        (event,) = pages.events_of(reader, [place[0]])
        said = codec.decode_standing(event.operations)[place[1] - 1]
        same = isinstance(said, Assert) and said.assertion_id == operation.assertion_id
        return said if same and isinstance(said, Assert) else None


def _is_new(reader: Reader, place: Place, operation: Assert | End, name: Name) -> bool:
    """Say whether a name came up in this commit for the first time."""
    row = reader.row(
        "graph_node_begun",
        agent_id=operation.agent_id,
        namespace=operation.namespace,
        kind=name.kind,
        key=name.key,
    )
    return row == (place[0],)
