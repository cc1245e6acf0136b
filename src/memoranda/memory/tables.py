"""The rows that say what a memory is like from one operation on to the next."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import msgspec

from memoranda.memory.standing import STILL
from memoranda.model import codec
from memoranda.model.memory import Content, Details
from memoranda.model.operations import Begun, Carried, Continued, Remember, Retract, Revise
from memoranda.storage.gathering import Gathering
from memoranda.storage.port import Writer

Values = dict[str, Any]
"""The columns of a row, by name."""


class At(msgspec.Struct, frozen=True, gc=False):
    """Where in the log an operation stands, and when that was."""

    commit_ts: int
    position: int
    time: int


_CARRIED = (
    "id",
    "version",
    "updated_at",
    "kind",
    "tier",
    "title",
    "retracted",
    "reason",
    "expires_at",
    "depth",
    "access_count",
    "last_accessed_at",
    "details_in",
    "content_in",
)
"""What `memory_last_state` gives, in its order."""
_OF_CARRIED = frozenset(Carried.__struct_fields__)
_FIRST_VERSION = 1
_STANDS = (0, None)
"""It is not retracted, and so for no reason."""
_UNTOUCHED = (0, 0, None)
"""The depth of what rests on nothing, how often it was of use, and when that was."""
_BROUGHT_HERE = (None, None)
"""The details and the content stand in the row itself."""
_NO_CONTENT = (None, None, None)
"""What a row says of content that is gone: not even that there is none."""
_BROUGHT: Values = {"details": None, "digest": None, "size": None, "content": None}
_columns = itemgetter(*_CARRIED[1:], *_BROUGHT)
"""Gives what a row says in the order `memory_state_add` takes it."""


def last_state(writer: Writer, memory: int) -> Values:
    """Return a memory's newest state, to be carried on: it names the rows that brought the rest."""
    row = writer.row("memory_last_state", memory=memory)
    assert row is not None, "every memory has a state"
    state: Values = dict(zip(_CARRIED, row, strict=True))
    own = state.pop("id")
    state["details_in"] = state["details_in"] or own
    state["content_in"] = state["content_in"] or own
    return state | _BROUGHT


def details_of(details: Details) -> Values:
    """Return what a row says that brings new details."""
    return {"details_in": None, "details": codec.encode(details)}


def content_of(content: Content) -> Values:
    """Return what a row says that brings new content."""
    digest, size, text = _said(content)
    return {"content_in": None, "digest": digest, "size": size, "content": text}


def _said(content: Content) -> tuple[bytes | None, int | None, str | None]:
    return content.digest, content.size if content.digest else None, content.text


def carried_of(operation: Carried) -> Values:
    """Return what a row says of a memory that was carried on to here."""
    known = {name: getattr(operation, name) for name in _CARRIED if name in _OF_CARRIED}
    if operation.details is not None:
        known |= details_of(operation.details)
    return known | {"retracted": int(operation.retracted)}


def revised_of(operation: Revise, at: At, last: Values) -> Values:
    """Return what a row says anew where a memory takes a new version."""
    state: Values = {
        "version": operation.version,
        "updated_at": at.time,
        "kind": operation.kind,
        "tier": operation.tier,
        "title": operation.title,
        "retracted": 0,
        "reason": None,
    }
    if operation.expiry is not None:
        state["expires_at"] = operation.expiry.end(at.time, last["expires_at"])
    if operation.details is not None:
        state |= details_of(operation.details)
    if operation.content is not None:
        state |= content_of(operation.content)
    return state


def retracted_of(operation: Retract, at: At) -> Values:
    """Return what a row says anew where a memory is taken back."""
    return {
        "version": operation.version,
        "updated_at": at.time,
        "retracted": 1,
        "reason": operation.reason,
    }


def continued_of(operation: Continued, at: At, last: Values) -> Values:
    """Return what a row says anew where a memory goes on from what is gone."""
    state: Values = {}
    if isinstance(operation.base, Revise):
        state = revised_of(operation.base, at, last)
    elif isinstance(operation.base, Retract):
        state = retracted_of(operation.base, at)
    if operation.without_details:
        state |= details_of(Details())
    if operation.without_content:
        state |= {"content_in": None, "digest": None, "size": None, "content": None}
    return state | {
        "expires_at": operation.expires_at,
        "depth": operation.depth,
        "access_count": operation.access_count,
        "last_accessed_at": operation.last_accessed_at,
    }


def add_state(writer: Writer, at: At, memory: int, state: Values) -> None:
    """Add what holds of a memory from here on."""
    values = _columns(state)
    writer.put("memory_state_add", memory, at.commit_ts, at.position, *values)


def begin(rows: Gathering, at: At, memory: int, operation: Remember | Begun) -> None:
    """Add a memory's first state, and its title."""
    said = _NO_CONTENT if isinstance(operation, Begun) else _said(operation.content)
    rows.add(
        "memory_state_add",
        memory,
        at.commit_ts,
        at.position,
        _FIRST_VERSION,
        at.time,
        operation.kind,
        operation.tier,
        operation.title,
        *_STANDS,
        operation.expiry.end(at.time, None),
        *_UNTOUCHED,
        *_BROUGHT_HERE,
        codec.encode(operation.details or Details()),
        *said,
    )
    if operation.title is not None:
        add_title(rows.written(), at, memory, operation.title)


def add_title(writer: Writer, at: At, memory: int, title: str) -> None:
    """Let a title be a memory's from here on."""
    writer.run(
        "title_add",
        title=title,
        commit_ts=at.commit_ts,
        position=at.position,
        still=STILL,
        memory=memory,
    )


def move_title(writer: Writer, at: At, memory: int, old: str | None, new: str | None) -> None:
    """Let a memory have another title from here on, or none, if it is another one."""
    if old == new:
        return
    if old is not None:
        writer.run("title_close", title=old, memory=memory, commit_ts=at.commit_ts, still=STILL)
    if new is not None:
        add_title(writer, at, memory, new)
