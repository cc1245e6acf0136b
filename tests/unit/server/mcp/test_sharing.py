"""Two assistants on stdio, one over HTTP and this process share a file, and write at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda.errors import VersionMismatch
from tests.mcp_client import Assistant
from tests.mcp_transports import over_http, over_stdio
from tests.patience import HANG_SECONDS
from tests.server_process import ServerProcess

TEAM, COUNT = "team", "count"


async def _write_by_tools(assistant: Assistant, name: str, rounds: int) -> list[dict[str, Any]]:
    """Store memories, each call sent twice as after a lost answer, and count in a shared key."""
    answers = []
    for number in range(rounds):
        call = {"content": f"{name} {number}", "idempotency_key": f"{name}-{number}"}
        first, again = await asyncio.gather(
            assistant.call("memory_store", **call), assistant.call("memory_store", **call)
        )
        assert first == again
        answers.append(first)
        while True:
            record = await assistant.call("state_get", key=COUNT)
            value, version = {"n": record["value"]["n"] + 1}, record["version"]
            arguments = {"key": COUNT, "value": value, "expect_version": version}
            result = await assistant.client.call_tool("state_set", arguments)
            if not result.is_error:
                break
            assert "VersionMismatch: " in str(result.content)
    return answers


async def _write_embedded(
    store: memoranda.AsyncStore, name: str, rounds: int
) -> list[dict[str, Any]]:
    answers = []
    for number in range(rounds):
        memory = await store.remember(f"{name} {number}", txn_id=f"{name}-{number}")
        answers.append({"id": memory.id, "commit": memory.commit_ts})
        while True:
            record = await store.get_state(key=COUNT)
            assert record is not None
            value = {"n": record.value["n"] + 1}
            try:
                await store.write(key=COUNT, value=value, expect_version=record.version)
            except VersionMismatch:
                continue
            break
    return answers


async def _share(file: Path, url: str, rounds: int) -> None:
    options = ("--agent", TEAM, "--tools", "full")
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(await memoranda.open_async(file, embedder=None))
        store = opened.bind(agent_id=TEAM)
        await store.write(key=COUNT, value={"n": 0})
        assistants = {
            "one": await stack.enter_async_context(over_stdio(file, *options)),
            "two": await stack.enter_async_context(over_stdio(file, *options, era="legacy")),
            "three": await stack.enter_async_context(
                over_http(f"{url}/mcp?tools=full&agent={TEAM}")
            ),
        }
        answers = await asyncio.gather(
            *(_write_by_tools(item, name, rounds) for name, item in assistants.items()),
            _write_embedded(store, "four", rounds),
        )
        await _check(store, [answer for part in answers for answer in part], rounds)


async def _check(store: memoranda.AsyncStore, answers: list[dict[str, Any]], rounds: int) -> None:
    """Compare the log with what the writers were told: nothing is lost, nothing is doubled."""
    events = {event.commit_ts: event async for event in store.replay()}
    written = Counter(
        operation.value["content"]
        for event in events.values()
        for operation in event.operations
        if operation.type.name == "REMEMBER" and operation.value is not None
    )
    names = ("one", "two", "three", "four")
    assert written == Counter(f"{name} {number}" for name in names for number in range(rounds))
    for answer in answers:
        event = events[answer["commit"]]
        assert [operation.key for operation in event.operations] == [f"memory:{answer['id']}"]
        assert answer.get("hash", event.hash.hex()) == event.hash.hex()
    record = await store.get_state(key=COUNT)
    assert record is not None
    assert (record.value["n"], record.version) == (len(names) * rounds, len(names) * rounds + 1)
    verification = await store.verify(deep=True)
    assert verification.commits == max(events) == 1 + 2 * len(names) * rounds


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [3, 60])
def test_nothing_is_lost_and_nothing_doubled(rounds: int, tmp_path: Path) -> None:
    file = tmp_path / "shared.db"

    async def main(url: str) -> None:
        async with asyncio.timeout(5 * HANG_SECONDS):
            await _share(file, url, rounds)

    with ServerProcess("--db", str(file), "--http", "127.0.0.1:0") as server:
        asyncio.run(main(server.announced["http"]))
