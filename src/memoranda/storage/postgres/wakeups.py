"""Wake-ups between processes: commits are announced by NOTIFY, and heard by LISTEN.

They are hints. Readers that wait for commits also poll, less often while announcements arrive. How
they are sent is in `announcer.py`.

Stores of a database that share this object share its connection, which is open while anybody waits.
A pooler that gives a connection to others between two transactions accepts LISTEN, and delivers
nothing. So a probe is sent now and then, and while none is heard, `listen` says that polling is
needed; so it does on a standby, which has no LISTEN.

`_lock` protects who listens, and which thread runs. It is never held while a connection is used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import islice

import msgspec

from memoranda.errors import MemorandaError
from memoranda.model.clock import SystemClock
from memoranda.model.ids import SystemIds
from memoranda.storage.postgres.announcer import ANNOUNCERS, UNSUPPORTED, Announcer, Send
from memoranda.storage.postgres.database_url import split_pooler
from memoranda.storage.postgres.session import Session, open_session
from memoranda.storage.thread_locks import new_lock

_CHANNEL = "memoranda_"
"""The first part of a channel's name; the second is the number of the store."""
_LINGER_SECONDS = 5.0
"""How long a store is listened for after nobody waits any more."""
_TURN_SECONDS = 0.25
"""How long the listener waits for an announcement before it looks who listens."""
_PROBE_SECONDS = 5.0
"""Between two probes; announcements are heard if one arrived within twice that."""
_RETRY_SECONDS = 5.0
"""Before a lost connection is made again."""


class _Ear(msgspec.Struct):
    """The listeners of a store."""

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
        self._announcer: Announcer | None = None
        self._ears: dict[int, _Ear] = {}
        self._heard_at = float("-inf")
        """When the last announcement was heard, on the monotonic clock."""
        self._probed_at = float("-inf")
        self._listener: threading.Thread | None = None
        self._is_closed = False

    @property
    def is_heard(self) -> bool:
        """Whether announcements arrive here."""
        return self._clock.monotonic() < self._heard_at + 2 * _PROBE_SECONDS

    def announce(self, store_id: int, send: Send) -> None:
        """Tell other processes soon that the log of a store has grown."""
        announcer = self._announcer
        if announcer is None:
            with self._lock:
                if self._is_closed:
                    return
                if self._announcer is None:
                    self._announcer = ANNOUNCERS.join(self._conninfo)
                announcer = self._announcer
        announcer.announce((store_id, self._sender), send)

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
                self._listener = threading.Thread(
                    target=self._run_listener, name="memoranda-listener", daemon=True
                )
                self._listener.start()
            return ear.is_open and self.is_heard

    def forget(self, store_id: int) -> None:
        """Stop listening for a store."""
        with self._lock:
            self._ears.pop(store_id, None)

    def close(self) -> None:
        """Let the thread end, with its connection."""
        with self._lock:
            self._is_closed = True
            self._ears.clear()
            announcer, self._announcer = self._announcer, None
            listener = self._listener
        if announcer is not None:
            ANNOUNCERS.leave(announcer)
        if listener is not None:
            listener.join(2 * _TURN_SECONDS)

    # Listening.

    def _run_listener(self) -> None:
        session: Session | None = None
        while self._keep_listening():
            try:
                session = session or self._open_listener()
                self._hear(session)
            except (MemorandaError, *UNSUPPORTED):
                _close(session)
                session = None
                self._note_deafness()
                self._clock.sleep(_RETRY_SECONDS)
        _close(session)

    def _keep_listening(self) -> bool:
        """Drop stores without a listener; return whether any is left."""
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
