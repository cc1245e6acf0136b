"""Leases: a reader for a short while."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.storage.sqlite.connection import Connection
    from recollect.storage.sqlite.engine import SqliteEngine


class Lease:
    """A reader for as long as a block lasts."""

    __slots__ = ("_engine", "_reader")

    def __init__(self, engine: SqliteEngine) -> None:
        self._engine = engine

    def __enter__(self) -> Connection:
        self._reader = self._engine.lend()
        return self._reader

    def __exit__(self, *_: object) -> None:
        self._engine.take_back(self._reader)
