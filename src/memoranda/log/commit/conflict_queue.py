"""Turns: who was in conflict goes first, where it was, and in the order in which they came.

A transaction that is run again after a conflict joins a line with what it had read that changed.
It goes as soon as nobody before it in the line is about the same; others of this process who read
that too do not commit past the line, but join it. So each is run again a few times at most, however
many there are, and those who read something else never notice.

A turn does not last: those behind wait no longer than `TURN_SECONDS` for the work of one, and then
try as well. Other processes are not in the line, so who was overtaken in its own turn lets a moment
pass, and a shorter one each time: who has lost most often comes back first.
"""

from __future__ import annotations

from collections.abc import Iterable
from weakref import ref

from memoranda.errors import TransactionConflict
from memoranda.log.signal import Signal
from memoranda.model.clock import Clock, SystemClock
from memoranda.storage.locks import new_lock

TURN_SECONDS = 1.0
"""How long the others wait for one whose turn it is."""
_RIVAL_SECONDS = 1.0
"""How long another process that was faster is taken to be still at it."""
_PAUSE = 3.0
"""How many times as long as a turn takes who was never overtaken leaves to rivals."""
_SHORTEST, _LONGEST = 0.001, 0.1
"""What a turn is taken to last, in seconds, at least and at most."""


class OutOfTurn(TransactionConflict):
    """Others are before this transaction with what it read. It is run again when they are done."""


class Turn:
    """The place in the line of one call, which it gets with its first conflict."""

    __slots__ = ("__weakref__", "_turns", "due_since", "overtaken", "reads", "signal")

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self.reads: set[object] = set()
        """What it is about; nothing: it is not in the line."""
        self.signal: Signal
        """Given when it is due; made with its place, which most calls never need."""
        self.due_since: float | None = None
        """Since when it is its turn."""
        self.overtaken = 0
        """How often somebody who is not in the line was faster in its own turn."""

    def check(self, reads: Iterable[object]) -> None:
        """Raise `OutOfTurn` if somebody before it in the line is about any of these."""
        if self._turns.line:
            self._turns.check(self, reads)

    def join(self, reads: Iterable[object], *, overtaken: bool) -> None:
        """Take a place in the line with these reads, or keep the one it has."""
        if overtaken and self.due_since is not None:
            self.overtaken += 1
            self._turns.note_rivals(self.due_since)
        self._turns.join(self, reads)

    def is_due(self) -> bool:
        """Say whether it may go now."""
        self._turns.advance()
        return self.due_since is not None

    def pause(self) -> float:
        """Return how many seconds to leave to rivals, on average."""
        return float(self._turns.usual_seconds() * _PAUSE / 2**self.overtaken)

    def end(self) -> None:
        """Leave the line."""
        if self.reads:
            self._turns.leave(self)


class Turns:
    """The line of one open store. Threads may share it."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._lock = new_lock()
        self.line: list[ref[Turn]] = []
        """In the order in which they came; one that an interrupt left behind is gone soon."""
        self._rivals_until = float("-inf")
        self._usual = _SHORTEST

    def check(self, turn: Turn, reads: Iterable[object]) -> None:
        """Raise `OutOfTurn` if any of these reads is that of somebody before this turn."""
        with self._lock:
            taken = _Taken()
            for each in self._alive():
                if each is turn:
                    break
                if not self._is_late(each):
                    taken.add(each.reads)
            wanted = [read for read in reads if taken.has(read)]
        if wanted:
            error = OutOfTurn()
            error.reads = tuple(wanted)
            raise error

    def join(self, turn: Turn, reads: Iterable[object]) -> None:
        """Let somebody in, at the end unless it has a place."""
        with self._lock:
            turn.due_since = None
            if not turn.reads:
                turn.signal = Signal()
                self.line.append(ref(turn))
            turn.reads.update(reads)
        self.advance()

    def leave(self, turn: Turn) -> None:
        """Let somebody out, and let those go who waited for it."""
        with self._lock:
            turn.reads = set()
            self.line = [each for each in self.line if each() not in (None, turn)]
        self.advance()

    def advance(self) -> None:
        """Tell those whose turn it is by now."""
        due: list[Turn] = []
        with self._lock:
            taken = _Taken()
            for turn in self._alive():
                if turn.due_since is None and not any(map(taken.has, turn.reads)):
                    turn.due_since = self._clock.monotonic()
                    due.append(turn)
                if not self._is_late(turn):
                    taken.add(turn.reads)
        for turn in due:
            turn.signal.notify()

    def note_rivals(self, since: float) -> None:
        """Take note that somebody who is not in the line was faster in a turn."""
        now = self._clock.monotonic()
        self._usual = (self._usual + min(max(now - since, _SHORTEST), _LONGEST)) / 2
        self._rivals_until = now + _RIVAL_SECONDS

    def usual_seconds(self) -> float:
        """Return how long a turn takes, if there are rivals; else nothing."""
        return self._usual if self._clock.monotonic() < self._rivals_until else 0.0

    def _alive(self) -> list[Turn]:
        return [turn for each in self.line if (turn := each()) is not None]

    def _is_late(self, turn: Turn) -> bool:
        due = turn.due_since
        return due is not None and self._clock.monotonic() - due > TURN_SECONDS


class _Taken:
    """What those are about who are before somebody."""

    def __init__(self) -> None:
        self._reads: set[object] = set()
        self._ranges: list[object] = []

    def add(self, reads: Iterable[object]) -> None:
        """Add what one more is about."""
        for read in reads:
            self._reads.add(read)
            if getattr(read, "is_range", False):
                self._ranges.append(read)

    def has(self, read: object) -> bool:
        """Say whether a read is one of these, or about a part of the same."""
        if read in self._reads or any(each.overlaps(read) for each in self._ranges):  # type: ignore[attr-defined]
            return True
        return getattr(read, "is_range", False) and any(map(read.overlaps, self._reads))  # type: ignore[attr-defined]
