"""Prompts for assistants, with the stored data that they are about.

The data is an embedded resource, in a message of its own, never a part of the words of a prompt.
"""

from __future__ import annotations

from collections.abc import Mapping

import mcp_types as types
import msgspec

from memoranda.calls.as_json import to_json
from memoranda.calls.memories import ListMemories
from memoranda.errors import InvalidInput, NotFound
from memoranda.model.limits import short_repr
from memoranda.server.mcp import resources
from memoranda.server.mcp.session import NOTICE, SCHEME, Session

REFLECT, TRIAGE = "reflect_on_what_was_learned", "triage_invalidations"
_MAX_MEMORIES = 50
"""Memories that a prompt shows to its assistant."""
_REFLECT_TEXT = (
    "Below are the memories that were stored since {since}. Find what follows from several of them "
    "together: a pattern, a preference, a contradiction. Store each conclusion with "
    "memory_reflect, and name the memories that it rests on. Where one memory corrects another, "
    "say so. Conclude nothing that they do not support; it is fine to store nothing."
)
_TRIAGE_TEXT = (
    "Below are notices: beliefs of yours whose evidence was superseded, retracted or ended. For "
    "each, ask memory_why for the dependent, read the words with memory_replay where they matter, "
    "and decide with memory_resolve_invalidation: keep the belief, revise it with a replacement "
    "that you store first, or retract it. Say in the note why."
)


def listed() -> list[types.Prompt]:
    """Return the prompts."""
    return [
        types.Prompt(
            name=REFLECT,
            description="Reflect on what was learned since a time",
            arguments=[
                types.PromptArgument(
                    name="since", description="RFC 3339 or a day, such as 2026-02-07", required=True
                )
            ],
        ),
        types.Prompt(name=TRIAGE, description="Decide the beliefs whose evidence changed"),
    ]


async def get(session: Session, name: str, arguments: Mapping[str, str]) -> types.GetPromptResult:
    """Return a prompt with its data, or raise `NotFound`."""
    if name == REFLECT:
        return await _reflect(session, arguments)
    if name == TRIAGE:
        inbox = await resources.read(session, resources.INBOX)
        return _prompt(_TRIAGE_TEXT, resources.INBOX, inbox)
    raise NotFound(f"there is no prompt {short_repr(name)}: prompts/list has those there are")


async def _reflect(session: Session, arguments: Mapping[str, str]) -> types.GetPromptResult:
    since = arguments.get("since")
    if not since:
        raise InvalidInput("since", "is missing: give a time, such as 2026-02-07")
    call = ListMemories(session.namespace, created_after=since, content=True)
    memories, more = await session.calls.first(call, _MAX_MEMORIES)
    members = {"notice": NOTICE, "memories": [to_json(memory) for memory in memories], "more": more}
    text = _REFLECT_TEXT.format(since=since)
    return _prompt(text, f"{SCHEME}://memories", msgspec.json.encode(members))


def _prompt(text: str, uri: str, data: bytes) -> types.GetPromptResult:
    contents = types.TextResourceContents(uri=uri, mime_type=resources.JSON, text=data.decode())
    blocks = (types.TextContent(text=text), types.EmbeddedResource(resource=contents))
    return types.GetPromptResult(
        messages=[types.PromptMessage(role="user", content=block) for block in blocks]
    )
