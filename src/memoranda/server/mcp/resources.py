"""Resources: data that assistants can read by an address, as JSON.

memoranda://inbox                notices that are open
memoranda://timeline/{agent}     the last commits of an agent
memoranda://memory/{id}          a memory with its origins
memoranda://why/{ref}            the reasons of a belief, as a tree
memoranda://transcript/{id}      the words of a transcript
memoranda://state/{key}          the value of a key
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

import mcp_types as types
import msgspec

from memoranda.calls.as_json import origin_nodes, reason_nodes, to_json
from memoranda.calls.keys import GetState
from memoranda.calls.links import Invalidations
from memoranda.calls.log import Replay, TimelineBuckets
from memoranda.calls.transcripts import GetTranscript, LoadTranscript, Origins
from memoranda.errors import NotFound
from memoranda.memory.transcripts import rendered
from memoranda.model.clock import Instant
from memoranda.model.limits import short_repr
from memoranda.server.mcp.session import (
    NOTICE,
    SCHEME,
    Session,
    memory_id_of,
    missing_memory,
    transcript_id_of,
    uri_of,
)
from memoranda.server.mcp.tools.memories import missing_transcript
from memoranda.server.mcp.tools.provenance import explain

_MAX_NOTICES = 200
"""Notices of the inbox resource."""
_MAX_COMMITS = 200
"""Commits of a timeline resource."""
_MAX_READ = 2000
"""Commits that are read for the last ones."""
JSON = "application/json"
INBOX = f"{SCHEME}://inbox"
_DESCRIPTIONS: Mapping[str, tuple[str, str]] = {
    "timeline": ("agent", "The last commits of an agent, with exact values"),
    "memory": ("id", "A memory with its origins, down to quoted words"),
    "why": ("ref", "The reasons of a belief, as a tree"),
    "transcript": ("id", "The words of a transcript"),
    "state": ("key", "Your value of a key"),
}
"""Kind of resource -> the variable in its address, and what it has."""


def listed(agent_id: str) -> list[types.Resource]:
    """Return the resources that have a fixed address."""
    return [
        types.Resource(
            name="inbox",
            uri=INBOX,
            description="Beliefs of yours whose evidence changed, and that are not decided yet",
            mime_type=JSON,
        ),
        types.Resource(
            name="timeline",
            uri=uri_of("timeline", agent_id),
            description="Your last commits, with exact values",
            mime_type=JSON,
        ),
    ]


def templates() -> list[types.ResourceTemplate]:
    """Return the kinds of resources."""
    return [
        types.ResourceTemplate(
            name=kind,
            uri_template=f"{SCHEME}://{kind}/{{{variable}}}",
            description=text,
            mime_type=JSON,
        )
        for kind, (variable, text) in _DESCRIPTIONS.items()
    ]


async def read(session: Session, uri: str) -> bytes:
    """Return a resource as JSON; raise `NotFound` that names it if there is none."""
    parts = urlsplit(uri)
    kind, name = parts.netloc, unquote(parts.path.removeprefix("/"))
    reader = _READERS.get(kind)
    has_name = kind != "inbox"
    if parts.scheme != SCHEME or reader is None or bool(name) != has_name:
        raise NotFound(
            f"there is no resource {short_repr(uri)}: resources/templates/list has their kinds"
        )
    members = await reader(session, name)
    return msgspec.json.encode({"notice": NOTICE} | members)


async def _inbox(session: Session, _: str) -> dict[str, Any]:
    notices, more = await session.calls.first(Invalidations(session.agent_id), _MAX_NOTICES)
    return {"invalidations": [to_json(notice) for notice in notices], "more": more}


async def _timeline(session: Session, agent_id: str) -> dict[str, Any]:
    """Return the last commits of an agent."""
    start = await _start_of_last(session, agent_id)
    call = Replay(agent_id, session.namespace, from_timestamp=start)
    events, more = await session.calls.first(call, _MAX_READ)
    commits = [to_json(event) for event in events[-_MAX_COMMITS:]]
    return {"agent": agent_id, "commits": commits, "more": more}


async def _start_of_last(session: Session, agent_id: str) -> Instant | None:
    """Return a time from which on there are the last commits of an agent, and few others.

    A log is read forwards: counts over ever shorter times say where to begin.
    """
    start: Instant | None = None
    while True:
        buckets = await session.calls.ask(
            TimelineBuckets(agent_id, session.namespace, from_timestamp=start)
        )
        count, first = 0, start
        for bucket in reversed(buckets):
            count, first = count + bucket.events, bucket.start
            if count >= _MAX_COMMITS:
                break
        if first == start or count <= _MAX_READ:
            return first
        start = first


async def _memory(session: Session, text: str) -> dict[str, Any]:
    call = Origins(memory_id_of("memory_id", text), agent_id=session.agent_id)
    root = await session.calls.ask(call)
    if root is None:
        raise missing_memory("memory_id", text)
    return {"memory": to_json(root.memory), "origins": list(origin_nodes(root))}


async def _why(session: Session, ref: str) -> dict[str, Any]:
    return {"ref": ref, "nodes": list(reason_nodes(await explain(session, ref)))}


async def _transcript(session: Session, text: str) -> dict[str, Any]:
    transcript_id = transcript_id_of("transcript_id", text)
    info = await session.calls.ask(GetTranscript(transcript_id))
    if info is None:
        raise missing_transcript(text)
    content = await session.calls.ask(LoadTranscript(transcript_id))
    rendering = rendered(info, content)
    words = content if rendering is None else rendering.text
    return {"transcript": to_json(info), "text": words.decode()}


async def _state(session: Session, key: str) -> dict[str, Any]:
    record = await session.calls.ask(GetState(session.agent_id, session.namespace, key))
    if record is None:
        raise NotFound(f"key {short_repr(key)} has no value")
    return {"key": key, **to_json(record)}


_READERS: Mapping[str, Callable[[Session, str], Awaitable[dict[str, Any]]]] = {
    "inbox": _inbox,
    "timeline": _timeline,
    "memory": _memory,
    "why": _why,
    "transcript": _transcript,
    "state": _state,
}
