"""Counts of the calls that a surface of a server has answered.

A surface is a protocol: gRPC, HTTP, MCP, or the wire of Statehouse. The names that are counted are
those of calls and of errors, which are bounded, and never names of stores, agents or tokens.
Everything here is used in the server's event loop.
"""

from __future__ import annotations

from collections import Counter

from memoranda.calls.call import Call, Lane, WriteCall
from memoranda.errors import ERROR_TABLE, MemorandaError
from memoranda.model.clock import SystemClock
from memoranda.model.histogram import Histogram

UNEXPECTED = "Unexpected"
"""The name under which foreign errors, which are defects, are counted."""
LANES: tuple[Lane, ...] = ("short", "search", "long")
WRITE = "write"
"""Beside the lanes of reads: calls that write wait for a commit, whatever their lane is."""

_ERROR_NAMES = (*(kind.__name__ for kind in ERROR_TABLE), UNEXPECTED)
_monotonic = SystemClock().monotonic


class Traffic:
    """Counts the calls of one surface, their errors and their time."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        """By the name of the call."""
        self.errors: Counter[str] = Counter(dict.fromkeys(_ERROR_NAMES, 0))
        """By the name of the error's class; each begins with 0, so that its first one shows."""
        self.events: Counter[str] = Counter()
        """Events that were sent, by the name of the call that asked for them."""
        self.seconds = {lane: Histogram() for lane in (WRITE, *LANES)}
        """Seconds from the admission of a call to its answer; streams are not counted."""

    def count_error(self, error: BaseException) -> None:
        """Count an error that a caller is told of."""
        is_ours = isinstance(error, MemorandaError)
        self.errors[type(error).__name__ if is_ours else UNEXPECTED] += 1

    def timed(self, call: Call[object]) -> Timer:
        """Return a block whose time is that of a call."""
        return Timer(self.seconds[WRITE if isinstance(call, WriteCall) else call.lane])


class Timer:
    """A block whose time is counted, however it ends."""

    __slots__ = ("_began_at", "_seconds")

    def __init__(self, seconds: Histogram) -> None:
        self._seconds = seconds
        self._began_at = 0.0

    def __enter__(self) -> None:
        self._began_at = _monotonic()

    def __exit__(self, *_: object) -> None:
        self._seconds.add(_monotonic() - self._began_at)
