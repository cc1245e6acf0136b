"""Subscriptions: iterate over events of the log, and wait for new ones."""

from __future__ import annotations

import math
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Self

from memoranda.calls.core import Core
from memoranda.calls.subscriptions import Acknowledge, Subscribe
from memoranda.errors import InvalidInput, StoreClosed
from memoranda.log.read.feed import Feed
from memoranda.log.read.wakeup import POLL_SECONDS, SPURIOUS_WAKEUP_BACKOFF
from memoranda.model.clock import SystemClock
from memoranda.model.event import ReplayEvent
from memoranda.model.limits import short_repr
from memoranda.sdk.calls import Calls, Opened, feed_of
from memoranda.storage.thread_locks import new_lock


class Subscription(Opened):
    """An iterator over events in commit order that waits at the end of the log for the next one.

    Iteration ends when the subscription or its store is closed, or when no event came for `timeout`
    seconds; after a timeout, iterating again resumes at the next event. Waiting takes real time,
    whatever clock the store has, and holds neither a lock nor a snapshot.
    """

    def __init__(self, core: Core, calls: Calls, call: Subscribe, timeout: float | None) -> None:
        self._core = core
        self._call = call
        self._feed: Feed | None = None
        self._timeout = math.inf if timeout is None else timeout
        self._time = SystemClock()
        self._events: deque[ReplayEvent] = deque()
        self._filling = new_lock()
        self._idle_wakeups = 0
        """Consecutive wake-ups after which there was no event; selects the next back-off."""
        self._closed = False
        super().__init__(calls, self._open)

    def ack(self, event: ReplayEvent) -> None:
        """Acknowledge this event and all before it, durably: the cursor resumes after it.

        A cursor only moves forward. Events that were received and not acknowledged are delivered
        again by the next subscription to the cursor: at least once.
        """
        if self._call.cursor is None:
            raise InvalidInput("cursor", "is missing: subscribe(cursor=…) stores the position")
        if not isinstance(event, ReplayEvent):
            raise InvalidInput(
                "event", f"{short_repr(event)} is no event: give one that was received"
            )
        self._calls.ask(Acknowledge(self._call.cursor, event.token, self._call.agent_id))

    def close(self) -> None:
        """End the iteration, also one that waits in another thread. A second call has no effect."""
        self._closed = True

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ReplayEvent:
        until = self._time.monotonic() + self._timeout
        while not self._closed:
            count = self._core.signal.count
            if bool(self._events) or self._calls.run(self._fill):
                self._idle_wakeups = 0
                with suppress(IndexError):  # unless another thread has just taken it
                    return self._events.popleft()
            elif self._feed is not None and self._feed.caught_up:
                if self._time.monotonic() >= until:
                    break
                self._idle_wakeups += 1
                self._wait(count, until)
        raise StopIteration

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _open(self) -> Feed:
        """Return the feed, opened now unless it is open: from here on, nothing is missed."""
        with self._filling:
            if self._feed is None:
                self._feed = feed_of(self._calls, self._call)
            return self._feed

    def _fill(self) -> bool:
        """Read the next page of events if the buffer is empty; return whether it has any.

        Events go to the buffer, so that none is lost if the caller is cancelled meanwhile.
        """
        feed = self._open()
        with self._filling:
            if not self._events and not self._closed:
                try:
                    self._events.extend(feed.next_page())
                except StoreClosed:
                    self._closed = True
            return bool(self._events)

    def _wait(self, count: int, until: float) -> None:
        """Wait for a commit of this process, and poll the log for commits of other processes."""
        signal = self._core.signal
        self._calls.rest(
            SPURIOUS_WAKEUP_BACKOFF[min(self._idle_wakeups, len(SPURIOUS_WAKEUP_BACKOFF)) - 1]
        )
        while not self._closed and signal.count == count:
            seconds = until - self._time.monotonic()
            if seconds <= 0:
                return
            self._calls.wait(signal, count, min(seconds, POLL_SECONDS))
            if signal.count == count:
                self._idle_wakeups = 0
            if signal.claim_poll(self._time.monotonic()):
                self._calls.run(self._poll)

    def _poll(self) -> None:
        """Read the head of the log, and wake every subscription if it has moved."""
        try:
            self._core.signal.note_head(self._core.head())
        except StoreClosed:
            self._closed = True
            self._core.signal.notify()
