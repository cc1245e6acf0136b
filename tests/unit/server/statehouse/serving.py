"""A server of the Statehouse wire in this process, and a client made of our own messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct

from memoranda.server.control_store import ControlStore
from memoranda.server.dispatcher import Dispatcher
from memoranda.server.statehouse import statehouse_pb2 as pb
from memoranda.server.statehouse.callers import Callers
from memoranda.server.statehouse.service import SERVICE, StatehouseService
from memoranda.server.statehouse.statuses import ERROR_KEY
from memoranda.server.statehouse.transactions import ServerTransactions
from memoranda.server.stores import StoreOptions, StoreSet
from tests.patience import HANG_SECONDS

_METHODS = pb.DESCRIPTOR.services_by_name["StatehouseService"].methods_by_name


class Refusal(Exception):
    """An error status: what a client gets to know."""

    def __init__(self, error: grpc.aio.AioRpcError) -> None:
        self.status = error.code().name
        self.words = error.details() or ""
        self.metadata: Mapping[str, Any] = dict(error.trailing_metadata() or ())
        self.error = pb.StatehouseError.FromString(self.metadata.get(ERROR_KEY, b""))
        super().__init__(f"{self.status}: {self.words}")

    @property
    def code(self) -> str:
        """What Statehouse calls it."""
        return str(pb.ErrorCode.Name(self.error.code))


class Client:
    """Calls the methods of the service by their names, with the fields of their requests."""

    def __init__(self, channel: grpc.aio.Channel, token: str | None = None) -> None:
        self._channel = channel
        self._metadata = None if token is None else (("authorization", f"Bearer {token}"),)

    def with_token(self, token: str) -> Client:
        """Return a client of the same server that sends a token."""
        return Client(self._channel, token)

    async def call(self, name: str, **fields: Any) -> Any:
        """Return the answer of a method with one."""
        return await self.send(name, request_of(name, **fields))

    async def send(self, name: str, request: bytes) -> Any:
        """Return the answer to the bytes of a request."""
        answer = _class_of(_METHODS[name].output_type)
        method = self._channel.unary_unary(
            f"/{SERVICE}/{name}", response_deserializer=answer.FromString
        )
        try:
            return await method(request, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            raise Refusal(error) from None

    async def begin(self, **fields: Any) -> str:
        """Begin a transaction, and return its id."""
        begun = await self.call("BeginTransaction", **fields)
        return str(begun.txn_id)

    async def write(self, key: str, value: dict[str, Any], **fields: Any) -> int:
        """Write a key of agent `a` in a transaction of its own, and return its commit."""
        txn_id = await self.begin()
        await self.call(
            "Write", **{"txn_id": txn_id, "agent_id": "a", "key": key, "value": value, **fields}
        )
        committed = await self.call("Commit", txn_id=txn_id)
        return int(committed.commit_ts)

    async def replay(self, **fields: Any) -> list[Any]:
        """Return the events of agent `a`, or of another one."""
        return [event async for event in self.stream(**{"agent_id": "a", **fields})]

    async def stream(self, **fields: Any) -> AsyncIterator[Any]:
        """Yield the events of a replay as they come."""
        method = self._channel.unary_stream(
            f"/{SERVICE}/Replay", response_deserializer=pb.ReplayEvent.FromString
        )
        try:
            async for event in method(request_of("Replay", **fields), metadata=self._metadata):
                yield event
        except grpc.aio.AioRpcError as error:
            raise Refusal(error) from None

    async def keys(self) -> list[str]:
        """Return the keys of agent `a`."""
        return list((await self.call("ListKeys", agent_id="a")).keys)


def request_of(name: str, **fields: Any) -> bytes:
    """Return the bytes of a request; the value of a write may be given as a dict."""
    if isinstance(value := fields.get("value"), dict):
        fields["value"] = struct_of(value)
    data: bytes = _class_of(_METHODS[name].input_type)(**fields).SerializeToString()
    return data


def _class_of(descriptor: Any) -> type[Message]:
    kind: type[Message] = getattr(pb, descriptor.name)
    return kind


def struct_of(value: Mapping[str, Any]) -> Struct:
    """Return a JSON object as clients make it a Struct."""
    struct = Struct()
    struct.update(value)
    return struct


@asynccontextmanager
async def server_of(
    path: Path,
    *,
    store: str = "",
    transactions: ServerTransactions | None = None,
    control: ControlStore | None = None,
    anywhere: bool = False,
    options: StoreOptions | None = None,
) -> AsyncIterator[str]:
    """Serve the store of a file, or one in a folder by its name, and give the address."""
    options = options or StoreOptions(embedder=None, durability="relaxed")
    stores = StoreSet.in_folder(path, options) if store else StoreSet.of_file(path, options)
    server = grpc.aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    callers = Callers(Dispatcher(stores, control), store, anywhere=anywhere)
    handlers = StatehouseService(callers, transactions).handlers()
    service = grpc.method_handlers_generic_handler(SERVICE, handlers)
    server.add_generic_rpc_handlers((service,))
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)
        await stores.close(0)


def serve(work: Callable[[Client], Awaitable[None]], path: Path, **options: Any) -> None:
    """Do work with a client of a server of a store."""

    async def main() -> None:
        async with (
            asyncio.timeout(HANG_SECONDS),
            server_of(path, **options) as address,
            grpc.aio.insecure_channel(address) as channel,
        ):
            await work(Client(channel))

    asyncio.run(main())
