"""Background work: a thread that does one piece of work at a time and yields to others.

The thread sleeps until it is woken. A failed piece is retried with a growing pause; meanwhile
writes go on, the backlog grows, and `stats` reports the error.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

from memoranda.errors import InvalidInput, MemorandaError, StoreClosed, StoreReadOnly, Unavailable
from memoranda.model.clock import Clock, SystemClock
from memoranda.storage.thread_locks import Wakeup, new_lock

if TYPE_CHECKING:
    from _thread import RLock

# Yielding the CPU.
#
# The interpreter runs one thread at a time. A thread that computes gives up the interpreter lock
# only when another has waited for some milliseconds, and a commit waits anew at each statement. So
# background work pauses after each fraction of a millisecond. The length of the pause depends on
# the other threads:
#
# 1. No commits, or a purge that waits for the work: as long as it takes to wake another thread.
# 2. Commits: fifteen times as long as the work, so that a burst of commits keeps its speed.
# 3. Commits, and recent searches, a large backlog, or work for longer than a burst: as long as the
#    work, because every search has to scan all that is not indexed yet, and writers may never stop.
#
# Large commits after a burst do not count: their callers make way for the work (`BulkPauses`).

WORK_SLICE_SECONDS = 0.0005
"""Work between two pauses: short beside a commit."""
_MIN_PAUSE_SECONDS = 0.00005
"""Pause without commits: enough for the system to run another thread."""
_MAX_PAUSE_SECONDS = 0.2
"""Pause after a single long piece of work, such as one slow write."""
_ACTIVE_SECONDS = 0.5
"""Time after a commit, or a search, in which more of them are expected."""
BURST_SECONDS = 5.0
"""Time for which work is deferred to a burst of commits."""
BURST_DOCUMENTS = 20_480
"""Estimated documents of a burst: beyond as many, indexing is urgent."""
_GENTLE_PAUSE_FACTOR, _URGENT_PAUSE_FACTOR = 15.0, 1.0
"""Seconds of pause for each second of work while commits come in."""


class CpuYield:
    """Pauses background work now and then; called from inside the work."""

    def __init__(
        self,
        commits: Callable[[], int],
        clock: Clock | None = None,
        *,
        backlog: Callable[[], int] = int,
        is_awaited: Callable[[], bool] = bool,
    ) -> None:
        self._commits = commits
        """Returns the number of commits so far: while it grows, writers are active."""
        self._backlog = backlog
        """Returns about how many documents are left."""
        self._is_awaited = is_awaited
        """Returns whether somebody waits for the work: then its pauses are short."""
        self._clock = clock or SystemClock()
        self._resumed_at = self._clock.monotonic()
        self._last_commits = commits()
        self._busy_until = float("-inf")
        self._urgent_until = float("-inf")
        self._behind_since: float | None = None

    def hurry(self) -> None:
        """Take as much time as the writers, for half a second."""
        self._urgent_until = self._clock.monotonic() + _ACTIVE_SECONDS

    def catch_up(self) -> None:
        """Note that no work is left: the next commits are a new burst."""
        self._behind_since = None

    def __call__(self) -> None:
        """Pause, if the last pause is long enough ago."""
        now = self._clock.monotonic()
        worked = now - self._resumed_at
        if worked < WORK_SLICE_SECONDS:
            return
        commits = self._commits()
        if commits != self._last_commits:
            self._last_commits, self._busy_until = commits, now + _ACTIVE_SECONDS
        pause = _MIN_PAUSE_SECONDS
        if now < self._busy_until and not self._is_awaited():
            factor = _URGENT_PAUSE_FACTOR if self._is_urgent(now) else _GENTLE_PAUSE_FACTOR
            pause = min(worked * factor, _MAX_PAUSE_SECONDS)
        self._clock.sleep(pause)
        self._resumed_at = self._clock.monotonic()

    def _is_urgent(self, now: float) -> bool:
        if self._behind_since is None:
            self._behind_since = now
        is_late = now - self._behind_since > BURST_SECONDS
        return is_late or now < self._urgent_until or self._backlog() > BURST_DOCUMENTS


# Making way for the indexer.
#
# A bulk load writes faster than its documents are indexed: without a limit, the first search would
# have to scan nearly all of it. A burst is let through. After it, the caller of a large commit
# waits while the backlog is more than a search scans quickly. It waits after its commit, in its
# own thread or task, and holds nothing: commits of others go on.

LARGE_COMMIT = 256
"""Estimated documents of a commit whose caller waits for the indexer."""
SHORT_BACKLOG = 4_096
"""Estimated documents that a search scans in about 0.05 s: nobody waits for fewer."""
_BULK_PAUSE_SECONDS = 0.005
"""Length of one pause."""
_SECONDS_PER_DOCUMENT = 0.0002
"""Time that a commit waits at most for each of its documents: some times as long as indexing one
takes, so that the backlog shrinks, and no commit waits for long where indexing does not get on."""


class BulkPauses:
    """Decides how long the caller of a large commit waits."""

    def __init__(
        self,
        backlog: Callable[[], int],
        is_indexing: Callable[[], bool],
        clock: Clock | None = None,
    ) -> None:
        self._backlog = backlog
        self._is_indexing = is_indexing
        self._clock = clock or SystemClock()
        self.is_behind = False
        """Whether more than a burst was queued since no work was left: callers wait."""

    def catch_up(self) -> None:
        """Note that no work is left: the next commits are a new burst."""
        self.is_behind = False

    def after(self, documents: int) -> Iterator[float]:
        """Yield the pauses after a commit of so many documents, in seconds."""
        if documents < LARGE_COMMIT:
            return
        self.is_behind = self.is_behind or self._backlog() > BURST_DOCUMENTS
        deadline = self._clock.monotonic() + documents * _SECONDS_PER_DOCUMENT
        while self.is_behind and self._backlog() > SHORT_BACKLOG and self._is_indexing():
            if self._clock.monotonic() >= deadline:
                return
            yield _BULK_PAUSE_SECONDS


# The worker thread.

DRAIN_SECONDS = 2.0
"""Time that a closing store gives the work in progress."""
WRITE_WAIT_SECONDS = 1.0
"""Time that background work waits for the write lock: it can be retried, so not for long."""
FIRST_BACKOFF_SECONDS = 1.0
"""Pause after the first failure."""
MAX_BACKOFF_SECONDS = 60.0
"""Pause after a failure: doubled with each further one, up to a minute."""


class Worker(Protocol):
    """Background work of an open store: a thread of its own does it, or one that stores share."""

    failure: MemorandaError | None
    """The error of the last attempt, if it failed."""
    work_lock: RLock
    """Held during a piece of work: another thread that holds it may do the same work."""

    @property
    def is_busy(self) -> bool:
        """Whether there is work, as far as it knows."""
        ...

    def wake(self) -> None:
        """Look for work, in the worker's thread."""
        ...

    def close(self, seconds: float = DRAIN_SECONDS) -> None:
        """Stop; a worker with a thread of its own works on for so many seconds at most."""
        ...


