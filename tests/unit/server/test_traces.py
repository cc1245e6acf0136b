"""Traces and request ids of calls: in the log of the store, and in that of the server."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import httpx2
import pytest

import memoranda
from memoranda import Store
from memoranda.calls.key_writes import Write
from memoranda.model.trace import TraceContext, Tracing
from memoranda.server.http.settings import HttpSettings
from memoranda.server.log_lines import logging_to
from memoranda.wire.codec import request_of
from memoranda.wire.methods import METHOD_OF
from tests.grpc_client import GrpcClient
from tests.patience import HANG_SECONDS, wait_until
from tests.server_process import ServerThread

TRACE = TraceContext(bytes(range(1, 17)), bytes(range(1, 9)), 1)
OTHER = TraceContext(bytes(range(101, 117)), bytes(range(1, 9)))
HEX = TRACE.trace_id.hex()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerThread]:
    settings = HttpSettings(port=0)
    with ServerThread(folder=tmp_path, create=["acme"], http=settings) as server:
        yield server


@contextmanager
def opened(server: ServerThread) -> Iterator[Store]:
    with memoranda.open(f"grpc://{server.address}/acme") as store:
        yield store.bind(agent_id="ann")


def traces(server: ServerThread) -> list[str | None]:
    with opened(server) as store:
        return [event.trace_id for event in store.replay()]


def url(server: ServerThread, path: str) -> str:
    return f"http://{server.server.http_address}/v1/stores/acme/{path}"


def test_the_trace_of_a_request_over_http_is_kept(server: ServerThread) -> None:
    key = url(server, "agents/ann/keys/k")
    httpx2.put(key, json={"value": {"n": 1}}, headers={"traceparent": TRACE.header})
    httpx2.put(key, json={"value": {"n": 2}}, headers={"traceparent": "nonsense"})
    assert traces(server) == [HEX, None]
    events = httpx2.get(url(server, "replay?agent_id=ann")).json()["items"]
    assert [event.get("trace_id") for event in events] == [HEX, None]


def test_the_trace_of_a_call_over_grpc_is_kept(server: ServerThread) -> None:
    method = METHOD_OF[Write]
    message = request_of(Write("ann", "default", "k", {"n": 1}), store="acme").SerializeToString()
    with grpc.insecure_channel(server.address) as channel:
        send = channel.unary_unary(method.path)
        send(message, metadata=(("traceparent", TRACE.header),), timeout=HANG_SECONDS)
        send(message, timeout=HANG_SECONDS)
    assert traces(server) == [HEX, None]


@pytest.mark.parametrize("scheme", ["grpc", "http"])
def test_each_write_of_a_client_has_its_own_trace(server: ServerThread, scheme: str) -> None:
    address = server.address if scheme == "grpc" else server.server.http_address
    with memoranda.open(f"{scheme}://{address}/acme") as remote:
        store = remote.bind(agent_id="ann")
        for number, trace in enumerate((TRACE, None, OTHER)):
            with Tracing(trace):
                store.write(key="k", value={"n": number})
        with Tracing(TRACE), store.begin_transaction() as transaction:
            transaction.write(key="a", value={})
            transaction.write(key="b", value={})
    assert traces(server) == [HEX, None, OTHER.trace_id.hex(), HEX]


def test_the_commits_of_a_trace_are_found_with_sql(server: ServerThread) -> None:
    with opened(server) as store:
        store.write(key="k", value={"n": 1})
        with Tracing(TRACE):
            store.write(key="k", value={"n": 2})
        query = "SELECT commit_ts FROM events WHERE trace_id = ?"
        assert [*store.sql(query, [HEX])] == [{"commit_ts": 2}]


@contextmanager
def logged(level: str = "debug") -> Iterator[io.StringIO]:
    stream = io.StringIO()
    with logging_to(stream, level):
        yield stream


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in stream.getvalue().splitlines()]
    return [row for row in rows if row["message"] == "request"]


SECRET = "the patient has measles"


def test_a_request_over_http_is_one_line_without_content(server: ServerThread) -> None:
    headers = {"traceparent": TRACE.header, "x-request-id": "req-17"}
    body = json.dumps({"value": {"note": SECRET}}).encode()
    with logged() as stream:
        reply = httpx2.put(
            url(server, "agents/ann/keys/secret-key"),
            content=body,
            headers=headers | {"content-type": "application/json"},
        )
        wait_until(lambda: len(lines(stream)) == 1)
    (line,) = lines(stream)
    assert reply.headers["x-request-id"] == "req-17"
    assert line.pop("milliseconds") >= 0
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "debug",
        "message": "request",
        "surface": "http",
        "method": "PUT",
        "route": "write",
        "status": 200,
        "request_id": "req-17",
        "bytes_in": len(body),
        "bytes_out": len(reply.content),
        "trace_id": HEX,
    }
    for word in (SECRET, "ann", "acme", "secret-key"):
        assert word not in stream.getvalue()


def test_errors_and_streams_are_logged_too(server: ServerThread) -> None:
    httpx2.put(url(server, "agents/ann/keys/k"), json={"value": {"n": 1}})
    with logged() as stream:
        httpx2.get(url(server, "agents/ann/keys/none"))
        httpx2.get(f"http://{server.server.http_address}/nowhere")
        accept = {"accept": "application/x-ndjson", "accept-encoding": "identity"}
        reply = httpx2.get(url(server, "replay?agent_id=ann"), headers=accept)
        wait_until(lambda: len(lines(stream)) == 3)
    missing, nowhere, events = lines(stream)
    assert (missing["route"], missing["status"]) == ("get_state", 404)
    assert (nowhere["route"], nowhere["status"]) == ("", 404)
    assert (events["route"], events["status"]) == ("replay", 200)
    assert events["bytes_out"] == len(reply.content)
    assert len({missing["request_id"], nowhere["request_id"], events["request_id"]}) == 3


def test_a_call_over_grpc_is_one_line_without_content(server: ServerThread) -> None:
    call = Write("ann", "default", "secret-key", {"note": SECRET})
    metadata = (("x-request-id", "req-18"), ("traceparent", TRACE.header))
    message = request_of(call, store="acme").SerializeToString()
    with logged() as stream, GrpcClient(server.address, store="acme") as client:
        [*client.send(METHOD_OF[Write].path, message, metadata=metadata)]
        with pytest.raises(memoranda.InvalidInput):
            client.ask(Write("ann", "default", "", {}))
        wait_until(lambda: len(lines(stream)) == 2)
    line, refused = lines(stream)
    assert line["bytes_in"] == len(message)
    assert line["bytes_out"] > 0
    assert line["surface"] == "grpc"
    assert line["route"] == METHOD_OF[Write].path
    assert (line["status"], refused["status"]) == ("ok", "InvalidInput")
    assert (line["request_id"], line["trace_id"]) == ("req-18", HEX)
    assert refused["request_id"]
    for word in (SECRET, "ann", "acme", "secret-key"):
        assert word not in stream.getvalue()


def test_above_debug_requests_are_not_logged(server: ServerThread) -> None:
    with logged("info") as stream:
        httpx2.get(url(server, "agents/ann/keys/none"))
        with opened(server) as store:
            store.write(key="k", value={})
    assert lines(stream) == []
