"""Key heads: each key's newest version, remembered between commits."""

from __future__ import annotations

import msgspec

from memoranda.storage.port import Reader

Place = tuple[str, str, str]
"""A key's namespace, its agent and the key itself."""
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
        self._known: dict[Place, KeyHead] = {}

    def get(self, reader: Reader, place: Place) -> KeyHead:
        """Return where the key stands."""
        known = self._known.get(place)
        if known is None:
            namespace, agent_id, key = place
            row = reader.row("state_head", agent_id=agent_id, namespace=namespace, key=key)
            known = KeyHead(row[0], row[1], bool(row[3])) if row else _NEVER_USED
            self.put(place, known)
        return known

    def put(self, place: Place, head: KeyHead) -> None:
        """Remember where the key stands now."""
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[place] = head

    def forget(self) -> None:
        """Remember nothing."""
        self._known.clear()
