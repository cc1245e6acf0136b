"""Replays and subscriptions as pages of events, stored bytes where nothing is masked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Any

import msgspec

from memoranda.calls.core import Core
from memoranda.calls.grant import Grant
from memoranda.calls.log import Replay
from memoranda.calls.registry import handle
from memoranda.calls.subscriptions import Subscribe
from memoranda.log.read.feed import Feed
from memoranda.log.read.replay import Replay as LogReplay
from memoranda.log.read.wakeup import SPURIOUS_WAKEUP_BACKOFF
from memoranda.model.event import ReplayEvent, StoredEvent
from memoranda.sdk.local.async_calls import AsyncLocalCalls
from memoranda.server.wakeups import Wakeups

MAX_WAIT_SECONDS = 1.0
"""Seconds between two checks whether the caller of a waiting subscription may still read."""
_PAGES_AT_ONCE = 4
"""Pages of a replay that are read together, if they are small."""
_SMALL_BYTES = 128 * 1024
"""Bytes of operations after which no further page is read with others: a slow client keeps little
more in memory than one large page."""


class EventPage(msgspec.Struct, frozen=True):
    """Some events of a replay or a subscription, in the order of the log."""

    log_id: str
    bound: int
    """Of a replay: its last commit. Of a subscription: the commit through which it has read."""
    caught_up: bool
    """Whether a subscription has reached the end of the log."""
    events: list[StoredEvent | ReplayEvent]


async def replay_pages(
    calls: AsyncLocalCalls, core: Core, grant: Grant, call: Replay
) -> AsyncGenerator[EventPage, None]:
    """Yield the pages of a replay, the first one without events: its bound is set with it."""
    work: Any = partial(handle, core, grant, call)
    replay: LogReplay = await calls.run(work)
    yield EventPage(core.log_id, replay.through, False, [])
    while replay.at < replay.through:
        for events in await calls.run(next_pages, replay):
            yield EventPage(core.log_id, replay.through, False, events)


def next_pages(replay: LogReplay) -> list[list[StoredEvent | ReplayEvent]]:
    """Read the next pages of a replay that have events; none if there are none soon.

    Small pages are read together: to hand a thread the next one costs as much as to read half of
    it. After a large page, or one that had to be decoded, others have their turn first.
    """
    pages: list[list[StoredEvent | ReplayEvent]] = []
    size = 0
    for _ in range(_PAGES_AT_ONCE):
        if replay.at >= replay.through:
            break
        events = replay.next_stored_stretch()
        if events:
            pages.append(events)
        sizes = [len(event.operations) for event in events if isinstance(event, StoredEvent)]
        size += sum(sizes)
        if size > _SMALL_BYTES or len(sizes) < len(events):
            break
    return pages


async def subscription_pages(
    calls: AsyncLocalCalls,
    core: Core,
    grant: Grant,
    call: Subscribe,
    wakeups: Wakeups,
    check: Callable[[], None],
) -> AsyncGenerator[EventPage, None]:
    """Yield the pages of a subscription; the first one comes at once, and tells where it begins.

    At the end of the log it waits. The page that reaches the end says so, also if it has no events.
    """
    work: Any = partial(handle, core, grant, call)
    feed: Feed = await calls.run(work)
    yield EventPage(core.log_id, feed.position, False, [])
    has_told_end, idle_wakeups = False, 0
    with wakeups.of(calls, core) as wakeup:
        while True:
            check()
            count = core.signal.count
            events = await calls.run(feed.next_stored_page)
            if events:
                idle_wakeups = 0
            if events or (feed.caught_up and not has_told_end):
                has_told_end = feed.caught_up
                yield EventPage(core.log_id, feed.position, feed.caught_up, events)
            if feed.caught_up:
                idle_wakeups = min(idle_wakeups + 1, len(SPURIOUS_WAKEUP_BACKOFF))
                await calls.rest(SPURIOUS_WAKEUP_BACKOFF[idle_wakeups - 1])
                while not await wakeup.wait(count, MAX_WAIT_SECONDS):
                    idle_wakeups = 0
                    check()
