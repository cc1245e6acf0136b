"""The gate: every call of a client passes it, from its headers to its status.

A call is refused before its message is read if its headers are enough for that: the server is
shutting down or has too many calls, or the caller has no valid token. Every method is registered as
one that takes a stream of messages, which is the same on the wire. So the message is read here, and
one that does not arrive in time ends the call with a status.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from traceback import extract_tb
from types import TracebackType
from typing import Any, Self, TypeAlias

import grpc
import msgspec

from memoranda.errors import InvalidInput, MemorandaError, StoreBusy, StoreClosed
from memoranda.model.clock import SystemClock
from memoranda.model.ids import IdSource, SystemIds
from memoranda.model.trace import HEADER as TRACEPARENT
from memoranda.model.trace import TraceContext, Tracing
from memoranda.server.dispatcher import Caller, Dispatcher
from memoranda.server.grpc.limits import GrpcLimits
from memoranda.server.grpc.status import ShuttingDown, abort
from memoranda.server.request_log import FinishedRequest, is_logged, is_request_id, log_request

_log = logging.getLogger("memoranda.server")

AUTHORIZATION, BEARER = "authorization", "bearer "
REQUEST_ID = "x-request-id"

Context: TypeAlias = Any
"""The context that grpc passes to a handler, with `read`, `write`, `abort` and `time_remaining`. It
has no public type."""


class Endpoint(msgspec.Struct, frozen=True):
    """A method of a service, and its handler."""

    path: str
    serve: Callable[..., Awaitable[Any]]
    """Of a method with one answer: `serve(caller, message)` returns its bytes, for the bytes of the
    request. Of others: `serve(caller, context, read)` reads and writes messages itself."""
    streams: bool = False
    """Whether it answers with a stream."""
    needs_token: bool = True
    check: Callable[[Any], Awaitable[None]] | None = None
    """For a service with its own authentication: ends a stranger's call before its message is
    read."""
    is_public: bool = False
    """Whether strangers may call it. Its calls are then counted separately, so that they do not use
    up the places of others."""
    ends_itself: bool = False
    """Whether it ends by itself when the server shuts down; others are interrupted then."""


class RequestHeaders(msgspec.Struct, frozen=True, gc=False):
    """The metadata of a call, without its token."""

    request_id: str = ""
    """Its client's id of it; empty: it has given none."""
    trace: TraceContext | None = None

    @classmethod
    def of(cls, metadata: Any) -> RequestHeaders:
        """Parse the metadata of a call; most are empty."""
        request_id, trace = "", None
        for key, value in metadata:
            if key == TRACEPARENT:
                trace = TraceContext.parse(value)
            elif key == REQUEST_ID and is_request_id(value):
                request_id = value
        return cls(request_id, trace) if request_id or trace else _NO_HEADERS


_NO_HEADERS = RequestHeaders()


