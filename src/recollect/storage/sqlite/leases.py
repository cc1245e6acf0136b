"""Leases: a reader for a short while, and the lock of who writes."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.storage.sqlite.connection import Connection
    from recollect.storage.sqlite.engine import SqliteEngine


class Lease:
    """A reader for as long as a block lasts."""

    __slots__ = ("_engine", "_reader")

    def __init__(self, engine: SqliteEngine) -> None:
        self._engine = engine

    def __enter__(self) -> Connection:
        self._reader = self._engine.lend()
        return self._reader

    def __exit__(self, *_: object) -> None:
        self._engine.take_back(self._reader)


class ProcessLock:
    """A lock that may be taken again by who holds it.

    A process that was forked has none of the threads that may have held it, and finds it free.
    """

    __slots__ = ("_lock", "_owner")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._owner = os.getpid()

    def acquire(self, timeout: float = -1) -> bool:
        """Wait so long for it, and say whether it was to be had."""
        if self._owner != os.getpid():
            self._lock, self._owner = threading.RLock(), os.getpid()
        return self._lock.acquire(timeout=timeout)

    def release(self) -> None:
        """Let others have it."""
        self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
