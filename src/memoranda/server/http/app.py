"""The ASGI application: it answers every request, and ends every stream."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from traceback import extract_tb
from types import TracebackType
from typing import Any, Self, TypeAlias

from memoranda.errors import MemorandaError, StoreBusy, StoreClosed
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.ids import IdSource, SystemIds
from memoranda.model.trace import Tracing
from memoranda.server.dispatcher import Dispatcher
from memoranda.server.http import compression, conditions, problems
from memoranda.server.http.bodies import LARGE_BYTES, Bodies
from memoranda.server.http.callers import Callers
from memoranda.server.http.calls import CallEndpoints
from memoranda.server.http.delegates import (
    METHODS,
    Delegate,
    DelegatedResponse,
    DelegateEndpoints,
    Recorder,
)
from memoranda.server.http.guard import Guard
from memoranda.server.http.limits import HttpLimits
from memoranda.server.http.message_calls import MessageEndpoints
from memoranda.server.http.messages import (
    REQUEST_ID,
    Disconnected,
    Headers,
    Receive,
    Request,
    Response,
    Scope,
    Send,
)
from memoranda.server.http.page import PageFiles
from memoranda.server.http.page_tokens import PageTokens
from memoranda.server.http.problems import HttpProblem, ShuttingDown
from memoranda.server.http.routes import Route, Router, decode_part
from memoranda.server.http.sessions import Sessions
from memoranda.server.http.streams import Stream
from memoranda.server.http.system import Endpoint, Probes, SystemEndpoints
from memoranda.server.request_log import FinishedRequest, is_logged, log_request
from memoranda.server.traffic import Traffic
from memoranda.wire.over_http import ONLY_STORE, PREFIX, RPC

_log = logging.getLogger("memoranda.server")
_BELOW_STORES = f"{PREFIX}/"
_NOSNIFF = (b"x-content-type-options", b"nosniff")

Application: TypeAlias = Callable[[Scope, Receive, Send], Any]
"""An ASGI application that is mounted at a separate path."""
AnyResponse: TypeAlias = Response | Stream | DelegatedResponse


class HttpApp:
    """Answers requests on the stores of a server. All methods are called in its event loop."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        *,
        guard: Guard | None = None,
        limits: HttpLimits | None = None,
        ids: IdSource | None = None,
        clock: Clock | None = None,
        page_key: bytes | None = None,
        mounts: Mapping[str, Application] | None = None,
        delegates: Mapping[str, Delegate] | None = None,
        authorization_servers: tuple[str, ...] = (),
        observe: Callable[[FinishedRequest], None] | None = None,
        probes: Probes | None = None,
    ) -> None:
        self._ids = ids or SystemIds()
        self._clock = clock or SystemClock()
        self._limits = limits or HttpLimits()
        self._guard = guard or Guard(is_local=True)
        self._router = Router()
        self._observe = observe
        self._traffic = dispatcher.traffic
        self._mounts = dict(mounts or {})
        bodies = Bodies(self._limits)
        self.sessions = Sessions(self._clock, self._ids)
        self._callers = Callers(dispatcher, self.sessions, self._guard)
        self._calls = CallEndpoints(dispatcher, bodies, PageTokens(self._ids, page_key))
        self._messages = MessageEndpoints(dispatcher, bodies)
        self._delegates = DelegateEndpoints(
            dispatcher, self._callers, bodies, delegates or {}, authorization_servers
        )
        self._system = SystemEndpoints(
            dispatcher, self._callers, self.sessions, self._guard, bodies, probes or Probes()
        )
        self._open_endpoints = self._system.open_to_all()
        self._endpoints = self._system.guarded()
        self._page = PageFiles()
        self._streams: set[asyncio.Task[None]] = set()
        self._count = 0
        """Requests that are being answered."""
        self._idle = asyncio.Event()
        self._idle.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise RuntimeError(f"{scope['type']} is not served here")
        mount = self._mounts.get(scope["path"])
        if mount is not None:
            await mount(scope, receive, send)
            return
        is_observed = self._observe is not None or is_logged()
        began_at = self._clock.monotonic() if is_observed else 0.0
        request = Request(scope, receive, self._ids)
        self._count += 1
        self._idle.clear()
        status = 0
        try:
            if request.trace is None:
                status = await self._answer(request, send)
            else:
                with Tracing(request.trace):
                    status = await self._answer(request, send)
        finally:
            self._count -= 1
            if not self._count:
                self._idle.set()
            if is_observed:
                self._finish(request, status, self._clock.monotonic() - began_at)

    async def _answer(self, request: Request, send: Send) -> int:
        """Send the response of a request, and return its status."""
        with self._outcome(request) as outcome:
            outcome.response = await self._respond(request)
        response = outcome.response
        status: int = 0
        if isinstance(response, DelegatedResponse):
            status, response = await self._delegate(request, response, send)
        elif isinstance(response, Stream):
            status = HTTPStatus.OK
            response = await self._send_stream(request, response, send)
        if response is not None:
            status = response.status
            await self._send(request, response, send)
        return status

    @property
    def count(self) -> int:
        """How many requests are being answered."""
        return self._count

    def _outcome(self, request: Request) -> _Outcome:
        return _Outcome(self._system, self._traffic, request)

    def _finish(self, request: Request, status: int, seconds: float) -> None:
        finished = FinishedRequest(
            surface="http",
            method=request.method,
            route=request.route,
            status=status,
            seconds=seconds,
            request_id=request.id.decode("ascii"),
            bytes_in=request.bytes_in,
            bytes_out=request.bytes_out,
            trace_id=None if request.trace is None else request.trace.trace_id.hex(),
        )
        if self._observe is not None:
            self._observe(finished)
        log_request(finished)

    # From a path to what answers it.

    async def _respond(self, request: Request) -> AnyResponse:
        path = request.path
        endpoints = self._open_endpoints.get(path)
        if endpoints is None:
            self._guard.check(request)
            self._check_capacity()
            if path.startswith(_BELOW_STORES):
                return await self._respond_below_store(request)
            if path[1:] in self._delegates:
                return await self._respond_by_delegate(request, path[1:], "")
            endpoints = (
                self._endpoints.get(path)
                or self._delegates.describing(path)
                or self._page_endpoints(path)
            )
            if endpoints is None:
                raise _no_such_path()
        request.route = path
        endpoint = endpoints.get("GET" if request.method == "HEAD" else request.method)
        if endpoint is None:
            return self._other_method(request, endpoints)
        return await endpoint(request)

    def _page_endpoints(self, path: str) -> Mapping[str, Endpoint] | None:
        """Return what answers at the address of a file of the page."""
        file = self._page.find(path)
        if file is None:
            return None

        async def answer(request: Request) -> Response:
            return file.answer(request)

        return {"GET": answer}

    async def _respond_below_store(self, request: Request) -> AnyResponse:
        store, *parts = request.path[len(_BELOW_STORES) :].split("/")
        name = "" if store == ONLY_STORE else decode_part(store)
        if store and parts and parts[0] == RPC:
            return await self._respond_with_messages(request, name, parts[1:])
        if store and len(parts) == 1 and parts[0] in self._delegates:
            return await self._respond_by_delegate(request, parts[0], name)
        match = self._router.find(parts) if store else None
        if match is None:
            raise _no_such_path()
        routes, texts = match
        route: Route | None = routes.get("GET" if request.method == "HEAD" else request.method)
        if route is None:
            return self._other_method(request, routes)
        request.route = route.name
        caller = self._callers.of(request)
        return await self._calls.serve(request, route, caller, name, texts)

    async def _respond_with_messages(
        self, request: Request, store: str, parts: list[str]
    ) -> Response | Stream:
        serve = self._messages.find(*parts) if len(parts) == 1 else None
        if serve is None:
            raise _no_such_path()
        if request.method != "POST":
            return self._other_method(request, {"POST": serve})
        request.route = f"{RPC}/{parts[0]}"
        return await serve(request, self._callers.of(request), store)

    async def _respond_by_delegate(self, request: Request, name: str, store: str) -> AnyResponse:
        if request.method not in METHODS:
            return self._other_method(request, dict.fromkeys(METHODS))
        return await self._delegates.serve(request, name, store)

    def _check_capacity(self) -> None:
        if self._system.is_stopping:
            raise ShuttingDown
        if self._count > self._limits.requests:
            raise StoreBusy(
                f"the server answers {self._count} requests, and takes no more at a time: try "
                "again shortly"
            )

    def _other_method(self, request: Request, methods: Mapping[str, object]) -> Response:
        """Return the allowed methods of a path, for `OPTIONS` and for an unknown method."""
        names = sorted({*methods, "OPTIONS", *(("HEAD",) if "GET" in methods else ())})
        allowed = ", ".join(names).encode()
        if request.method != "OPTIONS":
            raise HttpProblem(
                HTTPStatus.METHOD_NOT_ALLOWED,
                f"{request.path} has no {request.method}: it has {allowed.decode()}",
                [(b"allow", allowed)],
            )
        return Response(
            status=HTTPStatus.NO_CONTENT,
            content_type=None,
            headers=[(b"allow", allowed), *self._guard.preflight_headers(request, allowed)],
        )

    # Sending.

    async def _delegate(
        self, request: Request, delegated: DelegatedResponse, send: Send
    ) -> tuple[int, Response | None]:
        """Let a delegate send its response; return its status, or the response to send instead.

        An endless response is completed when the server stops.
        """
        recorder = Recorder(send, self._own_headers(request))
        with self._outcome(request) as outcome:
            task = asyncio.ensure_future(delegated.respond(recorder))
            if not delegated.ends_itself:
                self._streams.add(task)
            try:
                await asyncio.wait((task,))
            finally:
                self._streams.discard(task)
                task.cancel()
                await asyncio.wait((task,))
            if task.cancelled():
                await recorder.end()
            else:
                task.result()
        response = outcome.response
        if recorder.status or not isinstance(response, Response):
            return recorder.status, None
        return response.status, response

    async def _send(self, request: Request, response: Response, send: Send) -> None:
        headers, body = response.headers, response.body
        if len(body) >= compression.MIN_BYTES:
            encoding = compression.choose(request.headers.get(b"accept-encoding"))
            headers = [*headers, (b"vary", b"accept-encoding")]
            if encoding is not None:
                headers.append((b"content-encoding", encoding))
                body = await _compressed(encoding, body)
        start = self._start(request, response.status, response.content_type, headers)
        if response.content_type is not None:
            start["headers"].append((b"content-length", str(len(body)).encode()))
        await send(start)
        if request.method == "HEAD":
            body = b""
        request.bytes_out += len(body)
        await send({"type": "http.response.body", "body": body, "more_body": False})

    def _start(
        self, request: Request, status: int, content_type: bytes | None, headers: Headers
    ) -> dict[str, Any]:
        own: Headers = [*headers, *self._own_headers(request)]
        if content_type is not None:
            own.append((b"content-type", content_type))
        return {"type": "http.response.start", "status": int(status), "headers": own}

    def _own_headers(self, request: Request) -> Headers:
        """Return the headers that every response has."""
        return [(REQUEST_ID, request.id), _NOSNIFF, *self._guard.headers_for(request)]

    async def _send_stream(self, request: Request, stream: Stream, send: Send) -> Response | None:
        """Send a stream until it ends, the client goes, or the server stops.

        Return the response to send instead, if it could not begin.
        """
        with self._outcome(request) as outcome:
            outcome.response = await self._begin_stream(request, stream)
        if outcome.response is not stream:
            await stream.chunks.aclose()
            return outcome.response if isinstance(outcome.response, Response) else None
        pump = asyncio.create_task(self._pump(request, stream, send))
        disconnection = asyncio.create_task(_wait_until_gone(request.receive))
        if not stream.ends_itself:
            self._streams.add(pump)
        try:
            await asyncio.wait((pump, disconnection), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._streams.discard(pump)
            for task in (pump, disconnection):
                task.cancel()
            await asyncio.wait((pump, disconnection))
            await stream.chunks.aclose()
        if not pump.cancelled():
            pump.result()
        elif (
            not stream.has_begun and disconnection.cancelled()
        ):  # the client is there, and got nothing
            return problems.problem_of(ShuttingDown(), request.id)
        return None

    async def _begin_stream(self, request: Request, stream: Stream) -> Response | Stream:
        """Check the call of a stream, and set the moment that it is as of."""
        await anext(stream.chunks)
        if self._system.is_stopping and not stream.ends_itself:
            raise ShuttingDown
        if request.method == "HEAD":
            return Response(content_type=stream.content_type, headers=stream.headers)
        return stream

    async def _pump(self, request: Request, stream: Stream, send: Send) -> None:
        """Send the chunks of a stream.

        A stream that fails is not completed, so that the client notices.
        """
        encoding = None
        if stream.is_compressible:
            encoding = compression.choose(request.headers.get(b"accept-encoding"))
        headers: Headers = [*stream.headers, (b"vary", b"accept-encoding")]
        if encoding is not None:
            headers.append((b"content-encoding", encoding))
        packer = None if encoding is None else compression.compressor(encoding)
        await send(self._start(request, HTTPStatus.OK, stream.content_type, headers))
        stream.has_begun = True

        async def send_chunk(data: bytes, *, more: bool = True) -> None:
            if packer is not None:
                data = packer.chunk(data) if more else packer.end()
            request.bytes_out += len(data)
            await send({"type": "http.response.body", "body": data, "more_body": more})

        is_complete = stream.ends_open
        try:
            async for chunk in stream.chunks:
                await send_chunk(chunk)
                await asyncio.sleep(0)  # others get their turn
            is_complete = True
        except MemorandaError as error:
            self._traffic.count_error(error)
            await send_chunk(stream.error_chunk(error, request.id))
        except asyncio.CancelledError:
            if not (self._system.is_stopping and is_complete):
                raise
        if is_complete:
            await send_chunk(b"", more=False)

    # Shutdown.

    async def drain(self, seconds: float) -> None:
        """Take no more requests, end streams, and wait until all others are answered, or so long.

        A subscription is completed, and its client reconnects. Other streams are cut off, except
        those that end soon by themselves.
        """
        self._system.is_stopping = True
        for pump in self._streams:
            pump.cancel()
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            _log.warning("requests were cut off", extra={"requests": self._count})


class _Outcome:
    """The response of a request, also where it is an error."""

    __slots__ = ("_request", "_system", "_traffic", "response")

    def __init__(self, system: SystemEndpoints, traffic: Traffic, request: Request) -> None:
        self._system = system
        self._traffic = traffic
        self._request = request
        self.response: AnyResponse | None = None
        """None: the client has gone."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        request = self._request
        if error is None:
            return False
        if isinstance(error, Exception) and not isinstance(error, (Disconnected, HttpProblem)):
            self._traffic.count_error(error)
        if isinstance(error, MemorandaError):
            if isinstance(error, StoreClosed) and self._system.is_stopping:
                error = ShuttingDown()
            is_condition = conditions.has_condition(request)
            self.response = problems.problem_of(error, request.id, is_condition=is_condition)
        elif isinstance(error, HttpProblem):
            self.response = problems.http_problem(error, request.id)
        elif isinstance(error, Exception) and not isinstance(error, Disconnected):
            _log_unexpected(request, error)
            self.response = problems.unexpected(request.id)
        return isinstance(error, Exception)


def _log_unexpected(request: Request, error: Exception) -> None:
    _log.error(
        "a request failed unexpectedly",
        extra={
            "method": request.method,
            "route": request.route,
            "request_id": request.id.decode("ascii"),
            "error": type(error).__name__,  # its text may have content
            "frames": [f"{part.name}:{part.lineno}" for part in extract_tb(error.__traceback__)],
        },
    )


def _no_such_path() -> HttpProblem:
    return HttpProblem(
        HTTPStatus.NOT_FOUND, "there is no such path: /v1/openapi.json describes those there are"
    )


async def _wait_until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _compressed(encoding: bytes, body: bytes) -> bytes:
    if len(body) < LARGE_BYTES // 4:
        return compression.compress(encoding, body)
    return await asyncio.to_thread(compression.compress, encoding, body)
