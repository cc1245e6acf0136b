"""Leases: a reader for a short while."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoranda.storage.sqlite.connection import Connection
    from memoranda.storage.sqlite.engine import SqliteEngine


class Lease:
    """A reader for as long as a block lasts; with `snapshot`, inside a transaction.

    One that an interrupt keeps from being given back is closed with the interrupt's traceback.
    """

    __slots__ = ("_engine", "_reader", "_snapshot")

    def __init__(self, engine: SqliteEngine, *, snapshot: bool = False) -> None:
        self._engine = engine
        self._snapshot = snapshot

    def __enter__(self) -> Connection:
        reader = self._engine.lend()
        if self._snapshot:
            reader.run("begin_reading")
        self._reader = reader
        return reader

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._engine.take_back(self._reader, unsure=self._snapshot or kind is not None)
