"""Tools that erase for good, and that verify the log."""

from __future__ import annotations

from memoranda.calls.erasure_writes import Forget
from memoranda.calls.maintenance import Verify
from memoranda.calls.transcripts import GetTranscript
from memoranda.errors import InvalidInput
from memoranda.server.mcp.session import Session, memory_id_of, time_of, transcript_id_of
from memoranda.server.mcp.tool import Answer, Arguments, tool
from memoranda.server.mcp.tools.memories import missing_transcript

_EXCERPT_CHARACTERS = 80
"""Characters of a memory by which the user recognises what is to be erased."""


class Forgotten(Answer, frozen=True, kw_only=True):
    """What an erasure did; the certificate has no content."""

    outcome: str
    """`deleted`, or `unchanged` if the user did not confirm it."""
    erasure_id: str | None = None
    commit: int | None = None
    digest: str | None = None
    """The certificate's hash over what is in the erased places now."""
    operations: int = 0
    pending_purge: bool = False
    """Whether erased bytes are still in the files until `memoranda purge`."""


class ForgetArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `memory_forget`."""

    memory_id: str | None = None
    transcript_id: str | None = None
    reason: str | None = None
    idempotency_key: str | None = None


@tool(verb="forget", destructive=True)
async def memory_forget(session: Session, arguments: ForgetArguments) -> Forgotten:
    """Erase a memory or a transcript for good, with its history.

    The user is asked to confirm. To correct something, use memory_retract or memory_supersede.
    """
    memory, transcript = arguments.memory_id, arguments.transcript_id
    if (memory is None) == (transcript is None):
        raise InvalidInput("memory_id", "give a memory_id or a transcript_id, one of the two")
    if memory is not None:
        call, question = await _forget_memory(session, memory, arguments)
    else:
        assert transcript is not None, "one of the two is given"
        call, question = await _forget_transcript(session, transcript, arguments)
    if not await session.confirm(question):
        return Forgotten(outcome="unchanged")
    certificate = await session.commit(call)
    return Forgotten(
        outcome=certificate.outcome,
        erasure_id=certificate.erasure_id,
        commit=certificate.commit_ts,
        digest=certificate.digest,
        operations=certificate.operations,
        pending_purge=certificate.pending_purge,
    )


async def _forget_memory(
    session: Session, text: str, arguments: ForgetArguments
) -> tuple[Forget, str]:
    memory = await session.memory(text)
    words = " ".join((memory.title or memory.content or "").split())
    excerpt = words[:_EXCERPT_CHARACTERS] + ("…" if len(words) > _EXCERPT_CHARACTERS else "")
    call = Forget(
        memory_id=memory_id_of("memory_id", text),
        agent_id=session.agent_id,
        reason=arguments.reason,
        txn_id=arguments.idempotency_key,
    )
    return call, (
        f"Erase memory {memory.id} of agent {memory.agent_id} for good, with all its versions and "
        f"the facts it is the source of? Its text, as stored: {excerpt!r}"
    )


async def _forget_transcript(
    session: Session, text: str, arguments: ForgetArguments
) -> tuple[Forget, str]:
    transcript_id = transcript_id_of("transcript_id", text)
    info = await session.calls.ask(GetTranscript(transcript_id))
    if info is None:
        raise missing_transcript(text)
    call = Forget(
        transcript_id=transcript_id,
        agent_id=session.agent_id,
        reason=arguments.reason,
        txn_id=arguments.idempotency_key,
    )
    return call, (
        f"Erase transcript {transcript_id} of agent {info.agent_id} for good, with the facts it is "
        f"the source of? It has {info.original_size} bytes of text."
    )


# Verification.


class Verified(Answer, frozen=True, kw_only=True):
    """The log, as far as it was verified: its chain holds."""

    commits: int
    head_hash: str
    log_id: str
    last_committed_at: str | None = None
    checkpoints: int = 0
    signed: int = 0
    rows: int | None = None
    """Rows of views that were compared with the log; None: only the log was verified."""
    warnings: tuple[str, ...] = ()


class VerifyArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `memory_verify`."""

    deep: bool = False


@tool(verb="admin")
async def memory_verify(session: Session, arguments: VerifyArguments) -> Verified:
    """Verify that nothing in the log was changed, removed or reordered.

    deep also compares the views with the log.
    """
    result = await session.calls.ask(Verify(deep=arguments.deep))
    return Verified(
        commits=result.commits,
        head_hash=result.head_hash,
        log_id=result.log_id,
        last_committed_at=time_of(result.last_committed_at),
        checkpoints=result.checkpoints,
        signed=result.signed,
        rows=result.rows,
        warnings=result.warnings,
    )
