"""Counting work: operations decoded, operations split off, events read, and steps of SQLite."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import pytest

from memoranda import Store
from memoranda.model import codec
from memoranda.storage.sqlite.connection import Connection
from memoranda.storage.sqlite.engine import SqliteEngine
from tests.cores import core_of
from tests.patience import wait_until

_EVENT_READ = re.compile(r"\boperations\b.*\bFROM event\b", re.DOTALL)
"""The SQL of a statement that reads the operations of events from the log."""


class Work:
    """What was done, in all."""

    def __init__(self) -> None:
        self.decoded = 0
        """Operations decoded."""
        self.split = 0
        """Operations told apart in the bytes of their events."""
        self.event_reads = 0
        """Statements that read the operations of events from the log."""
        self.steps = 0
        """Steps of SQLite's machine, of writers and readers."""

    def total(self) -> int:
        return self.decoded + self.split + self.steps


class _Counting:
    """A decoder that counts what it gives to the thread that made it."""

    def __init__(self, decoder: Any, work: Work, name: str) -> None:
        self._decoder, self._work, self._name = decoder, work, name
        self._caller = threading.get_ident()

    def decode(self, content: Any) -> Any:
        value = self._decoder.decode(content)
        count = len(value) if isinstance(value, tuple | list) else 1
        if threading.get_ident() == self._caller:
            setattr(self._work, self._name, getattr(self._work, self._name) + count)
        return value


@contextmanager
def counted(store: Store) -> Iterator[Work]:
    """Count what this thread does with a store in the block.

    Indexers of stores that other tests left may be at work beside it.
    """
    work, caller = Work(), threading.get_ident()
    worker = core_of(store).background_indexer._worker
    wait_until(lambda: not worker.is_busy)
    engine = core_of(store).engine
    assert isinstance(engine, SqliteEngine)

    def note(event: dict[str, Any]) -> None:
        if threading.get_ident() == caller:
            work.steps += event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]
            work.event_reads += _EVENT_READ.search(event["sql"]) is not None

    reference = [engine._writer.database, *(reader.database for reader in engine._idle)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(worker, "wake", lambda: None)
        for decoder, name in (("_operations", "decoded"), ("_operation", "decoded")):
            patched.setattr(codec, decoder, _Counting(getattr(codec, decoder), work, name))
        patched.setattr(codec, "_parts", _Counting(codec._parts, work, "split"))
        patched.setattr(codec, "read_operations", codec._operations.decode)
        for database in reference:
            database.trace_v2(apsw.SQLITE_TRACE_PROFILE, note, id="work")
        try:
            yield work
        finally:
            for database in reference:
                database.trace_v2(0, None, id="work")


@contextmanager
def queries_of_caller() -> Iterator[list[tuple[str, int]]]:
    """Note each query of this thread with its number of rows, and none of background threads."""
    queries: list[tuple[str, int]] = []
    caller = threading.get_ident()
    rows, row = Connection.rows, Connection.row

    def noted_rows(self: Connection, query: str, /, **values: Any) -> Any:
        result = rows(self, query, **values)
        if threading.get_ident() == caller:
            queries.append((query, len(result)))
        return result

    def noted_row(self: Connection, query: str, /, **values: Any) -> Any:
        result = row(self, query, **values)
        if threading.get_ident() == caller:
            queries.append((query, int(result is not None)))
        return result

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Connection, "rows", noted_rows)
        patched.setattr(Connection, "row", noted_row)
        yield queries


def grows_with(small: int, large: int, times: int) -> bool:
    """Say whether work grew no more than what it was done for, with a little to spare."""
    return large <= small * times * 1.5 + 2_000
