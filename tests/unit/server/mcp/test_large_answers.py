"""Answers that are too large: texts are cut, and a link leads to the resource that has all."""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types
import pytest

import memoranda
from memoranda.server.mcp import resources
from memoranda.server.mcp.session import INLINE_BYTES
from tests.mcp_client import Assistant, connected, run, server_of

WORDS = "The user drinks tea. "
LONG = WORDS + "x" * (INLINE_BYTES + 1)
"""More than an answer has room for."""


async def _linked(assistant: Assistant, name: str, **arguments: Any) -> tuple[Any, Any]:
    """Call a tool, and return its answer and what the only link in it leads to."""
    result = await assistant.client.call_tool(name, arguments)
    assert not result.is_error, result.content
    (link,) = [part for part in result.content if isinstance(part, types.ResourceLink)]
    (contents,) = (await assistant.client.read_resource(str(link.uri))).contents
    assert isinstance(contents, types.TextResourceContents)
    assert len(json.dumps(result.structured_content)) < INLINE_BYTES + 20_000
    return result.structured_content, json.loads(contents.text)


def test_a_large_transcript_is_listed_and_its_words_come_when_they_are_asked_for() -> None:
    async def work(store: memoranda.AsyncStore) -> None:
        async with connected(server_of(store)) as assistant:
            call = assistant.call
            talk = (await call("transcript_store", text=LONG))["id"]
            memory = (
                await call("memory_store", content="tea", transcript_id=talk, quote="drinks tea")
            )["id"]
            answer, resource = await _linked(assistant, "memory_replay", memory_id=memory)
            (words,) = answer["transcripts"]
            assert (words["truncated"], words["size"]) == (True, len(LONG))
            assert "excerpts" not in words
            assert resource["text"] == LONG
            (words,) = (await call("memory_replay", memory_id=memory, verbose=True))["transcripts"]
            assert words["excerpts"] == ["drinks tea"], "only the cited words"
            assert "truncated" not in words
            small = (await call("transcript_store", text=WORDS))["id"]
            other = (await call("memory_store", content="tea", transcript_id=small))["id"]
            (words,) = (await call("memory_replay", memory_id=other))["transcripts"]
            assert words["excerpts"] == [WORDS]
            assert (await call("memory_replay", memory_id=other, depth=0))["transcripts"]
            await call("memory_forget", transcript_id=small)
            assert (await call("memory_replay", memory_id=other))["transcripts"] == []

    run(work)


def test_large_memories_and_values_are_cut_and_linked() -> None:
    async def work(store: memoranda.AsyncStore) -> None:
        async with connected(server_of(store)) as assistant:
            call = assistant.call
            memory = (await call("memory_store", content=LONG, title="long"))["id"]
            for name, arguments in (
                ("memory_get", {"title": "long"}),
                ("memory_list", {}),
                ("memory_history", {"memory_id": memory}),
                ("memory_origins", {"memory_id": memory}),
                ("memory_recall", {"query": "tea"}),
            ):
                answer, resource = await _linked(assistant, name, **arguments)
                assert '"truncated": true' in json.dumps(answer), name
                assert resource["memory"]["content"] == LONG, name
            await call("state_set", key="long", value={"text": LONG})
            answer, resource = await _linked(assistant, "state_get", key="long")
            assert "value" not in answer
            assert resource["value"] == {"text": LONG}
            answer, resource = await _linked(assistant, "state_replay")
            assert answer["commits"][-1]["operations"][0]["truncated"]
            assert resource["commits"][-1]["operations"][0]["value"] == {"text": LONG}

    run(work)


def test_a_search_keeps_to_its_budget() -> None:
    async def work(store: memoranda.AsyncStore) -> None:
        async with connected(server_of(store)) as assistant:
            for number in range(40):
                await assistant.call("memory_store", content=f"{WORDS}Tea {number}. " * 3)
            counts = []
            for budget in (50, 200, 1000, 20_000):
                answer = await assistant.call("memory_recall", query="tea", budget=budget)
                hits = answer["hits"]
                if len(hits) > 1:
                    size = sum(len(json.dumps(hit, separators=(",", ":"))) for hit in hits)
                    assert size <= budget * 4
                assert len(hits) + answer.get("omitted", 0) == 40
                counts.append(len(hits))
            assert counts[0] == 1, "the best one is there, whatever the budget"
            assert counts == sorted(counts)
            assert counts[-1] == 40

    run(work)


def test_a_timeline_has_the_last_commits_however_many_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resources, "_MAX_COMMITS", 5)
    monkeypatch.setattr(resources, "_MAX_READ", 10)

    async def work(store: memoranda.AsyncStore) -> None:
        own = store.bind(agent_id="assistant")
        for number in range(120):
            await own.write(key="k", value={"n": number})
        async with connected(server_of(store)) as assistant:
            (contents,) = (
                await assistant.client.read_resource("memoranda://timeline/assistant")
            ).contents
            assert isinstance(contents, types.TextResourceContents)
            commits = json.loads(contents.text)["commits"]
            numbers = [commit["operations"][0]["value"]["n"] for commit in commits]
            assert numbers == [115, 116, 117, 118, 119]

    run(work)
