"""A signal that the log has grown. It is only a hint: readers always look."""

from __future__ import annotations

from collections.abc import Callable

from memoranda.storage.locks import Wakeup, new_lock

LOOK_SECONDS = 0.05
"""How often the log is looked at for what other processes committed."""
RESTS = (0.0, 0.002, 0.005, 0.01, 0.02, LOOK_SECONDS)
"""How long who was woken in vain, once, twice, … in a row, rests before it waits again. Otherwise
those who wait for something rare would be busy with whatever else is committed."""


class Signal:
    """Counts how often the log grew, and wakes those who wait for more.

    It is given after each commit of this process. Other processes give none: while anybody waits,
    one of those who do looks at the log now and then, for all of them.
    """

    def __init__(self) -> None:
        self._lock = new_lock()
        self._next_look = 0.0
        self._head = -1
        self._watchers: dict[object, Callable[[], None]] = {}
        self.count = 0
        """How often it was given. Take it before looking, so that nothing is missed."""

    def notify(self) -> None:
        """Wake everybody who waits."""
        with self._lock:
            self.count += 1
            watchers = tuple(self._watchers.values()) if self._watchers else ()
        for wake in watchers:
            wake()

    def wait(self, seen: int, seconds: float) -> None:
        """Wait until it has been given more than `seen` times, or for so long at most."""
        woken = Wakeup()
        try:
            self._watchers[woken] = woken.set
            if self.count <= seen:
                woken.wait(seconds)
        finally:
            self._watchers.pop(woken, None)

    def watch(self, wake: Callable[[], None]) -> object:
        """Call `wake` whenever the signal is given, from any thread; returns what ends it."""
        watcher = object()
        with self._lock:
            self._watchers[watcher] = wake
        return watcher

    def unwatch(self, watcher: object) -> None:
        """Stop calling."""
        with self._lock:
            self._watchers.pop(watcher, None)

    def claim_look(self, now: float) -> bool:
        """Say whether it is time to look at the log's head; only one of those who ask shall."""
        with self._lock:
            if now < self._next_look:
                return False
            self._next_look = now + LOOK_SECONDS
            return True

    def note_head(self, head: int) -> None:
        """Take note of what was seen, and wake everybody if it is more than was seen before."""
        with self._lock:
            grown, self._head = head > self._head, max(head, self._head)
        if grown:
            self.notify()
