"""The clock of the PostgreSQL server, by which commits are dated.

All writers of a log are on one server, and their machines' clocks may differ. So the server's clock
is read whenever a connection for writing is opened. In between, time passes as on this machine's
monotonic clock: a commit asks nobody, and setting this machine's clock changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from memoranda.model.clock import SystemClock

_MICROSECONDS = 1_000_000
"""In a second."""


class DatabaseClock(SystemClock):
    """Tells the time of a server, once it was set."""

    def __init__(self) -> None:
        self._start: int | None = None
        """The server's time, in microseconds since 1970, at zero of the monotonic clock."""

    def now(self) -> int:
        """Return the server's wall time in microseconds since 1970 UTC."""
        if self._start is None:
            return super().now()
        return self._start + int(self.monotonic() * _MICROSECONDS)

    def set(self, read_server_time: Callable[[], int]) -> None:
        """Read the server's clock; it is taken to be read in the middle of the round trip."""
        asked_at = self.monotonic()
        time = read_server_time()
        self._start = time - int((asked_at + self.monotonic()) / 2 * _MICROSECONDS)
