"""What HTTP itself asks for: methods, media types, problems, request ids, sizes."""

from __future__ import annotations

import asyncio
import gzip
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
from backports import zstd

from memoranda.errors import ERROR_TABLE
from memoranda.model.error_codec import ErrorCodec
from memoranda.server.http import arguments, bodies
from memoranda.server.http.limits import HttpLimits
from memoranda.server.http.problems import problem_of
from memoranda.server.metering import Meter
from memoranda.server.token_limits import CallLimits
from memoranda.testing import FixedClock
from tests.http_app import Reply, Served, run
from tests.patience import HANG_SECONDS

KEY = "/v1/stores/acme/agents/a/keys/k"
VALUE = {"value": {"n": 1}}


def members(problem: Reply, status: int, error: str | None = None) -> dict[str, Any]:
    """Return the members of a problem, after checking that it is one."""
    assert problem.status == status, problem.body
    assert problem.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = problem.json
    assert body["status"] == status
    assert body["request_id"] == problem.headers["x-request-id"]
    assert body.get("error") == error
    return body


def test_a_key_is_written_read_and_deleted(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        client = served.client
        written = await client.put(f"{KEY}?namespace=team/eng", VALUE)
        assert (written.status, written.headers["etag"][:3]) == (200, '"1-')
        assert written.json["outcome"] == "created"
        record = await client.get(f"{KEY}?namespace=team%2Feng")
        assert (record.json["value"], record.headers["etag"]) == ({"n": 1}, written.headers["etag"])
        members(await client.get(KEY), 404, "NotFound")
        deleted = await client.send("DELETE", f"{KEY}?namespace=team/eng")
        assert deleted.json["outcome"] == "deleted"
        members(await client.get(f"{KEY}?namespace=team/eng"), 404, "NotFound")

    run(tmp_path, work)


def test_names_with_any_characters_have_an_address(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        path = "/v1/stores/acme/agents/a%2Fb%20%C3%BC/keys/%3Fq%23%25%2F..%2F%F0%9F%99%82"
        assert (await served.client.put(path, VALUE)).status == 200
        record = (await served.client.get(path)).json
        assert (record["agent_id"], record["key"]) == ("a/b ü", "?q#%/../🙂")

    run(tmp_path, work)


def test_a_transaction_is_one_request(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        calls: list[dict[str, Any]] = [
            {"call": "write", "agent_id": "a", "key": "k", "value": {"n": 1}},
            {"call": "remember", "agent_id": "a", "content": "Ann lives in Bonn"},
        ]
        committed = await served.client.post("/v1/stores/acme/commit", {"calls": calls})
        assert committed.json["changed"]
        memory = await served.client.get(f"/v1/stores/acme/memories/{committed.json['ids'][1]}")
        assert memory.json["content"] == "Ann lives in Bonn"
        assert memory.json["version"] == 1
        calls[0]["expect_version"] = 7
        refused = await served.client.post("/v1/stores/acme/commit", {"calls": calls})
        assert members(refused, 409, "VersionMismatch")["attributes"]["actual"] == 1
        events = await served.client.get("/v1/stores/acme/replay?agent_id=a")
        assert len(events.json["items"]) == 1

    run(tmp_path, work)


def test_methods_and_paths(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        client = served.client
        await client.put(KEY, VALUE)
        refused = await client.post(KEY, VALUE)
        members(refused, 405)
        assert refused.headers["allow"] == "DELETE, GET, HEAD, OPTIONS, PUT"
        options = await client.send("OPTIONS", KEY)
        assert (options.status, options.headers["allow"]) == (204, refused.headers["allow"])
        got, head = await client.get(KEY), await client.send("HEAD", KEY)
        assert (head.status, head.body) == (200, b"")
        assert head.headers["content-length"] == str(len(got.body))
        assert head.headers["etag"] == got.headers["etag"]
        for path in (
            "/v1",
            "/page/",
            "/v1/stores/",
            "/v1/stores/acme/",
            "/v1/stores//agents",
            "/v2/stores/acme",
            "/v1/stores/acme/agents/",
            "/v1/stores/acme/no-such-call",
        ):
            members(await client.get(path), 404)  # fmt: skip
        members(await client.get("/v1/stores/nowhere/agents"), 404, "NotFound")
        members(await client.get("/v1/stores/acme/memories/%ff"), 400, "InvalidInput")

    run(tmp_path, work)


def test_media_types(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        client = served.client
        for kind in ("text/plain", "application/json; charset=latin-1", None):
            refused = await client.put(KEY, data=b'{"value": {}}', content_type=kind)
            members(refused, 415)
            assert refused.headers["accept"] == "application/json"
        kind = 'Application/JSON; Charset="UTF-8"'
        assert (await client.put(KEY, data=b'{"value": {}}', content_type=kind)).status == 200
        for accepted in ("text/html", "application/x-ndjson", "application/json;q=0"):
            members(await client.get(KEY, accept=accepted), 406)
        for accepted in ("application/*", "text/html, */*;q=0.1", "application/json;q=0.2"):
            assert (await client.get(KEY, accept=accepted)).status == 200
        keys = "/v1/stores/acme/agents/a/keys"
        lines = await client.get(keys, accept="application/json;q=0.5, application/x-ndjson")
        assert (lines.headers["content-type"], lines.lines) == ("application/x-ndjson", ["k"])

    run(tmp_path, work)


def test_errors_are_problems_that_a_client_can_raise(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        client = served.client
        problem = members(await client.put(KEY, {"value": 5}), 400, "InvalidInput")
        assert problem["type"] == "urn:memoranda:problem:invalid-input"
        assert problem["attributes"]["field"] == "value"
        assert problem["title"] == "A value is not accepted"
        error = ErrorCodec().decode(problem | {"message": problem["detail"]})
        assert type(error).__name__ == "InvalidInput"
        members(await client.put(KEY, data=b"{", content_type="application/json"), 400,
                "InvalidInput")  # fmt: skip
        members(await client.get(f"{KEY}?at=yesterday"), 400, "InvalidInput")

    run(tmp_path, work)


def test_every_error_of_the_tree_is_a_problem() -> None:
    codec = ErrorCodec()
    for kind, report in ERROR_TABLE.items():
        error = kind.__new__(kind, "what happened")
        response = problem_of(error, b"r")
        body = msgspec.json.decode(response.body)
        assert (response.status, body["title"]) == (report.http_status, report.title)
        assert type(codec.decode(body | {"message": body["detail"]})) is kind


def test_request_ids(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        reply = await served.client.get("/healthz", x_request_id="mine-1")
        assert reply.headers["x-request-id"] == "mine-1"
        first, second = [
            (await served.client.get("/healthz", x_request_id=sent)).headers["x-request-id"]
            for sent in (None, "with a blank")
        ]
        assert len(first) == len(second) == 36
        assert first != second

    run(tmp_path, work)


def test_health(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        elsewhere = {"host": "10.0.0.1", "origin": "https://evil.example"}
        for path, status in (("/healthz", "ok"), ("/readyz", "ready")):
            assert (await served.client.get(path, **elsewhere)).json == {"status": status}
        await served.app.drain(0)
        assert (await served.client.get("/healthz")).status == 200
        members(await served.client.get("/readyz"), 503, "Unavailable")
        refused = await served.client.get(KEY)
        members(refused, 503, "Unavailable")
        assert refused.headers["retry-after"] == "1"

    run(tmp_path, work)


def test_the_document_is_served(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        document = (await served.client.get("/v1/openapi.json")).json
        path = Path(__file__).parents[4] / "docs" / "reference" / "openapi.json"
        assert document == msgspec.json.decode(path.read_bytes())

    run(tmp_path, work)


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("zstd", zstd.compress)])
def test_bodies_can_be_compressed(tmp_path: Path, encoding: str, pack: Any) -> None:
    async def work(served: Served) -> None:
        client, text = served.client, "many words, again and again. " * 200
        data = pack(msgspec.json.encode({"value": {"text": text}}))
        sent = {"content_type": "application/json", "content_encoding": encoding}
        assert (await client.put(KEY, data=data, **sent)).status == 200
        packed = await client.get(KEY, accept_encoding=f"br, {encoding}")
        assert packed.headers["content-encoding"] == encoding
        assert packed.headers["vary"] == "accept-encoding"
        assert packed.headers["content-length"] == str(len(packed.body))
        unpack = gzip.decompress if encoding == "gzip" else zstd.decompress
        assert msgspec.json.decode(unpack(packed.body))["value"]["text"] == text
        for accepted in (None, "br", "identity", f"{encoding};q=0"):
            plain = await client.get(KEY, accept_encoding=accepted)
            assert "content-encoding" not in plain.headers
            assert plain.json["value"]["text"] == text
        small = await client.get("/healthz", accept_encoding=encoding)
        assert "content-encoding" not in small.headers
        lines = await client.get("/v1/stores/acme/replay?agent_id=a", accept_encoding=encoding,
                                 accept="application/x-ndjson")  # fmt: skip
        assert len(unpack(lines.body).splitlines()) == 1

        for broken in (b"no such format", data[:-9], data + b"more"):
            members(await client.put(KEY, data=broken, **sent), 400, "InvalidInput")
        sent["content_encoding"] = "br"
        refused = await client.put(KEY, data=data, **sent)
        members(refused, 415)
        assert refused.headers["accept-encoding"] == "zstd, gzip"

    run(tmp_path, work)


@pytest.mark.parametrize("pack", [None, gzip.compress, zstd.compress])
def test_large_bodies_are_refused(tmp_path: Path, pack: Any) -> None:
    async def work(served: Served) -> None:
        data = msgspec.json.encode({"value": {"text": "x" * 200_000}})
        sent: dict[str, Any] = {"content_type": "application/json"}
        if pack is not None:
            data = pack(data)
            sent["content_encoding"] = pack.__module__.rpartition(".")[2]
            assert len(data) < 1000
        chunks = [data[start : start + 5000] for start in range(0, len(data), 5000)]
        members(await served.client.put(KEY, data=data, **sent), 413)
        members(await served.client.put(KEY, chunks=chunks, **sent), 413)
        members(await served.client.put(KEY, content_length="100001", **sent), 413)
        assert (await served.client.put(KEY, VALUE)).status == 200

    run(tmp_path, work, limits=HttpLimits(body_bytes=100_000))


def test_all_bodies_together_are_bounded(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        refused = await served.client.put(KEY, chunks=[b"x" * 600, b"x" * 600])
        assert refused.status == 503
        assert (await served.client.put(KEY, VALUE)).status == 200

    run(tmp_path, work, limits=HttpLimits(bodies_bytes=1000))


def test_bodies_that_wait_to_be_decoded_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_decode, decode = threading.Event(), arguments.decode_json

    def decode_later(name: str, data: bytes) -> Any:
        assert may_decode.wait(HANG_SECONDS)
        return decode(name, data)

    async def work(served: Served) -> None:
        data = gzip.compress(msgspec.json.encode({"value": {"text": "x" * 600_000}}))
        sent: dict[str, Any] = {"content_type": "application/json", "content_encoding": "gzip"}
        first = served.client.begin("PUT", KEY, data=data, **sent)
        while not served.app._calls._bodies._size > 600_000:
            await asyncio.sleep(0.001)
        members(await served.client.put(KEY, data=data, **sent), 503, "StoreBusy")
        may_decode.set()
        assert (await first.whole()).status == 200

    monkeypatch.setattr(bodies, "decode_json", decode_later)
    run(tmp_path, work, limits=HttpLimits(bodies_bytes=1_000_000))


def test_a_stranger_sends_no_large_body(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        body = {"token": "x" * 5000}
        members(await served.client.post("/v1/session", body), 413)
        packed = gzip.compress(msgspec.json.encode(body))
        sent: dict[str, Any] = {"content_type": "application/json", "content_encoding": "gzip"}
        members(await served.client.post("/v1/session", data=packed, **sent), 413)
        members(
            await served.client.post("/v1/session", {"token": "x" * 4000}), 401, "Unauthenticated"
        )

    run(tmp_path, work, asks_for_tokens=True)


def test_calls_inside_each_other_and_long_numbers_are_refused(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        body: Any = {"calls": []}
        for _ in range(300):
            body = {"calls": [{"call": "commit", **body}]}
        members(await served.client.post("/v1/stores/acme/commit", body), 400, "InvalidInput")
        path = "/v1/stores/acme/subscribe?agent_id=a"
        members(await served.client.get(path, last_event_id="9" * 5000), 400, "InvalidInput")

    run(tmp_path, work)


def test_requests_at_a_time_are_bounded(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        path = "/v1/stores/acme/subscribe?agent_id=a"
        open_ones = [served.client.begin("GET", path) for _ in range(2)]
        for exchange in open_ones:
            await exchange.until(lambda reply: bool(reply.body))
        refused = await served.client.get(KEY)
        members(refused, 503, "StoreBusy")
        for exchange in open_ones:
            exchange.leave()
            await exchange.whole()
        members(await served.client.get(KEY), 404, "NotFound")

    run(tmp_path, work, limits=HttpLimits(requests=2))


def test_limits_of_a_token(tmp_path: Path) -> None:
    meter = Meter(FixedClock(), CallLimits(requests_per_second=2))

    async def work(served: Served) -> None:
        client = served.with_token()
        statuses = [(await client.get(KEY)).status for _ in range(4)]
        assert statuses == [404] * 4
        refused = await client.get(KEY)
        assert members(refused, 429, "TooManyRequests")["retryable"]
        assert refused.headers["retry-after"] == "1"

    run(tmp_path, work, meter=meter)


def test_what_fails_unexpectedly_tells_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(served: Served) -> None:
        async def fail(*_: object, **__: object) -> None:
            raise ZeroDivisionError("Sesame")

        monkeypatch.setattr(served.dispatcher, "ask", fail)
        problem = await served.client.get(KEY, x_request_id="mine")
        members(problem, 500)
        assert b"Sesame" not in problem.body
        assert "Sesame" not in caplog.text
        (record,) = caplog.records
        assert (record.__dict__["request_id"], record.__dict__["error"]) == (
            "mine",
            "ZeroDivisionError",
        )

    run(tmp_path, work)


def test_a_client_that_goes_while_it_sends_is_forgotten(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        exchange = served.client.begin("PUT", KEY, chunks=[b'{"value"', b": "])
        exchange._chunks.pop()
        exchange.leave()
        reply = await exchange.whole()
        assert reply.status in (0, 415)
        assert served.app.count == 0

    run(tmp_path, work)


def test_other_applications_can_be_mounted(tmp_path: Path) -> None:
    async def metrics(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"commits 5"})

    seen: list[Any] = []

    async def work(served: Served) -> None:
        assert (await served.client.get("/metrics")).body == b"commits 5"
        await served.client.get(KEY)
        await served.client.get("/nowhere")
        assert [(part.route, part.status) for part in seen] == [("get_state", 404), ("", 404)]

    run(tmp_path, work, mounts={"/metrics": metrics}, observe=seen.append)
