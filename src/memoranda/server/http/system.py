"""The endpoints besides those of calls: health, metrics, sessions, stores, the API description."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from memoranda.calls.as_json import to_json
from memoranda.errors import InvalidInput
from memoranda.model.limits import short_repr
from memoranda.server.dispatcher import Caller, Dispatcher
from memoranda.server.http.bodies import Bodies
from memoranda.server.http.callers import AUTHORIZATION, Callers, bearer
from memoranda.server.http.guard import Guard
from memoranda.server.http.messages import Headers, Request, Response
from memoranda.server.http.problems import HttpProblem, ShuttingDown
from memoranda.server.http.sessions import (
    Sessions,
    cookie_of,
    drop_cookies,
    is_secure,
    set_cookie,
)

HEALTH, READY, METRICS = "/healthz", "/readyz", "/metrics"
SESSION, STORES, OPENAPI = "/v1/session", "/v1/stores", "/v1/openapi.json"
PRIVATE = (b"cache-control", b"no-store")
METRICS_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
_TOKEN_BODY_BYTES = 4096
"""More than a body with a token has: whoever sends one is not known yet."""

Check = Callable[[], Awaitable[None]]
"""Raises the reason for which calls could not be answered."""
MetricsText = Callable[[], Awaitable[bytes]]
"""Returns the metrics of the server, in the text format of Prometheus."""
Endpoint = Callable[[Request], Awaitable[Response]]
"""Answers a request of one path and one method."""


class Probes(msgspec.Struct, frozen=True):
    """The probes of a server: readiness and metrics."""

    check: Check | None = None
    metrics: MetricsText | None = None
    are_metrics_open: bool = False
    """Whether metrics are shown to whoever asks, without a token."""


class SystemEndpoints:
    """Serves endpoints that belong to no store."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        callers: Callers,
        sessions: Sessions,
        guard: Guard,
        bodies: Bodies,
        probes: Probes,
    ) -> None:
        self._dispatcher = dispatcher
        self._callers = callers
        self._sessions = sessions
        self._guard = guard
        self._bodies = bodies
        self._probes = probes
        self._openapi = b""
        self.is_stopping = False
        """Whether the server takes no more requests."""

    def open_to_all(self) -> Mapping[str, Mapping[str, Endpoint]]:
        """Return the public endpoints: probes know neither the server's name nor a token."""
        return {HEALTH: {"GET": self._alive}, READY: {"GET": self._ready}}

    def guarded(self) -> Mapping[str, Mapping[str, Endpoint]]:
        """Return the other endpoints, by path and method."""
        return {
            METRICS: {"GET": self._show_metrics},
            OPENAPI: {"GET": self._describe},
            STORES: {"GET": self._list_stores},
            SESSION: {
                "GET": self._show_session,
                "POST": self._open_session,
                "DELETE": self._close_session,
            },
        }

    async def _alive(self, _: Request) -> Response:
        return _json({"status": "ok"})

    async def _ready(self, _: Request) -> Response:
        if self.is_stopping:
            raise ShuttingDown
        if self._probes.check is not None:
            await self._probes.check()
        return _json({"status": "ready"})

    async def _show_metrics(self, request: Request) -> Response:
        """Return the metrics of the whole server; a token for a part of it is refused."""
        if self._probes.metrics is None:
            raise HttpProblem(HTTPStatus.NOT_FOUND, "this server has no metrics")
        if not self._probes.are_metrics_open:
            self._callers.of(request).check_operator()
        text = await self._probes.metrics()
        return Response(body=text, content_type=METRICS_TYPE, headers=[PRIVATE])

    async def _describe(self, _: Request) -> Response:
        from memoranda.server.http.openapi import document  # large, and seldom asked for

        if not self._openapi:
            self._openapi = msgspec.json.encode(document())
        return Response(body=self._openapi, headers=[(b"cache-control", b"no-cache")])

    async def _list_stores(self, request: Request) -> Response:
        names = await self._dispatcher.store_names(self._callers.of(request))
        return _json({"items": [{"name": name} for name in names]})

    # Sessions.

    async def _show_session(self, request: Request) -> Response:
        return _json(self._session_json(self._callers.of(request)))

    async def _open_session(self, request: Request) -> Response:
        secret = await self._presented(request)
        caller = self._dispatcher.caller(secret)
        headers: Headers = [PRIVATE]
        if caller.token is not None:
            assert secret is not None, "a token has a secret"
            cookie = self._sessions.open(secret, caller.token.id)
            headers.append(set_cookie(cookie, secure=is_secure(request)))
        return Response(body=msgspec.json.encode(self._session_json(caller)), headers=headers)

    async def _presented(self, request: Request) -> str | None:
        """Return the token of a request: in its header, or in its body."""
        body, _ = await self._bodies.read_json(request, _TOKEN_BODY_BYTES)
        header = request.headers.get(AUTHORIZATION)
        if body is None:
            return None if header is None else bearer(header)
        if not isinstance(body, dict) or body.keys() != {"token"}:
            raise InvalidInput("body", "must be an object with the member `token`, and no other")
        token = body["token"]
        if not isinstance(token, str):
            raise InvalidInput("token", f"{short_repr(token)} is not text")
        return token

    async def _close_session(self, request: Request) -> Response:
        cookie = cookie_of(request)
        if cookie is not None:
            self._guard.check_session(request)
            self._sessions.close(cookie)
        return Response(
            status=HTTPStatus.NO_CONTENT, content_type=None, headers=[PRIVATE, *drop_cookies()]
        )

    def _session_json(self, caller: Caller) -> Any:
        """Return the caller's own token as JSON."""
        token, grant = caller.token, caller.grant
        return {
            "asks_for_tokens": self._dispatcher.asks_for_tokens,
            "token_id": None if token is None else token.id,
            "store": None if token is None else token.store,
            "expires_at": None if token is None else to_json(token.expires_at),
            "agent_id": grant.actor,
            "agents": None if grant.agents is None else sorted(grant.agents),
            "namespaces": None if grant.namespaces is None else sorted(grant.namespaces),
            "verbs": sorted(grant.verbs),
        }


def _json(members: Any) -> Response:
    return Response(body=msgspec.json.encode(members), headers=[PRIVATE])
