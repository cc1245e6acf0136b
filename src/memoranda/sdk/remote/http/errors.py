"""Translation of HTTP errors: those of the server, and those of proxies on the way."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache

import httpx2
import msgspec

from memoranda.calls.core import error_codec
from memoranda.errors import (
    InvalidInput,
    MemorandaError,
    StoreClosed,
    Unauthenticated,
    Unavailable,
    UnsupportedFormat,
)
from memoranda.model.error_codec import ErrorCodec
from memoranda.model.limits import short_repr
from memoranda.sdk.remote.async_connection import AsyncConnection
from memoranda.sdk.remote.connection import Connection
from memoranda.sdk.remote.errors import ConnectionLost, NotReached, no_answer
from memoranda.wire.over_http import PROBLEM_MEDIA, SHUTTING_DOWN

MAX_PROBLEM_BYTES = 1024 * 1024
"""Bytes of an error that are read."""
_EXPLANATION_CHARACTERS = 200
"""Characters of an answer that an error message quotes."""
_NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)
_GATEWAY_STATUSES = frozenset((408, 425, 429, 502, 503, 504, 520, 521, 522, 523, 524, 530))
"""Statuses of a gateway whose server does not answer: the same request may succeed later."""
_UNKNOWN_CALL_STATUSES = frozenset((404, 405, 406, 410, 415, 501))


@contextmanager
def translating(connection: Connection | AsyncConnection) -> Iterator[None]:
    """Translate errors; after `close`, every error becomes `StoreClosed`."""
    try:
        yield
    except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
        if connection.is_closed:
            raise StoreClosed from error
        raise _of_connection(error, connection.place) from error
    except RuntimeError as error:  # how a client refuses to be used after it was closed
        if connection.is_closed:
            raise StoreClosed from error
        raise


def _of_connection(error: Exception, place: str) -> MemorandaError:
    if _is_certificate_refused(error):
        return _not_retryable(
            f"{place} has a certificate that is not trusted: {error}. Give the certificates that "
            "signed it as `tls`"
        )
    text = no_answer(place, f"{type(error).__name__}: {error}" if str(error) else repr(error))
    return NotReached(text) if isinstance(error, _NOT_SENT) else ConnectionLost(text)


def _is_certificate_refused(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


def too_late(place: str, seconds: float) -> Unavailable:
    """Return the error of an answer that did not come in time."""
    return Unavailable(f"{place} did not answer in {seconds:g} seconds")


def check_type(headers: Mapping[str, str], media: str, place: str) -> None:
    """Raise `Unavailable` for an answer that is none of a server of ours."""
    if _media_type(headers) != media:
        raise _not_retryable(
            f"{place} answers with {short_repr(_media_type(headers))}, which is no answer of a "
            "Memoranda server: check the address, and what is between"
        )


def _media_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def answered(status: int, headers: Mapping[str, str], body: bytes, place: str) -> MemorandaError:
    """Return the error that a response other than a success stands for."""
    problem = _problem(headers, body)
    if problem.get("type") == SHUTTING_DOWN:
        return NotReached(no_answer(place, str(problem.get("detail"))))
    if "error" in problem:
        return _codec().decode({**problem, "message": problem.get("detail")})
    explanation = _explanation(problem, body)
    if 300 <= status < 400:
        return InvalidInput(
            "url",
            f"{place} answers with a redirect to {short_repr(headers.get('location', ''))}: none "
            "is followed, since the token is for this address alone; open the other one",
        )
    if status in _GATEWAY_STATUSES:
        return ConnectionLost(no_answer(place, f"status {status}{explanation}"))
    if status == 401:
        return Unauthenticated()
    if status in _UNKNOWN_CALL_STATUSES:
        return UnsupportedFormat(
            f"{place} does not know this call (status {status}{explanation}): its version is "
            "another, or it is no Memoranda server"
        )
    if status == 413:
        return InvalidInput("call", f"is too large for {place}{explanation}. Send less at a time")
    return MemorandaError(f"{place} failed with status {status}{explanation}")


def _problem(headers: Mapping[str, str], body: bytes) -> dict[str, object]:
    """Return the members of a problem; none if the body is something else."""
    if _media_type(headers) != PROBLEM_MEDIA:
        return {}
    try:
        return msgspec.json.decode(body, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}


def _explanation(problem: Mapping[str, object], body: bytes) -> str:
    """Return the text of a response, shortened."""
    text = str(problem.get("detail", "")) or " ".join(body.decode("utf-8", "replace").split())
    return f": {text[:_EXPLANATION_CHARACTERS]}" if text else ""


def _not_retryable(message: str) -> Unavailable:
    problem = Unavailable(message)
    problem.retryable = False
    return problem


@cache
def _codec() -> ErrorCodec:
    return error_codec()
