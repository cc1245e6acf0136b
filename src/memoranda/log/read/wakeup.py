"""A signal that the log has grown. It is only a hint: readers always read the log."""

from __future__ import annotations

from collections.abc import Callable

from memoranda.storage.thread_locks import Wakeup, new_lock

POLL_SECONDS = 0.05
"""Seconds between two reads of the log's head, for commits of other processes."""
LISTENING_POLL_SECONDS = 1.0
"""The same while other processes announce their commits, of which one may get lost."""
SPURIOUS_WAKEUP_BACKOFF = (0.0, 0.002, 0.005, 0.01, 0.02, POLL_SECONDS)
"""Back-off after the n-th spurious wake-up in a row, in seconds. Without it a reader that waits for
something rare would be busy with every other commit."""


class Signal:
    """Counts how often the log grew, and wakes waiting readers.

    It is notified after each commit of this process. Other processes do not notify it: while
    readers wait, one of them polls the log's head for all (`claim_poll`).

    `_lock` protects the counters and the list of watchers that `notify` takes; wake functions are
    called after it is released. `wait` adds and removes its own watcher by single dict operations,
    without the lock: an interrupt cannot leave it taken.
    """

    def __init__(self) -> None:
        self._lock = new_lock()
        self._last_poll = float("-inf")
        self._head = -1
        self._watchers: dict[object, Callable[[], None]] = {}
        self.count = 0
        """How often it was notified. Read it before the log, so that no commit is missed."""

    def notify(self) -> None:
        """Wake all waiting readers."""
        with self._lock:
            self.count += 1
            watchers = tuple(self._watchers.values()) if self._watchers else ()
        for wake in watchers:
            wake()

    def wait(self, count: int, seconds: float) -> None:
        """Wait until it was notified more than `count` times, at most for so many seconds."""
        woken = Wakeup()
        try:
            self._watchers[woken] = woken.set
            if self.count <= count:
                woken.wait(seconds)
        finally:
            self._watchers.pop(woken, None)

    def watch(self, wake: Callable[[], None]) -> object:
        """Call `wake` at each notification, from any thread; return the token for `unwatch`."""
        watcher = object()
        with self._lock:
            self._watchers[watcher] = wake
        return watcher

    def unwatch(self, watcher: object) -> None:
        """Stop calling the function of a token."""
        with self._lock:
            self._watchers.pop(watcher, None)

    def claim_poll(self, now: float, seconds: float) -> bool:
        """Return whether the caller should poll the log's head; one of all callers gets True.

        The next one gets it `seconds` later, or earlier if it asks for that.
        """
        with self._lock:
            if now < self._last_poll + seconds:
                return False
            self._last_poll = now
            return True

    def note_head(self, head: int) -> None:
        """Record the head that was read, and wake all readers if it has grown."""
        with self._lock:
            grown, self._head = head > self._head, max(head, self._head)
        if grown:
            self.notify()
