"""The writes of a client that are on their way: which are to be sent, and which are unanswered.

It does no I/O, and is used by all senders of writes (`write_sender.py`, `async_write_sender.py`),
under their lock or in their event loop.

A write has a `txn_id`, so that sending it again has one effect. After a lost connection, whatever
is unanswered is therefore sent again. What was sent on a connection that was lost may be committed,
until its outcome is known; only of other writes it is certain that they had no effect.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

from memoranda.errors import CommitUnknown, MemorandaError, StoreBusy, Unavailable
from memoranda.model.trace import current_trace
from memoranda.wire.batches import write_batch

MAX_BATCH_WRITES = 512
"""Writes of a batch; a longer queue is sent in several."""
MAX_BATCH_BYTES = 1024 * 1024
"""Bytes of requests after which a batch ends; a larger write is a batch of its own."""


class PendingWrite:
    """A write that has no outcome yet."""

    __slots__ = (
        "_wake",
        "error",
        "may_be_committed",
        "message",
        "number",
        "outcome",
        "traceparent",
        "txn_id",
    )

    def __init__(self, message: Any, txn_id: str) -> None:
        self.message = message
        self.txn_id = txn_id
        trace = current_trace()
        self.traceparent = "" if trace is None else trace.header
        """The trace of its caller: the stream that it travels on is that of all callers."""
        self.number = 0
        self.may_be_committed = False
        """Whether it was sent, and the connection lost before its outcome came."""
        self.outcome: Any = None
        """What the server has sent; None: nothing yet."""
        self.error: MemorandaError | None = None
        """Why there is no outcome."""
        self._wake: Callable[[], None] = _nobody

    def expect(self, wake: Callable[[], None]) -> None:
        """Have the caller woken by the next outcome; it may have had one that was no answer."""
        self.outcome, self.error, self._wake = None, None, wake

    def settle(self, outcome: Any, error: MemorandaError | None = None) -> None:
        """Set the outcome, or why there is none, and wake the caller."""
        self.outcome, self.error = outcome, error
        self._wake()

    @property
    def is_settled(self) -> bool:
        """Whether it has an outcome, or never will have."""
        return self.outcome is not None or self.error is not None

    def result(self) -> Any:
        """Return the outcome that the server has sent, or raise why there is none."""
        if self.error is not None:
            raise self.error
        return self.outcome

    def refusal(self, error: MemorandaError) -> MemorandaError:
        """Return what a refusal means for the caller, who gives up on it.

        A server that has no room for a write, or cannot serve it, has not looked for it in the log.
        If it was sent before, it may be there.
        """
        if not self.may_be_committed or not isinstance(error, (StoreBusy, Unavailable)):
            return error
        own = CommitUnknown(self.txn_id, "the connection was lost, and the server is busy")
        own.__cause__ = error
        return own


def _nobody() -> None:
    """Wake nobody: it was not sent yet."""


class WriteQueue:
    """Writes in the order in which their callers made them."""

    def __init__(self, store: str) -> None:
        self._store = store
        self._unsent: deque[PendingWrite] = deque()
        self._unanswered: dict[int, PendingWrite] = {}
        """The writes that were sent, by their numbers, in the order of sending."""
        self._last_number = 0
        self._last_settled = 0
        """The writes of the last message with outcomes."""

    @property
    def is_empty(self) -> bool:
        """Whether every write has an outcome."""
        return not self._unsent and not self._unanswered

    @property
    def has_unsent(self) -> bool:
        """Whether a write waits to be sent."""
        return bool(self._unsent)

    @property
    def unsent_count(self) -> int:
        """How many writes wait to be sent."""
        return len(self._unsent)

    @property
    def expects_more(self) -> bool:
        """Whether fewer writes wait than the last outcomes have woken callers."""
        return 0 < len(self._unsent) < self._last_settled

    @property
    def unanswered_count(self) -> int:
        """How many writes were sent and have no outcome."""
        return len(self._unanswered)

    def add(self, pending: PendingWrite) -> None:
        """Add a write that is to be sent."""
        self._last_number += 1
        pending.number = self._last_number
        self._unsent.append(pending)

    def take_batch(self) -> Any:
        """Return the next writes to send, as a message; None if there are none."""
        batch = [*self._next_writes()]
        if not batch:
            return None
        for pending in batch:
            self._unanswered[pending.number] = pending
        writes = ((one.number, one.message) for one in batch)
        traces = {one.number: one.traceparent for one in batch if one.traceparent}
        return write_batch(writes, store=self._store, traces=traces)

    def _next_writes(self) -> Iterator[PendingWrite]:
        count = size = 0
        while self._unsent and count < MAX_BATCH_WRITES and size < MAX_BATCH_BYTES:
            size += self._unsent[0].message.ByteSize()
            if count and size > MAX_BATCH_BYTES:
                return
            count += 1
            yield self._unsent.popleft()

    def settle(self, outcomes: Any) -> None:
        """Wake the callers of the writes that a message has the outcomes of."""
        self._last_settled = len(outcomes.outcomes)
        for outcome in outcomes.outcomes:
            pending = self._unanswered.pop(outcome.id, None)
            if pending is not None:
                pending.settle(outcome)

    def withdraw(self, pending: PendingWrite) -> None:
        """Forget a write whose caller no longer waits: it is not sent, unless it was already."""
        if pending in self._unsent:
            self._unsent.remove(pending)

    def send_again(self, batch: Any = None, *, may_be_committed: bool) -> None:
        """Let what is unanswered be sent before anything else: of one batch, or all there is.

        `may_be_committed`: unless the server has refused to take any of it.
        """
        numbers = [*self._unanswered] if batch is None else [write.id for write in batch.writes]
        for number in reversed(numbers):
            pending = self._unanswered.pop(number, None)
            if pending is not None:
                pending.may_be_committed |= may_be_committed
                self._unsent.appendleft(pending)

    def fail(self, error: MemorandaError) -> None:
        """End every write with an error; of one that may be committed, the outcome is unknown."""
        self.send_again(may_be_committed=True)
        self.fail_unsent(error)

    def fail_unsent(self, error: MemorandaError) -> None:
        """End the writes that wait to be sent with an error."""
        while self._unsent:
            _fail(self._unsent.popleft(), error)

    def give_up(self, batch: Any, error: MemorandaError, *, may_be_committed: bool) -> None:
        """End what is unanswered of a batch with an error.

        If the server could not be reached for too long, whatever waits to be sent ends with it.
        """
        if error.gave_up:
            self.send_again(batch, may_be_committed=may_be_committed)
            self.fail_unsent(error)
            return
        for write in batch.writes:
            pending = self._unanswered.pop(write.id, None)
            if pending is not None:
                pending.may_be_committed |= may_be_committed
                _fail(pending, error)

    def has_unanswered(self, batch: Any) -> bool:
        """Say whether a write of a batch has no outcome."""
        return any(write.id in self._unanswered for write in batch.writes)


def _fail(pending: PendingWrite, error: MemorandaError) -> None:
    if pending.may_be_committed:
        own: MemorandaError = CommitUnknown(pending.txn_id, "the connection was lost")
        own.__cause__ = error
    else:
        own = copy(error)  # each caller raises one of its own
        own.__cause__ = error.__cause__
    pending.settle(None, own)
