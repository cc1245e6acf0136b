"""The committer: group commit.

Whoever commits joins a queue. If nobody is writing, the first one *leads*: it takes what is queued,
writes it as one batch with one sync, and tells everybody how it went. Meanwhile others queue up for
the next batch. A thread leads until its own commit is written and wakes the next in line; commits
awaited by event loops are led by a worker thread, which wakes each loop once a batch. A thread that
is alone writes at once, past the queue.

Those whose commits were written together often come again together, so a leader that had company
lets them queue up first, as long as more keep coming: one large batch costs much less than two
small ones, of which the second is written while the threads of the first compete with it.

An interrupt may come between any two calls, in a leader too. So nothing that others wait for hangs
on what a leader does at its end: it gives up the lead by one assignment, and whoever waits looks
again now and then. A request that a leader took and did not settle is queued once more by who waits
for it, and is looked up in the log before it is written, where it may be by then.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from memoranda.errors import CommitUnknown, StoreBusy, StoreClosed
from memoranda.log.batch import BatchWriter
from memoranda.log.compaction import Compaction
from memoranda.log.pending import Channel, Lead, Pending, WaitingThread, commit_of, tell
from memoranda.log.signal import Signal
from memoranda.log.slices import Plan, Slice, Step
from memoranda.log.transaction import Request
from memoranda.storage.locks import (
    Wakeup,
    busy_with_itself,
    check_process,
    new_lock,
)

QUEUE_COMMITS = 10_000
QUEUE_BYTES = 256 * 1024 * 1024
BATCH_COMMITS = 512
BATCH_BYTES = 16 * 1024 * 1024
LOOK_AGAIN = 0.5
"""Seconds after which those who wait look for themselves, should a wake-up have been lost."""
_YIELD = 0.002
"""Seconds between two looks whether somebody else still writes."""
_LONGEST_PAUSE = 0.1
"""Seconds that a compaction leaves to others behind a slice, at most."""
_PATIENCE = 0.0005
"""Seconds in which one more has to come for a leader to wait on."""


class Committer:
    """The only way into the log."""

    def __init__(self, writer: BatchWriter, signal: Signal) -> None:
        self._writer = writer
        self._signal = signal
        self._owner = os.getpid()
        self._mutex = new_lock()
        self._gathered = Wakeup()
        self._company = 1
        """How many commits the last batch had."""
        self._queue: deque[Pending] = deque()
        self._queued_bytes = 0
        self._leader: Lead | None = None
        """Who writes; none: whoever comes next. Wake-ups only hint at a change.

        It is taken under the mutex, by a call whose `finally` begins by giving it up: an
        assignment, before which no call stands, so no interrupt can come in between.
        """
        self._turn: Lead | None = None
        """Who writes a slice of a compaction once nobody leads; nobody else takes the lead then."""
        self._closed = False
        self._worker: ThreadPoolExecutor | None = None

    def commit(self, request: Request) -> int:
        """Commit and return the commit's number, or raise; what was not decided was not written."""
        check_process(self._owner)
        lead = Lead()
        try:
            if not self._leads_alone(lead):
                return self._commit_in_line(request, lead)
            (outcome,) = self._writer.write((request,))
            self._written()
            return commit_of(outcome)
        finally:
            if self._leader is lead:
                self._leader = None
                self._wake_next()

    def _commit_in_line(self, request: Request, lead: Lead) -> int:
        """Queue up, and wait or lead until it is written."""
        channel = WaitingThread()
        pending = Pending(request, channel)
        try:
            self._join(pending)
            while pending.outcome is None:
                if self._takes_the_lead(lead):
                    self._lead(lead, channel)
                else:
                    channel.wait(LOOK_AGAIN)
                self.recover(pending)
            return pending.result()
        finally:
            channel.pass_on()
            if pending.outcome is None:
                self.withdraw(pending)

    def compact(self, plan: Plan, *, confirmed: bool) -> Compaction:
        """Compact a namespace, or find out what that would do, while others write."""
        check_process(self._owner)
        return self._writer.compactor(plan).run(self._carry_out, confirmed=confirmed)

    def _carry_out(self, plan: Plan, part: Slice) -> Step:
        """Write a slice of a compaction, then let others write for as long."""
        lead = Lead()
        try:
            self._lead_next(lead)
            step = self._writer.carry_out(plan, part)
            if step.commit_ts is not None:
                self._written()
        finally:
            if self._turn is lead:
                self._turn = None
            if self._leader is lead:
                self._leader = None
            self._wake_next()
        if step.seconds > 0:
            Wakeup().wait(min(step.seconds, _LONGEST_PAUSE))
        return step

    def _lead_next(self, lead: Lead) -> None:
        """Wait until nobody has the lead, and take it.

        Meanwhile nobody else takes it: a slice follows a batch, and a batch follows a slice.
        """
        pause = Wakeup()
        while not self._takes_its_turn(lead):
            if self._closed:
                raise StoreClosed
            pause.wait(_YIELD)
        if self._closed:
            raise StoreClosed

    def _takes_its_turn(self, lead: Lead) -> bool:
        with self._mutex:
            if self._turn is None:
                self._turn = lead
        return self._takes_the_lead(lead)

    def submit(self, request: Request, channel: Channel) -> Pending:
        """Queue a commit; once `set_off` was called, the channel is told when it is settled."""
        check_process(self._owner)
        pending = Pending(request, channel)
        self._join(pending)
        return pending

    def set_off(self) -> None:
        """See to it that what is queued is written."""
        check_process(self._owner)
        with self._mutex:
            idle = self._queue and self._leader is None
        if idle:
            self._lead_in_worker()

    def withdraw(self, pending: Pending) -> bool:
        """Take a request back, if it is not being written yet, and say whether that worked."""
        with self._mutex:
            if pending not in self._queue:
                return False
            self._queued_bytes -= pending.size
            self._queue.remove(pending)
            return True

    def recover(self, pending: Pending) -> None:
        """Queue a request again whose leader was interrupted before it told what became of it."""
        if pending.lead is None or self._leader is pending.lead or pending.outcome is not None:
            return
        with self._mutex:
            if pending not in self._queue and pending.outcome is None:
                self._requeue(pending)

    def close(self) -> None:
        """Take no more, and wait until everything taken is written."""
        if self._owner != os.getpid():
            return
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
        if self._owner != os.getpid() or self._interrupts_itself():
            return
        lead, pause = Lead(), Wakeup()
        while self._queue or self._leader is not None:
            try:
                if not self._takes_the_lead(lead):
                    pause.wait(_YIELD)
                elif self._queue:
                    self._lead(lead)
            finally:
                if self._leader is lead:
                    self._leader = None
                    self._wake_next()

    def _note_the_rest(self) -> None:
        """Say how many refusals were not noted, as nothing comes any more that could say it."""
        if self._interrupts_itself():
            return
        lead = Lead()
        try:
            if self._takes_the_lead(lead):
                self._writer.note_refusals(counts=True)
        finally:
            if self._leader is lead:
                self._leader = None

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
            self._queued_bytes += size
            queue.append(pending)
            if len(queue) == self._company > 1:
                self._gathered.set()

    def _leads_alone(self, lead: Lead) -> bool:
        """Take the lead if there is nobody to share it with: then no queue is needed."""
        with self._mutex:
            free = self._leader is None and self._turn is None
            alone = free and not self._queue and self._company == 1
            if not alone or self._closed:
                return False
            self._leader = lead
            return True

    def _takes_the_lead(self, lead: Lead) -> bool:
        with self._mutex:
            leader = self._leader
            if leader is None:
                if self._turn is not None and self._turn is not lead:
                    return False
                leader = self._leader = lead
            elif leader is not lead and leader.thread == lead.thread:
                raise busy_with_itself()
            return leader is lead

    def _interrupts_itself(self) -> bool:
        """Say whether this is a signal handler's call in the thread that writes itself."""
        leader = self._leader
        return leader is not None and leader.thread == threading.get_ident()

    def _wake_next(self) -> None:
        """Wake whoever is first in the queue, now that nobody leads."""
        with self._mutex:
            following = self._queue[0].channel if self._queue else None
        if isinstance(following, WaitingThread):
            following.set()
        elif following is not None:
            self._lead_in_worker()

    def _lead(self, lead: Lead, own: WaitingThread | None = None) -> None:
        """Write one batch and tell everybody in it how it went; who leads knows it already."""
        batch: list[Pending] = []
        try:
            self._take(lead, batch)
            outcomes = self._writer.write([pending.request for pending in batch])
            tell(batch, outcomes, own)
        finally:
            left = [pending for pending in batch if pending.outcome is None]
            if not left:
                pass
            elif isinstance(sys.exception(), Exception):  # a defect, which may come again
                tell(left, [CommitUnknown(pending.request.txn_id) for pending in left], own)
            else:  # an interrupt, with which the others have nothing to do
                self._give_back(left)
        self._written()

    def _give_back(self, batch: Sequence[Pending]) -> None:
        """Queue what an interrupt left unsettled again, in front and in order."""
        with self._mutex:
            for pending in reversed(batch):
                if pending not in self._queue:
                    self._requeue(pending)
                    self._queue.rotate(1)

    def _requeue(self, pending: Pending) -> None:
        pending.request = msgspec.structs.replace(pending.request, again=True)
        pending.lead = None
        self._queued_bytes += pending.size
        self._queue.append(pending)

    def _written(self) -> None:
        """Tell those who wait for events, once those who wait for the batch know."""
        self._writer.failpoint("acknowledged")
        self._writer.note_refusals()
        self._signal.notify()
        self._writer.behind()

    def _take(self, lead: Lead, batch: list[Pending]) -> None:
        """Move what is queued into a batch; an interrupt leaves nothing in neither of them."""
        if len(self._queue) < self._company:
            self._gather()
        size = 0
        with self._mutex:
            queue = self._queue
            while queue and len(batch) < BATCH_COMMITS and size < BATCH_BYTES:
                pending = queue[0]
                pending.lead = lead
                batch.append(pending)
                size += pending.size
                self._queued_bytes -= pending.size
                queue.popleft()
        self._company = len(batch)

    def _gather(self) -> None:
        """Wait for as many as came last time, while more keep coming."""
        self._gathered.clear()
        seen = 0
        while seen < len(self._queue) < self._company:
            seen = len(self._queue)
            self._gathered.wait(_PATIENCE)

    def _lead_in_worker(self) -> None:
        with self._mutex:
            if self._worker is None:
                self._worker = ThreadPoolExecutor(1, thread_name_prefix="memoranda-committer")
            self._worker.submit(self._work)

    def _work(self) -> None:
        """Lead until nothing is queued, or somebody else does."""
        lead = Lead()
        try:
            while self._queue and self._takes_the_lead(lead):
                self._lead(lead)
                if self._turn is not None:
                    break
        finally:
            if self._leader is lead:
                self._leader = None
                self._wake_next()
