"""One line of the log for each request, whatever its protocol: no content, and no names of tenants.

A request has an id: its client's, if it sends one that can stand in a log, or one of the server's.
"""

from __future__ import annotations

import logging
import re

import msgspec

_log = logging.getLogger("memoranda.server")
_ID = re.compile(r"[\x21-\x7e]{1,128}")
"""A request id of a client's: printable, so that it can stand in a log."""


class FinishedRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The data of a finished request."""

    surface: str
    method: str
    route: str
    """The name of the operation, or the path of another endpoint; empty if there is none."""
    status: int | str
    """That of HTTP, 0 if the client had gone; or the name of the error over gRPC, or `ok`."""
    seconds: float
    request_id: str
    bytes_in: int
    bytes_out: int
    trace_id: str | None


def is_request_id(text: str) -> bool:
    """Say whether a client's text can be the id of its request."""
    return _ID.fullmatch(text) is not None


def is_logged() -> bool:
    """Say whether requests are logged at the moment."""
    return _log.isEnabledFor(logging.DEBUG)


def log_request(request: FinishedRequest) -> None:
    """Write the line of a request."""
    fields = msgspec.structs.asdict(request)
    fields["milliseconds"] = round(fields.pop("seconds") * 1000, 3)
    _log.debug("request", extra=fields)
