"""Lines of JSON, and subscriptions: resumed without a gap, ended by either side."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memoranda.errors import StoreFull
from memoranda.server.http import streams
from memoranda.server.http.answers import answer_json
from memoranda.wire.over_http import SHUTTING_DOWN
from tests.http_app import Exchange, Reply, Served, run
from tests.unit.server.http.test_requests import members

AGENT = "/v1/stores/acme/agents/a"
SUBSCRIBE = "/v1/stores/acme/subscribe?agent_id=a"
REPLAY = "/v1/stores/acme/replay?agent_id=a"
LINES: dict[str, Any] = {"accept": "application/x-ndjson"}


async def write(served: Served, *numbers: int) -> None:
    for number in numbers:
        await served.client.put(f"{AGENT}/keys/k", {"value": {"n": number}})


def events(reply: Reply) -> list[tuple[str, Any]]:
    """Return the ids and the data of what was sent so far, as a browser takes it."""
    blocks = reply.body.decode().split("\n\n")[:-1]
    parsed = [dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
              for block in blocks]  # fmt: skip
    return [(block.get("id", ""), msgspec.json.decode(block["data"]))
            for block in parsed if "data" in block]  # fmt: skip


def numbers(reply: Reply) -> list[int]:
    return [data["operations"][0]["value"]["n"] for _, data in events(reply)]


def has(count: int) -> Any:
    return lambda reply: len(events(reply)) >= count


async def closed(exchange: Exchange) -> Reply:
    exchange.leave()
    return await exchange.whole()


def test_a_long_call_says_how_far_it_is(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        await write(served, *range(70))
        path = "/v1/stores/acme/verify"
        reply = await served.client.post(path, {}, **LINES)
        *steps, last = reply.lines
        assert steps[-1] == {"progress": {"done": 70, "total": 70}}
        assert last == {"answer": (await served.client.post(path, {})).json}
        refused = await served.client.post(path, {"checkpoint": "no note"}, **LINES)
        members(refused, 422, "NotProven")

    run(tmp_path, work)


def test_a_replay_as_lines(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        await write(served, *range(70))
        reply = await served.client.get(REPLAY, **LINES)
        assert reply.headers["content-type"] == "application/x-ndjson"
        assert "content-length" not in reply.headers
        assert reply.is_complete
        pages = await served.client.get(f"{REPLAY}&limit=1000")
        assert reply.lines == pages.json["items"]
        assert len(reply.lines) == 70
        after = reply.lines[60]["token"]
        rest = await served.client.get(f"{REPLAY}&after_commit={after}", **LINES)
        assert rest.lines == reply.lines[61:]
        refused = await served.client.get(f"{REPLAY}&limit=5", **LINES)
        members(refused, 400, "InvalidInput")
        members(await served.client.get(f"{REPLAY}&after_commit=x.1.ff", **LINES), 409, "LogForked")
        head = await served.client.send("HEAD", REPLAY, **LINES)
        assert (head.status, head.body) == (200, b"")

    run(tmp_path, work)


def test_a_stream_that_fails_says_so_and_is_not_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(served: Served) -> None:
        await write(served, *range(3))
        encode, count = answer_json, 0

        def failing(call: Any, item: Any) -> Any:
            nonlocal count
            count += 1
            if count > 2:
                raise StoreFull
            return encode(call, item)

        monkeypatch.setattr(streams, "answer_json", failing)
        monkeypatch.setattr(streams, "_ITEMS_AT_ONCE", 1)
        reply = await served.client.get(REPLAY, **LINES)
        assert [line.get("commit_ts") for line in reply.lines] == [1, 2, None]
        assert reply.lines[-1]["error"] == "StoreFull"
        assert not reply.is_complete

    run(tmp_path, work)


def test_a_subscription_begins_with_what_is_committed_next(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        await write(served, 0)
        exchange = served.client.begin("GET", SUBSCRIBE)
        reply = await exchange.until(lambda reply: bool(reply.body))
        assert reply.headers["content-type"] == "text/event-stream"
        assert reply.body.startswith(b"id: 1\n\n")
        await write(served, 1, 2)
        await exchange.until(has(2))
        assert numbers(reply) == [1, 2]
        await write(served, 3)
        await exchange.until(has(3))
        assert [data["commit_ts"] for _, data in events(reply)] == [2, 3, 4]
        await closed(exchange)
        assert served.app.count == 0

    run(tmp_path, work)


def test_a_subscription_resumes_where_it_broke_off(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        exchange = served.client.begin("GET", f"{SUBSCRIBE}&after_commit=0")
        await write(served, *range(40))
        received: list[int] = []
        for count in (7, 20, 13):
            reply = await exchange.until(has(count))
            taken = events(await closed(exchange))[:count]
            received += [data["operations"][0]["value"]["n"] for _, data in taken]
            exchange = served.client.begin(
                "GET", f"{SUBSCRIBE}&after_commit=0", last_event_id=taken[-1][0]
            )
            assert reply.status == 200
        assert received == list(range(40))
        await write(served, 40)
        assert numbers(await exchange.until(has(1))) == [40]
        await closed(exchange)

    run(tmp_path, work)


def test_nothing_is_missed_before_the_first_event(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        await write(served, 0)
        exchange = served.client.begin("GET", SUBSCRIBE)
        reply = await exchange.until(lambda reply: b"\n\n" in reply.body)
        first_id = reply.body.split(b"\n")[0].removeprefix(b"id: ").decode()
        await closed(exchange)
        await write(served, 1)
        resumed = served.client.begin("GET", SUBSCRIBE, last_event_id=first_id)
        assert numbers(await resumed.until(has(1))) == [1]
        await closed(resumed)
        members(await served.client.get(SUBSCRIBE, last_event_id="x.y.z"), 400, "InvalidInput")

    run(tmp_path, work)


def test_silence_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "HEARTBEAT_SECONDS", 0.01)

    async def work(served: Served) -> None:
        exchange = served.client.begin("GET", SUBSCRIBE)
        await exchange.until(lambda reply: reply.body.count(b":\n\n") >= 3)
        await write(served, 1)
        await exchange.until(has(1))
        await closed(exchange)

    run(tmp_path, work)


def test_a_subscription_ends_with_its_token(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        secret = served.secret(agent="a")
        exchange = served.client.begin("GET", SUBSCRIBE, authorization=f"Bearer {secret}")
        await exchange.until(lambda reply: bool(reply.body))
        served.control.tokens.revoke(secret)
        reply = await exchange.whole()
        assert b"event: problem\n" in reply.body
        assert events(reply)[-1][1]["error"] == "Unauthenticated"
        assert reply.is_complete

    run(tmp_path, work)


def test_streams_end_when_the_server_stops(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        await write(served, *range(100))
        subscription = served.client.begin("GET", SUBSCRIBE)
        await subscription.until(lambda reply: bool(reply.body))
        replay = served.client.begin("GET", REPLAY, **LINES)
        await replay.until(lambda reply: bool(reply.status))
        replay.may_send.clear()
        draining = asyncio.ensure_future(served.app.drain(60))
        await asyncio.sleep(0)
        replay.may_send.set()
        await draining
        assert (await subscription.whole()).is_complete
        assert not (await replay.whole()).is_complete
        assert served.app.count == 0

    run(tmp_path, work)


def test_a_stream_that_has_not_begun_when_the_server_stops_is_refused(tmp_path: Path) -> None:
    """A client of ours tries again then; an unexpected error it would have to report."""

    async def work(served: Served) -> None:
        await write(served, 1)
        replay = served.client.begin("GET", REPLAY, **LINES)
        replay.may_send.clear()
        while not served.app._streams:
            await asyncio.sleep(0)
        draining = asyncio.ensure_future(served.app.drain(60))
        await asyncio.sleep(0)
        replay.may_send.set()
        await draining
        reply = await replay.whole()
        assert (reply.status, reply.json["type"]) == (503, SHUTTING_DOWN)

    run(tmp_path, work)


def test_a_client_that_takes_nothing_is_waited_for(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        await write(served, *range(600))
        exchange = served.client.begin("GET", REPLAY, **LINES)
        await exchange.until(lambda reply: bool(reply.body))
        exchange.may_send.clear()
        size = len(exchange.reply.body)
        for _ in range(50):
            await asyncio.sleep(0.001)
        assert len(exchange.reply.body) == size
        exchange.may_send.set()
        assert len((await exchange.whole()).lines) == 600

    run(tmp_path, work)


def test_a_client_that_goes_ends_its_stream(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        await write(served, *range(600))
        exchange = served.client.begin("GET", REPLAY, **LINES)
        await exchange.until(lambda reply: bool(reply.body))
        exchange.may_send.clear()
        exchange.leave()
        reply = await exchange.whole()
        assert not reply.is_complete
        assert served.app.count == 0
        async with served.stores.use("acme"):
            pass

    run(tmp_path, work)
