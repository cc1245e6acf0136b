"""Who is answered: anybody on this machine, and holders of tokens as far as those reach."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import grpc
import pytest

from memoranda.errors import Unauthenticated
from memoranda.server.control_store import ControlStore
from memoranda.server.dispatcher import Dispatcher
from memoranda.server.statehouse.callers import Callers
from memoranda.server.stores import StoreOptions, StoreSet
from tests.unit.server.statehouse.serving import Client, Refusal, serve, server_of


class Call:
    """As much of gRPC's context as says who calls."""

    def __init__(self, peer: str, *metadata: tuple[str, str | bytes]) -> None:
        self._peer = peer
        self._metadata = metadata

    def peer(self) -> str:
        return self._peer

    def invocation_metadata(self) -> tuple[tuple[str, str | bytes], ...]:
        return self._metadata

    def time_remaining(self) -> float | None:
        return None


HERE = ("ipv4:127.0.0.1:5000", "ipv4:127.1.2.3:5", "ipv6:%5B::1%5D:5000", "ipv6:[::1]:5", "unix:")
ELSEWHERE = ("ipv4:10.0.0.1:5000", "ipv6:%5B2001:db8::1%5D:5000", "ipv4:1.27.0.1:5", "")


def callers(path: Path, control: ControlStore | None = None, *, anywhere: bool = False) -> Callers:
    stores = StoreSet.of_file(path, StoreOptions(embedder=None))
    return Callers(Dispatcher(stores, control), "", anywhere=anywhere)


def owner(callers: Callers, peer: str, *metadata: tuple[str, Any]) -> str:
    return callers.identify(Call(peer, *metadata), 0).owner


def test_without_a_token_only_this_machine_is_answered(tmp_path: Path) -> None:
    service = callers(tmp_path / "s.db")
    for peer in HERE:
        assert service.identify(Call(peer), 0).grant.covers_everything
    for peer in ELSEWHERE:
        for metadata in ((), (("authorization", "Bearer of nothing"),)):
            with pytest.raises(Unauthenticated, match="on its own machine only"):
                service.identify(Call(peer, *metadata), 0)


@pytest.mark.parametrize("name", ["forwarded", "via", "x-forwarded-for", "x-real-ip"])
def test_whoever_a_proxy_calls_for_is_not_local(tmp_path: Path, name: str) -> None:
    service = callers(tmp_path / "s.db")
    with pytest.raises(Unauthenticated, match="on its own machine only"):
        service.identify(Call(HERE[0], (name, "10.0.0.1")), 0)


def test_anywhere_is_for_who_says_so(tmp_path: Path) -> None:
    service = callers(tmp_path / "s.db", anywhere=True)
    for peer in (*HERE, *ELSEWHERE):
        assert service.identify(Call(peer), 0).grant.covers_everything


def test_a_server_that_asks_everybody_asks_clients_of_statehouse_too(tmp_path: Path) -> None:
    with ControlStore(tmp_path / "_control.db") as control:
        secret, _ = control.tokens.create(store=None)
        stores = StoreSet.of_file(tmp_path / "s.db", StoreOptions(embedder=None))
        dispatcher = Dispatcher(stores, control, asks_for_tokens=True)
        service = Callers(dispatcher, "", anywhere=True, needs_token=True)
        with pytest.raises(Unauthenticated, match="this server asks for a token"):
            service.identify(Call(HERE[0]), 0)
        assert owner(service, HERE[0], ("authorization", f"Bearer {secret}")).startswith("token:")


def test_transactions_belong_to_a_host_or_a_token(tmp_path: Path) -> None:
    with ControlStore(tmp_path / "_control.db") as control:
        secret, token = control.tokens.create(store=None, agent="a")
        service = callers(tmp_path / "s.db", control, anywhere=True)
        bearer = ("authorization", f"Bearer {secret}")
        assert {owner(service, peer) for peer in HERE} == {"this machine"}
        assert owner(service, "ipv4:10.0.0.1:1") == owner(service, "ipv4:10.0.0.1:2")
        assert owner(service, "ipv4:10.0.0.1:1") != owner(service, "ipv4:10.0.0.2:1")
        assert owner(service, "ipv4:10.0.0.1:1", bearer) == f"token:{token.id}"
        assert owner(service, "ipv4:10.0.0.2:2", bearer) == f"token:{token.id}"


