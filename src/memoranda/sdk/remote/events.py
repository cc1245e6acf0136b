"""The position of a replay or a subscription, to continue after a lost connection.

It does no I/O, and is used for threads and for asyncio. Received events are never requested again,
and none is left out: a repeated call begins after the last received event. It names that event by
its resume token, so a server whose log has another history is noticed.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from memoranda.calls.log import Replay
from memoranda.calls.subscriptions import Subscribe
from memoranda.errors import LogForked
from memoranda.model.event import ReplayEvent
from memoranda.wire.events import events_of

_MAX_INTEGER = 2**63 - 1
"""The largest number that can be sent; no log has more events."""


class _Progress:
    """The received part of a stream of events."""

    def __init__(self) -> None:
        self.bound: int | None = None
        """The bound of the last page; None: no page came yet."""
        self._token: str | None = None
        """The resume token of the last event; None: no event came yet."""
        self._log_id: str | None = None

    def take(self, page: Any) -> list[ReplayEvent]:
        """Return the events of a page, and note how far they reach."""
        if self._log_id not in (None, page.log_id):
            raise LogForked
        events = events_of(page)
        self._log_id, self.bound = page.log_id, page.bound
        if events:
            self._token = events[-1].token
        return events


class ReplayProgress(_Progress):
    """A replay, whose last commit is fixed by its first page."""

    def __init__(self, call: Replay) -> None:
        super().__init__()
        self._call = call

    @property
    def call(self) -> Replay:
        """The call that asks for what is left."""
        if self.bound is None:
            return self._call
        after = self._call.after_commit if self._token is None else self._token
        return replace(self._call, after_commit=after, through_commit=self.bound)


class SubscriptionProgress(_Progress):
    """A subscription, which begins where its first page says."""

    def __init__(self, call: Subscribe) -> None:
        super().__init__()
        is_more_than_any = type(call.last) is int and call.last > _MAX_INTEGER
        self._call = replace(call, last=_MAX_INTEGER) if is_more_than_any else call

    @property
    def call(self) -> Subscribe:
        """The call that asks for what follows.

        Once it has begun, a cursor no longer says where: its caller may have acknowledged less, or
        more, than it has received.
        """
        if self.bound is None:
            return self._call
        after = self.bound if self._token is None else self._token
        return replace(self._call, after_commit=after, last=None, cursor=None)
