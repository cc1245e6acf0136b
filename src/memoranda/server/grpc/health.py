"""The health service of gRPC: it reports whether the server accepts calls, and each change."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import grpc
from grpc_health.v1 import health_pb2

from memoranda.server.call_messages import parsed
from memoranda.server.dispatcher import Caller
from memoranda.server.grpc.calls import Read
from memoranda.server.grpc.gate import Context, Endpoint

SERVICE = "grpc.health.v1.Health"
_Status = health_pb2.HealthCheckResponse


class Health:
    """Says that the services of a server are served, until it shuts down.

    The servicer of the library holds a lock while it writes to a client, so that one which does not
    read would keep the server from shutting down.
    """

    def __init__(self, services: Iterable[str], draining: asyncio.Event) -> None:
        self._services = frozenset(("", SERVICE, *services))
        self._draining = draining

    def endpoints(self) -> dict[str, Endpoint]:
        """Return the methods of the service, which need no token."""
        check, watch = f"/{SERVICE}/Check", f"/{SERVICE}/Watch"
        return {
            check: Endpoint(check, self._check, needs_token=False, is_public=True),
            watch: Endpoint(
                watch,
                self._watch,
                streams=True,
                needs_token=False,
                is_public=True,
                ends_itself=True,
            ),
        }

    async def _check(self, _: Caller, data: bytes, context: Context) -> bytes:
        service = parsed(health_pb2.HealthCheckRequest, data).service
        if service not in self._services:
            await context.abort(grpc.StatusCode.NOT_FOUND, "this server has no such service")
        return self._response(service)

    async def _watch(self, _: Caller, context: Context, read: Read) -> None:
        service = parsed(health_pb2.HealthCheckRequest, await read()).service
        await context.write(self._response(service))
        await self._draining.wait()
        await context.write(self._response(service))

    def _response(self, service: str) -> bytes:
        status = _Status.SERVING
        if service not in self._services:
            status = _Status.SERVICE_UNKNOWN
        elif self._draining.is_set():
            status = _Status.NOT_SERVING
        encoded: bytes = _Status(status=status).SerializeToString()
        return encoded
