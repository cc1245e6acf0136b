"""Tools about state: keys with JSON values, and the replay of an agent."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from memoranda.calls.as_json import to_json
from memoranda.calls.key_writes import Write
from memoranda.calls.keys import GetState
from memoranda.calls.log import Replay
from memoranda.errors import NotFound
from memoranda.model.event import ReplayEvent
from memoranda.model.limits import short_repr
from memoranda.model.ref_text import format_ref, parse
from memoranda.model.refs import KeyRef
from memoranda.server.mcp.session import NOTICE, Notice, Session, time_of, uri_of
from memoranda.server.mcp.tool import Answer, Arguments, tool
from memoranda.server.mcp.tools.memories import Limit, moment

JsonObject = dict[str, Any]


class StateAnswer(Answer, frozen=True, kw_only=True):
    """The value of a key at one of its versions."""

    notice: Notice
    key: str
    value: JsonObject | None = None
    truncated: bool = False
    """Whether the value is too long for an answer, and in the linked resource."""
    version: int
    ref: str
    commit: int | None = None
    committed_at: str | None = None


class StateGetArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `state_get`."""

    key: str
    version: Annotated[int, Meta(ge=1)] | None = None
    at: Annotated[str | int, Meta(description="Past time or commit")] | None = None


@tool()
async def state_get(session: Session, arguments: StateGetArguments) -> StateAnswer:
    """Read your value of a key, now or at a past version or moment."""
    key = arguments.key
    record = await session.calls.ask(
        GetState(
            session.agent_id,
            session.namespace,
            key,
            arguments.version,
            moment(arguments.at),
        )
    )
    if record is None:
        raise NotFound(
            f"key {short_repr(key)} has no value then: state_set writes one, and state_replay "
            "lists what was written",
            field="key",
        )
    has_room = session.has_room(len(msgspec.json.encode(record.value)))
    if not has_room:
        session.link(uri_of("state", key))
    return StateAnswer(
        notice=NOTICE,
        key=key,
        value=record.value if has_room else None,
        truncated=not has_room,
        version=record.version,
        ref=format_ref(KeyRef(key, record.version)),
        commit=record.commit_ts,
        committed_at=time_of(record.committed_at),
    )


class StateWritten(Answer, frozen=True, kw_only=True):
    """A value that was written; it is durable."""

    notice: Notice
    key: str
    version: int | None = None
    ref: str
    outcome: str
    commit: int
    hash: str | None = None


class StateSetArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `state_set`."""

    key: str
    value: JsonObject
    because: Annotated[tuple[str, ...], Meta(description="Refs that the value rests on")] = ()
    expect_version: (
        Annotated[int, Meta(ge=0, description="Compare and set; 0: no value yet")] | None
    ) = None
    idempotency_key: str | None = None


@tool(verb="write")
async def state_set(session: Session, arguments: StateSetArguments) -> StateWritten:
    """Write a JSON object to a key of yours; its history stays.

    memory_why explains it by because.
    """
    receipt = await session.commit(
        Write(
            session.agent_id,
            session.namespace,
            arguments.key,
            arguments.value,
            arguments.expect_version,
            tuple(parse(text) for text in arguments.because),
            txn_id=arguments.idempotency_key,
        )
    )
    return StateWritten(
        notice=NOTICE,
        key=arguments.key,
        version=receipt.version,
        ref=format_ref(KeyRef(arguments.key, receipt.version)),
        outcome=receipt.outcome,
        commit=receipt.commit_ts,
        hash=await session.hash_of(receipt.commit_ts),
    )


# The replay.


class ReplayedOperation(Answer, frozen=True, kw_only=True):
    """An operation of a commit."""

    type: str
    key: str
    """Its address: a key, memory:ID, fact:… ."""
    version: int | None = None
    value: JsonObject | None = None
    truncated: bool = False


class ReplayedCommit(Answer, frozen=True, kw_only=True):
    """A commit, with the operations of this agent."""

    commit: int
    committed_at: str
    actor: str
    hash: str
    operations: tuple[ReplayedOperation, ...]


class StateReplay(Answer, frozen=True, kw_only=True):
    """Commits in their order."""

    notice: Notice
    commits: tuple[ReplayedCommit, ...]
    next_after: int | None = None
    """Give it as `after_commit` for what follows."""


class StateReplayArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `state_replay`."""

    after_commit: Annotated[int, Meta(ge=0)] = 0
    through_commit: Annotated[int, Meta(ge=1)] | None = None
    kinds: Annotated[tuple[str, ...], Meta(description="Such as write, delete, remember")] = ()
    limit: Limit = 20


@tool()
async def state_replay(session: Session, arguments: StateReplayArguments) -> StateReplay:
    """Replay what you wrote, commit by commit, with exact values."""
    call = Replay(
        session.agent_id,
        session.namespace,
        after_commit=arguments.after_commit or None,
        through_commit=arguments.through_commit,
        kinds=tuple(kind.lower() for kind in arguments.kinds) or None,
    )
    events, more = await session.calls.first(call, arguments.limit)
    return StateReplay(
        notice=NOTICE,
        commits=tuple(commit_answer(session, event) for event in events),
        next_after=events[-1].commit_ts if more else None,
    )


def commit_answer(session: Session, event: ReplayEvent) -> ReplayedCommit:
    """Return an event as an answer; values that are too long are left out, and linked."""
    operations = []
    for operation in event.operations:
        members = to_json(operation)
        value = members["value"]
        has_room = value is None or session.has_room(len(msgspec.json.encode(value)))
        if not has_room:
            session.link(uri_of("timeline", session.agent_id))
        operations.append(
            ReplayedOperation(
                type=members["type"],
                key=members["key"],
                version=members["version"],
                value=value if has_room else None,
                truncated=not has_room,
            )
        )
    return ReplayedCommit(
        commit=event.commit_ts,
        committed_at=event.timestamp,
        actor=event.actor,
        hash=event.hash.hex(),
        operations=tuple(operations),
    )
