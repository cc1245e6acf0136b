"""A cache that starts over when it is full."""

from __future__ import annotations

from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class BoundedCache(dict[Key, Value]):
    """A dictionary for values that can be computed or read again, with at most `limit` entries.

    A full cache drops all its entries at once. An eviction order would cost every lookup, and these
    caches hold far more than a transaction touches. Reading an entry is the lookup of `dict`, in C.
    Only assignment (`cache[key] = value`) checks the limit; `update` and `setdefault` do not.
    """

    __slots__ = ("_limit",)

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def __setitem__(self, key: Key, value: Value) -> None:
        if len(self) >= self._limit and key not in self:
            self.clear()
        super().__setitem__(key, value)
