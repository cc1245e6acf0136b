"""The committer: group commit.

Whoever commits joins a queue. If nobody is writing, the first one *leads*: it takes what is queued,
writes it as one batch with one sync, and tells everybody how it went. Meanwhile others queue up for
the next batch. A thread leads until its own commit is written and wakes the next in line; commits
awaited by event loops are led by a worker thread, which wakes each loop once a batch. A thread that
is alone writes at once, past the queue.

Those whose commits were written together often come again together, so a leader that had company
lets them queue up first, as long as more keep coming: one large batch costs much less than two
small ones, of which the second is written while the threads of the first compete with it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Protocol

from recollect.errors import CommitUnknown, RecollectError, StoreBusy, StoreClosed
from recollect.log.batch import BatchWriter, Outcome
from recollect.log.compaction import Compaction, Plan
from recollect.log.signal import Signal
from recollect.log.transaction import Request

QUEUE_COMMITS = 10_000
QUEUE_BYTES = 256 * 1024 * 1024
BATCH_COMMITS = 512
BATCH_BYTES = 16 * 1024 * 1024
_LOOK_AGAIN = 0.5
"""Seconds after which those who wait look for themselves, should a wake-up have been lost."""
_YIELD = 0.002
"""Seconds between two looks whether somebody else still writes."""
_PATIENCE = 0.0005
"""Seconds in which one more has to come for a leader to wait on."""


def _commit_of(outcome: Outcome) -> int:
    """Return the commit, or raise why there is none."""
    if isinstance(outcome, RecollectError):
        raise outcome
    return outcome


class Pending:
    """A request on its way into the log."""

    __slots__ = ("channel", "outcome", "request", "size")

    def __init__(self, request: Request, channel: Channel | _Thread) -> None:
        self.request = request
        self.channel = channel
        self.size = request.size
        self.outcome: Outcome | None = None
        """None until it is decided and durable."""

    def result(self) -> int:
        """Return the commit, or raise why there is none."""
        assert self.outcome is not None, "asked for before it was settled"
        return _commit_of(self.outcome)


class Channel(Protocol):
    """How an event loop is told of the commits it waits for."""

    def settle(self, settled: Sequence[Pending]) -> None:
        """Tell that these have their outcome; called once a batch, from the leader's thread."""
        ...


class _Thread:
    """A thread that waits for one commit.

    Threads whose commits were written together are woken one by one, each by the one before it: all
    at once they would compete for the interpreter, which can run only one of them.
    """

    __slots__ = ("_lock", "following")

    def __init__(self) -> None:
        self.following: _Thread | None = None
        self._lock = threading.Lock()
        self._lock.acquire()

    def wake(self) -> None:
        """Let the thread look again; a second time before it did changes nothing."""
        with suppress(RuntimeError):
            self._lock.release()

    def wait(self) -> None:
        """Wait to be woken, and look again now and then all the same."""
        self._lock.acquire(timeout=_LOOK_AGAIN)

    def pass_on(self) -> None:
        """Wake the one that follows, if there is one."""
        following, self.following = self.following, None
        if following is not None:
            following.wake()


