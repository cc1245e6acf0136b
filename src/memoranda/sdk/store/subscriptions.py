"""Subscriptions: iterate over events of the log, and wait for new ones."""

from __future__ import annotations

import math
from contextlib import suppress
from types import TracebackType
from typing import Self

from memoranda.calls.subscriptions import Acknowledge, Subscribe
from memoranda.errors import InvalidInput
from memoranda.log.read.wakeup import SPURIOUS_WAKEUP_BACKOFF
from memoranda.model.clock import SystemClock
from memoranda.model.event import ReplayEvent
from memoranda.model.limits import short_repr
from memoranda.sdk.calls import Calls, Opened, feed_of


class Subscription(Opened):
    """An iterator over events in commit order that waits at the end of the log for the next one.

    Iteration ends when the subscription or its store is closed, or when no event came for `timeout`
    seconds; after a timeout, iterating again resumes at the next event. Waiting takes real time,
    whatever clock the store has, and holds neither a lock nor a snapshot.
    """

    def __init__(self, calls: Calls, call: Subscribe, timeout: float | None) -> None:
        self._call = call
        self._feed = feed_of(calls, call)
        self._timeout = math.inf if timeout is None else timeout
        self._time = SystemClock()
        self._idle_wakeups = 0
        """Consecutive wake-ups after which there was no event; selects the next back-off."""
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
        self._feed.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ReplayEvent:
        feed, until = self._feed, self._time.monotonic() + self._timeout
        while not feed.is_closed:
            count = feed.signal.count
            if bool(feed.events) or self._calls.fill_feed(feed):
                self._idle_wakeups = 0
                with suppress(IndexError):  # unless another thread has just taken it
                    return feed.events.popleft()
            elif feed.caught_up:
                if self._time.monotonic() < until:
                    self._idle_wakeups += 1
                    self._wait(count, until)
                elif self._calls.is_at_end(feed):
                    break
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

    def _open(self) -> None:
        self._calls.open_feed(self._feed)

    def _wait(self, count: int, until: float) -> None:
        """Wait until the feed may have more events."""
        feed, last = self._feed, len(SPURIOUS_WAKEUP_BACKOFF)
        self._calls.rest(SPURIOUS_WAKEUP_BACKOFF[min(self._idle_wakeups, last) - 1])
        while not feed.is_closed and feed.signal.count == count:
            seconds = until - self._time.monotonic()
            if seconds <= 0:
                return
            self._calls.wait(feed.signal, count, min(seconds, feed.poll_seconds))
            if feed.signal.count == count:
                self._idle_wakeups = 0
            if feed.is_poll_due(self._time.monotonic()):
                self._calls.poll_feed(feed)
