"""Work behind the commits: a thread of its own that does a piece at a time, and nobody waits for.

It sleeps until it is woken. What fails is tried again now and then; meanwhile writes go on, what is
left to do grows, and `stats` says why.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from memoranda.errors import (
    InvalidInput,
    MemorandaError,
    StoreClosed,
    StoreReadOnly,
    Unavailable,
)
from memoranda.model.clock import Clock, SystemClock
from memoranda.storage.locks import Wakeup, new_lock

DRAIN_SECONDS = 2.0
"""How long a store that is closed is kept waiting for what is being done."""
PATIENCE = 1.0
"""How many seconds what is done behind waits for others who write: it can be tried again."""
_FIRST_REST = 1.0
_LONGEST_REST = 60.0


class Behind:
    """Does what there is to do for an open store until it is closed.

    `work` does a piece, and says whether anything may be left.
    """

    def __init__(
        self,
        work: Callable[[], object],
        *,
        name: str,
        clock: Clock | None = None,
        first_rest: float = _FIRST_REST,
    ) -> None:
        self._piece = work
        self._name = name
        self._clock = clock or SystemClock()
        self._first_rest = self._rest = first_rest
        self.failure: MemorandaError | None = None
        """Why the last attempt came to nothing, if it did."""
        self._owner = os.getpid()
        self._lock = new_lock()
        self.turn = new_lock()
        """Who works in this process: two at once would do the same."""
        self._bell = Wakeup()
        self._ending = threading.Event()
        self._deadline: float | None = None
        self._thread: threading.Thread | None = None
        self._idle = True

    def wake(self) -> None:
        """Let it look for something to do; it is started when first woken."""
        if self._owner != os.getpid() or self._ending.is_set():
            return
        if not self._bell.is_set():
            self._bell.set()
        if not self._is_running():
            with self._lock:
                self._start()

    def nudge(self) -> None:
        """Wake it, unless it is at work."""
        if self._idle or not self._is_running():
            self.wake()

    @property
    def busy(self) -> bool:
        """Whether it is at work, or about to be."""
        return self._is_running() and (not self._idle or self._bell.is_set())

    def _is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _start(self) -> None:
        if not self._is_running() and not self._ending.is_set():
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()

    def close(self, seconds: float = DRAIN_SECONDS) -> None:
        """Let it finish what it has begun, but not for long: what is left is done another time."""
        if self._owner != os.getpid() or self._ending.is_set():
            return
        with self._lock:
            self._deadline = self._clock.monotonic() + seconds
            self._ending.set()
        self._bell.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(max(seconds, DRAIN_SECONDS))

    def _work(self) -> None:
        try:
            self._work_on()
        finally:  # whatever it was, the next who wakes it lets it begin again
            if not self._ending.is_set():
                self.failure = Unavailable(f"{self._name} broke off: it begins again when it can")

    def _work_on(self) -> None:
        while not self._ending.is_set():
            self._idle = True
            self._bell.wait()
            self._idle = False
            self._bell.clear()
            self._do_all()

    def _do_all(self) -> None:
        """Work until all is done, it cannot be done, or the time is over."""
        while not self._is_over():
            try:
                with self.turn:
                    left = self._piece()
                self.failure, self._rest = None, self._first_rest
            except (
                InvalidInput,
                StoreClosed,
                StoreReadOnly,
            ) as error:  # trying again would change nothing
                self.failure = error
                return
            except MemorandaError as error:
                self.failure = error
                if self._ending.wait(self._rest):
                    return
                self._rest = min(self._rest * 2, _LONGEST_REST)
                continue
            if not left:
                return

    def _is_over(self) -> bool:
        return self._deadline is not None and self._clock.monotonic() >= self._deadline
