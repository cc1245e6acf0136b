"""The wire in a whole server, beside `memoranda.v1` on one port."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

import memoranda
from memoranda.server.serving import Server, ServerSettings
from memoranda.server.statehouse.service import SERVICE
from memoranda.server.stores import StoreOptions
from tests.patience import HANG_SECONDS
from tests.unit.server.statehouse.serving import Client, Refusal, request_of

Work = Callable[[Server, Client, grpc.aio.Channel], Awaitable[None]]


def run(work: Work, **settings: Any) -> None:
    """Do work with a whole server, a client of it, and the client's channel."""

    async def main() -> None:
        options = StoreOptions(embedder=None, durability="relaxed")
        whole = ServerSettings(port=0, stores=options, **settings)
        async with (
            asyncio.timeout(HANG_SECONDS),
            Server(whole) as server,
            grpc.aio.insecure_channel(server.address) as channel,
        ):
            await work(server, Client(channel), channel)

    asyncio.run(main())


def test_the_only_store_is_served(tmp_path: Path) -> None:
    async def work(_: Server, client: Client, __: grpc.aio.Channel) -> None:
        assert await client.write("k", {"n": [1, {"x": None}]}) == 1
        state = await client.call("GetState", agent_id="a", key="k")
        (event,) = await client.replay()
        assert event.operations[0].value == state.value
        with pytest.raises(Refusal, match="NOT_FOUND: txn_id"):
            await client.call("Commit", txn_id="never begun")

    run(work, file=tmp_path / "s.db")
    with memoranda.open(tmp_path / "s.db") as store:
        assert store.get_state(agent_id="a", key="k") is not None


def test_a_folder_of_stores_serves_the_one_that_is_named(tmp_path: Path) -> None:
    for name in ("acme", "globex"):
        with memoranda.open(tmp_path / f"{name}.db") as store:
            store.write(agent_id="a", key=name, value={})

    async def named(_: Server, client: Client, __: grpc.aio.Channel) -> None:
        assert await client.keys() == ["globex"]

    async def unnamed(_: Server, client: Client, __: grpc.aio.Channel) -> None:
        with pytest.raises(Refusal, match="UNIMPLEMENTED"):
            await client.keys()

    run(named, folder=tmp_path, statehouse_store="globex")
    run(unnamed, folder=tmp_path)


def test_it_is_listed_and_reported_healthy(tmp_path: Path) -> None:
    async def work(_: Server, __: Client, channel: grpc.aio.Channel) -> None:
        check = channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        answer = await check(health_pb2.HealthCheckRequest(service=SERVICE))
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        reflect = channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
            response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
        )
        queries = [
            reflection_pb2.ServerReflectionRequest(list_services=""),
            reflection_pb2.ServerReflectionRequest(file_containing_symbol=SERVICE),
        ]
        listing, source = [answer async for answer in reflect(iter(queries))]
        assert SERVICE in [item.name for item in listing.list_services_response.service]
        assert b"statehouse/v1/statehouse.proto" in b"".join(
            source.file_descriptor_response.file_descriptor_proto
        )

    run(work, file=tmp_path / "s.db")


def test_a_replay_that_is_cut_off_by_a_shutdown_says_so(tmp_path: Path) -> None:
    with memoranda.open(tmp_path / "s.db", durability="relaxed", embedder=None) as store:
        for number in range(300):
            store.write(agent_id="a", key="k", value={"text": "x" * 10_000, "n": number})

    async def work(server: Server, client: Client, _: grpc.aio.Channel) -> None:
        replay = client.stream(agent_id="a")
        await anext(replay)
        stopping = asyncio.create_task(server.stop(HANG_SECONDS))
        while not stopping.done() and server.call_count:
            await asyncio.sleep(0.01)
        with pytest.raises(Refusal, match=r"UNAVAILABLE: .* shutting down"):
            async for _ in replay:
                pass
        await stopping

    run(work, file=tmp_path / "s.db")


def test_a_request_beyond_the_limit_of_the_wire_is_refused_in_words(tmp_path: Path) -> None:
    async def work(_: Server, client: Client, __: grpc.aio.Channel) -> None:
        txn_id = await client.begin()
        value = {"text": "x" * (9 * 1024 * 1024)}
        request = request_of("Write", txn_id=txn_id, agent_id="a", key="k", value=value)
        with pytest.raises(Refusal, match=r"INVALID_ARGUMENT: request: has \d+ bytes"):
            await client.send("Write", request)
        assert (await client.call("Commit", txn_id=txn_id)).commit_ts == 0

    run(work, file=tmp_path / "s.db")
