"""Surveying a log for a compaction: what rests on what, and what is to be left of operations.

All of it is done in short reads, with no lock: from the log's end to its beginning once, to see
what things rest on, and from the horizon back again, to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from memoranda.log import pages
from memoranda.log.redaction import Left
from memoranda.log.retaining import Keeper, Retained
from memoranda.log.slices import Pace, weight_of
from memoranda.log.views import Views
from memoranda.model import codec
from memoranda.model.erasure import Place
from memoranda.model.ids import IdSource
from memoranda.model.operations import AnyOperation, ErasedOperation, Rest
from memoranda.storage.port import Engine, Reader, Row

Parts = dict[Place, tuple[AnyOperation, Left]]
"""What stands at places, and what is to be left there."""
Tell = Callable[[int], None]
"""Is told how many commits were looked at."""


class Portion(msgspec.Struct):
    """What is to go in one commit, and how much work that is."""

    parts: Parts
    weight: int = 0


class Survey:
    """What is to become of the operations of a namespace up to a horizon."""

    def __init__(
        self, engine: Engine, views: Views, ids: IdSource, *, namespace: str, horizon: int
    ) -> None:
        self._engine = engine
        self._horizon = horizon
        self._notes = Retained(namespace, horizon)
        keepers = [view.keeper(self._notes, ids) for view in views.all]
        self._keepers = [keeper for keeper in keepers if keeper is not None]
        self._keeper_of: dict[type, Keeper] = {
            kind: keeper for keeper in self._keepers for kind in keeper.kinds
        }
        self._along: set[Place] = set()
        """What went along with something newer, and has not been passed yet."""
        self.erased = self.kept = 0
        with engine.reading() as reader:
            self.through = pages.head_commit(reader)
        """The commit up to which it is known what rests on what."""

    def look(self, tell: Tell) -> None:
        """Find out what rests on what, from the log's end."""
        for rows in self._pages_back(self.through):
            with self._engine.reading() as reader:
                for commit_ts, operations in rows:
                    for position, operation in _backwards(operations):
                        for keeper in self._keepers:
                            keeper.look(reader, (commit_ts, position), operation)
            tell(self.through - rows[-1][0] + 1)
        for keeper in self._keepers:
            keeper.settle(self._engine)

    def slices(self, pace: Pace, tell: Tell) -> Iterator[Portion]:
        """Yield what is to go in one commit, from the horizon back; nothing to go: nothing."""
        portion = Portion({})
        for rows in self._pages_back(self._horizon):
            for row in rows:
                before = len(portion.parts)
                with self._engine.reading() as reader:
                    self._decide(reader, row, portion.parts)
                if len(portion.parts) > before:
                    portion.weight += weight_of(len(portion.parts) - before, len(row[1]))
                if portion.weight >= pace.weight:
                    yield portion
                    portion = Portion({})
            tell(self._horizon - rows[-1][0] + 1)
        if portion.parts:
            yield portion

    def _pages_back(self, through: int) -> Iterator[list[Row]]:
        """Yield pages of the log from a commit back."""
        before = through + 1
        while True:
            with self._engine.reading() as reader:
                rows = reader.rows(
                    "event_page_back", before=before, most=pages.PAGE_ROWS, budget=pages.PAGE_BYTES
                )
            if not rows:
                return
            yield rows
            before = rows[-1][0]

    def _decide(self, reader: Reader, row: Row, parts: Parts) -> None:
        """Decide what is to be left of an event's operations."""
        for position, operation in _backwards(row[1]):
            place = (row[0], position)
            for keeper in self._keepers:
                keeper.pass_by(place, operation)
            if place in self._along:
                self._along.discard(place)
            elif self._notes.covers(place, operation) and not isinstance(
                operation, ErasedOperation
            ):
                self._take(reader, place, operation, parts)

    def _take(self, reader: Reader, place: Place, operation: AnyOperation, parts: Parts) -> None:
        keeper = self._keeper_of.get(type(operation))
        left: AnyOperation | None = operation
        if keeper is not None:
            left = keeper.left_of(reader, place, operation)
        if left is operation or left == operation:
            self.kept += 1
            return
        self._put(parts, place, operation, left)
        for where, what, rest in () if keeper is None else keeper.along_with(reader, operation):
            if where not in self._along and self._notes.covers(where, what):
                self._put(parts, where, what, rest)
                self._along.add(where)

    def _put(
        self, parts: Parts, place: Place, operation: AnyOperation, left: AnyOperation | None
    ) -> None:
        assert left is None or isinstance(left, Rest), "what is left is an operation or nothing"
        parts[place] = (operation, Left(operation.namespace, operation.agent_id, left))
        self.erased += 1


def _backwards(operations: bytes) -> Iterator[tuple[int, AnyOperation]]:
    """Yield what applies in an event, the last first."""
    found = codec.decode_standing(operations)
    for position in range(len(found) - 1, -1, -1):
        yield position, found[position]