class Committer:
    """The only way into the log."""

    def __init__(self, writer: BatchWriter, signal: Signal) -> None:
        self._writer = writer
        self._signal = signal
        self._mutex = threading.Lock()
        self._resigned = threading.Condition(self._mutex)
        self._gathered = threading.Condition(self._mutex)
        self._company = 1
        """How many commits the last batch had."""
        self._queue: deque[Pending] = deque()
        self._queued_bytes = 0
        self._leader: int | None = None
        """The thread that writes; none: whoever comes next. Wake-ups only hint at a change."""
        self._closed = False
        self._worker: ThreadPoolExecutor | None = None

    def commit(self, request: Request) -> int:
        """Commit and return the commit's number, or raise; what was not decided was not written."""
        try:
            if not self._leads_alone():
                return self._commit_in_line(request)
            (outcome,) = self._writer.write((request,))
            self._written()
            return _commit_of(outcome)
        finally:  # an interrupt may come at any moment
            self._resign()

    def _commit_in_line(self, request: Request) -> int:
        """Queue up, and wait or lead until it is written."""
        channel = _Thread()
        pending = Pending(request, channel)
        try:
            self._join(pending)
            while pending.outcome is None:
                if self._takes_the_lead():
                    self._lead(channel)
                else:
                    channel.wait()
            return pending.result()
        finally:
            if pending.outcome is None:
                self.withdraw(pending)
            channel.pass_on()

    def compact(self, plan: Plan, *, confirmed: bool) -> Compaction:
        """Sum a namespace up, once those who write now are done; the others wait meanwhile."""
        while not self._leads_next():
            pass
        try:
            done = self._writer.compact(plan, confirmed=confirmed)
            if done.commit_ts is not None:
                self._written()
            return done
        finally:
            self._resign()

    def _leads_next(self) -> bool:
        """Take the lead as soon as nobody has it, after waiting for that a little."""
        with self._mutex:
            if self._closed:
                raise StoreClosed
            if self._is_free():
                self._leader = threading.get_ident()
                return True
            self._resigned.wait(_YIELD)
            return False

    def submit(self, request: Request, channel: Channel) -> Pending:
        """Queue a commit; once `set_off` was called, the channel is told when it is settled."""
        pending = Pending(request, channel)
        self._join(pending)
        return pending

    def set_off(self) -> None:
        """See to it that what is queued is written."""
        with self._mutex:
            idle = self._queue and self._is_free()
        if idle:
            self._lead_in_worker()

    def withdraw(self, pending: Pending) -> bool:
        """Take a request back, if it is not being written yet, and say whether that worked."""
        with self._mutex:
            if pending not in self._queue:
                return False
            self._queue.remove(pending)
            self._queued_bytes -= pending.size
            return True

    def close(self) -> None:
        """Take no more, and wait until everything taken is written."""
        with self._mutex:
            self._closed = True
        self.write_queued()
        self._note_the_rest()
        with self._mutex:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.shutdown()

    def write_queued(self) -> None:
        """Write what is queued, and wait for what others are writing."""
        while not self._drained():
            if self._takes_the_lead():
                try:
                    self._lead()
                finally:
                    self._resign()

    def _note_the_rest(self) -> None:
        """Say how many refusals were not noted, as nothing comes any more that could say it."""
        if self._takes_the_lead():
            try:
                self._writer.note_refusals(counts=True)
            finally:
                self._resign()

    def _drained(self) -> bool:
        """Say whether nothing is queued or being written, after waiting for that a little."""
        with self._mutex:
            self._resigned.wait_for(self._is_free, timeout=_LOOK_AGAIN)
            return not self._queue and self._is_free()

    def _join(self, pending: Pending) -> None:
        """Queue a request."""
        with self._mutex:
            if self._closed:
                raise StoreClosed
            queue, size = self._queue, pending.size
            if len(queue) >= QUEUE_COMMITS or self._queued_bytes + size > QUEUE_BYTES:
                raise StoreBusy(
                    f"{len(queue)} commits of {self._queued_bytes} bytes are waiting to be "
                    "written, and no more fit: try again shortly"
                )
            queue.append(pending)
            self._queued_bytes += size
            if len(queue) == self._company > 1:
                self._gathered.notify()

    def _is_free(self) -> bool:
        """Say whether this thread may lead. One that was interrupted as a leader still may."""
        return self._leader in (None, threading.get_ident())

    def _leads_alone(self) -> bool:
        """Take the lead if there is nobody to share it with: then no queue is needed."""
        with self._mutex:
            alone = self._leader is None and not self._queue and self._company == 1
            if not alone or self._closed:
                return False
            self._leader = threading.get_ident()
            return True

    def _takes_the_lead(self) -> bool:
        with self._mutex:
            free = self._is_free()
            if free:
                self._leader = threading.get_ident()
            return free

    def _resign(self) -> None:
        """Give up the lead, if this thread has it, and wake whoever is first in the queue."""
        if self._leader != threading.get_ident():  # no other thread makes it this one, or not
            return
        with self._mutex:
            self._leader = None
            if self._closed:
                self._resigned.notify_all()
            following = self._queue[0].channel if self._queue else None
        if isinstance(following, _Thread):
            following.wake()
        elif following is not None:
            self._lead_in_worker()

    def _lead(self, own: _Thread | None = None) -> None:
        """Write one batch and tell everybody in it how it went; who leads knows it already."""
        batch: list[Pending] = []
        outcomes: Sequence[Outcome] | None = None
        try:
            self._take(batch)
            outcomes = self._writer.write([pending.request for pending in batch])
        finally:  # whatever ends the writing, nobody is left waiting
            if outcomes is None:
                outcomes = [CommitUnknown(pending.request.txn_id) for pending in batch]
            _tell(batch, outcomes, own)
        self._written()

    def _written(self) -> None:
        """Tell those who wait for events, once those who wait for the batch know."""
        self._writer.failpoint("acknowledged")
        self._writer.note_refusals()
        self._signal.notify()
        self._writer.behind()

    def _take(self, batch: list[Pending]) -> None:
        """Move what is queued into a batch, so that an interrupt leaves nothing in between."""
        size = 0
        with self._mutex:
            if len(self._queue) < self._company:
                self._gather()
            queue = self._queue
            while queue and len(batch) < BATCH_COMMITS and size < BATCH_BYTES:
                pending = queue[0]
                batch.append(pending)
                size += pending.size
                self._queued_bytes -= pending.size
                queue.popleft()
        self._company = len(batch)

    def _gather(self) -> None:
        """Wait for as many as came last time, while more keep coming."""
        seen = 0
        while seen < len(self._queue) < self._company:
            seen = len(self._queue)
            self._gathered.wait(_PATIENCE)

    def _lead_in_worker(self) -> None:
        with self._mutex:
            if self._worker is None:
                self._worker = ThreadPoolExecutor(1, thread_name_prefix="recollect-committer")
            self._worker.submit(self._work)

    def _work(self) -> None:
        """Lead until nothing is queued, or somebody else does."""
        try:
            while self._queue and self._takes_the_lead():
                self._lead()
        finally:
            self._resign()


def _tell(batch: Sequence[Pending], outcomes: Sequence[Outcome], own: _Thread | None) -> None:
    """Give everybody in a batch their outcome and wake them; who leads is awake."""
    first: _Thread | None = None
    for pending in reversed(batch):
        if isinstance(pending.channel, _Thread) and pending.channel is not own:
            pending.channel.following, first = first, pending.channel
    loops: dict[Channel, list[Pending]] = {}
    for pending, outcome in zip(batch, outcomes, strict=True):
        pending.outcome = outcome  # from here on a thread may go: who follows it is known by now
        if not isinstance(pending.channel, _Thread):
            loops.setdefault(pending.channel, []).append(pending)
    for channel, settled in loops.items():
        channel.settle(settled)
    if first is not None:
        first.wake()
