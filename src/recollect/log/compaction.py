"""Compaction: a namespace's log up to a horizon, without what no longer holds there.

What still holds at the horizon stays where it was said, and so does what something that stays rests
on. The other operations keep only their hashes. One event says so: an `Erase` that vouches for all
of it, and a `Summary` with the horizon. All of it is one storage transaction, and so is filling the
views again, which then have only what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

import msgspec

from recollect.log import horizons, pages
from recollect.log.erasing import Erasure
from recollect.log.failpoints import Failpoint, pass_by
from recollect.log.redaction import Left
from recollect.log.retaining import Keeper, Retained
from recollect.log.signing import Signing
from recollect.log.views import Views, fill
from recollect.model import codec
from recollect.model.erasure import Place
from recollect.model.event import Head
from recollect.model.ids import IdSource
from recollect.model.operations import (
    ENGINE_SCOPE,
    AnyOperation,
    Erase,
    Rest,
    Summary,
    standing,
)
from recollect.storage.port import Progress, Writer

TARGET = "compaction"
_COMMITS = 1024
_PARTS = 3
"""It goes through the log three times: to see what stays, to erase, and to fill the views."""


class Compaction(msgspec.Struct, frozen=True):
    """What a compaction did, or would do."""

    namespace: str
    horizon: int
    """From this commit on everything is as it was; of what was before, only what led there."""
    horizon_at: datetime | None
    """The time of that commit; None if there is none."""
    erased: int
    """How many operations keep only their hashes."""
    kept: int
    """How many stay, because they still hold or something rests on them."""
    commit_ts: int | None = None
    """The commit that says so; None: nothing was done, or there was nothing to do."""


class Tallied(msgspec.Struct, frozen=True):
    """How many operations of a namespace go, and how many stay."""

    erased: int = 0
    kept: int = 0


class Plan(msgspec.Struct, frozen=True):
    """What is to be summed up, by whom, and how that is told."""

    namespace: str
    horizon: int
    by: str
    reason: str | None = None
    progress: Progress | None = None
    signing: Signing | None = None


Append = Callable[[Sequence[AnyOperation]], object]
"""Appends an event with these operations."""


class Compactor:
    """Sums one namespace up, inside one storage transaction."""

    def __init__(self, writer: Writer, views: Views, ids: IdSource, plan: Plan, head: Head) -> None:
        self._writer = writer
        self._views = views
        self._ids = ids
        self._plan = plan
        self._head = head
        self._notes = Retained(writer, plan.namespace, plan.horizon)
        keepers = [view.keeper(self._notes, ids) for view in views.all]
        self._keepers = [keeper for keeper in keepers if keeper is not None]
        self._keeper_of: dict[type, Keeper] = {
            kind: keeper for keeper in self._keepers for kind in keeper.kinds
        }
        self._kept = 0

    def run(
        self, append: Append, log_id: str, *, confirmed: bool, failpoint: Failpoint = pass_by
    ) -> Tallied:
        """Erase what no longer holds and fill the views again, or only count."""
        known = horizons.find(self._writer, self._plan.namespace)
        if known is not None and known.commit_ts >= self._plan.horizon:
            return Tallied()
        self._notes.clear()  # whatever may be there: it was not noted now
        self._survey()
        erasure = Erasure(self._writer, Views(()), self._head.commit_ts + 1, self._ids)
        for commits in self._commits():
            erasure.erase(commits, self._left)
            self._tell(1, commits[-1])
        self._notes.clear()
        failpoint("compaction-erased")
        found = Tallied(erasure.tally.count, self._kept)
        if found.erased and confirmed:
            append(self._said(erasure))
            failpoint("compaction-appended")
            fill(self._writer, log_id, self._views, self._told_of_views)
            failpoint("compaction-filled")
        return found

    def _survey(self) -> None:
        """Show every operation to the keepers, the newest first, then let them decide."""
        for place, operation in self._operations_back():
            for keeper in self._keepers:
                keeper.look(place, operation)
            if self._notes.covers(place, operation):
                self._notes.look_again(place[0])
        for keeper in self._keepers:
            keeper.settle()

    def _operations_back(self) -> Iterator[tuple[Place, AnyOperation]]:
        before = self._head.commit_ts + 1
        while rows := self._writer.rows(
            "event_page_back", before=before, most=pages.PAGE_ROWS, budget=pages.PAGE_BYTES
        ):
            for before, operations in rows:
                found = codec.decode_operations(operations)
                for position in range(len(found) - 1, -1, -1):
                    yield (before, position), standing(found[position])
            self._tell(0, self._head.commit_ts - before)

    def _commits(self) -> Iterator[list[int]]:
        """Yield the commits that have operations to be summed up."""
        after = 0
        while rows := self._writer.rows("retained_commits", after=after, most=_COMMITS):
            yield [commit_ts for (commit_ts,) in rows]
            after = rows[-1][0]

    def _left(self, place: Place, operation: AnyOperation) -> Left | None:
        """Return what is to stay of an operation; None: all of it."""
        if not self._notes.covers(place, operation):
            return None
        keeper = self._keeper_of.get(type(operation))
        left: AnyOperation | None = operation
        if keeper is not None:
            left = keeper.left_of(place, operation)
        if left is operation or left == operation:
            self._kept += 1
            return None
        assert left is None or isinstance(left, Rest), "what is left is an operation or nothing"
        return Left(operation.namespace, operation.agent_id, left)

    def _said(self, erasure: Erasure) -> list[AnyOperation]:
        plan, tally = self._plan, erasure.tally
        return [
            Erase(
                ENGINE_SCOPE.namespace,
                ENGINE_SCOPE.agent_id,
                self._ids.unique(),
                TARGET,
                plan.by,
                plan.reason,
                tally.count,
                tally.digest,
            ),
            Summary(plan.namespace, ENGINE_SCOPE.agent_id, plan.horizon, tally.count),
        ]

    def _told_of_views(self, done: int, _: int) -> None:
        self._tell(2, done)

    def _tell(self, part: int, done: int) -> None:
        if self._plan.progress is not None:
            whole = self._head.commit_ts
            self._plan.progress(part * whole + min(done, whole), _PARTS * whole)
