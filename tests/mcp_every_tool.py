"""A story that calls every tool of MCP, for any way to a server."""

from __future__ import annotations

from typing import Any

from tests.mcp_client import Assistant


async def tell_story(assistant: Assistant) -> dict[str, Any]:
    """Store a talk, a memory of it, a conclusion, and a fact."""
    talk = await assistant.call(
        "transcript_store",
        messages=[
            {"role": "user", "content": "I drink tea, never coffee."},
            {"role": "assistant", "content": "Noted."},
        ],
    )
    memory = await assistant.call(
        "memory_store",
        content="The user drinks tea",
        transcript_id=talk["id"],
        quote="I drink tea",
    )
    conclusion = await assistant.call("memory_reflect", content="Buy tea", on=[memory["id"]])
    fact = await assistant.call(
        "fact_assert",
        subject="user",
        relation="drinks",
        object="tea",
        source=f"memory:{memory['id']}",
    )
    return {"talk": talk, "memory": memory, "conclusion": conclusion, "fact": fact}


async def call_every_tool(assistant: Assistant) -> set[str]:
    """Call every tool of an empty store, check what it answers, and return the names."""
    used = set()
    plain_call = assistant.call

    async def call(name: str, **arguments: Any) -> dict[str, Any]:
        used.add(name)
        return await plain_call(name, **arguments)

    assistant.call = call  # type: ignore[method-assign]
    story = await tell_story(assistant)
    memory, conclusion = story["memory"]["id"], story["conclusion"]["id"]

    recalled = await call("memory_recall", query="what does the user drink?")
    assert f"memory:{memory}@1" in [hit["ref"] for hit in recalled["hits"]]
    replayed = await call("memory_replay", memory_id=conclusion)
    (words,) = replayed["transcripts"]
    assert (words["excerpts"], words["hop"]) == (["I drink tea"], 1)
    why = await call("memory_why", ref=f"memory:{conclusion}")
    assert [node["kind"] for node in why["nodes"]] == ["memory", "memory", "transcript"]
    origins = await call("memory_origins", memory_id=conclusion)
    assert origins["nodes"][1]["excerpts"] == ["I drink tea"]
    dependents = await call("memory_dependents_of_invalidated", memory_id=memory)
    assert [item["id"] for item in dependents["dependents"]] == [conclusion]

    newer = await call("memory_store", content="The user drinks coffee now", title="drink")
    link = await call("memory_supersede", old=memory, new=newer["id"])
    assert link["notified"] == [conclusion]
    inbox = await call("memory_inbox")
    (notice,) = [item for item in inbox["invalidations"] if conclusion in item["dependent"]]
    await call("memory_resolve_invalidation", notice_id=notice["id"], decision="keep", note="n")
    await call("memory_link", source=newer["id"], target=conclusion, relation="contradicts")
    await call("memory_update", memory_id=newer["id"], tags=["drinks"])
    await call("memory_promote", memory_id=newer["id"])
    read = await call("memory_get", title="drink")
    assert (read["memory"]["version"], read["memory"]["tags"]) == (2, ["drinks"])
    history = await call("memory_history", memory_id=newer["id"])
    assert [item["version"] for item in history["memories"]] == [1, 2]
    await call("memory_retract", memory_id=newer["id"], reason="joke")
    listed = await call("memory_list")
    assert newer["id"] not in [item["id"] for item in listed["memories"]]

    written = await call("state_set", key="k", value={"a": 1}, because=[f"memory:{conclusion}"])
    assert (await call("state_get", key="k"))["value"] == {"a": 1}
    replay = await call("state_replay", after_commit=written["commit"] - 1)
    assert replay["commits"][0]["operations"][0]["value"] == {"a": 1}
    facts = await call("fact_query", subject="user")
    (fact,) = facts["facts"]
    assert (fact["object"], fact["sources"]) == ("tea", [f"memory:{memory}@1"])
    assert (await call("fact_explain", fact=fact["ref"]))["assertions"][0]["quotes"]
    await call("fact_end", subject="user", relation="drinks", object="tea")
    (edge,) = (await call("fact_timeline", subject="user", relation="drinks"))["facts"]
    assert edge["valid_to"]

    forgotten = await call("memory_forget", memory_id=newer["id"], reason="asked to")
    assert forgotten["outcome"] == "deleted"
    assert len(assistant.questions) == 1
    verified = await call("memory_verify", deep=True)
    assert verified["commits"] == forgotten["commit"]
    return used
