"""Sending the writes of a store, for threads: callers that write at a time share messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from memoranda.errors import StoreClosed
from memoranda.sdk.remote.connection import Connection
from memoranda.sdk.remote.writes import PendingWrite, WriteQueue
from memoranda.storage.thread_locks import Wakeup, new_lock

PEER_WAIT_SECONDS = 0.001
"""Seconds within which one more write must come for a sender to go on waiting for peers: as long as
a busy machine takes to run a thread that was woken."""


class WriteSender(ABC):
    """Takes writes, and returns their outcomes; each takes effect exactly once.

    A caller adds its write to the queue and waits. Threads that no signal interrupts send what is
    queued: an interrupted caller leaves them as they are for others.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._queue = WriteQueue(connection.options.url.store)
        self._lock = new_lock()
        """Protects the queue, and who serves it."""
        self._is_closing = False

    def write(self, pending: PendingWrite) -> Any:
        """Send a write, and return what the server says became of it."""
        woken = Wakeup()
        pending.expect(woken.set)
        try:
            with self._lock:
                self._connection.check_open()
                if self._is_closing:
                    raise StoreClosed
                self._queue.add(pending)
                self._wake()
            woken.wait()
        finally:
            if not pending.is_settled:  # an interrupt: nobody waits for the outcome any more
                with self._lock:
                    self._queue.withdraw(pending)
        return pending.result()

    @abstractmethod
    def _wake(self) -> None:
        """Let the queue be sent; the caller holds the lock."""

    @abstractmethod
    def close(self, seconds: float) -> None:
        """Take no more writes, and wait until those on their way have outcomes, or so long."""
