"""Denials: callers without a valid token, and calls that a token does not allow.

They are counted, and audited in the log of the control store, never in a tenant's: with ids only,
and at most ten of a kind for each token in a minute; the next record says how many more there were.
All callers without a token share one count, so strangers cannot fill the memory or the log.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal

from memoranda.calls.core import Core
from memoranda.errors import MemorandaError
from memoranda.log.commit import refusals
from memoranda.log.commit.refusals import AUTHENTICATION, PERMISSION, Refusals
from memoranda.storage.thread_locks import new_lock

UNKNOWN_CALLER = "unknown"
"""The recorded id of callers with an unknown secret, and of callers of a server without tokens."""
Reason = Literal["unknown", "expired", "revoked"]


class Denials:
    """Counts denials, and queues those that are audited. Threads can share it."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._refusals = Refusals(core.clock)
        self._mutex = new_lock()
        self.counts: Counter[str] = Counter()
        """The number of denials of each kind since the server started."""

    def unauthenticated(self, token_id: str | None, reason: Reason) -> None:
        """Note a call with an unknown secret, or with an expired or revoked token."""
        self._note(AUTHENTICATION, token_id, (reason,))

    def denied(self, token_id: str | None, *about: str) -> None:
        """Note a denied call, or a store that the token does not cover.

        `about` are names that the server knows, such as the call's and the store's, no content.
        """
        self._note(PERMISSION, token_id, about)

    def _note(self, kind: str, token_id: str | None, about: tuple[str, ...]) -> None:
        with self._mutex:
            self.counts[kind] += 1
            self._refusals.note(kind, token_id or UNKNOWN_CALLER, about or (UNKNOWN_CALLER,))

    def write(self, *, counts: bool = False) -> None:
        """Commit the queued denials to the control store; with `counts`, also the pending counts.

        A failure is not reported: the next record counts these denials.
        """
        with self._mutex:
            notes = self._refusals.take_all() if counts else self._refusals.take()
        if not notes:
            return
        try:
            self._core.committer.commit(refusals.request(self._core.ids.unique(), notes))
        except MemorandaError:
            with self._mutex:
                self._refusals.restore(notes)
