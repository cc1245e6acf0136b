"""Embedding without being asked: a thread of its own gives passages vectors, behind the commits.

It sleeps until it is woken and nobody waits for it. An embedder that is out of order is tried again
now and then; meanwhile writes go on, the backlog grows, and `stats` says why.
"""

from __future__ import annotations

import os
import threading

from recollect.errors import InvalidInput, RecollectError, StoreClosed
from recollect.model.clock import Clock, SystemClock
from recollect.search.embedding import Embedder
from recollect.search.vector_filling import fill_some
from recollect.storage.port import Engine

DRAIN_SECONDS = 2.0
"""How long a store that is closed is kept waiting for what is being embedded."""
_FIRST_REST = 1.0
_LONGEST_REST = 60.0


class Behind:
    """Fills the vectors of an open store until it is closed."""

    def __init__(
        self,
        engine: Engine,
        embedder: Embedder,
        *,
        clock: Clock | None = None,
        first_rest: float = _FIRST_REST,
    ) -> None:
        self._engine = engine
        self._embedder = embedder
        self._clock = clock or SystemClock()
        self._first_rest = self._rest = first_rest
        self.failure: RecollectError | None = None
        """Why the last attempt came to nothing, if it did."""
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self.turn = threading.Lock()
        """Who fills in this process: two at once would embed the same passages."""
        self._bell = threading.Event()
        self._ending = threading.Event()
        self._deadline: float | None = None
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Let it look for passages without a vector; it is started when first woken."""
        if self._owner != os.getpid() or self._ending.is_set():
            return
        self._bell.set()
        if self._thread is None:
            with self._lock:
                self._start()

    def _start(self) -> None:
        if self._thread is None and not self._ending.is_set():
            self._thread = threading.Thread(
                target=self._work, name="recollect-embedder", daemon=True
            )
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
            self._thread.join(seconds)

    def _work(self) -> None:
        while not self._ending.is_set():
            self._bell.wait()
            self._bell.clear()
            self._fill()

    def _fill(self) -> None:
        """Embed until all is done, the embedder cannot be used, or the time is over."""
        while not self._is_over():
            try:
                with self.turn:
                    left = fill_some(self._engine, self._embedder)
                self.failure, self._rest = None, self._first_rest
            except (InvalidInput, StoreClosed) as error:  # trying again would change nothing
                self.failure = error
                return
            except RecollectError as error:
                self.failure = error
                if self._ending.wait(self._rest):
                    return
                self._rest = min(self._rest * 2, _LONGEST_REST)
                continue
            if not left:
                return

    def _is_over(self) -> bool:
        return self._deadline is not None and self._clock.monotonic() >= self._deadline
