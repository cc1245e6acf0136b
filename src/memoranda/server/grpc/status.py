"""Errors as statuses of gRPC: a code and a text for every client, and the whole error for ours."""

from __future__ import annotations

from copy import copy
from typing import Any

import grpc

from memoranda.errors import MemorandaError, StoreBusy, Unavailable, report_of
from memoranda.wire.errors import ERROR_KEY, encode_error

PUSHBACK_KEY = "grpc-retry-pushback-ms"
"""The key of the trailing metadata that tells a client when to try again."""
BUSY_SECONDS = 0.1
"""Seconds until the next attempt, if the error does not name them."""
MAX_TEXT_BYTES, MAX_ERROR_BYTES = 1024, 4096
"""What fits into the trailers that clients accept by default, which are of 8 KiB with all else."""

Metadata = tuple[tuple[str, str | bytes], ...]


class ShuttingDown(Unavailable):
    """The server is shutting down: connect again, it may be back in a moment.

    It is sent as a plain status, as that of a connection that could not be made: so a client of
    ours tries again by itself, whatever it has called.
    """

    def __init__(self) -> None:
        super().__init__("the server is shutting down: connect again, it may be back in a moment")


async def abort(context: Any, error: MemorandaError) -> None:
    """End a call with the status of an error."""
    code, text, metadata = status_of(error)
    await context.abort(code, text, metadata)


def status_of(error: MemorandaError) -> tuple[grpc.StatusCode, str, Metadata]:
    """Return the status code, the text and the trailing metadata of an error."""
    code = grpc.StatusCode[report_of(type(error)).grpc_status]
    text = _cut(str(error))
    if isinstance(error, ShuttingDown):
        return code, text, ()
    metadata: Metadata = ((ERROR_KEY, _encoded(error)),)
    if isinstance(error, StoreBusy):
        seconds = BUSY_SECONDS if error.retry_after is None else error.retry_after
        metadata = (*metadata, (PUSHBACK_KEY, str(max(1, round(seconds * 1000)))))
    return code, text, metadata


def _encoded(error: MemorandaError) -> bytes:
    """Return an error as bytes; one that is too long loses its text's end and its attributes."""
    encoded = encode_error(error)
    if len(encoded) <= MAX_ERROR_BYTES:
        return encoded
    short = copy(error)
    vars(short).clear()
    short.args = (_cut(str(error)),)
    short.retryable = error.retryable
    return encode_error(short)


def _cut(text: str) -> str:
    """Return a text that fits into a trailer; gRPC escapes what is not ASCII, as three bytes."""
    data = text.encode("utf-8", "backslashreplace")
    if len(data) <= MAX_TEXT_BYTES:
        return data.decode()
    return f"{data[:MAX_TEXT_BYTES].decode(errors='ignore')} …"
