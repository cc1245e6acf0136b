"""Errors as problems of RFC 9457: `application/problem+json`.

A problem has `type`, `title`, `status` and `detail`. One that stands for an error of the tree in
`errors.py` also has the name of its class as `error`, its fields as `attributes`, and whether the
same request may succeed later as `retryable`. A client can make the error of it again.
"""

from __future__ import annotations

import math
from http import HTTPStatus
from typing import Any

import msgspec

from memoranda.errors import (
    MemorandaError,
    StoreBusy,
    Unauthenticated,
    Unavailable,
    VersionMismatch,
    report_of,
)
from memoranda.model.error_codec import ErrorCodec
from memoranda.server.http.messages import Headers, Response
from memoranda.wire.over_http import PROBLEM_MEDIA, SHUTTING_DOWN

PROBLEM_JSON = PROBLEM_MEDIA.encode()
TYPE_PREFIX = "urn:memoranda:problem:"
NO_TYPE = "about:blank"
"""The type of a problem whose status is enough."""
BUSY_SECONDS = 1
"""Seconds until the next attempt, if the error does not name them."""
_CODEC = ErrorCodec()


class ShuttingDown(Unavailable):
    """The server is shutting down: try again, it may be back in a moment."""

    def __init__(self) -> None:
        super().__init__("the server is shutting down: try again, it may be back in a moment")


class HttpProblem(Exception):
    """A request that is refused by a status of HTTP, before any call is made."""

    def __init__(self, status: int, detail: str, headers: Headers | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = headers or []


def problem_of(error: MemorandaError, request_id: bytes, *, is_condition: bool = False) -> Response:
    """Return an error as a response.

    `is_condition`: a version that the client asked for in a header is a failed precondition.
    """
    report = report_of(type(error))
    status = report.http_status
    if is_condition and isinstance(error, VersionMismatch):
        status = HTTPStatus.PRECONDITION_FAILED
    return _response(status, problem_members(error, status, request_id), _headers(error))


def problem_members(
    error: MemorandaError, status: int | None = None, request_id: bytes = b""
) -> dict[str, Any]:
    """Return the members of the problem that an error is."""
    report, encoded = report_of(type(error)), _CODEC.encode(error)
    is_ending = isinstance(error, ShuttingDown)
    return {
        "type": SHUTTING_DOWN if is_ending else TYPE_PREFIX + report.problem_type,
        "title": report.title,
        "status": int(status or report.http_status),
        "detail": encoded["message"],
        "error": encoded["error"],
        "retryable": encoded["retryable"],
        "attributes": encoded["attributes"],
        "request_id": request_id.decode("ascii"),
    }


def http_problem(problem: HttpProblem, request_id: bytes) -> Response:
    """Return a problem of HTTP as a response."""
    members = {
        "type": NO_TYPE,
        "title": HTTPStatus(problem.status).phrase,
        "status": int(problem.status),
        "detail": str(problem),
        "request_id": request_id.decode("ascii"),
    }
    return _response(problem.status, members, problem.headers)


def unexpected(request_id: bytes) -> Response:
    """Return the response for an error that is none of ours: its text may have content."""
    detail = "something went wrong in the server: its log has more under the id of this request"
    return http_problem(HttpProblem(HTTPStatus.INTERNAL_SERVER_ERROR, detail), request_id)


def _response(status: int, members: dict[str, Any], headers: Headers) -> Response:
    return Response(
        status=int(status),
        body=msgspec.json.encode(members),
        content_type=PROBLEM_JSON,
        headers=[*headers, (b"cache-control", b"no-store")],
    )


def _headers(error: MemorandaError) -> Headers:
    if isinstance(error, Unauthenticated):
        return [(b"www-authenticate", b'Bearer realm="memoranda"')]
    if isinstance(error, (StoreBusy, Unavailable)):
        seconds = getattr(error, "retry_after", None) or BUSY_SECONDS
        return [(b"retry-after", str(max(1, math.ceil(seconds))).encode())]
    return []
