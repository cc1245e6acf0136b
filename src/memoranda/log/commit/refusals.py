"""Refusals that matter for security: logged with ids only, and rate-limited.

The refused caller gets its error at once. The note is a transaction of the engine, after the batch
of the refused one, in the audit scope, which no agent's replay shows. Per kind and agent only
`MAX_NOTES` are logged per window; the next note, or the last one at closing, says how many more
there were.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from memoranda.errors import LinkCycle, MemorandaError, ReflectionTooDeep
from memoranda.log.commit.staged_transaction import Request
from memoranda.model import codec
from memoranda.model.clock import Clock
from memoranda.model.operations import AUDIT_SCOPE, Refuse

CYCLE = "link.cycle_refused"
DEPTH = "reflection.depth_exceeded"
PERMISSION = "permission.denied"
AUTHENTICATION = "authentication.failed"
SIGNATURE = "signature.refused"
KINDS = (CYCLE, DEPTH, PERMISSION, AUTHENTICATION, SIGNATURE)
"""The audit event types of refusals."""

MAX_NOTES = 10
"""Refusals of one kind and agent that are logged per `WINDOW_SECONDS`."""
WINDOW_SECONDS = 60.0
"""Length of the window: long enough that an attack cannot fill the log, and is still visible."""
MAX_WINDOWS = 1024
"""Pairs of kind and agent that are tracked at once, which bounds the memory they take."""


class _Window:
    """The recent refusals of one kind and one agent."""

    __slots__ = ("left_out", "notes", "started")

    def __init__(self, started: float, left_out: int) -> None:
        self.started = started
        self.notes = 0
        self.left_out = left_out


class Refusals:
    """The refusals that are to be logged. Only the leader of the group commit uses it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._windows: OrderedDict[tuple[str, str], _Window] = OrderedDict()
        self.pending: list[Refuse] = []
        """Notes to be logged with the next batch."""

    def record(self, error: MemorandaError, request: Request) -> None:
        """Note an error that a caller gets, if it is of a kind that is logged."""
        by, refusal = request.actor, request.refusal
        if refusal is not None:
            self.note(refusal.kind, by, refusal.about)
        elif isinstance(error, LinkCycle):
            self.note(
                CYCLE, by, (memory_id for memory_id in error.path[:2] if memory_id is not None)
            )
        elif isinstance(error, ReflectionTooDeep):
            self.note(DEPTH, by, error.memory_ids)

    def note(self, kind: str, by: str, about: Iterable[str]) -> None:
        """Queue a refusal to be logged, or count it if there were too many in the window."""
        window = self._window(kind, by)
        if window.notes >= MAX_NOTES:
            window.left_out += 1
            return
        window.notes += 1
        self.pending.append(_refuse(kind, by, tuple(about), window.left_out))
        window.left_out = 0

    def take(self) -> list[Refuse]:
        """Return the queued notes, and empty the queue."""
        notes, self.pending = self.pending, []
        return notes

    def take_all(self) -> list[Refuse]:
        """Return the queued notes, and a note for every count that none of them includes."""
        for (kind, by), window in self._windows.items():
            self._note_count(kind, by, window)
        return self.take()

    def restore(self, notes: Iterable[Refuse]) -> None:
        """Count notes that could not be written: the next note includes them."""
        for note in notes:
            self._window(note.what, note.by).left_out += note.left_out + bool(note.about)

    def _window(self, kind: str, by: str) -> _Window:
        """Return the window of a kind and an agent, and make it the most recent one."""
        now, key = self._clock.monotonic(), (kind, by)
        window = self._windows.pop(key, None)
        if window is None or now - window.started >= WINDOW_SECONDS:
            window = _Window(now, 0 if window is None else window.left_out)
        self._windows[key] = window
        if len(self._windows) > MAX_WINDOWS:
            (kind, by), oldest = self._windows.popitem(last=False)
            self._note_count(kind, by, oldest)
        return window

    def _note_count(self, kind: str, by: str, window: _Window) -> None:
        """Queue a note that has nothing but the count."""
        if window.left_out:
            self.pending.append(_refuse(kind, by, (), window.left_out))
            window.left_out = 0


def request(txn_id: str, notes: Sequence[Refuse]) -> Request:
    """Return the engine's transaction that logs these notes."""
    return Request(
        txn_id=txn_id,
        idempotent=False,
        actor=AUDIT_SCOPE.agent_id,
        staged=notes,
        encoded=codec.join([*map(codec.encode, notes)]),
        reads=frozenset(),
        base_commit=0,
        deadline=math.inf,
        trace_id=None,  # not that of the commit whose thread writes it
    )


def _refuse(kind: str, by: str, about: tuple[str, ...], left_out: int) -> Refuse:
    return Refuse(AUDIT_SCOPE.namespace, AUDIT_SCOPE.agent_id, kind, by, about, left_out)
