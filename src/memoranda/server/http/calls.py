"""The endpoints of calls: from a request to a call, and from its answer to a response."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec.structs import replace

from memoranda.calls.call import Call, WriteCall
from memoranda.calls.call_encoding import encode_canonically
from memoranda.calls.core import Core
from memoranda.calls.keys import GetState
from memoranda.calls.transcripts import LoadTranscript
from memoranda.errors import InvalidInput, NotFound
from memoranda.log.pages import Position
from memoranda.model.limits import short_repr
from memoranda.server.dispatcher import Caller, Dispatcher
from memoranda.server.http import accept, conditions
from memoranda.server.http.answers import answer_json
from memoranda.server.http.arguments import RouteArguments
from memoranda.server.http.bodies import Bodies
from memoranda.server.http.messages import JSON, Request, Response
from memoranda.server.http.page_tokens import PageTokens, context_of
from memoranda.server.http.routes import ROUTES, Route
from memoranda.server.http.streams import (
    EVENT_STREAM,
    NDJSON,
    Stream,
    json_lines,
    progress_lines,
    server_sent_events,
)
from memoranda.server.single_pages import SinglePage

LIMIT, PAGE_TOKEN = "limit", "page_token"
DEFAULT_ITEMS, MAX_ITEMS = 100, 1000
"""Items of a page, if the request does not say it, and at most."""
OCTETS = b"application/octet-stream"
LAST_EVENT_ID = b"last-event-id"
PRIVATE = (b"cache-control", b"no-store")
REVALIDATED = (b"cache-control", b"private, no-cache")
"""Lets a browser cache the answer, if it revalidates it each time."""
_OF_CALLER = (b"vary", b"authorization, cookie, memoranda-agent")
"""A cached answer for one caller is not valid for another."""
_OWN: frozenset[str] = frozenset()
_OWN_OF_PAGES = frozenset((LIMIT, PAGE_TOKEN))
_ITEMS_ENCODED_AT_ONCE = 32
"""Longer answers are encoded in a thread."""
_COMMIT = re.compile(r"\d{1,19}", re.ASCII)
_encode = msgspec.json.Encoder().encode


class IncomingCall:
    """The call of a request, with its caller and its store."""

    __slots__ = ("call", "caller", "log_id", "own", "request", "route", "size", "store")

    def __init__(
        self,
        request: Request,
        route: Route,
        caller: Caller,
        store: str,
        call: Call[Any],
        own: Mapping[str, str],
        size: int,
    ) -> None:
        self.request = request
        self.route = route
        self.caller = caller
        self.store = store
        self.call = call
        self.own = own
        """Parameters of the query that are no arguments."""
        self.size = size
        """Bytes of the body."""
        self.log_id = ""
        """The log of the store, once that is open."""

    def check_store(self, core: Core) -> None:
        """Note the id of the answering log, and refuse a condition about another log."""
        self.log_id = core.log_id
        if conditions.IF_MATCH in self.request.headers:
            conditions.check_log(self.request, core.log_id)


class CallEndpoints:
    """Serves the routes of calls."""

    def __init__(self, dispatcher: Dispatcher, bodies: Bodies, tokens: PageTokens) -> None:
        self._dispatcher = dispatcher
        self._bodies = bodies
        self._tokens = tokens
        self._arguments = {route.name: RouteArguments(route) for route in ROUTES.values()}

    async def serve(
        self, request: Request, route: Route, caller: Caller, store: str, texts: list[str]
    ) -> Response | Stream:
        """Answer a request; `texts` are those of the parameters in its path."""
        shape = route.kind.shape
        media = accept.choose(request.headers.get(b"accept"), media_of(route.kind))
        body, size = await self._bodies.read_json(request) if route.has_body else (None, 0)
        own_names = _OWN_OF_PAGES if shape == "pages" else _OWN
        call, own = self._arguments[route.name].call(
            texts, request.query, body, caller.grant.actor, own_names
        )
        incoming = IncomingCall(request, route, caller, store, call, own, size)
        if shape == "stream":
            return self._subscribe(incoming)
        if media == NDJSON:
            return self._lines(incoming)
        response = await (self._answer(incoming) if shape == "value" else self._page(incoming))
        self._dispatcher.count_answer(caller, len(response.body))
        return response

    # One value.

    async def _answer(self, incoming: IncomingCall) -> Response:
        call, route = incoming.call, incoming.route
        if isinstance(call, WriteCall):
            changes = conditions.header_arguments(incoming.request, call)
            write: WriteCall[Any] = replace(call, **changes) if changes else call
            answer: Any = await self._dispatcher.write(
                incoming.caller,
                incoming.store,
                write,
                size=incoming.size,
                on_open=incoming.check_store,
            )
        else:
            answer = await self._dispatcher.ask(
                incoming.caller,
                incoming.store,
                call,
                size=incoming.size,
                on_open=incoming.check_store,
            )
        if answer is None and route.missing is not None:
            raise NotFound(route.missing)
        if isinstance(call, LoadTranscript):
            return Response(body=answer, content_type=OCTETS, headers=[PRIVATE])
        return await _tagged(incoming, answer)

    # Pages.

    async def _page(self, incoming: IncomingCall) -> Response:
        limit = _limit(incoming.own.get(LIMIT))
        context = _context(incoming)
        position: Position | None = None
        token = incoming.own.get(PAGE_TOKEN)
        if token is not None:
            position = self._tokens.open(token, context)
        page = await self._dispatcher.page(
            incoming.caller, incoming.store, incoming.call, position, limit, size=incoming.size
        )
        following = None
        if page.position is not None:
            following = self._tokens.seal(page.position, context)
        body = await _in_turn(len(page.items), _page_body, incoming.call, page, following)
        return Response(body=body, headers=[PRIVATE])

    # Streams.

    def _lines(self, incoming: IncomingCall) -> Stream:
        for name in incoming.own:
            raise InvalidInput(name, "is for pages, and not for lines: leave it out")
        lines = json_lines if incoming.call.shape == "pages" else progress_lines
        chunks = lines(
            self._dispatcher, incoming.caller, incoming.store, incoming.call, incoming.size
        )
        return Stream(chunks=chunks, content_type=NDJSON, headers=[PRIVATE])

    def _subscribe(self, incoming: IncomingCall) -> Stream:
        call: Any = incoming.call
        resumed = incoming.request.header(LAST_EVENT_ID)
        if resumed:
            after = int(resumed) if _COMMIT.fullmatch(resumed) else resumed
            call = replace(call, after_commit=after, last=None)
        chunks = server_sent_events(
            self._dispatcher, incoming.caller, incoming.store, call, incoming.size
        )
        return Stream(
            chunks=chunks,
            content_type=EVENT_STREAM,
            is_compressible=False,
            ends_open=True,
            headers=[PRIVATE, (b"x-accel-buffering", b"no")],
        )


_MEDIA: Mapping[str, tuple[bytes, ...]] = {
    "value": (JSON,),
    "pages": (JSON, NDJSON),
    "stream": (EVENT_STREAM,),
}


def media_of(kind: type[Call[Any]]) -> tuple[bytes, ...]:
    """Return the media types that an answer can have, the preferred one first."""
    if kind is LoadTranscript:
        return (OCTETS,)
    return _MEDIA["pages" if has_progress(kind) else kind.shape]


def has_progress(kind: type[Call[Any]]) -> bool:
    """Say whether a call takes long and reports its progress as lines of JSON."""
    return kind.lane == "long" and kind.shape == "value"


async def _tagged(incoming: IncomingCall, answer: Any) -> Response:
    """Return an answer as a response, with its version if it has one."""
    request, call = incoming.request, incoming.call
    tag = conditions.entity_tag(answer, incoming.log_id)
    if tag is None:
        size = len(answer) if isinstance(answer, (list, dict)) else 1
        body = await _in_turn(size, _body, call, answer)
        return Response(body=body, headers=[PRIVATE])
    if not isinstance(call, GetState):  # of a memory, much changes without a new version
        return Response(body=_encode(answer_json(call, answer)), headers=[(b"etag", tag), PRIVATE])
    headers = [(b"etag", tag), REVALIDATED, _OF_CALLER]
    if request.method in ("GET", "HEAD") and conditions.is_unchanged(request, tag):
        return Response(status=HTTPStatus.NOT_MODIFIED, content_type=None, headers=headers)
    return Response(body=_encode(answer_json(call, answer)), headers=headers)


def _body(call: Call[Any], answer: Any) -> bytes:
    return _encode(answer_json(call, answer))


def _page_body(call: Call[Any], page: SinglePage, following: str | None) -> bytes:
    members: dict[str, Any] = {
        "items": [answer_json(call, item) for item in page.items],
        "next_page_token": following,
    }
    if page.is_cut:
        members["is_cut"] = True
    return _encode(members)


async def _in_turn(size: int, work: Any, *arguments: Any) -> bytes:
    """Encode a short answer at once, and a long one in a thread."""
    if size <= _ITEMS_ENCODED_AT_ONCE:
        body: bytes = work(*arguments)
    else:
        body = await asyncio.to_thread(work, *arguments)
    return body


def _limit(text: str | None) -> int:
    if text is None:
        return DEFAULT_ITEMS
    if not (text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= MAX_ITEMS):
        raise InvalidInput(
            LIMIT, f"{short_repr(text)} is not a number of items from 1 to {MAX_ITEMS}"
        )
    return int(text)


def _context(incoming: IncomingCall) -> bytes:
    """Return the context that a page token is bound to: caller, store and arguments."""
    caller = incoming.caller
    owner = "" if caller.token is None else caller.token.id
    actor = caller.grant.actor or ""
    return context_of(
        owner.encode(), actor.encode(), incoming.store.encode(), encode_canonically(incoming.call)
    )
