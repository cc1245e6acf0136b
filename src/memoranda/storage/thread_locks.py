"""Locks between threads that neither an interrupt nor a fork can leave taken for ever.

Ctrl-C, and whatever else raises in a thread that did not ask for it, comes between two calls that
Python code makes, never inside one that C code makes. A lock is therefore taken and released by a
`with` statement on the lock itself, or on `held`: both ends are single C calls, and whoever left
the block has released it. No Python code stands between a lock and its owner.
(In CPython 3.14 alone an interrupt can come between taking a lock and entering its block:
https://github.com/python/cpython/issues/148874.)

What cannot be one C call is repaired by whoever comes next: nothing waits for a wake-up alone.

A process that was forked has none of its parent's threads, so nobody in it would ever release what
they held. Every lock made here is free there.
"""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast
from weakref import ref

from memoranda.errors import StoreBusy, StoreClosed

if TYPE_CHECKING:
    from _thread import RLock

Value = TypeVar("Value")
_SWEEP_AT = 64


class WeakRegistry(Generic[Value]):
    """Objects that are remembered for as long as somebody else has them.

    A `WeakSet` runs Python code whenever one of them is gone, and an interrupt that comes just
    then is lost. Here those that are gone are swept out as others come.
    """

    __slots__ = ("_refs", "_sweep_at")

    def __init__(self) -> None:
        self._refs: set[ref[Value]] = set()
        self._sweep_at = _SWEEP_AT

    def add(self, value: Value) -> None:
        """Remember one more."""
        self._refs.add(ref(value))
        if len(self._refs) >= self._sweep_at:
            self._refs.difference_update([each for each in tuple(self._refs) if each() is None])
            self._sweep_at = 2 * len(self._refs) + _SWEEP_AT

    def alive(self) -> list[Value]:
        """Return those that are still there."""
        found = [each() for each in tuple(self._refs)]
        return [value for value in found if value is not None]


_locks: WeakRegistry[Any] = WeakRegistry()


def new_lock() -> RLock:
    """Return a lock that its owner may take again: a signal handler must not wait for itself."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def _free_all() -> None:
    for lock in _locks.alive():
        lock._at_fork_reinit()  # noqa: SLF001 - what the standard library's own locks do


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_all)


class _IfTaken(dict[bool, Value]):
    """What is lent with a lock: True has it, and False was too late."""

    def __missing__(self, _: object) -> Value:
        raise StoreBusy


def held(lock: RLock, value: Value, seconds: float = -1) -> AbstractContextManager[Value]:
    """Return a context manager that lends a value while its thread has the lock.

    Who has waited so many `seconds` gets `StoreBusy` instead. It may be entered again and by
    several threads. Entering takes the lock and returns the value in one C call.
    """
    taken = iter(partial(lock.acquire, timeout=seconds), None)
    enter = partial(next, map(_IfTaken({True: value}).__getitem__, taken))
    ends = {"__enter__": staticmethod(enter), "__exit__": staticmethod(lock.__exit__)}
    return cast("AbstractContextManager[Value]", type("Held", (), ends)())


class Wakeup:
    """Wakes one thread that waits, or the next one that will.

    A `threading.Event` is Python code around a lock, and an interrupt between its flag and its
    lock loses the wake-up.
    """

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def set(self) -> None:
        """Wake; a second time before anybody woke changes nothing."""
        try:
            self._lock.release()
        except RuntimeError:  # it is set already
            return

    def is_set(self) -> bool:
        """Say whether whoever waits next need not wait."""
        return not self._lock.locked()

    def clear(self) -> None:
        """Forget a wake-up that nobody has waited for."""
        self._lock.acquire(blocking=False)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait to be woken, for so long at most, use the wake-up up, and say whether it came."""
        return self._lock.acquire(timeout=-1 if seconds is None else max(seconds, 0.0))


def check_process(owner: int) -> None:
    """Raise unless this is the process `owner`, and not one that was forked from it."""
    if owner != os.getpid():
        raise StoreClosed(
            "this handle was opened before the process forked, and a database connection does not "
            "survive that: open the store again in the new process"
        )


def busy_with_itself() -> StoreBusy:
    """Return the error for who would have to wait for itself; trying again there is in vain."""
    error = StoreBusy(
        "this thread is in the middle of a write, and what interrupted it there cannot write: let "
        "a signal handler or a finalizer only take note, and write afterwards"
    )
    error.retryable = False
    return error
