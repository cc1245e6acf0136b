"""The gRPC server: its services on one port, from its start to an orderly shutdown."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import grpc
import msgspec

from memoranda.errors import Unavailable
from memoranda.model.ids import IdSource
from memoranda.server.dispatcher import Caller, Dispatcher
from memoranda.server.grpc.calls import Read, call_endpoints
from memoranda.server.grpc.gate import Context, Endpoint, Gate
from memoranda.server.grpc.health import SERVICE as HEALTH
from memoranda.server.grpc.health import Health
from memoranda.server.grpc.limits import GrpcLimits
from memoranda.server.grpc.reflection import reflection_endpoints
from memoranda.server.grpc.tls import server_credentials
from memoranda.server.grpc.write_stream import write_stream_endpoints
from memoranda.server.tls import TlsFiles
from memoranda.wire.methods import SERVICE

_log = logging.getLogger("memoranda.server")

_FINAL_STATUS_SECONDS = 0.2
"""Time for the statuses of the last calls to reach their clients."""
_WATCH_SECONDS, _BIND_SECONDS = 0.1, 0.02
"""Time between two looks whether calls are taken, and between two attempts to take a port again."""

Handlers = Mapping[str, grpc.RpcMethodHandler]
"""The handlers of a service by method; they take one message as bytes, and give bytes."""


class Service(msgspec.Struct, frozen=True):
    """A service with its own authentication."""

    handlers: Handlers
    check: Callable[[Any], Awaitable[None]]
    """Ends the call of a stranger, before its message is read."""


class GrpcServer:
    """A gRPC server on one port. All methods are called in one event loop."""

    def __init__(self, limits: GrpcLimits | None = None, ids: IdSource | None = None) -> None:
        self._limits = limits or GrpcLimits()
        self._ids = ids
        self._server = self._new_server()
        self._draining = asyncio.Event()
        self._gate: Gate | None = None
        self._tls: TlsFiles | None = None
        self._address = ""
        self._ended: dict[asyncio.Task[None], Any] = {}
        """Servers that take no more calls, until those in flight have ended."""
        self._watching: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[None] | None = None

    def _new_server(self) -> Any:
        return grpc.aio.server(options=self._limits.options())

    def bind(self, host: str, port: int, tls: TlsFiles | None = None) -> int:
        """Take a port, 0 for a free one, and return it; calls are answered from `start` on."""
        self._tls = tls
        bound = self._bind(address_of(host, port))
        self._address = address_of(host, bound)
        return bound

    def _bind(self, address: str) -> int:
        try:
            if self._tls is None:
                return int(self._server.add_insecure_port(address))
            return int(self._server.add_secure_port(address, server_credentials(self._tls)))
        except RuntimeError as error:
            raise Unavailable(
                f"cannot listen on {address}: another program may do so, or it is no address of "
                "this machine; choose another one"
            ) from error

    async def start(
        self, dispatcher: Dispatcher, others: Mapping[str, Service] | None = None
    ) -> None:
        """Answer calls; `others` are services beside `memoranda.v1`, by their names."""
        others = others or {}
        services = (SERVICE, *others)
        endpoints = {
            **call_endpoints(dispatcher),
            **write_stream_endpoints(dispatcher, self._draining),
            **Health(services, self._draining).endpoints(),
            **reflection_endpoints((HEALTH, *services)),
        }
        for name, service in others.items():
            endpoints |= _endpoints_of(name, service)
        self._gate = Gate(dispatcher, endpoints, self._limits, self._draining, self._ids)
        await self._serve(self._gate)
        self._watching = asyncio.create_task(self._watch(self._gate))

    async def _serve(self, gate: Gate) -> None:
        self._server.add_generic_rpc_handlers((gate,))
        await self._server.start()

    async def _watch(self, gate: Gate) -> None:
        """Listen again whenever the server of grpc takes no more calls by itself.

        From 1.84 on, that is when the path of a call is not UTF-8: anybody who can connect can do
        it. Calls in flight go on; for others, clients connect again.
        """
        while not self._draining.is_set():
            await asyncio.sleep(_WATCH_SECONDS)
            if self._draining.is_set() or self._server._server.is_running():  # noqa: SLF001
                continue
            _log.error("the gRPC server took no more calls, and was started again")
            self._end_later(self._server)
            self._server = self._new_server()
            await self._bind_again()
            await self._serve(gate)

    def _end_later(self, server: Any) -> None:
        """Free a server that takes no more calls, once those in flight have ended."""
        task = asyncio.create_task(_freed(server))
        self._ended[task] = server
        task.add_done_callback(self._ended.pop)

    async def _bind_again(self) -> None:
        """Take the port again, which may be free only in a moment."""
        while True:
            try:
                self._bind(self._address)
            except Unavailable:
                await asyncio.sleep(_BIND_SECONDS)
            else:
                return

    @property
    def call_count(self) -> int:
        """How many calls are being served."""
        return 0 if self._gate is None else self._gate.call_count

    async def stop(self, seconds: float) -> None:
        """Take no more calls, let those in flight end within some seconds, and cut off the rest.

        Streams end with a status that says so. A second call shortens what the first one waits for.
        """
        self._draining.set()
        if self._gate is None:
            await self._server.stop(0)
            return
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait((self._watching,))
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop_all(seconds + _FINAL_STATUS_SECONDS))
            await asyncio.sleep(0)  # let it begin: from here on, no connection is made
        await self._gate.drain(seconds)
        await self._stop_all(_FINAL_STATUS_SECONDS if seconds else 0)
        await asyncio.wait((self._stopping,))

    async def _stop_all(self, seconds: float) -> None:
        servers = (self._server, *self._ended.values())
        await asyncio.gather(*(server.stop(seconds) for server in servers))


async def _freed(server: Any) -> None:
    ending = asyncio.ensure_future(server.wait_for_termination())
    await asyncio.wait((ending,))
    ending.exception()  # the reason is known, and was logged
    await server.stop(0)


def address_of(host: str, port: int) -> str:
    """Return a host and a port as one text."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _endpoints_of(name: str, service: Service) -> dict[str, Endpoint]:
    """Return the endpoints of a service with its own authentication."""
    endpoints = {}
    for method, handler in service.handlers.items():
        path = f"/{name}/{method}"
        serve: Any = partial(_answer, handler.unary_unary)
        if handler.response_streaming:
            serve = partial(_answer_stream, handler.unary_stream)
        streams = bool(handler.response_streaming)
        endpoints[path] = Endpoint(
            path, serve, streams=streams, needs_token=False, check=service.check
        )
    return endpoints


async def _answer(handle: Any, _: Caller, data: bytes, context: Context) -> bytes:
    answer: bytes = await handle(data, context)
    return answer


async def _answer_stream(handle: Any, _: Caller, context: Context, read: Read) -> None:
    await handle(await read(), context)
