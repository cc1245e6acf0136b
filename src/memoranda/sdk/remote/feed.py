"""The feed of a subscription to a store of a server, for threads."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from memoranda.calls.subscriptions import Subscribe
from memoranda.errors import MemorandaError, StoreClosed
from memoranda.log.read.wakeup import Signal
from memoranda.model.event import ReplayEvent
from memoranda.sdk.feed import EventFeed
from memoranda.sdk.remote.connection import Connection, MessageStream
from memoranda.sdk.remote.errors import ConnectionLost
from memoranda.sdk.remote.events import SubscriptionProgress
from memoranda.sdk.remote.sending import Sender
from memoranda.storage.thread_locks import Wakeup, new_lock
from memoranda.wire.methods import METHOD_OF

MAX_BUFFERED_EVENTS = 1024
"""Unread events beyond which the receiver reads no more, so that the server waits."""
RECHECK_SECONDS = 1.0
"""Seconds between two checks of a waiting caller whether the feed is closed."""


class RemoteFeed(EventFeed):
    """A caller's handle of a subscription, which ends when the handle is garbage collected."""

    poll_seconds = RECHECK_SECONDS

    def __init__(self, connection: Connection, sender: Sender, call: Subscribe) -> None:
        super().__init__(Signal())
        self._receiver = Receiver(connection, sender, call, self.events, self.signal)

    def __del__(self) -> None:
        self._receiver.stop()

    @property
    def caught_up(self) -> bool:
        """Whether the server has sent all that the log had."""
        return self._receiver.caught_up

    def is_poll_due(self, now: float) -> bool:  # noqa: ARG002
        """Return False: the server looks for commits of other processes."""
        return False

    def close(self) -> None:
        """End the call, and wake whoever waits."""
        super().close()
        self._receiver.stop()

    def open(self) -> None:
        """Begin the subscription, unless it has begun. No event is missed from here on."""
        self._receiver.start()

    def fill(self) -> bool:
        """Wait until there are events, or the server has sent all; return whether there are any."""
        try:
            return self._receiver.wait()
        except StoreClosed:
            self.is_closed = True
            return bool(self.events)

    def is_at_end(self) -> bool:
        """Ask the server once more whether the log has events that it has not sent."""
        self._receiver.renew()
        return not self.fill()


class Receiver:
    """Receives events in a thread of its own, which connects again after a lost connection.

    It notes what a page has, under the lock, only if its call is still the one in use. A call that
    was replaced leaves nothing behind, and the next one goes on where the noted pages end: so there
    is neither a gap nor a repetition.
    """

    def __init__(
        self,
        connection: Connection,
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
        """Notified when events have arrived, or when the subscription has ended."""
        self._patience = connection.patience()
        self._lock = new_lock()
        """Protects the fields below; a caller that starts the receiver holds it meanwhile."""
        self._call: MessageStream | None = None
        """The call in use; None: one has to be made."""
        self._generation = 0
        """Counts how often the call was to be made anew."""
        self._thread: threading.Thread | None = None
        self._is_stopped = False
        self._error: MemorandaError | None = None
        """Why the thread has ended; a caller raises it, and the next one begins again."""
        self.caught_up = False
        self._room = Wakeup()
        """Wakes a receiver that waits until its caller has taken the events."""

    # What callers do.

    def start(self) -> None:
        """Make the call, and receive in a thread, unless that is done."""
        self._connection.check_open()
        with self._lock:
            is_running = self._thread is not None and self._thread.is_alive()
            if is_running or self._error is not None or self._is_stopped:
                return
            patience = self._connection.patience()
            while self._call is None and not self._is_stopped:
                try:
                    self._connect(self._generation)
                except MemorandaError as error:
                    self._connection.rest(patience.pause(error))
            self._thread = threading.Thread(
                target=self._receive, name="memoranda-subscription", daemon=True
            )
            self._thread.start()

    def wait(self) -> bool:
        """Wait until there are events, or the server has sent all; return whether there are any.

        An error that has ended the thread is raised, and the next caller begins again.
        """
        while not self._events and not self._is_stopped:
            count = self._signal.count
            self.start()
            with self._lock:
                error, self._error = self._error, None
            if error is not None:
                raise error
            self._room.set()
            if self._events or self.caught_up:
                break
            self._signal.wait(count, RECHECK_SECONDS)
        return bool(self._events)

    def renew(self) -> None:
        """Make the call anew, so that the server says again when it has sent all."""
        with self._lock:
            if self._events:
                return
            call, self._call = self._call, None
            self._generation += 1
            self.caught_up = False
        if call is not None:
            call.cancel()

    def stop(self) -> None:
        """End the call, and the thread with it; a forked process has neither."""
        self._is_stopped = True
        if self._connection.is_forked:
            return
        self._cancel_if_stopped()
        self._room.set()
        self._signal.notify()

    def _cancel_if_stopped(self) -> None:
        call = self._call
        if self._is_stopped and call is not None:
            call.cancel()

    # What the thread does.

    def _receive(self) -> None:
        with self._lock:
            if self._thread is not threading.current_thread():  # it was replaced before it started
                return
        try:
            while not self._is_stopped:
                self._receive_next()
        except MemorandaError as error:
            self._error = error
        finally:
            with self._lock:
                self._thread = None
                self._patience = self._connection.patience()
            self._cancel_if_stopped()  # it may have been made meanwhile
            self._signal.notify()

    def _receive_next(self) -> None:
        """Receive one page, or make the call again; raise what ends the thread."""
        with self._lock:
            call, generation = self._call, self._generation
        if call is not None and len(self._events) >= MAX_BUFFERED_EVENTS:
            self._room.wait()
            return
        try:
            if call is None:
                self._connect(generation)
                return
            page = self._next(call)
        except MemorandaError as error:
            with self._lock:
                if self._call is not call:  # it was cancelled, to be made anew
                    return
                self._call = None
            if not self._is_stopped:
                self._connection.rest(self._patience.pause(error))
        else:
            with self._lock:
                if self._call is call:
                    self._note(page)

    def _connect(self, generation: int) -> None:
        """Make the call, and take its first page, which says where it begins."""
        request = self._sender.request(self._progress.call, stored=True)
        call = self._connection.stream(METHOD_OF[Subscribe], request)
        page = self._next(call)
        with self._lock:
            if generation == self._generation:
                self._call = call
                self._note(page)

    def _note(self, page: Any) -> None:
        self._events.extend(self._progress.take(page))
        self.caught_up = page.caught_up
        self._patience.reset()
        self._signal.notify()

    def _next(self, call: MessageStream) -> Any:
        """Return the next page of a call; raise if there is none."""
        page = call.read()
        if page is None:
            raise ConnectionLost(f"{self._connection.place} has ended a subscription")
        return page
