"""The side file: the full-text index and the vectors of a store, in SQLite beside PostgreSQL.

It holds nothing that cannot be derived from the store. Its tables are those of SQLite's format, and
so are its queries, so that a search finds and ranks the same as in a store of one file.

The stamp of the index (`index` in `meta`) is in both databases, and every change of the index
raises it. The side file commits first. If PostgreSQL then does not, or if another process indexed
the store into a side file of its own, the stamps differ: the next writer empties the side file and
queues every commit again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from memoranda.errors import StoreBusy
from memoranda.storage.port import Progress, Row
from memoranda.storage.sqlite.connection import Connection
from memoranda.storage.sqlite.engine import SqliteEngine

_CLEAR = (
    "vector_clear",
    "fulltext_empty",
    "fulltext_rebuild",
    "document_clear",
    "partition_clear",
)


class StampedStore(Protocol):
    """The transaction in PostgreSQL that a side file is used in."""

    @property
    def in_snapshot(self) -> bool:
        """Whether all reads are of one snapshot."""
        ...

    def index_stamp(self) -> int:
        """Return the stamp of the index that the store has."""
        ...

    def queue_all(self) -> None:
        """Queue every commit for indexing, under a new stamp."""
        ...


class SideSession:
    """The side file during one transaction in PostgreSQL."""

    def __init__(self, connection: Connection, index: SideIndex, *, writes: bool) -> None:
        self._connection = connection
        self._index = index
        self._writes = writes
        self.row = connection.row
        self.find = connection.find
        self.rows = connection.rows
        self.rows_each = connection.rows_each
        self.stream = connection.stream
        self.columns = connection.columns
        self.put = connection.put
        self.add = connection.add
        self.run = connection.run
        self.table_rows = connection.table_rows

    def put_all(self, query: str, rows: Sequence[Row]) -> None:
        """Run a statement for each row."""
        self._connection.put_all(query, rows)

    @property
    def stamp(self) -> int:
        """The stamp of the index that the side file has."""
        row = self.row("meta_get", name="index")
        return 0 if row is None else int(row[0])

    def clear(self) -> None:
        """Empty the index."""
        for query in _CLEAR:
            self.run(query)

    def commit(self, stamp: int) -> None:
        """Commit, with the stamp that PostgreSQL is about to commit."""
        self.run("meta_set", name="index", value=str(stamp))
        self._connection.commit()
        self._index.last_stamp = stamp

    def end(self) -> None:
        """Roll back uncommitted changes, and return the connection to the pool."""
        if self._connection.database.in_transaction:
            self.run("rollback")
        if not self._writes:
            self._index.take_back(self._connection)


class SideIndex:
    """The side file of one store."""

    def __init__(self, path: Path, queries: dict[str, str]) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._engine = SqliteEngine(
            path, queries=queries, durability="relaxed", allow_network_file_system=True
        )
        self._writer = self._engine.open_connection()
        self.last_stamp = 0
        """The stamp that this process has committed last; 0: none."""

    def begin(self, store: StampedStore, *, writes: bool) -> SideSession:
        """Begin a transaction that goes with one of PostgreSQL, on an index of the same stamp."""
        if writes:
            return self._begin_writing(store)
        connection = self._engine.lend()
        if store.in_snapshot:
            connection.run("begin_reading")
        session = SideSession(connection, self, writes=False)
        if session.stamp < store.index_stamp():
            session.end()
            raise StoreBusy(
                "another process has indexed the store elsewhere: the next write indexes it here "
                "again; give all processes of a machine the same index folder"
            )
        return session

    def _begin_writing(self, store: StampedStore) -> SideSession:
        self._writer.run("begin")
        session = SideSession(self._writer, self, writes=True)
        if session.stamp != store.index_stamp():
            session.clear()
            store.queue_all()
        return session

    def is_current(self, stamp: int) -> bool:
        """Say whether the side file has the index with a stamp."""
        with self._engine.reading() as reader:
            row = reader.row("meta_get", name="index")
        return stamp == (0 if row is None else int(row[0]))

    def take_back(self, connection: Connection) -> None:
        """Return a reader to the pool."""
        self._engine.take_back(connection, unsure=True)

    def trim_readers(self, keep: int) -> None:
        """Close idle readers beyond so many."""
        self._engine.trim_readers(keep)

    def purge(self, progress: Progress | None) -> bool:
        """Remove deleted data from the file's bytes; return False if a reader is in the way."""
        return self._engine.purge(progress)

    def close(self) -> None:
        """Close every connection."""
        self._writer.database.close()
        self._engine.close()
