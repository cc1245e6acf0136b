"""The reflection service of gRPC, which describes the services to tools such as grpcurl."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

import grpc
from grpc_reflection.v1alpha import reflection_pb2
from grpc_reflection.v1alpha.reflection import SERVICE_NAME, aio

from memoranda.server.call_messages import parsed
from memoranda.server.dispatcher import Caller
from memoranda.server.grpc.calls import Read
from memoranda.server.grpc.gate import Context, Endpoint


def reflection_endpoints(services: Iterable[str]) -> dict[str, Endpoint]:
    """Return the method of the service; which calls there are is no secret."""
    servicer = aio.ReflectionServicer((SERVICE_NAME, *services))

    async def serve(_: Caller, context: Context, read: Read) -> None:
        async for response in servicer.ServerReflectionInfo(_requests(context, read), context):
            await context.write(response.SerializeToString())

    path = f"/{SERVICE_NAME}/ServerReflectionInfo"
    return {path: Endpoint(path, serve, streams=True, needs_token=False, is_public=True)}


async def _requests(context: Context, read: Read) -> AsyncIterator[Any]:
    data = await read()
    while data is not grpc.aio.EOF:
        yield parsed(reflection_pb2.ServerReflectionRequest, data)
        data = await context.read()
