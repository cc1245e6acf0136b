"""A memory budget: one bound, in bytes, on what the caches of one or more stores hold.

Every cache has a share of a budget. A share has entries; the budget orders those of all shares by
their last use. An entry that needs more room than is left takes it from the entries that were used
least recently, whichever cache they are in. A dropped entry is read again when it is needed; a
thread that uses it at that moment keeps it.

One lock protects a budget with its shares. Nothing is called under it, so a cache may use its share
while it holds a lock of its own.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from memoranda.model.limits import check_integer
from memoranda.storage.thread_locks import new_lock

DEFAULT_BUDGET_BYTES = 512 * 1024 * 1024
"""Room for the vectors of 250,000 documents in 384 dimensions, which are compared exactly."""

Key = TypeVar("Key")
Value = TypeVar("Value")


class MemoryBudget:
    """A bound in bytes on the caches of every store that is opened with it.

    Vectors, transcripts and the writer's look-ups are cached as long as they fit, and what was used
    least recently goes first. Sizes are estimates of the content, and a search may hold a part of
    what it reads beside them. Threads may share a budget.
    """

    def __init__(self, limit: int = DEFAULT_BUDGET_BYTES) -> None:
        limit = check_integer("limit", limit, minimum=0, noun="a number of bytes")
        self._ledger = _Ledger(limit)

    @property
    def limit(self) -> int:
        """The bytes that the caches may hold."""
        return self._ledger.limit

    @property
    def used(self) -> int:
        """The bytes that the caches hold."""
        return self._ledger.used

    @property
    def evictions(self) -> int:
        """How many entries were dropped to make room for others."""
        return self._ledger.evictions

    def share(self, limit: int | None = None) -> CacheShare[Any, Any]:
        """Return a new share, for one cache; `limit` bounds it further."""
        return CacheShare(self._ledger, limit)

    def __repr__(self) -> str:
        return f"MemoryBudget({self.limit}, used={self.used}, evictions={self.evictions})"


class _Ledger:
    """The entries of all shares of a budget, and their size."""

    __slots__ = ("entries", "evictions", "limit", "lock", "used")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.lock = new_lock()
        """Protects the fields below, and the entries of all shares."""
        self.entries: OrderedDict[_Entry, None] = OrderedDict()
        """The least recently used first."""
        self.used = 0
        self.evictions = 0


class _Entry:
    """A cached value, its size, and its place in a share."""

    __slots__ = ("key", "on_evict", "share", "size", "value")

    def __init__(
        self,
        share: CacheShare[Any, Any],
        key: Any,
        value: Any,
        size: int,
        on_evict: Callable[[], object] | None,
    ) -> None:
        self.share = share
        self.key = key
        self.value = value
        self.size = size
        self.on_evict = on_evict


class CacheShare(Generic[Key, Value]):
    """The entries of one cache in a budget. Threads may share it."""

    def __init__(self, ledger: _Ledger, limit: int | None = None) -> None:
        self._ledger = ledger
        self._limit = ledger.limit if limit is None else min(limit, ledger.limit)
        self._entries: OrderedDict[Key, _Entry] = OrderedDict()
        """The least recently used first."""
        self._size = 0

    @property
    def limit(self) -> int:
        """The bytes that an entry may have."""
        return self._limit

    def get(self, key: Key) -> Value | None:
        """Return a value that is cached, and note its use."""
        with self._ledger.lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            self._ledger.entries.move_to_end(entry)
            value: Value = entry.value
            return value

    def put(
        self, key: Key, value: Value, size: int, on_evict: Callable[[], object] | None = None
    ) -> bool:
        """Cache a value, or change its size; return False if it is larger than the limit.

        `on_evict` is called when the entry is dropped for others, or refused. It must not wait.
        """
        entry = _Entry(self, key, value, size, on_evict)
        with self._ledger.lock:
            self.discard(self._entries.get(key))
            victims = [entry]
            if size <= self._limit:
                self._add(entry)
                victims = self._make_room()
        for victim in victims:
            if victim.on_evict is not None:
                victim.on_evict()
        return entry not in victims

    def remove(self, key: Key) -> None:
        """Drop an entry, if it is cached."""
        with self._ledger.lock:
            self.discard(self._entries.get(key))

    def clear(self) -> None:
        """Drop every entry of this share."""
        with self._ledger.lock:
            for entry in [*self._entries.values()]:
                self.discard(entry)

    def items(self) -> list[tuple[Key, Value]]:
        """Return the keys and values of the entries, without noting their use."""
        with self._ledger.lock:
            return [(key, entry.value) for key, entry in self._entries.items()]

    # An interrupt can come between two lines. Sizes are added before an entry is, and subtracted
    # after it was removed: they may then be too high, but never too low.

    def _add(self, entry: _Entry) -> None:
        self._size += entry.size
        self._ledger.used += entry.size
        self._entries[entry.key] = entry
        self._ledger.entries[entry] = None

    def discard(self, entry: _Entry | None) -> None:
        """Remove an entry of this share, if there is one; the caller holds the lock."""
        if entry is None:
            return
        self._ledger.entries.pop(entry, None)
        if self._entries.pop(entry.key, None) is not None:
            self._size -= entry.size
            self._ledger.used -= entry.size

    def _make_room(self) -> list[_Entry]:
        """Remove the least recently used entries, of this share or of all, until the rest fits."""
        victims: list[_Entry] = []
        ledger = self._ledger
        while self._size > self._limit and self._entries:
            victims.append(next(iter(self._entries.values())))
            self.discard(victims[-1])
        while ledger.used > ledger.limit and ledger.entries:
            victims.append(next(iter(ledger.entries)))
            victims[-1].share.discard(victims[-1])
        ledger.evictions += len(victims)
        return victims
