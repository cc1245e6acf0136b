"""The tool that stores transcripts."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from memoranda.calls.transcript_writes import StoreTranscript
from memoranda.errors import InvalidInput
from memoranda.memory.transcripts import TranscriptInfo
from memoranda.server.mcp.session import Session
from memoranda.server.mcp.tool import Answer, Arguments, tool


class Message(Struct, frozen=True):
    """One message of a conversation."""

    role: Literal["user", "assistant", "system", "tool"]
    content: str
    name: str | None = None


class StoredTranscript(Answer, frozen=True, kw_only=True):
    """A transcript that was stored; it is durable."""

    id: str
    commit: int
    hash: str | None = None
    size: int


class StoreTranscriptArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `transcript_store`."""

    text: str | None = None
    messages: tuple[Message, ...] = ()
    occurred_at: Annotated[str, Meta(description="RFC 3339")] | None = None
    idempotency_key: str | None = None


@tool(verb="write")
async def transcript_store(
    session: Session, arguments: StoreTranscriptArguments
) -> StoredTranscript:
    """Store a conversation word by word, as text or messages, to cite it from memories."""
    if (arguments.text is None) != bool(arguments.messages):
        raise InvalidInput("text", "give text or messages, one of the two")
    messages = [
        {"role": message.role, "content": message.content}
        | ({} if message.name is None else {"name": message.name})
        for message in arguments.messages
    ]
    info: TranscriptInfo = await session.commit(
        StoreTranscript(
            session.agent_id,
            session.namespace,
            messages if arguments.text is None else arguments.text,
            occurred_at=arguments.occurred_at,
            txn_id=arguments.idempotency_key,
        )
    )
    return StoredTranscript(
        id=info.id,
        commit=info.commit_ts,
        hash=await session.hash_of(info.commit_ts),
        size=info.original_size,
    )
