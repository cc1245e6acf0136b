"""Requests and responses, as the application sees them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

import msgspec

from memoranda.model.ids import IdSource
from memoranda.model.trace import HEADER as TRACEPARENT
from memoranda.model.trace import TraceContext
from memoranda.server.request_log import is_request_id

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Header: TypeAlias = tuple[bytes, bytes]
Headers: TypeAlias = list[Header]

JSON = b"application/json"
REQUEST_ID = b"x-request-id"
_TRACEPARENT = TRACEPARENT.encode()


class Request:
    """A request without its body."""

    __slots__ = (
        "_receive",
        "bytes_in",
        "bytes_out",
        "headers",
        "id",
        "method",
        "path",
        "query",
        "route",
        "scheme",
        "scope",
        "trace",
    )

    def __init__(self, scope: Scope, receive: Receive, ids: IdSource) -> None:
        self.scope = scope
        self._receive = receive
        self.bytes_in = 0
        """Bytes of its body that were read so far."""
        self.bytes_out = 0
        """Bytes of the answer's body that were sent so far."""
        self.method: str = scope["method"]
        self.scheme: str = scope.get("scheme", "http")
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        """By their names in lower case; of one that comes twice, the last."""
        self.path: str = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
        """As it was sent, percent-encoded."""
        self.query: bytes = scope["query_string"]
        self.route = ""
        """The name of the operation, once it is known."""
        request_id = self.headers.get(REQUEST_ID)
        is_valid = request_id is not None and is_request_id(request_id.decode("latin-1"))
        self.id: bytes = (
            request_id if request_id is not None and is_valid else ids.unique().encode()
        )
        parent = self.headers.get(_TRACEPARENT)
        self.trace = None if parent is None else TraceContext.parse(parent.decode("latin-1"))
        """The trace that its client says it belongs to."""

    async def receive(self) -> MutableMapping[str, Any]:
        """Return the next part of its body, or that the client has gone."""
        message = await self._receive()
        self.bytes_in += len(message.get("body", b""))
        return message

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
