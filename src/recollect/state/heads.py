"""Key heads: each key's newest version, remembered between commits."""

from __future__ import annotations

import msgspec

from recollect.model.scope import Scope
from recollect.storage.port import Reader

_MOST = 20_000


class KeyHead(msgspec.Struct, frozen=True, gc=False):
    """Where a key stands: its row, its newest version, and whether it has a value."""

    key_id: int | None
    version: int
    live: bool


_NEVER_USED = KeyHead(None, 0, False)


class KeyHeads:
    """Answers from memory what the writer asks of every key it touches.

    Right as long as every write to the table goes through `put`; when another process has written,
    or a write was rolled back, everything is forgotten.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Scope, str], KeyHead] = {}

    def get(self, reader: Reader, scope: Scope, key: str) -> KeyHead:
        """Return where the key stands."""
        known = self._known.get((scope, key))
        if known is None:
            row = reader.row(
                "state_head", agent_id=scope.agent_id, namespace=scope.namespace, key=key
            )
            known = KeyHead(row[0], row[1], bool(row[3])) if row else _NEVER_USED
            self.put(scope, key, known)
        return known

    def put(self, scope: Scope, key: str, head: KeyHead) -> None:
        """Remember where the key stands now."""
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[scope, key] = head

    def forget(self) -> None:
        """Remember nothing."""
        self._known.clear()
