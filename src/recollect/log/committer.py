"""The committer: group commit.

Whoever commits joins a queue. If nobody is writing, the first one *leads*: it takes what is queued,
writes it as one batch with one sync, and tells everybody how it went. Meanwhile others queue up for
the next batch. A thread leads one batch and passes the lead on; commits awaited by event loops are
led by a worker thread, which wakes each loop once a batch.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from recollect.errors import CommitUnknown, RecollectError, StoreBusy, StoreClosed
from recollect.log.batch import BatchWriter, Outcome
from recollect.log.signal import Signal
from recollect.log.transaction import Request

QUEUE_COMMITS = 10_000
QUEUE_BYTES = 256 * 1024 * 1024
BATCH_COMMITS = 512
BATCH_BYTES = 16 * 1024 * 1024


class Pending:
    """A request on its way into the log."""

    __slots__ = ("channel", "outcome", "request")

    def __init__(self, request: Request, channel: Channel) -> None:
        self.request = request
        self.channel = channel
        self.outcome: Outcome | None = None
        """None until it is decided and durable."""

    def result(self) -> int:
        """Return the commit, or raise why there is none."""
        assert self.outcome is not None, "asked for before it was settled"
        if isinstance(self.outcome, RecollectError):
            raise self.outcome
        return self.outcome


class Channel(Protocol):
    """How those who wait for commits are told."""

    def settle(self, settled: Sequence[Pending]) -> None:
        """Tell that these have their outcome; called once a batch, from the leader's thread."""
        ...


class _Thread:
    """The channel of a thread that waits for one commit."""

    __slots__ = ("_lock", "leads")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()
        self.leads = False

    def settle(self, settled: Sequence[Pending]) -> None:  # noqa: ARG002
        self._lock.release()

    def lead(self) -> None:
        """Wake the thread to write the next batch itself."""
        self.leads = True
        self._lock.release()

    def wait(self) -> None:
        """Wait to be told, or to lead."""
        self._lock.acquire()


class Committer:
    """The only way into the log."""

    def __init__(self, writer: BatchWriter, signal: Signal) -> None:
        self._writer = writer
        self._signal = signal
        self._mutex = threading.Lock()
        self._idle = threading.Condition(self._mutex)
        self._queue: deque[Pending] = deque()
        self._queued_bytes = 0
        self._led = False
        self._closed = False
        self._worker: ThreadPoolExecutor | None = None

    def commit(self, request: Request) -> int:
        """Commit and return the commit's number, or raise; what was not decided was not written."""
        channel = _Thread()
        pending = Pending(request, channel)
        if not self._join(pending):
            self._wait(pending, channel)
            if pending.outcome is not None:
                return pending.result()
        try:
            self._lead()
        finally:
            self._pass_on()
        return pending.result()

    def _wait(self, pending: Pending, channel: _Thread) -> None:
        """Wait for an outcome or for the lead; an interrupt takes the request back."""
        told = False
        try:
            channel.wait()
            told = True
        finally:
            if not told and self.withdraw(pending) and channel.leads:
                self._pass_on()

    def submit(self, request: Request, channel: Channel) -> Pending:
        """Commit without waiting: the channel is told when it is settled."""
        pending = Pending(request, channel)
        if self._join(pending):
            self._lead_in_worker()
        return pending

    def withdraw(self, pending: Pending) -> bool:
        """Take a request back, if it is not being written yet, and say whether that worked."""
        with self._mutex:
            if pending not in self._queue:
                return False
            self._queue.remove(pending)
            self._queued_bytes -= len(pending.request.encoded)
            return True

    def close(self) -> None:
        """Take no more, and wait until everything taken is written."""
        with self._mutex:
            self._closed = True
            self._idle.wait_for(lambda: not self._led)
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.shutdown()

    def _join(self, pending: Pending) -> bool:
        """Queue a request, and say whether the caller must lead."""
        with self._mutex:
            if self._closed:
                raise StoreClosed
            size = len(pending.request.encoded)
            if len(self._queue) >= QUEUE_COMMITS or self._queued_bytes + size > QUEUE_BYTES:
                raise StoreBusy(
                    f"{len(self._queue)} commits of {self._queued_bytes} bytes are waiting to be "
                    "written, and no more fit: try again shortly"
                )
            self._queue.append(pending)
            self._queued_bytes += size
            leads, self._led = not self._led, True
            return leads

    def _lead(self) -> None:
        """Write one batch and tell everybody in it how it went."""
        batch = self._take()
        outcomes: Sequence[Outcome] = [CommitUnknown(each.request.txn_id) for each in batch]
        try:
            outcomes = self._writer.write([pending.request for pending in batch])
        finally:  # whatever ends the writing, nobody is left waiting
            channels: dict[Channel, list[Pending]] = {}
            for pending, outcome in zip(batch, outcomes, strict=True):
                pending.outcome = outcome
                channels.setdefault(pending.channel, []).append(pending)
            for channel, settled in channels.items():
                channel.settle(settled)
        self._writer.failpoint("acknowledged")
        self._signal.notify()

    def _take(self) -> list[Pending]:
        batch: list[Pending] = []
        size = 0
        with self._mutex:
            while self._queue and len(batch) < BATCH_COMMITS and size < BATCH_BYTES:
                batch.append(self._queue.popleft())
                size += len(batch[-1].request.encoded)
            self._queued_bytes -= size
        return batch

    def _pass_on(self) -> None:
        """Give the lead to whoever is first in the queue."""
        if self._rest_if_idle():
            return
        with self._mutex:
            following = self._queue[0].channel if self._queue else None
        if isinstance(following, _Thread):
            following.lead()
        else:
            self._lead_in_worker()

    def _rest_if_idle(self) -> bool:
        with self._mutex:
            if not self._queue:
                self._led = False
                self._idle.notify_all()
            return not self._queue

    def _lead_in_worker(self) -> None:
        with self._mutex:
            if self._worker is None:
                self._worker = ThreadPoolExecutor(1, thread_name_prefix="recollect-committer")
            self._worker.submit(self._work)

    def _work(self) -> None:
        """Lead until nothing is queued."""
        resting = False
        try:
            while not resting:
                self._lead()
                resting = self._rest_if_idle()
        finally:
            if not resting:
                self._pass_on()
