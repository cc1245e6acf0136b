"""What a transaction has staged, seen by its own reads."""

from __future__ import annotations

import msgspec

from memoranda.model import document
from memoranda.model.scope import Scope
from memoranda.state import queries
from memoranda.state.records import StateEntry, StateRecord
from memoranda.state.requests import KeyRequest, WriteKey
from memoranda.storage.port import Engine, Reader


class _Staged(msgspec.Struct, frozen=True):
    """What a transaction did to a key: how often, and what it left (None: no value)."""

    times: int
    encoded: bytes | None


class PendingState:
    """The keys one transaction has written and deleted so far."""

    def __init__(self) -> None:
        self._keys: dict[Scope, dict[str, _Staged]] = {}

    def add(self, request: KeyRequest) -> None:
        """Remember a staged request."""
        keys = self._keys.setdefault(request.scope, {})
        times = keys[request.key].times if request.key in keys else 0
        encoded = request.encoded if isinstance(request, WriteKey) else None
        keys[request.key] = _Staged(times + 1, encoded)

    def get(self, reader: Reader, scope: Scope, key: str, at: int) -> StateRecord | None:
        """Return what the transaction, begun at a commit, sees under a key."""
        staged = self._keys.get(scope, {}).get(key)
        if staged is None:
            return queries.get_at(reader, scope, key, at)
        if staged.encoded is None:
            return None
        version = queries.version_at(reader, scope, key, at) + staged.times
        return StateRecord(document.decode(staged.encoded), version, None, None)

    def touched(self, scope: Scope, prefix: str) -> list[str]:
        """Return the keys under a prefix it wrote or deleted, in order of their UTF-8 bytes."""
        return sorted(key for key in self._keys.get(scope, {}) if key.startswith(prefix))


class PendingScan:
    """A scan as a transaction sees it: what was committed when it began, under what it staged."""

    def __init__(
        self, engine: Engine, pending: PendingState, scope: Scope, *, prefix: str, at: int
    ) -> None:
        self._engine = engine
        self._pending = pending
        self._scope = scope
        self._at = at
        self._committed = queries.Scan(engine, scope, prefix=prefix, at=at)
        self._touched = pending.touched(scope, prefix)

    def next_page(self) -> list[StateEntry]:
        """Return the next entries."""
        page: list[StateEntry] = []
        while not page:
            committed = self._committed.next_page()
            if not committed and not self._touched:
                break
            page = self._overlay(committed)
        return page

    def _overlay(self, committed: list[StateEntry]) -> list[StateEntry]:
        """Return a page of committed entries with the touched keys of its range in their place."""
        due = [key for key in self._touched if not committed or key <= committed[-1].key]
        self._touched = self._touched[len(due) :]
        entries = {entry.key: entry for entry in committed}
        with self._engine.snapshot() as reader:
            for key in due:
                entries.pop(key, None)
                if record := self._pending.get(reader, self._scope, key, self._at):
                    entries[key] = StateEntry(record.value, record.version, None, None, key)
        return [entries[key] for key in sorted(entries)]
