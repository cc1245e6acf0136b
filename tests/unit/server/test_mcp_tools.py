"""The tools of the MCP server, called by the official client in both eras of the protocol."""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

import memoranda
from memoranda.server.mcp.catalog import TOOLS
from tests.mcp_client import ERAS, Era, connected, run, server_of
from tests.mcp_every_tool import call_every_tool

CORE = [
    "memory_store",
    "memory_recall",
    "memory_reflect",
    "memory_replay",
    "memory_dependents_of_invalidated",
    "memory_why",
    "memory_inbox",
]
MAX_TOKENS, WANTED_TOKENS = 1200, 1000


def test_the_core_tools_take_few_tokens() -> None:
    core = [tool for tool in TOOLS if tool.is_core]
    assert [tool.name for tool in core] == CORE

    def size(tool: Any) -> int:
        schema = json.dumps(tool.input_schema(), separators=(",", ":"), ensure_ascii=False)
        return len(tool.name) + len(tool.description) + len(schema)

    tokens = sum(map(size, core)) / 4
    assert tokens < MAX_TOKENS
    assert tokens < WANTED_TOKENS


@pytest.mark.parametrize("era", ERAS)
def test_tools_are_listed_in_one_order_with_schemas_and_hints(era: Era) -> None:
    async def work(store: memoranda.AsyncStore) -> None:
        async with connected(server_of(store), era) as assistant:
            tools = (await assistant.client.list_tools()).tools
            assert [tool.name for tool in tools] == [tool.name for tool in TOOLS]
            for tool in tools:
                assert tool.description
                assert tool.input_schema["type"] == "object"
                assert tool.output_schema is not None
                assert tool.annotations is not None
                scope = {"agent", "agent_id", "namespace", "store"}
                assert not scope & tool.input_schema["properties"].keys(), "the model has no say"
            hints = {tool.name: tool.annotations for tool in tools if tool.annotations}
            assert hints["memory_recall"].read_only_hint is True
            assert hints["memory_forget"].destructive_hint is True
            assert hints["memory_store"].read_only_hint is False
        async with connected(server_of(store, tool_set="core"), era) as assistant:
            assert [tool.name for tool in (await assistant.client.list_tools()).tools] == CORE
            with pytest.raises(MCPError, match="connect with the full set"):
                await assistant.call("memory_get", memory_id="x")
        async with connected(server_of(store, is_read_only=True), era) as assistant:
            for tool in (await assistant.client.list_tools()).tools:
                assert tool.annotations is not None
                assert tool.annotations.read_only_hint
            with pytest.raises(MCPError, match="read-only"):
                await assistant.call("memory_store", content="x")
            with pytest.raises(MCPError, match="no tool 'memory_stor'"):
                await assistant.call("memory_stor", content="x")

    run(work)


def test_a_write_answers_with_its_commit_and_happens_once() -> None:
    async def work(store: memoranda.AsyncStore) -> None:
        async with connected(server_of(store)) as assistant:
            first = await assistant.call("memory_store", content="tea", idempotency_key="a")
            again = await assistant.call("memory_store", content="tea", idempotency_key="a")
            assert first == again
            (event,) = [event async for event in store.bind(agent_id="assistant").replay()]
            assert (first["commit"], first["hash"]) == (event.commit_ts, event.hash.hex())
            memory = await store.get_memory(first["id"])
            assert memory is not None
            assert (memory.agent_id, memory.content) == ("assistant", "tea")
            text = await assistant.fail("memory_store", content="milk", idempotency_key="a")
            assert text.startswith("IdempotencyMismatch: ")

    run(work)


