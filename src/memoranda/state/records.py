"""What reading state gives."""

from __future__ import annotations

from datetime import datetime

import msgspec

from memoranda.model.document import Document
from memoranda.model.refs import Ref


class StateRecord(msgspec.Struct, frozen=True):
    """A key's value at one version.

    `commit_ts` and `committed_at` are None inside the transaction that staged the value.
    """

    value: Document
    version: int
    commit_ts: int | None
    committed_at: datetime | None


class StateEntry(StateRecord, frozen=True):
    """A record found by a scan, with its key."""

    key: str


class StateVersion(msgspec.Struct, frozen=True):
    """One step in a key's history; no value: it was deleted."""

    version: int
    value: Document | None
    because: tuple[Ref, ...]
    commit_ts: int
    committed_at: datetime
    txn_id: str
    actor: str


class StateChange(msgspec.Struct, frozen=True):
    """How a key differs between two moments; None where it has no value."""

    key: str
    before: StateRecord | None
    after: StateRecord | None

    @property
    def kind(self) -> str:
        """What happened to the key: added, removed or changed."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"
