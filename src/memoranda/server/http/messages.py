"""Requests and responses, as the application sees them."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

import msgspec

from memoranda.model.ids import IdSource

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Header: TypeAlias = tuple[bytes, bytes]
Headers: TypeAlias = list[Header]

JSON = b"application/json"
REQUEST_ID = b"x-request-id"
_ID = re.compile(rb"[\x21-\x7e]{1,128}")
"""A request id of a client's: printable, so that it can stand in a log."""


class Request:
    """A request without its body."""

    __slots__ = ("headers", "id", "method", "path", "query", "receive", "route", "scheme", "scope")

    def __init__(self, scope: Scope, receive: Receive, ids: IdSource) -> None:
        self.scope = scope
        self.receive = receive
        self.method: str = scope["method"]
        self.scheme: str = scope.get("scheme", "http")
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        """By their names in lower case; of one that comes twice, the last."""
        self.path: str = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
        """As it was sent, percent-encoded."""
        self.query: bytes = scope["query_string"]
        self.route = ""
        """The name of the operation, once it is known."""
        sent = self.headers.get(REQUEST_ID)
        is_valid = sent is not None and _ID.fullmatch(sent)
        self.id: bytes = sent if sent is not None and is_valid else ids.unique().encode()

    def header(self, name: bytes) -> str | None:
        """Return the text of a header; None if there is none."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")


class Response(msgspec.Struct, kw_only=True):
    """A response whose body is known."""

    status: int = 200
    body: bytes = b""
    content_type: bytes | None = JSON
    headers: Headers = []


class Disconnected(Exception):
    """The client has gone."""
