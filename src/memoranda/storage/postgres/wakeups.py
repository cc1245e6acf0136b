"""Wake-ups between processes: commits are announced by NOTIFY, and heard by LISTEN.

They are hints. Whoever waits for commits also polls, less often while announcements are heard. They
are not sent in a commit, where PostgreSQL would serialise the commits of all stores, but behind it,
and at most some times a second.

Stores of a database that share this object share its connection, which is open while anybody waits.
A pooler that gives a connection to others between two transactions accepts LISTEN, and delivers
nothing. So a probe is sent now and then, and while none is heard, `listen` says that polling is
needed; so it does on a standby, which has no LISTEN.

`_lock` protects what is to be announced, who listens, and which threads run. It is never held while
a connection is used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import islice

import msgspec

from memoranda.errors import MemorandaError
from memoranda.model.clock import SystemClock
from memoranda.model.ids import SystemIds
from memoranda.storage.postgres.database_url import split_pooler
from memoranda.storage.postgres.session import Session, open_session
from memoranda.storage.thread_locks import Wakeup, new_lock

_CHANNEL = "memoranda_"
"""The first part of a channel's name; the second is the number of the store."""
_PAUSE_SECONDS = 0.05
"""Between two announcements: commits meanwhile are announced together."""
_IDLE_SECONDS = 5.0
"""After which the thread that announces ends."""
_LINGER_SECONDS = 5.0
"""How long a store is listened for after nobody waits any more."""
_TURN_SECONDS = 0.25
"""How long the listener waits for an announcement before it looks who listens."""
_PROBE_SECONDS = 5.0
"""Between two probes; announcements are heard if one arrived within twice that."""
_RETRY_SECONDS = 5.0
"""Before a lost connection is made again."""

Send = Callable[[str], object]
"""Announces a commit to a store, with the name of the sender; on any connection."""


class _Ear(msgspec.Struct):
    """Who listens for a store."""

    wake: Callable[[], None]
    send: Send
    until: float
    """When it is dropped, on the monotonic clock."""
    is_open: bool = False
    """Whether the connection listens on the store's channel."""


class DatabaseWakeups:
    """Announces commits to other processes, and hears of theirs: for all stores of a database."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        _, self._is_pooled = split_pooler(conninfo)
        self._clock = SystemClock()
        self._sender = SystemIds().unique()
        """Tells one's own announcements from those of others."""
        self._lock = new_lock()
        self._news = Wakeup()
        self._due: dict[int, Send] = {}
        """The stores whose commits are to be announced."""
        self._ears: dict[int, _Ear] = {}
        self._heard_at = float("-inf")
        """When the last announcement was heard, on the monotonic clock."""
        self._probed_at = float("-inf")
        self._announcer: threading.Thread | None = None
        self._listener: threading.Thread | None = None
        self._is_closed = False

    @property
    def is_heard(self) -> bool:
        """Whether announcements arrive here."""
        return self._clock.monotonic() < self._heard_at + 2 * _PROBE_SECONDS

    def announce(self, store_id: int, send: Send) -> None:
        """Tell other processes soon that the log of a store has grown."""
        with self._lock:
            if self._is_closed:
                return
            self._due[store_id] = send
            if self._announcer is None:
                self._announcer = self._start(self._run_announcer, "announcer")
        self._news.set()

    def listen(self, store_id: int, wake: Callable[[], None], send: Send) -> bool:
        """Call `wake` when others announce a commit, for some seconds; return whether they do.

        Whoever goes on waiting calls it again.
        """
        until = self._clock.monotonic() + _LINGER_SECONDS
        with self._lock:
            if self._is_closed or self._is_pooled:
                return False
            ear = self._ears.get(store_id)
            if ear is None:
                ear = self._ears[store_id] = _Ear(wake, send, until)
            ear.until = until
            if self._listener is None:
                self._listener = self._start(self._run_listener, "listener")
            return ear.is_open and self.is_heard

    def forget(self, store_id: int) -> None:
        """Stop listening for a store."""
        with self._lock:
            self._ears.pop(store_id, None)

    def close(self) -> None:
        """Let both threads end, with their connections."""
        with self._lock:
            self._is_closed = True
            self._ears.clear()
            threads = (self._announcer, self._listener)
        self._news.set()
        for thread in threads:
            if thread is not None:
                thread.join(2 * _TURN_SECONDS)

    def _start(self, work: Callable[[], None], name: str) -> threading.Thread:
        thread = threading.Thread(target=work, name=f"memoranda-{name}", daemon=True)
        thread.start()
        return thread

    # Announcing.

    def _run_announcer(self) -> None:
        while self._wait_for_news():
            with self._lock:
                due, self._due = self._due, {}
            for send in due.values():
                with suppress(MemorandaError):  # whoever listens also polls
                    send(self._sender)
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
            self._announcer = None
            return False

    # Listening.

    def _run_listener(self) -> None:
        session: Session | None = None
        while self._keep_listening():
            try:
                session = session or self._open_listener()
                self._hear(session)
            except MemorandaError:
                _close(session)
                session = None
                self._note_deafness()
                self._clock.sleep(_RETRY_SECONDS)
        _close(session)

    def _keep_listening(self) -> bool:
        """Drop whom nobody waits for; return whether anybody is left."""
        now = self._clock.monotonic()
        with self._lock:
            for store_id in [number for number, ear in self._ears.items() if ear.until < now]:
                del self._ears[store_id]
            if self._ears:
                return True
            self._listener = None
            return False

    def _open_listener(self) -> Session:
        session = open_session(self._conninfo)
        self._note_deafness()
        self._probed_at = float("-inf")
        return session

    def _note_deafness(self) -> None:
        with self._lock:
            self._heard_at = float("-inf")
            for ear in self._ears.values():
                ear.is_open = False

    def _hear(self, session: Session) -> None:
        """Listen on the channels of new stores, and wake those whose announcement arrives."""
        now = self._clock.monotonic()
        with self._lock:
            ears = dict(self._ears)
        for store_id, ear in ears.items():
            if not ear.is_open:
                session.listen(f"{_CHANNEL}{store_id}")
                ear.is_open = True
                ear.wake()  # for what was announced before
        if now >= self._probed_at + _PROBE_SECONDS:
            self._probed_at = now
            for store_id, ear in islice(ears.items(), 1):
                self.announce(store_id, ear.send)
        for channel, sender in session.announcements(_TURN_SECONDS):
            self._heard_at = self._clock.monotonic()
            if sender != self._sender:
                self._wake(int(channel.removeprefix(_CHANNEL)))

    def _wake(self, store_id: int) -> None:
        with self._lock:
            ear = self._ears.get(store_id)
        if ear is not None:
            ear.wake()


def _close(session: Session | None) -> None:
    """Close a connection, if there is one."""
    if session is not None:
        session.close()
