"""The storage port: the interface between the log and a database engine.

Code names its queries; the SQL is in `.sql` files beside the code, and an engine looks the names
up. Everything above this port is the same on every engine.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from memoranda.errors import Unavailable
from memoranda.model.clock import Clock
from memoranda.model.coverage import Coverage
from memoranda.model.histogram import Histogram
from memoranda.storage.owner_lock import Owner

# Findings: results of health checks.


class Finding(msgspec.Struct, frozen=True):
    """The result of one health check, with a remedy if something should be done."""

    check: str
    status: Literal["ok", "warning", "problem"]
    message: str
    remedy: str | None = None
    error: str | None = None
    """The class name of the error that using the store would raise."""


Check = Callable[[], Finding]
"""A health check; an error that it raises is a finding, too."""


def fine(check: str, message: str) -> Finding:
    """Return a finding without fault."""
    return Finding(check, "ok", message)


def warning(check: str, message: str, remedy: str) -> Finding:
    """Return a finding that deserves attention."""
    return Finding(check, "warning", message, remedy)


def problem(check: str, message: str, remedy: str | None, error: str | None = None) -> Finding:
    """Return a finding of a fault."""
    return Finding(check, "problem", message, remedy, error)


# Connections and the engine: short reads, one writer, named queries.

Row = tuple[Any, ...]
Result = TypeVar("Result")
Progress = Callable[[int, int], None]
"""Called during long work with the steps that are done and the steps in all."""
Parameters = Sequence[Any] | Mapping[str, Any]
"""Values for the placeholders of a query: `?` by position, `:name` by name."""


class Reader(Protocol):
    """A connection that reads.

    A list or tuple is a parameter, too: a query reads it as rows, `FROM EACH(:ids) AS item`, whose
    column is `value`. Elements that are lists themselves are read with `item.value ->> 0`.
    """

    @property
    def coverage(self) -> Coverage | None:
        """The agents and namespaces whose rows it sees (`storage/coverage.py`); None: all."""
        ...

    def row(self, query: str, /, **values: object) -> Row | None:
        """Return the first row, if there is one."""
        ...

    def find(self, query: str, /, *values: object) -> Row | None:
        """As `row`, with values by position, in the order of the placeholders; it is faster."""
        ...

    def rows(self, query: str, /, *, budget: int | None = None, **values: object) -> list[Row]:
        """Return the rows; with a budget of bytes, stop after the row that exhausts it.

        Only the last column counts, where queries have the content.
        """
        ...

    def rows_each(self, query: str, items: Sequence[Row], /) -> list[list[Row]]:
        """As `rows`, once for each item, which has values by position; all are asked together."""
        ...

    def rows_before(
        self, query: str, following: str, item: Row, /, *, budget: int, **values: object
    ) -> tuple[list[Row], list[Row]]:
        """As `rows`, with the rows of a following query, read right behind; asked together.

        The values of the following one are by position.
        """
        ...

    def stream(self, query: str, /, **values: object) -> Iterator[Row]:
        """Yield the rows one by one; only inside a transaction, since it holds a snapshot."""
        ...

    def columns(self, query: str, /) -> tuple[str, ...]:
        """Return the column names of a query."""
        ...

    def has(self, table: str, column: str | None = None, /) -> bool:
        """Say whether the stored format has a table, or a column of it; an older one may not."""
        ...

    def cached(self, read: Callable[..., Result], /, *arguments: Hashable) -> Result:
        """Return `read(reader, *arguments)`, read once by snapshots of the same commit.

        For small values that many reads need and few commits change. `read` depends on nothing but
        its arguments and the stored rows, and nobody changes what it returns.
        """
        ...


class Writer(Reader, Protocol):
    """The writer connection, inside a transaction."""

    def put(self, query: str, /, *values: object) -> None:
        """Run a statement with values by position, in the order of the placeholders."""
        ...

    def put_all(self, query: str, rows: Sequence[Row], /) -> None:
        """As `put`, once for each row of values."""
        ...

    def add(self, query: str, /, *values: object) -> int:
        """As `put`, for an INSERT with RETURNING; return the id of the new row."""
        ...

    def run(self, query: str, /, **values: object) -> None:
        """Run a statement with values by name."""
        ...

    def copy_table(self, table: str, /) -> None:
        """Add every row of a table of the source database; only inside `Engine.write_from`."""
        ...

    def trial(self) -> AbstractContextManager[None]:
        """Undo everything that the block writes, when it ends."""
        ...

    def has_foreign_writes(self) -> bool:
        """Say whether another connection has written since the last call."""
        ...

    def look_ahead(self, rehearse: Rehearsal, /) -> None:
        """Declare the reads of the rest of the transaction, so that they can be fetched together.

        An engine that is far away calls `rehearse` before it waits for a row, as often as that
        names more reads; an engine that is near never does.
        """
        ...


class Unread(Exception):
    """A rehearsal needs rows that are not fetched yet: it goes on with its next part."""


class Rehearsal(Protocol):
    """Does the reads of coming work, as far as they are known, and changes nothing."""

    def __call__(self, scout: Writer, /, *, whole: bool) -> None:
        """Read with a scout, whose reads may raise `Unread`, and whose writes do.

        Independent parts are tried each on its own, so that one call names as many reads as
        possible. Unless `whole`, only what comes next is rehearsed.
        """
        ...


class OutcomeUnknown(Unavailable):
    """The storage failed during a commit, which may have happened or not."""


class StorageSize(msgspec.Struct, frozen=True):
    """The sizes of a store's files, in bytes."""

    data: int
    journal: int


