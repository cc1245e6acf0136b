"""Translation of gRPC errors: those that the server sent, and those of the connection."""

from __future__ import annotations

from typing import Any

import grpc

from memoranda.errors import (
    InvalidInput,
    MemorandaError,
    Unauthenticated,
    Unavailable,
    UnsupportedFormat,
)
from memoranda.sdk.remote.errors import ConnectionLost, no_answer
from memoranda.wire.errors import ERROR_KEY, decode_error

_LOST = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
"""Statuses of a connection that ended, or that could not be made. Whoever cancels a call itself
does not ask for its status."""
_LOST_DETAILS = ("RST_STREAM", "Internal error from Core")
"""Details of other statuses that mean a lost connection: the peer has reset a stream, or gRPC could
not send the next message."""


def translated(error: Any, place: str) -> MemorandaError:
    """Return the error that a server has sent, or one about the way to it; its cause is kept."""
    problem = _sent(error) or _of_status(error.code(), error.details() or "", place)
    problem.__cause__ = error
    return problem


def _sent(error: Any) -> MemorandaError | None:
    """Return the error in the trailing metadata of a call."""
    for key, value in error.trailing_metadata() or ():
        if key == ERROR_KEY:
            return decode_error(value)
    return None


def _of_status(code: Any, details: str, place: str) -> MemorandaError:
    if code in _LOST or any(text in details for text in _LOST_DETAILS):
        return ConnectionLost(no_answer(place, details))
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return Unavailable(f"{place} did not answer in time: {details}")
    if code is grpc.StatusCode.UNAUTHENTICATED:
        return Unauthenticated()
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return UnsupportedFormat(
            f"{place} does not know this call: {details}. Its version is another: update it"
        )
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return InvalidInput("call", f"is too large for {place}: {details}. Send less at a time")
    return MemorandaError(f"{place} failed with {getattr(code, 'name', code)}: {details}")
