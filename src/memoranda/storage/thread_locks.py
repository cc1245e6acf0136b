"""Locks between threads that neither an interrupt nor a fork can leave locked.

Interrupts. Ctrl-C and other asynchronous exceptions are raised between two calls of Python code,
never inside a C call. So a lock is acquired and released by a `with` statement on the lock itself,
or on `hold`: both ends are single C calls, and leaving the block always releases the lock. No
Python function stands between a lock and its block. (In CPython 3.14 alone an interrupt can come
between acquiring a lock and entering its block: https://github.com/python/cpython/issues/148874.)

A step that cannot be one C call is repaired by the next thread: no thread waits for a wake-up
without a timeout or a check of its own.

Forks. A forked process has only the thread that forked, so no thread in it would ever release a
lock that another thread held. Every lock made here is reset in the child.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast
from weakref import ref

from memoranda.errors import StoreBusy, StoreClosed

if TYPE_CHECKING:
    from _thread import RLock

Value = TypeVar("Value")
_SIGNAL_SECONDS = 1.0
"""Seconds after which the main thread looks for a signal that came just before it began to wait.
The handler has run then, but nothing interrupts the wait that follows, and Ctrl-C would be lost."""
_SWEEP_AT = 64
"""The number of entries from which dead references are removed."""


class WeakRegistry(Generic[Value]):
    """Weak references to live objects.

    A `WeakSet` runs a Python callback whenever an object dies, and an interrupt that is raised in
    the callback is lost. Here dead references are removed when new ones are added. The threshold
    grows with the live ones, so that adding stays cheap on average.
    """

    __slots__ = ("_refs", "_sweep_at")

    def __init__(self) -> None:
        self._refs: set[ref[Value]] = set()
        self._sweep_at = _SWEEP_AT

    def add(self, value: Value) -> None:
        """Add an object."""
        self._refs.add(ref(value))
        if len(self._refs) >= self._sweep_at:
            self._refs.difference_update([entry for entry in tuple(self._refs) if entry() is None])
            self._sweep_at = 2 * len(self._refs) + _SWEEP_AT

    def alive(self) -> list[Value]:
        """Return the objects that are alive."""
        values = [entry() for entry in tuple(self._refs)]
        return [value for value in values if value is not None]


_locks: WeakRegistry[Any] = WeakRegistry()


def new_lock() -> RLock:
    """Return a reentrant lock: a signal handler must not wait for the thread it runs in."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def _reset_all() -> None:
    for lock in _locks.alive():
        lock._at_fork_reinit()  # noqa: SLF001 - as the locks of the standard library do


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_all)


class _ValueIfAcquired(dict[bool, Value]):
    """Maps the result of `acquire` to the lent value; False, a timeout, raises `StoreBusy`."""

    def __missing__(self, _: object) -> Value:
        raise StoreBusy


def hold(lock: RLock, value: Value, seconds: float = -1) -> AbstractContextManager[Value]:
    """Return a context manager that lends a value while its thread holds the lock.

    It raises `StoreBusy` after `seconds`; a negative number waits for ever. It is reentrant, and
    several threads may share it.

    Entering is one C call, `next`, over a chain of C iterators: the callable iterator acquires the
    lock, and `map` looks the result up in a dictionary that has the value under True.
    """
    acquisitions = iter(partial(lock.acquire, timeout=seconds), None)
    enter = partial(next, map(_ValueIfAcquired({True: value}).__getitem__, acquisitions))
    ends = {"__enter__": staticmethod(enter), "__exit__": staticmethod(lock.__exit__)}
    return cast("AbstractContextManager[Value]", type("Held", (), ends)())


class Wakeup:
    """Wakes one waiting thread, or the next one that waits.

    It is a lock that is locked while there is no wake-up, so that each method is one C call. A
    `threading.Event` is Python code, and an interrupt inside it can lose the wake-up.
    """

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def set(self) -> None:
        """Wake a thread; a second call before it wakes has no effect."""
        try:
            self._lock.release()
        except RuntimeError:  # already set
            return

    def is_set(self) -> bool:
        """Say whether the next `wait` returns at once."""
        return not self._lock.locked()

    def clear(self) -> None:
        """Discard a wake-up that no thread has received."""
        self._lock.acquire(blocking=False)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for a wake-up and consume it; return False after `seconds` without one."""
        if seconds is not None:
            return self._lock.acquire(timeout=max(seconds, 0.0))
        while not self._lock.acquire(timeout=_SIGNAL_SECONDS):
            if threading.current_thread() is not threading.main_thread():
                return self._lock.acquire()
        return True


class ChainedWakeup(Wakeup):
    """A wake-up of one of several threads that are woken together.

    They wake each other in a chain: somebody wakes the first one, and each calls `wake_next`. Woken
    all at once they would compete for the interpreter, which runs only one.
    """

    __slots__ = ("next_waiter",)

    def __init__(self) -> None:
        super().__init__()
        self.next_waiter: ChainedWakeup | None = None

    def wake_next(self) -> None:
        """Wake the next thread of the chain, if there is one."""
        waiter, self.next_waiter = self.next_waiter, None
        if waiter is not None:
            waiter.set()


def link_waiters(waiters: Sequence[ChainedWakeup]) -> ChainedWakeup | None:
    """Link wake-ups to a chain, and return the first, if there is one.

    A thread that sees its outcome may leave at once, and must know by then which one it has to
    wake: so link them first.
    """
    first: ChainedWakeup | None = None
    for waiter in reversed(waiters):
        waiter.next_waiter, first = first, waiter
    return first


def check_process(owner: int) -> None:
    """Raise `StoreClosed` unless this is the process `owner`, and not a fork of it."""
    if owner != os.getpid():
        raise StoreClosed(
            "this handle was opened before the process forked, and database connections do not "
            "survive a fork: open the store again in the new process"
        )


def reentrant_write_error() -> StoreBusy:
    """Return the error for a write inside a write of the same thread; a retry cannot help."""
    error = StoreBusy(
        "this thread is inside a write, and a signal handler or finalizer that interrupts it "
        "cannot write: let it set a flag, and write afterwards"
    )
    error.retryable = False
    return error
