"""Connections: named queries on one SQLite handle, and the seam where its errors become ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import apsw
import apsw.ext

from memoranda import errors
from memoranda.storage.port import Row

_ERRORS: Mapping[type[apsw.Error], type[errors.MemorandaError]] = {
    apsw.BusyError: errors.StoreBusy,
    apsw.LockedError: errors.StoreBusy,
    apsw.FullError: errors.StoreFull,
    apsw.ReadOnlyError: errors.StoreReadOnly,
    apsw.PermissionsError: errors.StoreReadOnly,
    apsw.CorruptError: errors.Corruption,
    apsw.NotADBError: errors.Corruption,
    apsw.ConstraintError: errors.Corruption,
    apsw.IOError: errors.Unavailable,
    apsw.CantOpenError: errors.Unavailable,
    apsw.ConnectionClosedError: errors.StoreClosed,
}


_FOREIGN = (apsw.Error, UnicodeDecodeError)


def translate(error: apsw.Error | UnicodeDecodeError) -> errors.MemorandaError:
    """Return our error for SQLite's. One without an entry is a defect of ours and stays apsw's."""
    if isinstance(error, UnicodeDecodeError):
        return errors.Corruption(f"stored text is not UTF-8 ({error.reason}): restore a backup")
    for foreign, ours in _ERRORS.items():
        if isinstance(error, foreign):
            return ours(f"{ours.__doc__} (SQLite: {error})")
    raise error


@contextmanager
def translated() -> Iterator[None]:
    """Translate what SQLite raises in the block."""
    try:
        yield
    except _FOREIGN as error:
        raise translate(error) from error


@contextmanager
def closing_on_error(database: apsw.Connection) -> Iterator[None]:
    """Close a connection that turns out to be of no use."""
    usable = False
    try:
        yield
        usable = True
    finally:
        if not usable:
            database.close()


class Connection:
    """A reader and, on the writer's connection, a writer: named queries on one SQLite handle."""

    def __init__(
        self, database: apsw.Connection, queries: Mapping[str, str], generation: int
    ) -> None:
        self.database = database
        self._cursor = database.cursor()
        """For statements that are done at once: each is spared one of its own."""
        self.generation = generation
        self._queries = queries
        self._left: int | None = None
        """SQLite's count of changes to the file, as this connection's last commit left it."""
        self._others_wrote = False

    def row(self, query: str, /, **values: object) -> Row | None:
        """Return the first row, if there is one."""
        try:
            found: Row | None = self.database.execute(self._queries[query], values).fetchone()
        except _FOREIGN as error:
            raise translate(error) from error
        return found

    def find(self, query: str, /, *values: object) -> Row | None:
        """Return the first row; values are bound by their places, as in `put`."""
        try:
            found: Row | None = self.database.execute(self._queries[query], values).fetchone()
        except _FOREIGN as error:
            raise translate(error) from error
        return found

    def rows(self, query: str, /, *, budget: int | None = None, **values: object) -> list[Row]:
        """Return the rows; with a budget, stop behind the row whose last column exhausts it."""
        try:
            cursor = self._execute(query, values)
            if budget is None:
                return cursor.fetchall()
            taken = []
            for row in cursor:
                taken.append(row)
                content = row[-1]
                budget -= len(content) if type(content) is bytes else len(str(content))
                if budget <= 0:
                    cursor.close()
                    break
        except _FOREIGN as error:
            raise translate(error) from error
        return taken

    def stream(self, query: str, /, **values: object) -> Iterator[Row]:
        """Yield the rows one by one."""
        try:
            yield from self._execute(query, values)
        except _FOREIGN as error:
            raise translate(error) from error

    def columns(self, query: str, /) -> tuple[str, ...]:
        """Return the names of a query's columns."""
        with translated():
            found = apsw.ext.query_info(self.database, self._queries[query]).description
        return tuple(name for name, _ in found)

    def put(self, query: str, /, *values: object) -> None:
        """Run a statement; SQLite binds values by their places faster than by their names."""
        try:
            self._cursor.execute(self._queries[query], values)
        except _FOREIGN as error:
            raise translate(error) from error

    def put_all(self, query: str, rows: Sequence[Row], /) -> None:
        """Run a statement for each row, which is looked up and made ready once."""
        try:
            self._cursor.executemany(self._queries[query], rows)
        except _FOREIGN as error:
            raise translate(error) from error

    def add(self, query: str, /, *values: object) -> int:
        """Run a statement that returns the id of the row it adds."""
        try:
            return int(self._cursor.execute(self._queries[query], values).get)
        except _FOREIGN as error:
            raise translate(error) from error

    def run(self, query: str, /, **values: object) -> None:
        """Run a statement."""
        try:
            self.database.execute(self._queries[query], values)
        except _FOREIGN as error:
            raise translate(error) from error

    def begin(self) -> None:
        """Take the file's write lock, and note whether others have written in the meantime."""
        self.put("begin")
        if self.database.data_version() != self._left:
            self._others_wrote = True

    def commit(self) -> None:
        """End the transaction. One that is rolled back instead leaves the count as it was."""
        self.put("commit")
        self._left = self.database.data_version()

    def others_wrote(self) -> bool:
        """Say whether SQLite's count of changes was ever another than this connection left."""
        noted, self._others_wrote = self._others_wrote, False
        return noted

    def _execute(self, query: str, values: dict[str, object]) -> apsw.Cursor:
        return self.database.execute(self._queries[query], values)
