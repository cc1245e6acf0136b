"""Conflict queue: after a conflict, transactions run again one after another, in order of arrival.

A transaction that is run again after a conflict joins the queue with the reads that had changed.
Its states:

1. Not queued: it had no conflict yet. It may commit unless a queued transaction before it reads the
   same (`check` raises `OutOfTurn`, which makes it join the queue).
2. Queued: an earlier ticket of the queue has an overlapping read. It waits for its signal.
3. Due: no earlier ticket overlaps any more. `advance` sets `due_since` and notifies it.
4. Late: it has been due for more than `TURN_SECONDS`. Later tickets no longer wait for it, and it
   may still commit.

So every transaction is run again a few times at most, however many there are. Transactions that
read something else never wait.

Other processes are not in the queue. A ticket that one of them overtook pauses before it tries
again, and half as long each further time: the one that lost most often comes back first.

`ConflictQueue._lock` protects the queue and the fields of its tickets. Signals are notified after
the lock is released.
"""

from __future__ import annotations

from collections.abc import Iterable
from weakref import ref

from memoranda.errors import TransactionConflict
from memoranda.log.read.wakeup import Signal
from memoranda.model.clock import Clock, SystemClock
from memoranda.storage.thread_locks import new_lock

TURN_SECONDS = 1.0
"""Seconds that later tickets wait for a due one; then a slow or lost caller blocks nobody."""
_RIVAL_SECONDS = 1.0
"""Seconds after losing to another process during which it is assumed to go on writing."""
_PAUSE_FACTOR = 3.0
"""First pause for rivals, as a multiple of a usual turn; it halves with each loss."""
_MIN_TURN_SECONDS, _MAX_TURN_SECONDS = 0.001, 0.1
"""Bounds of the estimate of how long a turn takes, in seconds."""


class OutOfTurn(TransactionConflict):
    """Queued transactions read the same. This one is run again when they are done."""


class QueueTicket:
    """The place of one call in the queue; the call takes it with its first conflict."""

    __slots__ = ("__weakref__", "_queue", "due_since", "overtaken", "reads", "signal")

    def __init__(self, queue: ConflictQueue) -> None:
        self._queue = queue
        self.reads: set[object] = set()
        """The reads it conflicted on; empty: it is not queued."""
        self.signal: Signal
        """Notified when it is due; created when it joins, which most calls never do."""
        self.due_since: float | None = None
        """Monotonic time at which its turn began; None: it has to wait."""
        self.overtaken = 0
        """How often a process outside the queue was faster during its own turn."""

    def check(self, reads: Iterable[object]) -> None:
        """Raise `OutOfTurn` if an earlier ticket has one of these reads."""
        if self._queue.tickets:
            self._queue.check(self, reads)

    def join(self, reads: Iterable[object], *, overtaken: bool) -> None:
        """Queue with these reads, or add them to the place it has."""
        if overtaken and self.due_since is not None:
            self.overtaken += 1
            self._queue.note_rivals(self.due_since)
        self._queue.join(self, reads)

    def is_due(self) -> bool:
        """Return whether it may run now."""
        self._queue.advance()
        return self.due_since is not None

    def pause(self) -> float:
        """Return how many seconds to leave to rivals, on average."""
        return float(self._queue.usual_seconds() * _PAUSE_FACTOR / 2**self.overtaken)

    def end(self) -> None:
        """Leave the queue."""
        if self.reads:
            self._queue.leave(self)


class ConflictQueue:
    """The queue of one open store, shared by its threads."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._lock = new_lock()
        self.tickets: list[ref[QueueTicket]] = []
        """In order of arrival. Weak: the ticket of an interrupted call disappears by itself."""
        self._rivals_until = float("-inf")
        self._usual_seconds = _MIN_TURN_SECONDS

    def check(self, ticket: QueueTicket, reads: Iterable[object]) -> None:
        """Raise `OutOfTurn` if one of these reads overlaps one of an earlier ticket."""
        with self._lock:
            earlier_reads = _ReadSet()
            for earlier in self._live_tickets():
                if earlier is ticket:
                    break
                if not self._is_late(earlier):
                    earlier_reads.add(earlier.reads)
            overlapping = [read for read in reads if earlier_reads.overlaps(read)]
        if overlapping:
            error = OutOfTurn()
            error.reads = tuple(overlapping)
            raise error

    def join(self, ticket: QueueTicket, reads: Iterable[object]) -> None:
        """Append a ticket, unless it has a place, and add reads to it."""
        with self._lock:
            ticket.due_since = None
            if not ticket.reads:
                ticket.signal = Signal()
                self.tickets.append(ref(ticket))
            ticket.reads.update(reads)
        self.advance()

    def leave(self, ticket: QueueTicket) -> None:
        """Remove a ticket, and let the tickets run that waited for it."""
        with self._lock:
            ticket.reads = set()
            self.tickets = [entry for entry in self.tickets if entry() not in (None, ticket)]
        self.advance()

    def advance(self) -> None:
        """Mark and notify the tickets that overlap no earlier one any more."""
        due: list[QueueTicket] = []
        with self._lock:
            earlier_reads = _ReadSet()
            for ticket in self._live_tickets():
                if ticket.due_since is None and not any(map(earlier_reads.overlaps, ticket.reads)):
                    ticket.due_since = self._clock.monotonic()
                    due.append(ticket)
                if not self._is_late(ticket):
                    earlier_reads.add(ticket.reads)
        for ticket in due:
            ticket.signal.notify()

    def note_rivals(self, started: float) -> None:
        """Record that another process was faster during a turn that began at `started`."""
        now = self._clock.monotonic()
        seconds = min(max(now - started, _MIN_TURN_SECONDS), _MAX_TURN_SECONDS)
        self._usual_seconds = (self._usual_seconds + seconds) / 2
        self._rivals_until = now + _RIVAL_SECONDS

    def usual_seconds(self) -> float:
        """Return how many seconds a turn takes while there are rivals; 0 without any."""
        return self._usual_seconds if self._clock.monotonic() < self._rivals_until else 0.0

    def _live_tickets(self) -> list[QueueTicket]:
        return [ticket for entry in self.tickets if (ticket := entry()) is not None]

    def _is_late(self, ticket: QueueTicket) -> bool:
        due = ticket.due_since
        return due is not None and self._clock.monotonic() - due > TURN_SECONDS


class _ReadSet:
    """The reads of some tickets, single keys and ranges."""

    def __init__(self) -> None:
        self._reads: set[object] = set()
        self._ranges: list[object] = []

    def add(self, reads: Iterable[object]) -> None:
        """Add the reads of one more ticket."""
        for read in reads:
            self._reads.add(read)
            if getattr(read, "is_range", False):
                self._ranges.append(read)

    def overlaps(self, read: object) -> bool:
        """Return whether a read equals one of these, or shares a part of a range with it."""
        if read in self._reads or any(range_read.overlaps(read) for range_read in self._ranges):  # type: ignore[attr-defined]
            return True
        return getattr(read, "is_range", False) and any(map(read.overlaps, self._reads))  # type: ignore[attr-defined]
