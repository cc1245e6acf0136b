"""The retries of a client: how long it retries, and the pauses between attempts."""

from __future__ import annotations

from collections.abc import Callable

from memoranda.errors import MemorandaError, StoreBusy
from memoranda.model.backoff import Backoff, jitter
from memoranda.model.clock import SystemClock
from memoranda.model.ids import IdSource
from memoranda.sdk.remote.errors import ConnectionLost

RECONNECT_BACKOFF = Backoff(first=0.05, longest=1.0)
"""Waits between attempts to reach a server, in seconds."""


Refusal = Callable[[MemorandaError], MemorandaError]


def _same(error: MemorandaError) -> MemorandaError:
    return error


class Patience:
    """The attempts of one call, or of one stream, since it last made progress."""

    def __init__(self, seconds: float, ids: IdSource) -> None:
        self._seconds = seconds
        self._ids = ids
        self._time = SystemClock()
        self._until: float | None = None
        """When to give up; None: nothing has failed yet."""
        self._attempt = 0

    def reset(self) -> None:
        """Note progress: what fails next is tried again for as long."""
        self._until, self._attempt = None, 0

    def pause(self, error: MemorandaError, refusal: Refusal = _same) -> float:
        """Return the seconds to wait before the next attempt; raise the error if it is the last.

        A server that is busy says after how long it may be asked again. `refusal` is what the error
        means for a caller who does not try again.
        """
        wait = _retry_after(error)
        if wait is None:
            if not isinstance(error, ConnectionLost):
                raise refusal(error)
            wait = RECONNECT_BACKOFF.seconds(self._attempt) * jitter(self._ids)
        now = self._time.monotonic()
        if self._until is None:
            self._until = now + self._seconds
        if now + wait > self._until:
            error.gave_up = True
            raise refusal(error)
        self._attempt += 1
        return wait


def _retry_after(error: MemorandaError) -> float | None:
    seconds = error.retry_after if isinstance(error, StoreBusy) else None
    return None if seconds is None else float(max(seconds, 0.0))
