"""A signal that the log has grown in this process. It is only a hint: readers always look."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Signal:
    """Counts how often the log grew, and wakes those who wait for more."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._watchers: dict[object, Callable[[], None]] = {}
        self.count = 0
        """How often it was given. Take it before looking, so that nothing is missed."""

    def notify(self) -> None:
        """Wake everybody who waits."""
        with self._condition:
            self.count += 1
            self._condition.notify_all()
            watchers = tuple(self._watchers.values())
        for wake in watchers:
            wake()

    def wait(self, seen: int, seconds: float) -> None:
        """Wait until it has been given more than `seen` times, or for so long at most."""
        with self._condition:
            self._condition.wait_for(lambda: self.count > seen, seconds)

    def watch(self, wake: Callable[[], None]) -> object:
        """Call `wake` whenever the signal is given, from any thread; returns what ends it."""
        watcher = object()
        with self._condition:
            self._watchers[watcher] = wake
        return watcher

    def unwatch(self, watcher: object) -> None:
        """Stop calling."""
        with self._condition:
            self._watchers.pop(watcher, None)
