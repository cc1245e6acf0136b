"""The feed of a subscription to a store of this process."""

from __future__ import annotations

from typing import Any

from memoranda.calls.core import Core
from memoranda.calls.grant import Grant
from memoranda.calls.registry import handle
from memoranda.calls.subscriptions import Subscribe
from memoranda.errors import StoreClosed
from memoranda.log.read.feed import Feed
from memoranda.log.read.wakeup import LISTENING_POLL_SECONDS, POLL_SECONDS
from memoranda.sdk.feed import EventFeed
from memoranda.storage.thread_locks import new_lock


class LocalFeed(EventFeed):
    """Reads the log page by page.

    Commits of this process notify its signal. Other processes announce theirs, where the engine can
    do that; besides, one of all waiting subscriptions polls the log's head.
    """

    poll_seconds = POLL_SECONDS

    def __init__(self, core: Core, grant: Grant, call: Subscribe) -> None:
        super().__init__(core.signal)
        self._core = core
        self._grant = grant
        self._call = call
        self._feed: Feed | None = None
        self._filling = new_lock()
        """Held while it is opened or filled: threads take turns."""

    @property
    def caught_up(self) -> bool:
        """Whether the last page reached the log's end at that time."""
        return self._feed is not None and self._feed.caught_up

    def is_poll_due(self, now: float) -> bool:
        """Return whether the caller should poll; one of all waiting ones gets True."""
        is_listening = self._core.engine.listen(self.signal.notify)
        self.poll_seconds = LISTENING_POLL_SECONDS if is_listening else POLL_SECONDS
        return self.signal.claim_poll(now, self.poll_seconds)

    def open(self) -> Feed:
        """Return the feed, opened now unless it is open: from here on, nothing is missed."""
        with self._filling:
            if self._feed is None:
                self._core.engine.listen(self.signal.notify)
                feed: Any = handle(self._core, self._grant, self._call)
                self._feed = feed
            return self._feed

    def fill(self) -> bool:
        """Read the next page of events if the buffer is empty; return whether it has any."""
        feed = self.open()
        with self._filling:
            if not self.events and not self.is_closed:
                try:
                    self.events.extend(feed.next_page())
                except StoreClosed:
                    self.is_closed = True
            return bool(self.events)

    def poll(self) -> None:
        """Read the head of the log, and wake every subscription if it has moved."""
        try:
            self.signal.note_head(self._core.head())
        except StoreClosed:
            self.is_closed = True
            self.signal.notify()