class Gate(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Admits calls, and tracks those in progress. It is used in the server's event loop."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        endpoints: Mapping[str, Endpoint],
        limits: GrpcLimits,
        draining: asyncio.Event,
        ids: IdSource | None = None,
    ) -> None:
        self._dispatcher = dispatcher
        self._endpoints = endpoints
        self._limits = limits
        self._ids = SystemIds() if ids is None else ids
        self.clock = SystemClock()
        self._calls: dict[asyncio.Task[Any], Endpoint] = {}
        """The calls that are being served."""
        self._public_calls = 0
        self._counts: Counter[str | None] = Counter()
        """The calls of each token, by its id; None: of all callers without one."""
        self._reading: set[asyncio.Task[Any]] = set()
        """Those whose message has not arrived yet."""
        self._interrupted: set[asyncio.Task[Any]] = set()
        """Those that were interrupted here, and not by their clients."""
        self.draining = draining
        """Set when the server shuts down."""
        self._idle = asyncio.Event()
        """Set while no call is being served."""
        self._idle.set()

    # From headers to a handler. grpc calls `service` in the task of the call.

    def service(self, handler_call_details: Any) -> grpc.RpcMethodHandler | None:
        """Return the handler of a call, or one that refuses it; None if there is no such method."""
        endpoint = self._endpoints.get(handler_call_details.method)
        if endpoint is None:
            return None
        try:
            caller = self._admit(endpoint, handler_call_details.invocation_metadata)
        except MemorandaError as error:
            return grpc.stream_stream_rpc_method_handler(partial(self._refuse, error))
        task = asyncio.current_task()
        assert task is not None, "grpc looks for a handler in the task of the call"
        self._calls[task] = endpoint
        self._public_calls += endpoint.is_public
        self._idle.clear()
        token_id = _token_id(caller)
        self._counts[token_id] += 1
        task.add_done_callback(partial(self._end, token_id))
        headers = RequestHeaders.of(handler_call_details.invocation_metadata)
        if endpoint.streams:
            stream = partial(self._stream, endpoint, caller, headers)
            return grpc.stream_stream_rpc_method_handler(stream)
        unary = partial(self._unary, endpoint, caller, headers)
        return grpc.stream_unary_rpc_method_handler(unary)

    def _admit(self, endpoint: Endpoint, metadata: Any) -> Caller:
        if self.draining.is_set():
            raise ShuttingDown
        _check_size(metadata, self._limits.metadata_bytes)
        calls, limit = len(self._calls) - self._public_calls, self._limits.calls
        if endpoint.is_public:
            calls, limit = self._public_calls, self._limits.public_calls
        if calls >= limit:
            raise _too_many(calls)
        caller = self._dispatcher.caller(secret_in(metadata)) if endpoint.needs_token else Caller()
        own = self._counts[_token_id(caller)]
        if own >= self._limits.calls_of_token and self._dispatcher.asks_for_tokens:
            raise _too_many(own)  # also while their messages do not arrive, before they are metered
        return caller

    def _end(self, token_id: str | None, task: asyncio.Task[Any]) -> None:
        self._public_calls -= self._calls.pop(task).is_public
        self._counts[token_id] -= 1
        if not self._counts[token_id]:
            del self._counts[token_id]
        self._interrupted.discard(task)
        if not self._calls:
            self._idle.set()

    # Handlers.

    async def _refuse(self, error: MemorandaError, _: object, context: Context) -> None:
        self.count_error(error)
        await abort(context, error)

    async def _unary(
        self,
        endpoint: Endpoint,
        caller: Caller,
        headers: RequestHeaders,
        _: object,
        context: Context,
    ) -> bytes:
        async with _Report(self, endpoint, headers, context) as report:
            if endpoint.check is not None:
                await endpoint.check(context)
            message = await self._read(report.sizes or context)
            answer: bytes = await endpoint.serve(caller, message, context)
            if report.sizes is not None:
                report.sizes.sent = len(answer)
            return answer

    async def _stream(
        self,
        endpoint: Endpoint,
        caller: Caller,
        headers: RequestHeaders,
        _: object,
        context: Context,
    ) -> None:
        async with _Report(self, endpoint, headers, context) as report:
            if endpoint.check is not None:
                await endpoint.check(context)
            counted = report.sizes or context
            await endpoint.serve(caller, counted, partial(self._read, counted))

    async def _read(self, context: Context) -> bytes:
        """Return the message of a request; end the call if there is none in time."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None, "it runs in the task of a call"
        seconds = self._limits.request_seconds
        timer = loop.call_later(seconds, self._interrupt, task)
        self._reading.add(task)
        message: Any = grpc.aio.EOF
        try:
            message = await context.read()
        except asyncio.CancelledError:
            if task not in self._interrupted or self.draining.is_set():
                raise
            task.uncancel()
            problem = f"the request did not arrive within {seconds:g} seconds: send it again"
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, problem)
        finally:
            timer.cancel()
            self._reading.discard(task)
        if message is grpc.aio.EOF:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the call has no message")
        data: bytes = message
        return data

    def _interrupt(self, task: asyncio.Task[Any]) -> None:
        self._interrupted.add(task)
        task.cancel()

    def is_interrupted(self) -> bool:
        """Say whether the current call was interrupted because the server shuts down."""
        return self.draining.is_set() and asyncio.current_task() in self._interrupted

    def count_error(self, error: BaseException) -> None:
        """Count an error that a client is told of."""
        self._dispatcher.traffic.count_error(error)

    def new_incident(self) -> str:
        """Return an id for the log and for a client that is told nothing else."""
        return self._ids.unique()

    # Shutdown.

    async def drain(self, seconds: float) -> None:
        """Let no call in, interrupt streams, and wait until all calls have ended, or so long.

        A stream of an endpoint that ends by itself goes on until then, and so does a call with a
        single answer, once its message has arrived.
        """
        self.draining.set()
        for task, endpoint in self._calls.items():
            if task in self._reading or (endpoint.streams and not endpoint.ends_itself):
                self._interrupt(task)
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            if self._calls:
                _log.warning("calls are cut off at shutdown", extra={"calls": len(self._calls)})

    @property
    def call_count(self) -> int:
        """How many calls are being served."""
        return len(self._calls)


class _Report:
    """A block whose errors become the status of its call, and whose end is logged.

    Exceptions of grpc itself pass: the client is gone, or was told already. For a foreign
    exception, the client gets only the id of the log entry.
    """

    __slots__ = ("_began_at", "_context", "_endpoint", "_gate", "_headers", "_tracing", "sizes")

    def __init__(
        self, gate: Gate, endpoint: Endpoint, headers: RequestHeaders, context: Context
    ) -> None:
        self._gate = gate
        self._endpoint = endpoint
        self._headers = headers
        self._context = context
        self._began_at = 0.0
        self._tracing = None if headers.trace is None else Tracing(headers.trace)
        self.sizes: MessageSizes | None = None
        """The bytes of its messages; None: they are not counted."""

    async def __aenter__(self) -> Self:
        if is_logged():
            self._began_at = self._gate.clock.monotonic()
            self.sizes = MessageSizes(self._context)
        if self._tracing is not None:
            self._tracing.__enter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._tracing is not None:
            self._tracing.__exit__(kind, error, traceback)
        if self.sizes is not None:
            self._log_end(error, self.sizes)
        if error is None or isinstance(error, grpc.aio.BaseError):
            return
        if isinstance(error, asyncio.CancelledError) and self._gate.is_interrupted():
            task = asyncio.current_task()
            assert task is not None, "a call has a task"
            task.uncancel()
            error = ShuttingDown()
        elif isinstance(error, StoreClosed) and self._gate.draining.is_set():
            error = ShuttingDown()
        if isinstance(error, Exception):
            self._gate.count_error(error)
        if isinstance(error, MemorandaError):
            await abort(self._context, error)
        elif isinstance(error, Exception):
            await self._abort_unexpected(error)

    async def _abort_unexpected(self, error: Exception) -> None:
        incident = self._gate.new_incident()
        _log.error(
            "a call failed unexpectedly",
            extra={
                "method": self._endpoint.path,
                "incident": incident,
                "error": type(error).__name__,  # its text may have content
                "frames": [
                    f"{part.name}:{part.lineno}" for part in extract_tb(error.__traceback__)
                ],
            },
        )
        await self._context.abort(
            grpc.StatusCode.INTERNAL,
            f"something went wrong in the server: its log has more under {incident}",
        )

    def _log_end(self, error: BaseException | None, sizes: MessageSizes) -> None:
        trace = self._headers.trace
        log_request(
            FinishedRequest(
                surface="grpc",
                method="POST",
                route=self._endpoint.path,
                status="ok" if error is None else type(error).__name__,
                seconds=self._gate.clock.monotonic() - self._began_at,
                request_id=self._headers.request_id or self._gate.new_incident(),
                bytes_in=sizes.received,
                bytes_out=sizes.sent,
                trace_id=None if trace is None else trace.trace_id.hex(),
            )
        )


class MessageSizes:
    """A call's context that counts the bytes of its messages."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.received = 0
        self.sent = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    async def read(self) -> Any:
        """Return the next message of the client."""
        message = await self._context.read()
        if message is not grpc.aio.EOF:
            self.received += len(message)
        return message

    async def write(self, message: bytes) -> None:
        """Send a message."""
        self.sent += len(message)
        await self._context.write(message)


def _check_size(metadata: Any, limit: int) -> None:
    """Refuse headers that are too large together; gRPC itself only looks at each of them."""
    size = sum([len(key) + len(value) for key, value in metadata])
    if size > limit:
        raise InvalidInput("metadata", f"has {size} bytes, and the limit is {limit}: send less")


def _token_id(caller: Caller) -> str | None:
    return None if caller.token is None else caller.token.id


def _too_many(calls: int) -> StoreBusy:
    return StoreBusy(
        f"the server has {calls} calls in flight, and takes no more at a time: try again shortly"
    )


def secret_in(metadata: Any) -> str | None:
    """Return the token that a call's headers have."""
    for key, value in metadata:
        if key == AUTHORIZATION and isinstance(value, str):
            if value[: len(BEARER)].lower() == BEARER:
                return value[len(BEARER) :].strip()
            return value
    return None
