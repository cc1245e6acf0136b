"""The feed of a subscription to a store of a server, for asyncio."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import Any

from memoranda.calls.subscriptions import Subscribe
from memoranda.errors import MemorandaError, StoreClosed
from memoranda.log.read.wakeup import Signal
from memoranda.model.event import ReplayEvent
from memoranda.sdk.feed import EventFeed
from memoranda.sdk.remote.async_connection import AsyncConnection, AsyncMessageStream
from memoranda.sdk.remote.errors import ConnectionLost
from memoranda.sdk.remote.events import SubscriptionProgress
from memoranda.sdk.remote.feed import MAX_BUFFERED_EVENTS, RECHECK_SECONDS
from memoranda.sdk.remote.sending import Sender
from memoranda.wire.methods import METHOD_OF


class AsyncRemoteFeed(EventFeed):
    """A caller's handle of a subscription, which ends when the handle is garbage collected."""

    poll_seconds = RECHECK_SECONDS

    def __init__(self, sender: Sender, call: Subscribe) -> None:
        super().__init__(Signal())
        self._sender = sender
        self._call = call
        self._receiver: AsyncReceiver | None = None

    def __del__(self) -> None:
        if self._receiver is not None:
            self._receiver.stop()

    @property
    def caught_up(self) -> bool:
        """Whether the server has sent all that the log had."""
        return self._receiver is not None and self._receiver.caught_up

    def is_poll_due(self, now: float) -> bool:  # noqa: ARG002
        """Return False: the server looks for commits of other processes."""
        return False

    def close(self) -> None:
        """End the call, and wake whoever waits; any thread may do that."""
        super().close()
        if self._receiver is not None:
            self._receiver.stop()
        self.signal.notify()

    async def open(self, connection: AsyncConnection) -> AsyncReceiver:
        """Begin the subscription, unless it has begun. No event is missed from here on."""
        if self._receiver is None:
            self._receiver = AsyncReceiver(
                connection, self._sender, self._call, self.events, self.signal
            )
        await self._receiver.start()
        return self._receiver

    async def fill(self, connection: AsyncConnection) -> bool:
        """Wait until there are events, or the server has sent all; return whether there are any."""
        try:
            receiver = await self.open(connection)
            return await receiver.wait()
        except StoreClosed:
            self.is_closed = True
            return bool(self.events)

    async def is_at_end(self, connection: AsyncConnection) -> bool:
        """Ask the server once more whether the log has events that it has not sent."""
        if self._receiver is not None:
            self._receiver.renew()
        return not await self.fill(connection)


class AsyncReceiver:
    """Receives events in a task, which connects again after a lost connection.

    Everything but `stop` runs in one event loop. A page of a call that was replaced meanwhile is
    dropped, and the next call goes on where the noted pages end.
    """

    def __init__(
        self,
        connection: AsyncConnection,
        sender: Sender,
        call: Subscribe,
        events: deque[ReplayEvent],
        signal: Signal,
    ) -> None:
        self._connection = connection
        self._sender = sender
        self._progress = SubscriptionProgress(call)
        self._events = events
        self._signal = signal
        self._patience = connection.patience()
        self._starting = asyncio.Lock()
        self._call: AsyncMessageStream | None = None
        """The call in use; None: one has to be made."""
        self._generation = 0
        """Counts how often the call was to be made anew."""
        self._task: asyncio.Task[None] | None = None
        self._is_stopped = False
        self._error: MemorandaError | None = None
        """Why the task has ended; a caller raises it, and the next one begins again."""
        self.caught_up = False
        self._changed = asyncio.Event()
        """Set when events have arrived, or when the subscription has ended."""
        self._room = asyncio.Event()
        """Set when a caller has taken the events."""

    # What callers do.

    async def start(self) -> None:
        """Make the call, and receive in a task, unless that is done."""
        self._connection.check_open()
        async with self._starting:
            if self._task is not None or self._error is not None or self._is_stopped:
                return
            patience = self._connection.patience()
            while self._call is None and not self._is_stopped:
                try:
                    await self._connect()
                except MemorandaError as error:
                    await asyncio.sleep(patience.pause(error))
            self._task = self._connection.start(self._receive())

    async def wait(self) -> bool:
        """Wait until there are events, or the server has sent all; return whether there are any.

        An error that has ended the task is raised, and the next caller begins again.
        """
        while not self._events and not self._is_stopped:
            self._changed.clear()
            await self.start()
            error, self._error = self._error, None
            if error is not None:
                raise error
            self._room.set()
            if self._events or self.caught_up:
                break
            await self._changed.wait()
        return bool(self._events)

    def renew(self) -> None:
        """Make the call anew, so that the server says again when it has sent all."""
        if self._events:
            return
        call, self._call = self._call, None
        self._generation += 1
        self.caught_up = False
        if call is not None:
            call.cancel()

    def stop(self) -> None:
        """End the task, and the call with it; any thread may do that."""
        self._is_stopped = True
        with suppress(RuntimeError):  # the loop is closed, and the task with it
            self._connection.loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
        if self._call is not None:
            self._call.cancel()
        self._changed.set()

    # What the task does.

    async def _receive(self) -> None:
        try:
            while not self._is_stopped:
                await self._receive_next()
        except MemorandaError as error:
            self._error = error
        finally:
            self._task = None
            self._patience = self._connection.patience()
            if self._is_stopped and self._call is not None:
                self._call.cancel()  # it may have been made meanwhile
            self._changed.set()
            self._signal.notify()

    async def _receive_next(self) -> None:
        """Receive one page, or make the call again; raise what ends the task."""
        call = self._call
        if call is not None and len(self._events) >= MAX_BUFFERED_EVENTS:
            self._room.clear()
            await self._room.wait()
            return
        try:
            if call is None:
                await self._connect()
                return
            page = await self._next(call)
        except MemorandaError as error:
            if self._call is not call:  # it was cancelled, to be made anew
                return
            self._call = None
            await asyncio.sleep(self._patience.pause(error))
        else:
            if self._call is call:
                self._note(page)

    async def _connect(self) -> None:
        """Make the call, and take its first page, which says where it begins."""
        generation = self._generation
        request = self._sender.request(self._progress.call, stored=True)
        call = self._connection.stream(METHOD_OF[Subscribe], request)
        page = await self._next(call)
        if generation == self._generation:
            self._call = call
            self._note(page)

    def _note(self, page: Any) -> None:
        self._events.extend(self._progress.take(page))
        self.caught_up = page.caught_up
        self._patience.reset()
        self._changed.set()
        self._signal.notify()

    async def _next(self, call: AsyncMessageStream) -> Any:
        """Return the next page of a call; raise if there is none."""
        page = await call.read()
        if page is None:
            raise ConnectionLost(f"{self._connection.place} has ended a subscription")
        return page
