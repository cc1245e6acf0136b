"""Every tool, in the order in which they are listed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from memoranda.calls.call import Verb
from memoranda.server.mcp.tool import Tool
from memoranda.server.mcp.tools import (
    erasure,
    facts,
    keys,
    links,
    memories,
    provenance,
    recall,
    transcripts,
)

ToolSet: TypeAlias = Literal["core", "full"]

TOOLS: tuple[Tool, ...] = (
    # core
    memories.memory_store,
    recall.memory_recall,
    memories.memory_reflect,
    provenance.memory_replay,
    provenance.memory_dependents_of_invalidated,
    provenance.memory_why,
    links.memory_inbox,
    # full
    memories.memory_get,
    memories.memory_list,
    links.memory_link,
    links.memory_supersede,
    memories.memory_update,
    memories.memory_retract,
    memories.memory_promote,
    links.memory_resolve_invalidation,
    provenance.memory_origins,
    memories.memory_history,
    erasure.memory_verify,
    erasure.memory_forget,
    transcripts.transcript_store,
    keys.state_get,
    keys.state_set,
    keys.state_replay,
    facts.fact_assert,
    facts.fact_end,
    facts.fact_query,
    facts.fact_timeline,
    facts.fact_explain,
)
BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}


def offered(tool_set: ToolSet, verbs: frozenset[Verb], *, is_read_only: bool) -> tuple[Tool, ...]:
    """Return the tools of a connection: of its set, and of what its caller may do at all."""
    return tuple(
        tool
        for tool in TOOLS
        if (tool_set == "full" or tool.is_core)
        and tool.verb in verbs
        and (tool.is_read_only or not is_read_only)
    )