UNKNOWN = "00000000-0000-7000-8000-000000000000"
NAMING_CALLS: dict[str, dict[str, Any]] = {
    "memory_store": {"content": "x", "transcript_id": UNKNOWN, "quote": "x"},
    "memory_reflect": {"content": "x", "on": [UNKNOWN]},
    "memory_replay": {"memory_id": UNKNOWN},
    "memory_dependents_of_invalidated": {"memory_id": UNKNOWN},
    "memory_why": {"ref": f"memory:{UNKNOWN}"},
    "memory_get": {"memory_id": UNKNOWN},
    "memory_link": {"source": UNKNOWN, "target": UNKNOWN, "relation": "related_to"},
    "memory_supersede": {"old": UNKNOWN, "new": UNKNOWN},
    "memory_update": {"memory_id": UNKNOWN, "content": "x"},
    "memory_retract": {"memory_id": UNKNOWN},
    "memory_promote": {"memory_id": UNKNOWN},
    "memory_resolve_invalidation": {"notice_id": UNKNOWN, "decision": "keep"},
    "memory_origins": {"memory_id": UNKNOWN},
    "memory_history": {"memory_id": UNKNOWN},
    "memory_forget": {"memory_id": UNKNOWN},
    "state_get": {"key": UNKNOWN},
    "state_set": {"key": "k", "value": {}, "because": [f"memory:{UNKNOWN}"]},
    "fact_assert": {"subject": "a", "relation": "b", "object": "c", "source": f"memory:{UNKNOWN}"},
    "fact_explain": {"fact": UNKNOWN},
}
NAMING_NOTHING = {
    "memory_recall",
    "memory_inbox",
    "memory_list",
    "memory_verify",
    "transcript_store",
    "state_replay",
    "fact_end",
    "fact_query",
    "fact_timeline",
}


def test_an_unknown_id_is_an_error_that_names_it() -> None:
    assert NAMING_CALLS.keys() | NAMING_NOTHING == {tool.name for tool in TOOLS}

    async def work(store: memoranda.AsyncStore) -> None:
        async with connected(server_of(store)) as assistant:
            for name, arguments in NAMING_CALLS.items():
                text = await assistant.fail(name, **arguments)
                assert UNKNOWN in text, name
                assert text.startswith("NotFound: "), name
            assert not assistant.questions
            assert [event async for event in store.replay(agent_id="assistant")] == []

    run(work)


def test_wrong_arguments_are_named_with_those_that_there_are() -> None:
    async def work(store: memoranda.AsyncStore) -> None:
        async with connected(server_of(store)) as assistant:
            text = await assistant.fail("memory_recall", question="tea")
            assert "question" in text or "query" in text
            assert "query, budget, as_of, known_as_of" in text
            text = await assistant.fail("memory_store", content="x", agent_id="somebody else")
            assert "agent_id" in text
            text = await assistant.fail("memory_list", limit="many")
            assert "limit" in text

    run(work)


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
def test_every_tool_answers(era: Era) -> None:
    async def work(store: memoranda.AsyncStore) -> None:
        async with connected(server_of(store), era) as assistant:
            used = await call_every_tool(assistant)
            assert used == {tool.name for tool in TOOLS}

    run(work)


@pytest.mark.parametrize("era", ERAS)
def test_forgetting_needs_a_yes_of_the_user(era: Era) -> None:
    async def work(store: memoranda.AsyncStore) -> None:
        server = server_of(store)
        async with connected(server, era, says=False) as assistant:
            memory = await assistant.call("memory_store", content="the door code is 4711")
            answer = await assistant.call("memory_forget", memory_id=memory["id"])
            assert answer == {"outcome": "unchanged"}
            (question,) = assistant.questions
            assert memory["id"] in question
            assert "4711" in question
        async with connected(server, era, says=None) as assistant:
            if era == "legacy":
                text = await assistant.fail("memory_forget", memory_id=memory["id"])
            else:
                with pytest.raises(MCPError) as caught:
                    await assistant.call("memory_forget", memory_id=memory["id"])
                assert caught.value.error.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY
                text = str(caught.value)
            assert "cannot ask its user" in text
            assert "memoranda forget" in text
        assert await store.get_memory(memory["id"]) is not None
        async with connected(server, era, says=True) as assistant:
            answer = await assistant.call(
                "memory_forget", memory_id=memory["id"], idempotency_key="f"
            )
            assert answer["outcome"] == "deleted"
            assert await store.get_memory(memory["id"]) is None
            text = await assistant.fail("memory_forget", memory_id=memory["id"])
            assert text.startswith("NotFound: ")

    run(work)
