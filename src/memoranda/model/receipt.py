"""The answer of a write: its commit and its outcome."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Protocol, TypedDict

import msgspec

from memoranda.model.refs import KeyRef

Outcome = Literal["created", "updated", "unchanged", "deleted"]
"""What a write did.

`created`: there was none before. `updated`: there was one, and it changed. `deleted`: reads no
longer return it. `unchanged`: reads return what they returned before.
"""


class CommitFields(TypedDict):
    """The fields that the answer of every write has."""

    outcome: Outcome
    commit_ts: int
    committed_at: datetime


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """The base of records that writes and reads return; these fields are None for a read."""

    outcome: Outcome | None = None
    """The outcome of the call."""
    commit_ts: int | None = None
    """The commit of the call; if it changed nothing, the last commit at that time."""
    committed_at: datetime | None = None
    """The time of that commit."""


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a write that has no record to return."""

    commit_ts: int
    """The commit of the call; if it changed nothing, the last commit at that time."""
    committed_at: datetime
    """The time of that commit."""
    outcome: Outcome
    """What the call did."""
    version: int | None = None
    """The version that a key got; None for other writes, and if the key was forgotten since."""
    ref: KeyRef | None = None
    """The reference to that version, to cite it."""


class HasCommit(Protocol):
    """Anything with a commit, such as the answer of a write, or an event."""

    @property
    def commit_ts(self) -> int | None:
        """The number of the commit; None if it has none."""
        ...
