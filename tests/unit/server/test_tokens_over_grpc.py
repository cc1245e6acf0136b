"""Tokens on a running server: revoked by another process, limited, expired, and audited."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

import memoranda
from memoranda.calls.key_writes import Write
from memoranda.calls.keys import GetState
from memoranda.calls.log import Replay
from memoranda.calls.maintenance import Verify
from memoranda.calls.subscriptions import Subscribe
from memoranda.errors import (
    NotFound,
    PermissionDenied,
    StoreBusy,
    TooManyRequests,
    Unauthenticated,
)
from memoranda.model.operations import AUDIT_SCOPE
from memoranda.server.control_store import ControlStore, control_path
from memoranda.server.grpc.limits import GrpcLimits
from memoranda.server.token_limits import CallLimits, TokenLimits
from tests.grpc_client import GrpcClient
from tests.patience import HANG_SECONDS, wait_until
from tests.server_process import ServerThread

READ = GetState("a", "team", "k")


@pytest.fixture
def control(tmp_path: Path) -> Iterator[ControlStore]:
    with ControlStore(control_path(folder=tmp_path)) as control:
        yield control


@pytest.fixture
def server(tmp_path: Path, control: ControlStore) -> Iterator[ServerThread]:
    with ServerThread(folder=tmp_path, create=["acme", "globex"], tokens=True) as server:
        yield server


def client(server: ServerThread, secret: str, store: str = "acme") -> GrpcClient:
    return GrpcClient(server.address, store=store, token=secret)


def is_refused(caller: GrpcClient) -> bool:
    try:
        caller.ask(READ)
    except Unauthenticated:
        return True
    return False


def notes(folder: Path) -> list[dict[str, Any]]:
    with memoranda.open(control_path(folder=folder), embedder=None) as store:
        events = store.replay(agent_id=AUDIT_SCOPE.agent_id, namespace=AUDIT_SCOPE.namespace)
        return [dict(part.value or {}) for event in events for part in event.operations]


@pytest.mark.slow
def test_what_another_process_creates_and_revokes_is_seen(
    server: ServerThread, tmp_path: Path
) -> None:
    def command(*arguments: str) -> str:
        run = [sys.executable, "-m", "memoranda", "token", *arguments, "--stores", str(tmp_path)]
        process = subprocess.run(
            run, capture_output=True, text=True, check=True, timeout=HANG_SECONDS
        )
        return process.stdout.strip()

    secret = command("create", "--store", "acme", "--agent", "a")
    with client(server, secret) as caller:
        wait_until(lambda: not is_refused(caller))
        events = caller.stream(Subscribe("a", None))
        while not next(events).caught_up:
            pass
        command("revoke", secret.split("_")[1])
        wait_until(lambda: is_refused(caller))
        with pytest.raises(Unauthenticated):
            next(events)


def test_a_rotated_secret_is_refused_and_its_stream_ends(
    server: ServerThread, control: ControlStore
) -> None:
    secret, token = control.tokens.create(store="acme", agent="a")
    with client(server, secret) as caller:
        wait_until(lambda: not is_refused(caller))
        events = caller.stream(Subscribe("a", None))
        while not next(events).caught_up:
            pass
        newer, _ = control.tokens.rotate(token.id, grace="1h")
        with client(server, newer) as later:
            wait_until(lambda: not is_refused(later))
            later.ask(Write("a", "team", "k", {"n": 1}))
            assert len(next(events).events) == 1
            control.tokens.rotate(token.id)
            wait_until(lambda: is_refused(later))
        with pytest.raises(Unauthenticated):
            next(events)


def test_limits_of_a_token_are_told_with_their_delay(tmp_path: Path, control: ControlStore) -> None:
    slow = TokenLimits(requests_per_second=0.001, long_seconds_per_minute=0.001)
    secret, _ = control.tokens.create(store="acme", verbs=["read"], limits=slow)
    other, _ = control.tokens.create(store="acme", agent="a")
    with (
        ServerThread(folder=tmp_path, create=["acme"], call_limits=CallLimits()) as server,
        client(server, secret) as caller,
        client(server, other) as another,
    ):
        caller.ask(READ)
        with pytest.raises(TooManyRequests) as caught:
            caller.ask(READ)
        assert 900 < caught.value.retry_after <= 1000
        assert caught.value.retryable
        status: Any = caught.value.__cause__
        assert status.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert another.ask(READ) is None, "others have limits of their own"


def test_our_client_waits_as_long_as_it_is_told(tmp_path: Path, control: ControlStore) -> None:
    limits = TokenLimits(requests_per_second=5)
    secret, _ = control.tokens.create(store="acme", agent="a", limits=limits)
    with ServerThread(folder=tmp_path, create=["acme"]) as server:
        began_at = time.monotonic()
        with memoranda.open(f"grpc://{server.address}/acme", token=secret) as store:
            for _ in range(14):  # one call has opened it; ten are a burst
                assert store.get_state(agent_id="a", key="k") is None
        assert time.monotonic() - began_at > 0.99


def test_the_bytes_of_an_answer_delay_the_next_call(tmp_path: Path, control: ControlStore) -> None:
    narrow = TokenLimits(bytes_per_second=1)
    secret, _ = control.tokens.create(store="acme", limits=narrow)
    writer, _ = control.tokens.create(store="acme")
    with (
        ServerThread(folder=tmp_path, create=["acme"]) as server,
        client(server, writer) as other,
        client(server, secret) as caller,
    ):
        other.ask(Write("a", "team", "k", {"text": "x" * 100_000}))
        caller.ask(READ)
        with pytest.raises(TooManyRequests, match="too many bytes") as caught:
            caller.ask(READ)
        assert caught.value.retry_after > 90_000


def test_streams_that_are_open_at_once_are_limited(tmp_path: Path, control: ControlStore) -> None:
    secret, _ = control.tokens.create(store="acme", limits=TokenLimits(open_streams=1))
    with (
        ServerThread(folder=tmp_path, create=["acme"]) as server,
        client(server, secret) as caller,
    ):
        first = caller.stream(Subscribe(None, None))
        next(first)
        with pytest.raises(TooManyRequests, match="1 streams are open"):
            next(caller.stream(Subscribe(None, None)))
        first.close()
        caller.close()
    with ServerThread(folder=tmp_path) as server, client(server, secret) as caller:
        assert caller.items(Replay(None, None)) == []


def test_a_token_leaves_calls_to_others(tmp_path: Path, control: ControlStore) -> None:
    limits = GrpcLimits(calls=3, calls_of_token=2)
    greedy, _ = control.tokens.create(store="acme", agent="a")
    modest, _ = control.tokens.create(store="acme", agent="b")
    with (
        ServerThread(folder=tmp_path, create=["acme"], limits=limits) as server,
        client(server, greedy) as caller,
        client(server, modest) as other,
    ):
        streams = [caller.stream(Subscribe("a", None)) for _ in range(2)]
        for stream in streams:
            next(stream)
        with pytest.raises(StoreBusy, match="2 calls in flight"):
            caller.ask(READ)
        other.ask(READ)
        streams.pop().close()
        wait_until(lambda: server.server.call_count == 1)
        caller.ask(READ)
        streams.pop().close()


def test_denials_are_counted_and_audited_in_the_control_store_only(
    tmp_path: Path, control: ControlStore
) -> None:
    secret, token = control.tokens.create(store="acme", agent="a", namespaces=["team/*"])
    wrong = f"{secret[:-1]}{'A' if secret[-1] != 'A' else 'B'}"
    with ServerThread(folder=tmp_path, create=["acme", "globex"], tokens=True) as server:
        with client(server, secret) as caller, client(server, wrong) as stranger:
            with pytest.raises(PermissionDenied):
                caller.ask(Write("a", "elsewhere", "k", {"private": "content"}))
            with pytest.raises(PermissionDenied):
                caller.ask(Verify())
            with pytest.raises(NotFound):
                caller.ask(READ, store="globex")
            with pytest.raises(Unauthenticated):
                stranger.ask(READ)
        wait_until(lambda: len(notes(tmp_path)) == 4)
    assert notes(tmp_path) == [
        {"what": what, "by": by, "about": about, "left_out": 0}
        for what, by, about in (
            ("permission.denied", token.id, ["write", "acme"]),
            ("permission.denied", token.id, ["verify", "acme"]),
            ("permission.denied", token.id, ["get_state"]),
            ("authentication.failed", "unknown", ["unknown"]),
        )
    ]
    for name in ("acme", "globex"):
        with memoranda.open(tmp_path / f"{name}.db", embedder=None) as store:
            assert [*store.audit_events()] == []
