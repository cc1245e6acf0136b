"""Compare-and-set by entity tags, and exactly once by an idempotency key."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.http_app import Served, run
from tests.unit.server.http.test_requests import members

KEY = "/v1/stores/acme/agents/a/keys/k"
CLIENTS = 32


def test_a_version_that_is_expected_in_a_header(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        client = served.client
        assert (await client.put(KEY, {"value": {}}, if_none_match="*")).status == 200
        members(await client.put(KEY, {"value": {}}, if_none_match="*"), 412, "VersionMismatch")
        written = await client.put(KEY, {"value": {}}, if_match='"1"')
        assert re.fullmatch(r'"2-[0-9a-f]{12}"', written.headers["etag"])
        problem = members(await client.put(KEY, {"value": {}}, if_match='"1"'), 412,
                          "VersionMismatch")  # fmt: skip
        assert problem["attributes"] == {"key": "k", "expected": 1, "actual": 2}
        in_body = await client.put(KEY, {"value": {}, "expect_version": 1})
        members(in_body, 409, "VersionMismatch")
        members(await client.send("DELETE", KEY, if_match='"1"'), 412, "VersionMismatch")
        assert (await client.send("DELETE", KEY, if_match='"2"')).status == 200

    run(tmp_path, work)


def test_a_memory_has_a_version_too(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        made = await served.client.post("/v1/stores/acme/memories",
                                        {"agent_id": "a", "content": "x"})  # fmt: skip
        path = f"/v1/stores/acme/memories/{made.json['id']}"
        assert made.headers["etag"].startswith('"1-')
        got = await served.client.get(path)
        changed = await served.client.send(
            "PATCH", path, {"content": "y"}, if_match=got.headers["etag"]
        )
        assert changed.headers["etag"].startswith('"2-')
        again = await served.client.send("PATCH", path, {"content": "z"}, if_match='"1"')
        assert again.status in (409, 412)

    run(tmp_path, work)


def test_what_the_client_has_already_is_not_sent(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        tag = (await served.client.put(KEY, {"value": {"n": 1}})).headers["etag"]
        for tags in (tag, f"W/{tag}", f'"0", {tag}', "*"):
            reply = await served.client.get(KEY, if_none_match=tags)
            assert (reply.status, reply.body, reply.headers["etag"]) == (304, b"", tag)
        for tags in ('"1"', tag.replace("1", "2", 1)):
            assert (await served.client.get(KEY, if_none_match=tags)).status == 200

    run(tmp_path, work)


def test_tags_of_a_dropped_store_are_not_those_of_a_new_one_of_its_name(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        client = served.client
        old = (await client.put(KEY, {"value": {"of": "old"}})).headers["etag"]
        await served.stores.drop("acme")
        await served.stores.create("acme")
        new = (await client.put(KEY, {"value": {"of": "new"}})).headers["etag"]
        assert old.partition("-")[0] == new.partition("-")[0] == '"1'
        got = await client.get(KEY, if_none_match=old)
        assert (got.status, got.json["value"]) == (200, {"of": "new"})
        for method, body in (("PUT", {"value": {}}), ("DELETE", None)):
            refused = await client.send(method, KEY, body, if_match=old)
            assert refused.status == 412
            assert "another store" in refused.json["detail"]
        assert (await client.put(KEY, {"value": {}}, if_match=new)).status == 200

    run(tmp_path, work)


def test_a_memory_that_changed_without_a_new_version_is_sent(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        made = await served.client.post("/v1/stores/acme/memories",
                                        {"agent_id": "a", "content": "x"})  # fmt: skip
        path = f"/v1/stores/acme/memories/{made.json['id']}"
        touched = await served.client.post(f"{path}/touch", {"agent_id": "a"})
        assert touched.headers["etag"] == made.headers["etag"]
        got = await served.client.get(path, if_none_match=made.headers["etag"])
        assert (got.status, got.json["access_count"]) == (200, 1)

    run(tmp_path, work)


def test_what_a_browser_keeps_is_of_one_caller(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        await served.client.put(KEY, {"value": {"n": 1}})
        for reply in (
            await served.client.get(KEY),
            await served.client.get(KEY, if_none_match="*"),
        ):
            assert reply.headers["vary"] == "authorization, cookie, memoranda-agent"

    run(tmp_path, work)


@pytest.mark.parametrize(
    "headers",
    [
        {"if_match": "*"},
        {"if_match": '"1", "2"'},
        {"if_match": "1"},
        {"if_match": 'W/"1"'},
        {"if_none_match": '"1"'},
        {"if_match": '"1"', "if_none_match": "*"},
    ],
)
def test_conditions_that_are_not_understood(tmp_path: Path, headers: dict[str, str]) -> None:
    async def work(served: Served) -> None:
        members(await served.client.put(KEY, {"value": {}}, **headers), 400, "InvalidInput")

    run(tmp_path, work)


def test_headers_and_body_must_not_differ(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        body = {"value": {}, "expect_version": 1, "txn_id": "t"}
        for headers in ({"if_match": '"2"'}, {"idempotency_key": "u"}):
            members(await served.client.put(KEY, body, **headers), 400, "InvalidInput")
        fact = {"agent_id": "a", "subject": "A", "relation": "r", "object": "B"}
        refused = await served.client.post("/v1/stores/acme/facts", fact, if_match='"1"')
        members(refused, 400, "InvalidInput")
        members(await served.client.put(KEY, body, idempotency_key="\xff\xfe"), 400,
                "InvalidInput")  # fmt: skip

    run(tmp_path, work)


def test_one_effect_of_many_requests_with_one_key(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        body = {"agent_id": "a", "content": "Ann lives in Bonn"}
        replies = await asyncio.gather(
            *(
                served.client.post("/v1/stores/acme/memories", body, idempotency_key='"once"')
                for _ in range(CLIENTS)
            )
        )
        assert {reply.status for reply in replies} == {200}
        assert len({reply.json["id"] for reply in replies}) == 1
        assert len({reply.json["commit_ts"] for reply in replies}) == 1
        memories = await served.client.get("/v1/stores/acme/memories")
        assert len(memories.json["items"]) == 1
        other = await served.client.post(
            "/v1/stores/acme/memories", {**body, "content": "other"}, idempotency_key="once"
        )
        members(other, 422, "IdempotencyMismatch")

    run(tmp_path, work)


def test_one_winner_of_many_requests_with_one_version(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        await served.client.put(KEY, {"value": {"n": -1}})
        for round_ in range(1, 4):
            replies = await asyncio.gather(
                *(
                    served.client.put(KEY, {"value": {"n": number}}, if_match=f'"{round_}"')
                    for number in range(CLIENTS)
                )
            )
            statuses = sorted(reply.status for reply in replies)
            assert statuses == [200] + [412] * (CLIENTS - 1)
            (winner,) = [number for number, reply in enumerate(replies) if reply.status == 200]
            record = await served.client.get(KEY)
            assert (record.json["value"], record.json["version"]) == ({"n": winner}, round_ + 1)

    run(tmp_path, work)
