"""Signing without being asked: every so many commits, and so many seconds, behind the commits.

A thread of its own looks at the log's end now and then; who commits is not kept waiting and does
not even wake it. Several processes may do so on one store: what one has signed is not due for the
others. Whatever goes wrong is told where it is noticed: `stats` warns, and closing raises.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from memoranda.audit import stored
from memoranda.audit.signing import LogSigner
from memoranda.errors import InvalidInput, MemorandaError
from memoranda.log import pages
from memoranda.model.clock import Clock
from memoranda.model.limits import check_seconds, shown
from memoranda.storage.port import Engine

EVERY = 1_000
SECONDS = 60.0
LOOK_SECONDS = 0.2
"""How often the log's end is looked at."""


class Checkpointer:
    """Signs for an open store, until it is closed."""

    def __init__(
        self,
        engine: Engine,
        log_signer: LogSigner,
        clock: Clock,
        *,
        every: int = EVERY,
        seconds: float = SECONDS,
    ) -> None:
        if type(every) is not int or every < 1:
            raise InvalidInput("checkpoint_every", f"{shown(every)} is not a number of commits")
        self._seconds = check_seconds("checkpoint_seconds", seconds)
        self._every = every
        self._engine = engine
        self._clock = clock
        self.log_signer = log_signer
        self.failure: MemorandaError | None = None
        """Why the last attempt came to nothing, if it did."""
        self._waiting_since: float | None = None
        self._owner = os.getpid()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Refuse a log that cannot be signed, else begin to look."""
        self.log_signer.check()
        self._thread = threading.Thread(
            target=self._work, name="memoranda-checkpointer", daemon=True
        )
        self._thread.start()

    def close(self, drain: Callable[[], None]) -> None:
        """Look no more, let `drain` write what is queued, and sign that too, or raise."""
        if self._ending.is_set() or self._owner != os.getpid():
            return
        self._ending.set()
        if self._thread is not None:
            self._thread.join()
        drain()
        if self._unsigned():
            self.log_signer.sign()

    def _work(self) -> None:
        while not self._ending.wait(LOOK_SECONDS):
            try:
                if self._due():
                    self.log_signer.sign()
                    self._waiting_since = None
                self.failure = None
            except MemorandaError as error:  # told by `stats`, tried again, and raised at the end
                self.failure = error

    def _due(self) -> bool:
        unsigned = self._unsigned()
        if not unsigned:
            self._waiting_since = None
            return False
        now = self._clock.monotonic()
        if self._waiting_since is None:
            self._waiting_since = now
        return unsigned >= self._every or now - self._waiting_since >= self._seconds

    def _unsigned(self) -> int:
        """Return how many commits no checkpoint of the store covers."""
        with self._engine.reading() as reader:
            kept = stored.last(reader)
            return pages.head_commit(reader) - (0 if kept is None else kept[0])
