"""What the tables keep of memories and transcripts that were forgotten: that there were some."""

from __future__ import annotations

from memoranda.memory.states import At, Values, add_state, content_of, details_of
from memoranda.model.memory import Content, Details
from memoranda.model.operations import Begun, MemoryStub, Remember, TranscriptStub
from memoranda.storage.port import Writer

NO_DIGEST = b""
"""The digest of a transcript whose words were erased."""


def add_stub(writer: Writer, at: At, stub: MemoryStub) -> int:
    """Add a memory that says nothing, and return its number."""
    memory = writer.add(
        "memory_stub_put",
        stub.memory_id,
        stub.namespace,
        stub.agent_id,
        int(stub.private),
        at.commit_ts,
        at.time,
    )
    state: Values = {
        "version": 1,
        "updated_at": at.time,
        "kind": "",
        "tier": "",
        "title": None,
        "retracted": 0,
        "reason": None,
        "expires_at": None,
        "depth": 0,
        "access_count": 0,
        "last_accessed_at": None,
    }
    state |= details_of(Details()) | content_of(Content(""))
    add_state(writer, at, memory, state)
    return memory


def put_again(writer: Writer, operation: Remember | Begun) -> int:
    """Let a memory's owner be the one that an operation says, and return its number."""
    return writer.add("memory_move", operation.namespace, operation.agent_id, operation.memory_id)


def add_transcript_stub(writer: Writer, at: At, stub: TranscriptStub) -> int:
    """Add a transcript without words, and return its number."""
    return writer.add(
        "transcript_stub_put",
        stub.transcript_id,
        stub.namespace,
        stub.agent_id,
        at.commit_ts,
        at.position,
        at.time,
        NO_DIGEST,
    )
