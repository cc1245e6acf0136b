"""The cache of key heads: the newest version of each key, kept between commits."""

from __future__ import annotations

import msgspec

from memoranda.model.bounded_cache import BoundedCache
from memoranda.model.refs import KeyRef
from memoranda.storage.memory_budget import MemoryBudget
from memoranda.storage.port import Reader

KeyAddress = tuple[str, str, str]
"""Namespace, agent and key."""


def address_of(ref: KeyRef) -> KeyAddress:
    """Return the address of a resolved reference, which has a scope unless its key was erased."""
    return ref.namespace or "", ref.agent_id or "", ref.key


_MAX_CACHED_KEYS = 20_000
"""Bounds the memory to about 5 MB."""


class KeyHead(msgspec.Struct, frozen=True, gc=False):
    """A key's row id, its newest version, and whether that version has a value."""

    key_id: int | None
    version: int
    live: bool
    has_evidence: bool = False
    """Whether the value has rows in `state_because`."""
    is_cited: bool = False
    """Whether the value of any key may rest on this key: if not, nothing has to be looked up."""
    replaced: bool | None = None
    """Whether the version before it had a value; None: not known."""


_NEVER_USED = KeyHead(None, 0, False)


class KeyHeadCache:
    """The heads of the keys that the writer touched lately.

    An entry is right as long as every write to the table goes through `put`. The engine calls
    `forget` when another process has written or a write was rolled back.
    """

    def __init__(self, budget: MemoryBudget | None = None) -> None:
        share = None if budget is None else budget.share()
        self._heads: BoundedCache[KeyAddress, KeyHead] = BoundedCache(_MAX_CACHED_KEYS, share)
        self._rests_on_facts: bool | None = None
        self._last_id: int | None = None
        """The last row id of any key; None: not read yet."""

    def next_id(self, reader: Reader) -> int:
        """Return the row id of a new key."""
        if self._last_id is None:
            row = reader.find("state_last_id")
            assert row is not None, "it always has a row"
            self._last_id = int(row[0])
        self._last_id += 1
        return self._last_id

    def get(self, reader: Reader, address: KeyAddress) -> KeyHead:
        """Return a key's head, from the table if it is not cached."""
        head = self._heads.get(address)
        if head is None:
            namespace, agent_id, key = address
            row = reader.row("state_head", agent_id=agent_id, namespace=namespace, key=key)
            head = KeyHead(row[0], row[1], *map(bool, row[3:])) if row else _NEVER_USED
            self._heads[address] = head
        return head

    def replaced(self, address: KeyAddress, version: int) -> bool | None:
        """Return whether a version replaced a value, if it is cached and still the newest."""
        head = self._heads.get(address)
        return head.replaced if head is not None and head.version == version else None

    def put(self, address: KeyAddress, head: KeyHead) -> None:
        """Set a key's head, after a write to the table."""
        self._heads[address] = head

    def rests_on_facts(self, reader: Reader) -> bool:
        """Say whether the current value of any key may rest on a fact."""
        if self._rests_on_facts is None:
            self._rests_on_facts = reader.row("state_rests_on_facts") is not None
        return self._rests_on_facts

    def note_fact(self) -> None:
        """Note that a value rests on a fact now."""
        self._rests_on_facts = True

    def forget(self) -> None:
        """Drop every entry."""
        self._heads.clear()
        self._rests_on_facts = None
        self._last_id = None