def test_a_wrong_token_is_none(tmp_path: Path) -> None:
    with ControlStore(tmp_path / "_control.db") as control:
        secret, token = control.tokens.create(store=None)
        service = callers(tmp_path / "s.db", control)
        for value in ("Bearer mmr_x_y", "bearer ", "Basic eDp5", f"BEARER {'x' * 10_000}"):
            with pytest.raises(Unauthenticated):
                owner(service, HERE[0], ("authorization", value))
        assert owner(service, HERE[0], ("authorization", secret)) == f"token:{token.id}"


def test_a_token_reaches_what_its_grant_covers(tmp_path: Path) -> None:
    """Without a token everything is there; with one, only what it covers; never a hint."""
    with ControlStore(tmp_path / "_control.db") as control:
        mine, _ = control.tokens.create(store=None, agent="a", namespaces=["team/*"])
        reader, _ = control.tokens.create(store=None, agent="a", verbs=["read"])

        async def work(everybody: Client) -> None:
            for agent_id, namespace in (("a", "team"), ("b", "team"), ("a", "other")):
                await everybody.write("k", {"n": 1}, agent_id=agent_id, namespace=namespace)
            client = everybody.with_token(mine)
            covered: dict[str, Any] = {"agent_id": "a", "namespace": "team"}
            assert (await client.call("GetState", **covered, key="k")).exists
            assert await client.write("k", {"n": 2}, **covered) == 4
            assert len(await client.replay(**covered)) == 2
            for hidden in ({"agent_id": "b", "namespace": "team"}, {"agent_id": "a"}):
                assert not (await client.call("GetState", **hidden, key="k")).exists
                assert not (await client.call("ListKeys", **hidden)).keys
                assert not (await client.call("ScanPrefix", **hidden, prefix="")).entries
                assert await client.replay(**hidden) == []
                with pytest.raises(Refusal, match="PERMISSION_DENIED"):
                    await client.write("k", {"n": 3}, **hidden)
            assert control.denials.counts.total() == 2
            with pytest.raises(Refusal, match=r"PERMISSION_DENIED: .* has no verb 'write'"):
                await everybody.with_token(reader).begin()

        serve(work, tmp_path / "s.db", control=control)


def test_a_transaction_of_another_caller_is_not_found(tmp_path: Path) -> None:
    with ControlStore(tmp_path / "_control.db") as control:
        secrets = [control.tokens.create(store=None, agent=agent)[0] for agent in ("a", "b")]

        async def work(everybody: Client) -> None:
            first, second = (everybody.with_token(secret) for secret in secrets)
            txn_id = await first.begin()
            for stranger in (everybody, second):
                with pytest.raises(Refusal, match="NOT_FOUND: txn_id: there is no transaction"):
                    await stranger.call("Commit", txn_id=txn_id)
                with pytest.raises(Refusal, match="NOT_FOUND"):
                    await stranger.call("Abort", txn_id=txn_id)
            await first.call("Abort", txn_id=txn_id)

        serve(work, tmp_path / "s.db", control=control)


def test_a_revoked_token_commits_nothing(tmp_path: Path) -> None:
    with ControlStore(tmp_path / "_control.db") as control:
        secret, token = control.tokens.create(store=None, agent="a")

        async def work(everybody: Client) -> None:
            client = everybody.with_token(secret)
            txn_id = await client.begin()
            await client.call("Write", txn_id=txn_id, agent_id="a", key="k", value={})
            await asyncio.to_thread(control.tokens.revoke, token.id)
            with pytest.raises(Refusal, match="UNAUTHENTICATED"):
                await client.call("Commit", txn_id=txn_id)
            assert await everybody.replay() == []

        serve(work, tmp_path / "s.db", control=control)


def test_a_store_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            server_of(tmp_path, store="acme") as address,
            grpc.aio.insecure_channel(address) as channel,
        ):
            client = Client(channel)
            assert (await client.call("Health")).status == "ok"
            with pytest.raises(Refusal, match=r"NOT_FOUND: .*acme"):
                await client.begin()
            with pytest.raises(Refusal, match=r"NOT_FOUND: .*acme"):
                await client.replay()

    asyncio.run(main())
