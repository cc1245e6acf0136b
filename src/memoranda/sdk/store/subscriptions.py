"""Subscriptions: what is in the log, and then what comes, for whoever waits for it."""

from __future__ import annotations

import math
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Self

from memoranda.errors import StoreClosed
from memoranda.log.feed import Feed
from memoranda.log.signal import LOOK_SECONDS, RESTS
from memoranda.model.clock import SystemClock
from memoranda.model.event import ReplayEvent
from memoranda.sdk.calls import Calls
from memoranda.sdk.core import Core
from memoranda.storage.locks import new_lock


class Subscription:
    """Events in commit order, each once; when there are no more, it waits for the next.

    Iteration ends when the subscription or its store is closed, or when no event came for the
    `timeout` it was made with; in the last case, iterating again goes on where it stopped. It waits
    in real time, whatever clock the store has. While it waits it holds nothing.
    """

    def __init__(self, core: Core, calls: Calls, feed: Feed, timeout: float | None) -> None:
        self._core = core
        self._calls = calls
        self._feed = feed
        self._timeout = math.inf if timeout is None else timeout
        self._time = SystemClock()
        self._events: deque[ReplayEvent] = deque()
        self._filling = new_lock()
        self._in_vain = 0
        """How often in a row it looked and found nothing."""
        self._closed = False

    def ack(self, event: ReplayEvent) -> None:
        """Store durably that everything up to this event is done: the cursor resumes behind it.

        A cursor only moves forward. What was received and not acknowledged comes again when the
        cursor is subscribed to anew: each event at least once.
        """
        self._calls.run(self._feed.acknowledge, event)

    def close(self) -> None:
        """End the iteration, also one that waits in another thread. Closing twice is fine."""
        self._closed = True

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ReplayEvent:
        until = self._time.monotonic() + self._timeout
        while not self._closed:
            seen = self._core.signal.count
            if bool(self._events) or self._calls.run(self._fill):
                self._in_vain = 0
                with suppress(IndexError):  # unless another thread has just taken it
                    return self._events.popleft()
            elif self._feed.caught_up:
                if self._time.monotonic() >= until:
                    break
                self._in_vain += 1
                self._wait(seen, until)
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

    def _fill(self) -> bool:
        """Fetch the next events, if none are left, and say whether there are some now.

        They are kept and not returned: if the caller was cancelled meanwhile, the next finds them.
        """
        with self._filling:
            if not self._events and not self._closed:
                try:
                    self._events.extend(self._feed.next_page())
                except StoreClosed:
                    self._closed = True
            return bool(self._events)

    def _wait(self, seen: int, until: float) -> None:
        """Wait until the log may have grown, looking for commits of other processes meanwhile."""
        signal = self._core.signal
        self._calls.rest(RESTS[min(self._in_vain, len(RESTS)) - 1])
        while not self._closed and signal.count == seen:
            left = until - self._time.monotonic()
            if left <= 0:
                return
            self._calls.wait(signal, seen, min(left, LOOK_SECONDS))
            if signal.count == seen:
                self._in_vain = 0
            if signal.claim_look(self._time.monotonic()):
                self._calls.run(self._look)

    def _look(self) -> None:
        """See how far the log goes, and tell all who wait."""
        try:
            self._core.signal.note_head(self._core.head())
        except StoreClosed:
            self._closed = True
            self._core.signal.notify()
