"""Readers that see only the rows that a coverage extends to.

For every query there is a covered one (`covered_name`). It has the same text, and reads the tables
through *row policies*: in place of a table it finds the rows that are covered. So a row that is not
covered cannot be told from one that does not exist: not by an answer, a page, a limit or a count,
and not by an error. An engine derives the covered queries from its own policies.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, NoReturn

import msgspec

from memoranda.errors import PermissionDenied
from memoranda.model.coverage import Coverage
from memoranda.storage.owner_lock import Owner
from memoranda.storage.port import Engine, Reader, Result, Row

_PREFIX = "covered:"


def covered_name(query: str) -> str:
    """Return the name of the query that reads covered rows only."""
    return _PREFIX + query


def uncovered_name(query: str) -> str | None:
    """Return the name of the query that a covered one is derived from; None: it is not covered."""
    return query.removeprefix(_PREFIX) if query.startswith(_PREFIX) else None


class CoveredReader:
    """Runs the covered query in place of each query."""

    def __init__(self, reader: Reader, coverage: Coverage) -> None:
        self._reader = reader
        self._coverage = coverage
        self._values = {
            "covered_namespaces": _json(coverage.namespaces),
            "covered_agents": _json(coverage.agents),
        }

    @property
    def coverage(self) -> Coverage | None:
        """What its rows are of."""
        return self._coverage

    def row(self, query: str, /, **values: object) -> Row | None:
        """Return the first covered row, if there is one."""
        return self._reader.row(_PREFIX + query, **values, **self._values)

    def find(self, query: str, /, *values: object) -> Row | None:
        """Return the first covered row; the values of the policies are the first ones."""
        return self._reader.find(_PREFIX + query, *self._values.values(), *values)

    def rows(self, query: str, /, *, budget: int | None = None, **values: object) -> list[Row]:
        """Return the covered rows."""
        return self._reader.rows(_PREFIX + query, budget=budget, **values, **self._values)

    def rows_each(self, query: str, items: Sequence[Row], /) -> list[list[Row]]:
        """Return the covered rows for each item, which has values by position."""
        own = tuple(self._values.values())
        return self._reader.rows_each(_PREFIX + query, [(*own, *item) for item in items])

    def rows_before(
        self, query: str, following: str, item: Row, /, *, budget: int, **values: object
    ) -> tuple[list[Row], list[Row]]:
        """Return the covered rows, and those of a following query."""
        return self._reader.rows_before(
            _PREFIX + query,
            _PREFIX + following,
            (*self._values.values(), *item),
            budget=budget,
            **values,
            **self._values,
        )

    def stream(self, query: str, /, **values: object) -> Iterator[Row]:
        """Yield the covered rows one by one."""
        return self._reader.stream(_PREFIX + query, **values, **self._values)

    def columns(self, query: str, /) -> tuple[str, ...]:
        """Return the column names of a query."""
        return self._reader.columns(query)

    def has(self, table: str, column: str | None = None, /) -> bool:
        """Say whether the stored format has a table, or a column of it."""
        return self._reader.has(table, column)

    def cached(self, read: Callable[..., Result], /, *arguments: Hashable) -> Result:
        """Return `read(self, *arguments)`, cached apart from what other readers may see."""
        return self._reader.cached(_CoveredRead(read, self._coverage), *arguments)


class _CoveredRead(msgspec.Struct, Generic[Result], frozen=True):
    """A cached read of covered rows: equal to another one of the same coverage."""

    read: Callable[..., Result]
    coverage: Coverage

    def __call__(self, reader: Reader, /, *arguments: Hashable) -> Result:
        """Return what the function reads."""
        return self.read(CoveredReader(reader, self.coverage), *arguments)


def _json(names: frozenset[str] | None) -> str | None:
    return None if names is None else msgspec.json.encode(sorted(names)).decode()


class _CoveredLease:
    """A covered reader for the length of a block."""

    __slots__ = ("_coverage", "_lease")

    def __init__(self, lease: AbstractContextManager[Reader], coverage: Coverage) -> None:
        self._lease = lease
        self._coverage = coverage

    def __enter__(self) -> CoveredReader:
        return CoveredReader(self._lease.__enter__(), self._coverage)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        return self._lease.__exit__(kind, error, traceback)


class CoveredEngine:
    """An engine whose readers see covered rows only, and which does nothing else."""

    def __init__(self, engine: Engine, coverage: Coverage) -> None:
        self._engine = engine
        self._coverage = coverage
        self.read_only = True

    @property
    def is_closed(self) -> bool:
        """Whether the store was closed."""
        return self._engine.is_closed

    @property
    def path(self) -> Path | None:
        """The store's file."""
        return self._engine.path

    @property
    def name(self) -> str:
        """What people call the store."""
        return self._engine.name

    def owner(self) -> Owner | None:
        """Return the server process that has the store open for others."""
        return self._engine.owner()

    def reading(self) -> AbstractContextManager[Reader]:
        """Lend a reader of covered rows for the length of a block."""
        return _CoveredLease(self._engine.reading(), self._coverage)

    def snapshot(self) -> AbstractContextManager[Reader]:
        """As `reading`, with one snapshot for all reads of the block."""
        return _CoveredLease(self._engine.snapshot(), self._coverage)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse an operation on the whole store: calls that need one declare it by their reach."""
        raise PermissionDenied("this needs a grant that covers every agent and namespace")

    write = write_from = guard_writes = sync = purge = query = copy_to = open_at = _refuse
    announce = listen = _refuse
    check_definitions = check_structure = scratch = _refuse
    check_vacant = place = documented_views = footprint = identity = diagnose = close = _refuse
