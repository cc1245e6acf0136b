"""Announcements of commits by NOTIFY: one thread of a process sends those of all its stores.

They are not sent in a commit, where PostgreSQL would serialise the commits of all stores, but
behind it, at most some times a second, and those of all stores of a database in one statement.

`_lock` protects what is to be announced, and which thread runs. It is never held while a connection
is used.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

import psycopg

from memoranda.errors import MemorandaError
from memoranda.model.clock import SystemClock
from memoranda.storage.thread_locks import Wakeup, new_lock

_PAUSE_SECONDS = 0.05
"""Between two announcements: commits meanwhile are announced together."""
_IDLE_SECONDS = 5.0
"""After which the thread ends."""
_CLOSE_SECONDS = 0.5
"""How long closing waits for the thread, which may wait for the server."""
UNSUPPORTED = (
    psycopg.NotSupportedError,
    psycopg.errors.SyntaxError,
    psycopg.errors.UndefinedFunction,
)
"""What a database answers that speaks the protocol of PostgreSQL and has no announcements."""

Announcement = tuple[int, str]
"""The number of a store, and who announces a commit to it."""
Send = Callable[[Sequence[Announcement]], object]
"""Sends announcements, on any connection to the database."""


class Announcer:
    """Announces commits to the stores of one database, for all handles of a process."""

    def __init__(self) -> None:
        self._clock = SystemClock()
        self._lock = new_lock()
        self._news = Wakeup()
        self._due: dict[Announcement, Send] = {}
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._is_supported = True
        self.handles = 0
        """How many handles use it."""

    def announce(self, announcement: Announcement, send: Send) -> None:
        """Tell other processes soon that the log of a store has grown."""
        if announcement in self._due:
            return  # it will be: the thread takes all that is due before it sends
        with self._lock:
            if self._is_closed or not self._is_supported:
                return
            self._due[announcement] = send
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="memoranda-announcer", daemon=True
                )
                self._thread.start()
        self._news.set()

    def close(self) -> None:
        """Let the thread end."""
        with self._lock:
            self._is_closed = True
            thread = self._thread
        self._news.set()
        if thread is not None:
            thread.join(_CLOSE_SECONDS)

    def _run(self) -> None:
        while self._wait_for_news():
            with self._lock:
                due, self._due = self._due, {}
            self._send(due)
            self._clock.sleep(_PAUSE_SECONDS)

    def _wait_for_news(self) -> bool:
        """Wait until there is something to announce; False: the thread is to end."""
        while self._news.wait(_IDLE_SECONDS):
            if self._is_closed:
                return False
            if self._due:
                return True
        with self._lock:
            if self._due and not self._is_closed:
                return True
            self._thread = None
            return False

    def _send(self, due: dict[Announcement, Send]) -> None:
        """Send everything over a connection of one handle; if it was closed, of the next one."""
        for send in due.values():
            with suppress(MemorandaError):  # whoever listens also polls
                try:
                    send([*due])
                except UNSUPPORTED:
                    self._is_supported = False
                return


class Announcers:
    """The announcers of a process, by the database."""

    def __init__(self) -> None:
        self._mutex = new_lock()
        self._announcers: dict[tuple[str, int], Announcer] = {}

    def join(self, conninfo: str) -> Announcer:
        """Return the announcer for a handle of a database, which uses it until it leaves."""
        with self._mutex:
            key = (conninfo, os.getpid())
            announcer = self._announcers.setdefault(key, Announcer())
            announcer.handles += 1
            return announcer

    def leave(self, announcer: Announcer) -> None:
        """Close an announcer behind its last handle."""
        with self._mutex:
            announcer.handles -= 1
            if announcer.handles:
                return
            self._announcers = {
                key: other for key, other in self._announcers.items() if other is not announcer
            }
        announcer.close()


ANNOUNCERS = Announcers()
"""All handles of the process, however they were opened, share their announcers."""