class BackgroundWorker:
    """Does the background work of an open store until it is closed.

    `work` does one piece and returns whether there may be more. The thread is started by the first
    wake-up, and by the next one after it ended by an unexpected exception. A forked process has no
    such thread, and starts none.
    """

    def __init__(
        self,
        work: Callable[[], object],
        *,
        name: str,
        clock: Clock | None = None,
        first_backoff: float = FIRST_BACKOFF_SECONDS,
    ) -> None:
        self._work = work
        self._name = name
        self._clock = clock or SystemClock()
        self._first_backoff = self._backoff = first_backoff
        self.failure: MemorandaError | None = None
        """The error of the last attempt, if it failed."""
        self._owner = os.getpid()
        self._start_lock = new_lock()
        """Protects the start of the thread and the deadline."""
        self.work_lock = new_lock()
        """Held during a piece of work: `fill` in another thread must not do the same work."""
        self._wakeup = Wakeup()
        self._closing = threading.Event()
        self._deadline: float | None = None
        self._thread: threading.Thread | None = None
        self._last_request: object = None
        """A new object for each wake-up."""
        self._done_request: object = None
        """The last wake-up whose work is done."""

    def wake(self) -> None:
        """Make the thread look for work; start it if necessary.

        It looks once more even if it is working: its last look may have been before the new work.
        """
        if self._owner != os.getpid() or self._closing.is_set():
            return
        self._last_request = object()
        if not self._wakeup.is_set():
            self._wakeup.set()
        if not self._is_running():
            with self._start_lock:
                self._start()

    @property
    def is_busy(self) -> bool:
        """Whether the thread is working, or was just woken."""
        # Not by `_wakeup`: a woken thread consumes it before it gets to run and can say so.
        return self._is_running() and self._last_request is not self._done_request

    def _is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _start(self) -> None:
        if not self._is_running() and not self._closing.is_set():
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def close(self, seconds: float = DRAIN_SECONDS) -> None:
        """Stop the thread; it works on for so many seconds at most, and finishes its piece."""
        if self._owner != os.getpid() or self._closing.is_set():
            return
        with self._start_lock:
            self._deadline = self._clock.monotonic() + seconds
            self._closing.set()
        self._wakeup.set()
        thread = self._thread
        # An interrupt may have come before the thread was started: then there is nothing to join.
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            thread.join(max(seconds, DRAIN_SECONDS))

    def _run(self) -> None:
        try:
            is_closing = False
            while not is_closing:  # a thread that gets to run only now has its work to do as well
                self._wakeup.wait()
                self._wakeup.clear()  # before the work: a wake-up during it is not lost
                request = self._last_request
                self._work_until_done()
                self._done_request = request
                is_closing = self._closing.is_set()
        finally:  # after an unexpected exception the next wake-up starts a new thread
            if not self._closing.is_set():
                self.failure = Unavailable(
                    f"{self._name} ended unexpectedly: it is restarted when there is work"
                )

    def _work_until_done(self) -> None:
        """Work until nothing remains, a retry would not help, or the deadline has passed."""
        while not self._is_past_deadline():
            try:
                with self.work_lock:
                    has_more = self._work()
                self.failure, self._backoff = None, self._first_backoff
            except (InvalidInput, StoreClosed, StoreReadOnly) as error:  # permanent
                self.failure = error
                return
            except MemorandaError as error:
                self.failure = error
                if self._closing.wait(self._backoff):
                    return
                self._backoff = min(self._backoff * 2, MAX_BACKOFF_SECONDS)
                continue
            if not has_more:
                return

    def _is_past_deadline(self) -> bool:
        return self._deadline is not None and self._clock.monotonic() >= self._deadline
