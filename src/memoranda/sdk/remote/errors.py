"""Errors of the connection to a server; errors that the server sends are in `memoranda.errors`."""

from __future__ import annotations

from memoranda.errors import (
    NotFound,
    PermissionDenied,
    StoreBusy,
    Unauthenticated,
    Unavailable,
    UnsupportedFormat,
)


class ConnectionLost(Unavailable):
    """The connection to the server was lost, or could not be made. It is tried again."""


class NotReached(ConnectionLost):
    """The server was not reached, or takes no calls at present: nothing was sent to it."""


REFUSALS = (
    NotFound,
    NotReached,
    PermissionDenied,
    StoreBusy,
    Unauthenticated,
    UnsupportedFormat,
)
"""Errors that mean, for a batch without any outcome, that the server has accepted no write of
it."""


def no_answer(place: str, problem: str) -> str:
    """Return the error text for a server that cannot be reached."""
    return f"{place} does not answer: {problem}. Check that the server runs and can be reached"
