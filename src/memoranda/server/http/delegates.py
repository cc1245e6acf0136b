"""Delegates: applications that answer all requests of a path.

A delegate gets requests that passed the guard and the authentication, with a body that was read
within the limits and metered. It sends the response, and the application adds the common headers.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Protocol, TypeAlias

import msgspec

from memoranda.errors import Unauthenticated
from memoranda.server.dispatcher import Caller, Dispatcher
from memoranda.server.http import problems
from memoranda.server.http.bodies import Bodies
from memoranda.server.http.callers import Callers
from memoranda.server.http.messages import JSON, Headers, Receive, Request, Response, Send
from memoranda.server.http.resource_metadata import METADATA, challenge, document
from memoranda.server.http.system import PRIVATE, Endpoint
from memoranda.wire.over_http import PREFIX

_RESOURCE = re.compile(rf"({re.escape(PREFIX)}/[^/]+)?/(?P<name>[^/]+)")
METHODS = frozenset(("DELETE", "GET", "POST"))
"""The methods that a delegate is asked with."""


class DelegatedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a delegate."""

    request: Request
    caller: Caller
    store: str
    """Empty: the only one."""
    body: bytes


class Delegate(Protocol):
    """An application with a path of its own."""

    body_bytes: int
    """Bytes that a body may have."""

    async def serve(self, delegated: DelegatedRequest, send: Send) -> None:
        """Answer a request, and send the response."""
        ...


Respond: TypeAlias = Callable[[Send], Awaitable[None]]


class DelegatedResponse(msgspec.Struct, frozen=True, kw_only=True):
    """A response that a delegate sends."""

    respond: Respond
    ends_itself: bool
    """Whether a server that shuts down waits for its end; a stream without end is cut off."""


class DelegateEndpoints:
    """Serves the paths of delegates: `/name` is the one of the only store, and each store has one.

    On a server that asks for tokens, each is a protected resource of OAuth.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        callers: Callers,
        bodies: Bodies,
        delegates: Mapping[str, Delegate],
        authorization_servers: tuple[str, ...],
    ) -> None:
        self._dispatcher = dispatcher
        self._callers = callers
        self._bodies = bodies
        self._delegates = delegates
        self._authorization_servers = authorization_servers

    def __contains__(self, name: str) -> bool:
        return name in self._delegates

    async def serve(self, request: Request, name: str, store: str) -> Response | DelegatedResponse:
        """Return the response to a request for a delegate."""
        request.route = name
        try:
            caller = self._callers.of(request)
        except Unauthenticated as error:
            response = problems.problem_of(error, request.id)
            response.headers = [challenge(request), PRIVATE]
            return response
        delegate, body = self._delegates[name], b""
        if request.method == "POST":
            body = await self._bodies.read(request, JSON, delegate.body_bytes)
        with self._dispatcher.admit(caller, size=len(body)):
            pass  # the calls that it leads to are admitted one by one
        delegated = DelegatedRequest(request=request, caller=caller, store=store, body=body)
        return DelegatedResponse(
            respond=partial(delegate.serve, delegated), ends_itself=request.method != "GET"
        )

    def describing(self, path: str) -> Mapping[str, Endpoint] | None:
        """Return the endpoint of a path with the metadata of a delegate; None: it has none."""
        if not path.startswith(METADATA) or not self._dispatcher.asks_for_tokens:
            return None
        resource = path.removeprefix(METADATA) or f"/{next(iter(self._delegates), '')}"
        match = _RESOURCE.fullmatch(resource)
        if match is None or match["name"] not in self._delegates:
            return None

        async def describe(request: Request) -> Response:
            request.route = METADATA
            members = document(request, resource, self._authorization_servers)
            return Response(body=msgspec.json.encode(members), headers=[PRIVATE])

        return {"GET": describe}


class Recorder:
    """Passes a response on, adds headers, and tracks its progress."""

    def __init__(self, send: Send, headers: Headers) -> None:
        self._send = send
        self._headers = headers
        self.status = 0
        """0: it has not begun."""
        self.is_complete = False

    async def __call__(self, message: Any) -> None:
        """Send a part of the response."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = message | {"headers": [*message.get("headers", ()), *self._headers]}
        else:
            self.is_complete = not message.get("more_body", False)
        await self._send(message)

    async def end(self) -> None:
        """Complete a response that has begun."""
        if self.status and not self.is_complete:
            await self({"type": "http.response.body", "body": b"", "more_body": False})


def body_again(request: Request, body: bytes) -> Receive:
    """Return an ASGI `receive` that replays a body, and then reports a disconnect."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return messages.pop() if messages else await request.receive()

    return receive
