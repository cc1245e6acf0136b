"""The rehearsal of a batch: it finds out what decisions and views will read.

The rules are run with a scout, which records their reads; the decisions of this run are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from memoranda.errors import MemorandaError
from memoranda.log.commit import idempotency
from memoranda.log.commit.staged_transaction import Request
from memoranda.log.views import Commit, DecidedEvent, Views
from memoranda.model.event import Head
from memoranda.storage.port import Unread, Writer


class BatchRehearsal:
    """Performs the reads of the requests of a batch that are not written yet."""

    __slots__ = ("_head", "_next", "_requests", "_views", "applied")

    def __init__(self, views: Views, requests: Sequence[Request], head: Head) -> None:
        self._views = views
        self._requests = requests
        self._head = head
        self._next = 0
        """The place of the request that is being decided."""
        self.applied: Commit | None = None
        """The commit that is being applied to the views; None: none is."""

    def proceed(self, place: int, head: Head) -> None:
        """Continue with the request at a position of the batch, after a head of the log."""
        self._next, self._head, self.applied = place, head, None

    def __call__(self, scout: Writer, /, *, whole: bool) -> None:
        """Perform the reads of the next step, or of all steps."""
        if self.applied is not None:
            for view in self._views.all:
                view.rehearse(scout, self.applied)
            if not whole:
                return
        first = self._next + (self.applied is not None)
        end = len(self._requests) if whole else first + 1
        for request in self._requests[first:end]:
            self._rehearse(scout, request)

    def _rehearse(self, scout: Writer, request: Request) -> None:
        if request.idempotent or request.may_be_logged:
            with suppress(Unread, MemorandaError):
                idempotency.find_earlier(scout, self._views, request)
        if request.reads and request.base_commit != self._head.commit_ts:
            for read in request.reads:
                with suppress(Unread, MemorandaError):
                    self._views.first_changed(scout, (read,), request.base_commit)
        if request.erases is None:
            self._decide(scout, request)

    def _decide(self, scout: Writer, request: Request) -> None:
        """Decide each part of a request; if no row is missing, what follows from all of them."""
        decision = self._views.begin(scout)
        try:
            operations = decision.rehearse(request.staged)
            if operations is not None and decision.has_consequences(operations):
                place = (self._head.commit_ts + 1, self._head.committed_at + 1)
                decision.conclude(DecidedEvent(*place, request.actor, operations))
        except (Unread, MemorandaError):
            pass
        finally:
            decision.close()
