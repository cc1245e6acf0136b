"""Feeds of subscriptions in a carrier: the received events, and a wake-up signal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque

from memoranda.log.read.wakeup import Signal
from memoranda.model.event import ReplayEvent


class EventFeed(ABC):
    """The events of one subscription, in commit order: none is repeated, and none is left out.

    A carrier fills the buffer, and its caller takes events from there. So none is lost if the
    caller is cancelled or interrupted meanwhile, and several threads can share a feed.
    """

    poll_seconds: float
    """Seconds after which a waiting caller looks whether the feed is closed, or due to poll."""

    def __init__(self, signal: Signal) -> None:
        self.events: deque[ReplayEvent] = deque()
        """Received events that no caller has taken yet."""
        self.signal = signal
        """Notified when there may be more events. Read its count before the buffer."""
        self.is_closed = False
        """Whether the subscription or its store is closed, so that no more events come."""

    @property
    @abstractmethod
    def caught_up(self) -> bool:
        """Whether the last filling reached the end of the log at that time."""

    @abstractmethod
    def is_poll_due(self, now: float) -> bool:
        """Return whether the caller should poll the log for the carrier."""

    def close(self) -> None:
        """End it; a caller that waits in another thread notices that."""
        self.is_closed = True