class QueryResult(Protocol):
    """The rows of a user's query, in pages; it holds a snapshot until the last page is read."""

    def next_page(self) -> list[dict[str, Any]]:
        """Return the next rows as dictionaries; an empty list after the last."""
        ...


class SqlView(msgspec.Struct, frozen=True):
    """A view that a user's SQL can read."""

    name: str
    description: str
    columns: tuple[str, ...]


class Engine(Protocol):
    """A database with one log."""

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        ...

    @property
    def path(self) -> Path | None:
        """The store's file; None if it has none."""
        ...

    @property
    def name(self) -> str:
        """The store's name in messages: its path or its URL, without a password."""
        ...

    read_only: bool
    """Whether the engine refuses every write."""
    clock: Clock
    """The clock that commits are dated by, unless the store is given another."""
    is_frozen: bool
    """Whether a write has met a store that takes none here, since it is moved elsewhere."""
    commit_seconds: Histogram
    """How long the storage took to make each write transaction durable."""
    purge_waits: bool
    """Whether a purge waits for background work to close its snapshot."""

    @property
    def background_reading(self) -> AbstractContextManager[object]:
        """Held by background work while it has a snapshot: a purge waits for it, then holds it."""
        ...

    def reading(self) -> AbstractContextManager[Reader]:
        """Lend a reader for the length of a block; it holds no lock and no snapshot."""
        ...

    def snapshot(self) -> AbstractContextManager[Reader]:
        """As `reading`, with one snapshot for all reads of the block."""
        ...

    def trim_readers(self, keep: int) -> None:
        """Close idle readers beyond so many: each has a cache and file handles of its own."""
        ...

    def write(
        self,
        work: Callable[[Writer], Result],
        *,
        wait: float | None = None,
        repeatable: bool = False,
    ) -> Result:
        """Call `work` in a write transaction, commit it durably, and return the result.

        An exception rolls the transaction back. The write lock is released whatever interrupts the
        thread. A caller that can do without the write bounds how long it waits for the lock:
        `StoreBusy` is raised after `wait` seconds.

        Work that is `repeatable` may be called twice: an engine whose lock is far away tries it
        first with what the caller has cached. The writer of the second call has foreign writes.

        Raises `OutcomeUnknown` if the commit fails and may have happened nonetheless. The engine
        then finds out before the next transaction begins, so that every later read is of durable
        data.
        """
        ...

    def write_from(self, source: Path, work: Callable[[Writer], Result]) -> Result:
        """As `write`; `work` can copy tables of a closed database that `open_at` made."""
        ...

    def guard_writes(self, check: Callable[[Writer], object]) -> None:
        """Refuse to write once another version of the library has changed the store's format.

        From now on, each write transaction that comes after a write of another connection checks
        the stored format and calls `check` first; an exception rolls it back.
        """
        ...

    def sync(self) -> None:
        """Wait until every commit of every process is durable."""
        ...

    def announce(self) -> None:
        """Tell other processes soon that the log has grown, if they can be told; it is a hint."""
        ...

    def listen(self, wake: Callable[[], None]) -> bool:
        """Call `wake` when another process announces a commit; return whether that arrives here.

        It lasts for some seconds; a caller that goes on waiting calls it again. It never blocks.
        """
        ...

    def identity(self, reader: Reader) -> str:
        """Return an identity of where the log is stored, which a copy does not share.

        A write passes its own reader: it must not wait for a second connection.
        """
        ...

    def diagnose(self, *, quick: bool) -> list[tuple[str, Check]]:
        """Return the database's own health checks; `quick` leaves out those that read all rows."""
        ...

    def check_definitions(self, reader: Reader) -> None:
        """Raise `Corruption` for a table, index or trigger that this version does not create."""
        ...

    def check_structure(self, reader: Reader) -> None:
        """Let the database check the tables and their indexes; raise `Corruption` for damage."""
        ...

    def scratch(self, tag: str) -> AbstractContextManager[Engine]:
        """Provide an empty database for the length of a block, which no other process uses.

        It need not be of the same kind. `tag` is the log's (`tag_of` in `storage/files.py`), by
        which a file is found that a killed process has left.
        """
        ...

    def copy_to(self, path: Path, progress: Progress | None = None) -> None:
        """Copy a snapshot to a new file, unsynced, while other connections write."""
        ...

    def open_at(self, path: Path) -> Engine:
        """Create or open a database of the same kind in another file."""
        ...

    def check_vacant(self, field: str, path: Path) -> None:
        """Refuse a path where a copy could not be put."""
        ...

    def place(self, field: str, draft: Path, path: Path) -> None:
        """Give a finished, closed copy its name; no process can open it before that is safe."""
        ...

    def documented_views(self) -> list[SqlView]:
        """Return the views that a user's SQL can read."""
        ...

    def query(self, statement: str, parameters: Parameters = ()) -> QueryResult:
        """Run a user's read-only SQL over the documented views."""
        ...

    def footprint(self) -> StorageSize:
        """Return the sizes of the store's files."""
        ...

    def owner(self) -> Owner | None:
        """Return the server process that has the store open for others; None: there is none."""
        ...

    def purge(self, progress: Progress | None = None) -> bool:
        """Remove deleted data from the files' bytes; return False if a reader is in the way.

        Nobody else can write while it works, except between its steps.
        """
        ...

    def close(self) -> None:
        """Close every connection. A second call has no effect."""
        ...


# Buffered inserts: adding rows together costs less than adding each on its own.


class WriteBuffer:
    """Rows to insert, grouped by statement.

    Code that reads the tables calls `flush` first, and reads through the writer that it returns.
    """

    __slots__ = ("_rows", "_writer")

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._rows: dict[str, list[Row]] = {}

    def add(self, query: str, *values: object) -> None:
        """Buffer a row for a statement whose order among other statements does not matter."""
        rows = self._rows.get(query)
        if rows is None:
            rows = self._rows[query] = []
        rows.append(values)

    def flush(self) -> Writer:
        """Write the buffered rows, in order within each statement, and return the writer."""
        if self._rows:
            for query, rows in self._rows.items():
                self._writer.put_all(query, rows)
            self._rows.clear()
        return self._writer
