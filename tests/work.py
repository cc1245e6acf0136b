"""Counting work: operations decoded, operations split off, and steps of SQLite."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import pytest

from memoranda import Store
from memoranda.model import codec
from memoranda.storage.sqlite.engine import SqliteEngine


class Work:
    """What was done, in all."""

    def __init__(self) -> None:
        self.decoded = 0
        """Operations decoded."""
        self.split = 0
        """Operations told apart in the bytes of their events."""
        self.steps = 0
        """Steps of SQLite's machine, of writers and readers."""

    def total(self) -> int:
        return self.decoded + self.split + self.steps


class _Counting:
    """A decoder that counts what it gives."""

    def __init__(self, decoder: Any, work: Work, name: str) -> None:
        self._decoder, self._work, self._name = decoder, work, name

    def decode(self, content: Any) -> Any:
        found = self._decoder.decode(content)
        count = len(found) if isinstance(found, tuple | list) else 1
        setattr(self._work, self._name, getattr(self._work, self._name) + count)
        return found


@contextmanager
def counted(store: Store) -> Iterator[Work]:
    """Count what is done with a store in the block."""
    work = Work()
    engine = store._core.engine
    assert isinstance(engine, SqliteEngine)

    def note(event: dict[str, Any]) -> None:
        work.steps += event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]

    known = apsw.connections()
    with pytest.MonkeyPatch.context() as patched:
        for decoder, name in (("_operations", "decoded"), ("_operation", "decoded")):
            patched.setattr(codec, decoder, _Counting(getattr(codec, decoder), work, name))
        patched.setattr(codec, "_parts", _Counting(codec._parts, work, "split"))
        patched.setattr(codec, "read_operations", codec._operations.decode)
        for database in known:
            database.trace_v2(apsw.SQLITE_TRACE_PROFILE, note, id="work")
        try:
            yield work
        finally:
            for database in known:
                database.trace_v2(0, None, id="work")


def grows_with(small: int, large: int, times: int) -> bool:
    """Say whether work grew no more than what it was done for, with a little to spare."""
    return large <= small * times * 1.5 + 2_000
