"""A cache that starts over when it is full."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

_ENTRY_BYTES = 300
"""About what an entry takes besides the text of its key."""
_REPORT_BYTES = 16 * 1024
"""The growth that is reported to the budget."""


class Share(Protocol):
    """A share of a memory budget, in which the whole cache is one entry."""

    def put(
        self, key: Any, value: Any, size: int, on_evict: Callable[[], object] | None = None, /
    ) -> bool:
        """Note the size of the cache; `on_evict` empties it."""
        ...

    def remove(self, key: Any, /) -> None:
        """Note that the cache is empty."""
        ...


class BoundedCache(dict[Key, Value]):
    """A dictionary for values that can be computed or read again, with at most `limit` entries.

    A full cache drops all its entries at once. An eviction order would cost every lookup, and these
    caches hold far more than a transaction touches. Reading an entry is the lookup of `dict`, in C.
    Only assignment (`cache[key] = value`) checks the limit; `update` and `setdefault` do not.

    With a share of a memory budget, another thread may empty it at any time.
    """

    __slots__ = ("_limit", "_report_at", "_share", "_size")

    def __init__(self, limit: int, share: Share | None = None) -> None:
        super().__init__()
        self._limit = limit
        self._share = share
        self._size = 0
        self._report_at = _REPORT_BYTES

    def __setitem__(self, key: Key, value: Value) -> None:
        if key not in self:
            if len(self) >= self._limit:
                self.clear()
            if self._share is not None:
                self._grow(key, self._share)
        dict.__setitem__(self, key, value)  # `super` costs more, and this runs for every row

    def clear(self) -> None:
        """Drop every entry."""
        if self._share is not None:
            self._share.remove(None)
        self._empty()

    def _grow(self, key: Key, share: Share) -> None:
        """Add the size of an entry, and report the cache's when it has grown enough."""
        text_size = sum(map(len, key)) if isinstance(key, tuple) else len(key)  # type: ignore[arg-type]
        self._size += _ENTRY_BYTES + text_size
        if self._size >= self._report_at:
            self._report_at = self._size + _REPORT_BYTES
            share.put(None, self, self._size, self._empty)

    def _empty(self) -> None:
        super().clear()
        self._size, self._report_at = 0, _REPORT_BYTES
