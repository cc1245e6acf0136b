"""Native code that must not be running when the interpreter ends.

A background thread that comes back from C++ code after the interpreter has ended is unwound through
that code, which aborts the process. So the end of the interpreter stops the calls under way, and
waits for them; later ones are refused.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memoranda.errors import Unavailable
from memoranda.model.clock import Clock, SystemClock

_MAX_WAIT_SECONDS = 30.0
"""Time that the end of the interpreter waits at most: loading a large model cannot be stopped."""
_POLL_SECONDS = 0.005
"""Time between two looks whether calls still run."""


class NativeCalls:
    """The calls under way, in all threads of the process."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._has_ended = False
        self._stops: dict[object, Callable[[], object]] = {}
        """What stops each call."""

    @contextmanager
    def running(self, stop: Callable[[], object]) -> Iterator[None]:
        """Note a call while it runs; `stop` lets it return soon, and is called in another thread.

        It raises `Unavailable` when the interpreter ends.
        """
        call = object()
        self._stops[call] = stop  # before the check: `end` looks after it has set the flag
        try:
            if self._has_ended:
                raise Unavailable("the interpreter ends, so no model is run")
            yield
        finally:
            self._stops.pop(call, None)

    def end(self) -> None:
        """Stop the calls under way, wait for them, and refuse others."""
        self._has_ended = True
        deadline = self._clock.monotonic() + _MAX_WAIT_SECONDS
        while self._stops and self._clock.monotonic() < deadline:
            for stop in [*self._stops.values()]:
                stop()
            self._clock.sleep(_POLL_SECONDS)

    def forget(self) -> None:
        """Forget the calls of a process that forked: their threads are not in this one."""
        self._stops = {}


NATIVE_CALLS = NativeCalls()
atexit.register(NATIVE_CALLS.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=NATIVE_CALLS.forget)
