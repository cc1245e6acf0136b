"""Headers that are arguments: `If-Match` and `If-None-Match`, `Idempotency-Key`, `ETag`.

The entity tag of a key or a memory is its version, and the end of the id of its log:
`"3-9f2c6a01b7de"`. So a tag of a dropped store matches nothing in a new store of the same name. A
write with `If-Match: "3-9f2c6a01b7de"` is a compare-and-set, one with `If-None-Match: *` expects no
value. A bare version, `"3"`, is compared without the log. `Idempotency-Key` is the `txn_id` of a
write: sent twice, it has one effect.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

from memoranda.calls.call import WriteCall
from memoranda.errors import InvalidInput
from memoranda.model.limits import short_repr
from memoranda.server.http.messages import Request
from memoranda.server.http.problems import HttpProblem

IF_MATCH, IF_NONE_MATCH = b"if-match", b"if-none-match"
IDEMPOTENCY_KEY = b"idempotency-key"
EXPECTED = "expect_version"
_LOG_CHARACTERS = 12
"""Characters at the end of a log's id, which no client can choose."""
_TAG = re.compile(r'"(\d{1,18})(?:-([0-9a-z]{12}))?"', re.ASCII)
_ANY = "*"


def expected_version(request: Request) -> int | None:
    """Return the version that a write expects by its headers; None: any."""
    match, none_match = request.header(IF_MATCH), request.header(IF_NONE_MATCH)
    if none_match is not None:
        if none_match.strip() != _ANY or match is not None:
            raise InvalidInput(
                "If-None-Match",
                f"{short_repr(none_match)} is not understood in a write: give `*`, alone, to write "
                "only where there is no value",
            )
        return 0
    if match is None:
        return None
    tag = _TAG.fullmatch(match.strip())
    if tag is None:
        raise InvalidInput(
            "If-Match",
            f"{short_repr(match)} is not one entity tag: give the header ETag of an answer, in its "
            'quotation marks, or a version, such as "3"',
        )
    return int(tag[1])


def check_log(request: Request, log_id: str) -> None:
    """Refuse a write whose entity tag is of another log: its versions are those of other values."""
    tag = _TAG.fullmatch((request.header(IF_MATCH) or "").strip())
    if tag is not None and tag[2] not in (None, log_id[-_LOG_CHARACTERS:]):
        raise HttpProblem(
            HTTPStatus.PRECONDITION_FAILED,
            "the entity tag in If-Match is of another store, which had this name before: read the "
            "value again, and give the tag of that answer",
        )


def idempotency_key(request: Request) -> str | None:
    """Return the `txn_id` that a request has in its header; it may stand in quotation marks."""
    value = request.headers.get(IDEMPOTENCY_KEY)
    if value is None:
        return None
    try:
        text = value.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput("Idempotency-Key", f"{short_repr(value)} is not UTF-8") from error
    is_quoted = len(text) >= 2 and text[0] == text[-1] == '"'
    return text[1:-1] if is_quoted else text


def has_condition(request: Request) -> bool:
    """Say whether a request has a header that expects a version."""
    return IF_MATCH in request.headers or IF_NONE_MATCH in request.headers


def header_arguments(request: Request, call: WriteCall[Any]) -> dict[str, Any]:
    """Return the arguments of a write that are in its headers."""
    changes: dict[str, Any] = {}
    key = idempotency_key(request)
    if key is not None:
        if call.txn_id not in (None, key):
            raise InvalidInput(
                "txn_id", f"{short_repr(call.txn_id)} is not the Idempotency-Key: give one of them"
            )
        changes["txn_id"] = key
    if has_condition(request):
        version = expected_version(request)
        if not hasattr(call, EXPECTED):
            raise InvalidInput("If-Match", "is not understood here: this has no version to expect")
        if getattr(call, EXPECTED) not in (None, version):
            raise InvalidInput(EXPECTED, "is not the version of the header: give one of them")
        changes[EXPECTED] = version
    return changes


def entity_tag(answer: Any, log_id: str) -> bytes | None:
    """Return the entity tag of an answer that has a version."""
    version = getattr(answer, "version", None)
    return f'"{version}-{log_id[-_LOG_CHARACTERS:]}"'.encode() if type(version) is int else None


def is_unchanged(request: Request, tag: bytes | None) -> bool:
    """Say whether the client has the same answer already."""
    header = request.headers.get(IF_NONE_MATCH)
    if header is None or tag is None:
        return False
    tags = [part.strip().removeprefix(b"W/") for part in header.split(b",")]
    return tag in tags or _ANY.encode() in tags
