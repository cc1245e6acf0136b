"""The rows that say what a memory is like from one operation on to the next."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import msgspec

from recollect.memory.standing import STILL
from recollect.model import codec
from recollect.model.memory import Content, Details
from recollect.storage.port import Writer

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
    return {
        "content_in": None,
        "digest": content.digest,
        "size": content.size if content.digest else None,
        "content": content.text,
    }


def add_state(writer: Writer, at: At, memory: int, state: Values) -> None:
    """Add what holds of a memory from here on."""
    values = _columns(state)
    writer.put("memory_state_add", memory, at.commit_ts, at.position, *values)


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
