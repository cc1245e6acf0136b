"""The PostgreSQL engine: one store of a database, a writer connection and a pool of readers.

Locks. `_write_lock` is held by the thread that writes, from before BEGIN until after COMMIT. The
row of the store, which `begin` locks, keeps other processes out. Work that may be called again is
tried without that lock first (`optimistic.py`). Readers take no lock.

Outcome of a commit. If the connection is lost during COMMIT, the commit may have happened. The next
write opens a new connection and locks the store's row first: PostgreSQL grants that only after the
transaction in doubt has ended, so from then on the commit is visible or it never will be.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, suppress
from pathlib import Path
from types import TracebackType
from typing import NoReturn

import psycopg

from memoranda import errors
from memoranda.model.clock import Clock
from memoranda.model.histogram import Histogram
from memoranda.model.limits import plain_text, short_repr
from memoranda.storage.owner_lock import Owner
from memoranda.storage.port import (
    Check,
    Engine,
    Finding,
    OutcomeUnknown,
    Parameters,
    Progress,
    QueryResult,
    Reader,
    Result,
    Row,
    SqlView,
    StorageSize,
    Writer,
    fine,
)
from memoranda.storage.postgres.announcer import Announcement
from memoranda.storage.postgres.catalog import StoreCatalog
from memoranda.storage.postgres.connection import Connection, connect
from memoranda.storage.postgres.copy_to_file import copy_rows
from memoranda.storage.postgres.database_clock import DatabaseClock
from memoranda.storage.postgres.database_url import DatabaseUrl
from memoranda.storage.postgres.directory import Directory, StoredElsewhere
from memoranda.storage.postgres.error_translation import Undone, is_outdated
from memoranda.storage.postgres.head import LockedHead, StoreFrozen, check_head
from memoranda.storage.postgres.lease import read_owner
from memoranda.storage.postgres.optimistic import OptimisticWriter, Outdated
from memoranda.storage.postgres.replica import Position, ReplicaPool, read_position
from memoranda.storage.postgres.schema import Schema
from memoranda.storage.postgres.session import Session
from memoranda.storage.postgres.shared_sender import SENDERS, SharedSender
from memoranda.storage.postgres.side_index import SideIndex
from memoranda.storage.postgres.statements import Statements, queries
from memoranda.storage.postgres.wakeups import DatabaseWakeups
from memoranda.storage.scratch import scratch_database
from memoranda.storage.sqlite.backup import place_file
from memoranda.storage.sqlite.engine import SqliteEngine
from memoranda.storage.sqlite.placement import check_vacant
from memoranda.storage.sqlite.schema import FORMAT
from memoranda.storage.sqlite.user_sql import documented_views
from memoranda.storage.thread_locks import check_process, hold, new_lock, reentrant_write_error

LOCK_WAIT_MS = 10_000
"""How long a write waits for another process's lock, in milliseconds; then it is `StoreBusy`."""
_RETRY_PAUSES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Seconds before a transaction that was undone for others (SQLSTATE 40001) is tried again."""
_DURABILITIES = ("full", "relaxed")


class _Lease:
    """A reader connection for the length of a block; with `snapshot`, inside a transaction."""

    __slots__ = ("_engine", "_reader", "_snapshot")

    def __init__(self, engine: PostgresEngine, *, snapshot: bool) -> None:
        self._engine = engine
        self._snapshot = snapshot

    def __enter__(self) -> Connection:
        reader = self._reader = self._engine.lend()
        if self._snapshot:
            try:
                reader.begin_snapshot()
            except errors.MemorandaError:
                self._engine.take_back(reader)
                raise
        return reader

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._engine.take_back(self._reader)


class PostgresEngine:
    """A store in a PostgreSQL database."""

    path: Path | None = None
    is_frozen = False

    def __init__(
        self,
        url: DatabaseUrl,
        *,
        sqlite_queries: dict[str, str],
        durability: str = "full",
        create: bool = True,
        read_only: bool = False,
        lock_wait_ms: int | None = None,
        wakeups: DatabaseWakeups | None = None,
        follow: bool = True,
        move: str | None = None,
    ) -> None:
        """Open a store; raise `StoredElsewhere` if it is on another server, and `follow`.

        With `move` it is one that is frozen for that move, to be filled.
        """
        durability = plain_text("durability", durability)
        if durability not in _DURABILITIES:
            raise errors.InvalidInput(
                "durability", f"{short_repr(durability)} is not 'full' or 'relaxed'"
            )
        self._url = url
        self._relaxed = durability == "relaxed"
        self._sqlite_queries = sqlite_queries
        self._statements = Statements(frozenset(sqlite_queries.keys() - queries().keys()))
        self._lock_wait_ms = LOCK_WAIT_MS if lock_wait_ms is None else lock_wait_ms
        self.read_only = read_only
        self.commit_seconds = Histogram()
        self._server_clock = DatabaseClock()
        self.clock: Clock = self._server_clock
        self._write_lock = new_lock()
        self.background_reading = new_lock()
        self.purge_waits = False
        self._idle: deque[Connection] = deque()
        self._is_closed = False
        self._writing = False
        self._guard: Callable[[Connection], object] | None = None
        self._move = move
        self._writer: Connection | None = None
        self._identity: str | None = None
        """That of the writer's server; None: it is not known yet."""
        self._replica: ReplicaPool | None = None
        self._wakeups = wakeups or DatabaseWakeups(url.conninfo)
        self._shares_wakeups = wakeups is not None
        self._sender: SharedSender | None = None
        self._owner = os.getpid()
        with ExitStack() as unless_open:
            database = unless_open.enter_context(closing(connect(url.conninfo)))
            session = Session(database, self._statements)
            self._server_clock.set(session.server_time)
            schema = Schema(session)
            schema.prepare(create=create and not read_only)
            # Citus takes no statement that adds rows to several tables: each has its own there.
            self._is_distributed = schema.is_distributed
            row = StoreCatalog(session).find(url.store, create=create and not read_only)
            if follow and row.location is not None:
                raise StoredElsewhere(Directory(session, url).url_of(row))
            self._store_id, self._token = row.store_id, row.token
            folder = url.index or _cache_folder()
            self._side = SideIndex(folder / f"{self._token}.db", sqlite_queries)
            unless_open.callback(self._side.close)
            self._idle.append(self._wrap(database))
            self._adopt_index()
            unless_open.pop_all()
        if not read_only:
            self._sender = SENDERS.join(url.conninfo, self._open_database, relaxed=self._relaxed)

    def _adopt_index(self) -> None:
        """Bring the side file to the stamp of the store; a new or lost one is filled again."""
        with self.reading() as reader:
            stamp = reader.index_stamp()
        if not self._side.is_current(stamp) and not self.read_only:
            with self._write_lock:
                self._transact(
                    lambda writer: writer.side.stamp, self._lock_wait_ms, relaxed=self._relaxed
                )

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._is_closed

    @property
    def name(self) -> str:
        """The URL of the store, without the user and the password."""
        return self._url.name

    # Reading.

    def reading(self) -> AbstractContextManager[Connection]:
        """Lend a reader for the length of a block."""
        return _Lease(self, snapshot=False)

    def snapshot(self) -> AbstractContextManager[Connection]:
        """Lend a reader inside a read transaction."""
        return _Lease(self, snapshot=True)

    def lend(self) -> Connection:
        """Return an idle reader from the pool, or open one."""
        self._check_open()
        with suppress(IndexError):
            return self._idle.pop()
        return self._connect()

    def take_back(self, reader: Connection) -> None:
        """Return a reader to the pool, outside any transaction."""
        try:
            reader.end()
        except errors.MemorandaError:
            reader.close()
            return
        if reader.is_usable and not self._is_closed:
            self._idle.append(reader)
        else:
            reader.close()

    def open_replica(self, conninfo: str, wait: float) -> ReplicaPool:
        """Return connections to a replica; reads wait so many seconds for it."""
        self._replica = ReplicaPool(
            conninfo,
            self._statements,
            self._store_id,
            self._token,
            self._side,
            primary=self._read_position,
            check_open=self._check_open,
            wait=wait,
        )
        return self._replica

    def _read_position(self) -> Position:
        with self.reading() as reader:
            return read_position(reader.database, self._statements, self._store_id)

    def trim_readers(self, keep: int) -> None:
        """Close idle readers beyond so many, those that were used least recently."""
        with suppress(IndexError):
            while len(self._idle) > keep:
                self._idle.popleft().close()
        self._side.trim_readers(keep)

    # Writing.

    def guard_writes(self, check: Callable[[Connection], object]) -> None:
        """Call `check` in each transaction after others have written."""
        self._guard = check

    def write(
        self,
        work: Callable[[Writer], Result],
        *,
        wait: float | None = None,
        repeatable: bool = False,
    ) -> Result:
        """Run one transaction: without a lock if the work is repeatable, else under the lock."""
        with self._write_lock if wait is None else hold(self._write_lock, True, wait):
            self._check_writable()
            wait_ms = self._lock_wait_ms if wait is None else max(int(wait * 1000), 1)
            writer = self._ready_writer()
            if repeatable and writer.stamps[0] is not None and not self._is_distributed:
                with suppress(Outdated):
                    return self._try_write(writer, work, wait_ms)
                self._ready_writer().note_foreign_writes()
            if not repeatable:
                return self._transact(work, wait_ms, relaxed=self._relaxed)
            for pause in _RETRY_PAUSES:
                with suppress(Undone):
                    return self._transact(self._looking_ahead(work), wait_ms, relaxed=self._relaxed)
                self.clock.sleep(pause)
                self._ready_writer().note_foreign_writes()
            return self._transact(self._looking_ahead(work), wait_ms, relaxed=self._relaxed)

    def _looking_ahead(self, work: Callable[[Writer], Result]) -> Callable[[Connection], Result]:
        """Return work under the lock that fetches its reads together."""

        def run(connection: Connection) -> Result:
            return work(
                OptimisticWriter(
                    connection, self._statements, 0, relaxed=self._relaxed, locked=True
                )
            )

        return run

    def _try_write(
        self, connection: Connection, work: Callable[[Writer], Result], wait_ms: int
    ) -> Result:
        """Run a transaction that holds if nobody else has written; else raise `Outdated`."""
        writer = OptimisticWriter(
            connection, self._statements, wait_ms, relaxed=self._relaxed, sender=self._sender
        )
        self._writing = True
        try:
            try:
                result = work(writer)
            except errors.MemorandaError as error:  # it may come from what is cached
                raise Outdated from error
            began_at = self.clock.monotonic()
            try:
                writer.commit()
            except Undone as error:
                raise Outdated from error
            except errors.Unavailable as error:
                self._find_outcome(connection, error)
            self.commit_seconds.add(self.clock.monotonic() - began_at)
        except psycopg.DataError as error:
            if not is_outdated(error):
                raise
            raise Outdated from error
        finally:
            self._writing = False
            self._end_write()
        return result

    def _find_outcome(self, lost: Connection, error: errors.Unavailable) -> None:
        """Return if a commit whose answer was lost has happened; raise `Outdated` if it has not.

        A new connection that has locked the store's row sees the last stamp. It commits another one
        before it releases the lock. So a lost statement that has not run can never do so, however
        late it arrives: it expects the stamp from before. And behind a statement that has run,
        nobody has waited for its standby: this commit does.
        """
        before, after = lost.stamps
        self._drop_writer()
        try:
            self._writer = self._connect(writes=True)
            self._writer.begin(self._lock_wait_ms, relaxed=self._relaxed, check=self._check_head)
            stamp, _ = self._writer.stamps
            if stamp in (before, after):
                self._writer.commit()
        except errors.MemorandaError:
            raise OutcomeUnknown from error
        if stamp != after:
            raise (Outdated if stamp == before else OutcomeUnknown) from error

    def _transact(
        self, work: Callable[[Connection], Result], wait_ms: int, *, relaxed: bool
    ) -> Result:
        writer = self._ready_writer()
        try:
            self._writing = True
            writer = self._begin_write(writer, wait_ms, relaxed=relaxed)
            result = work(writer)
            self._commit(writer)
        except StoreFrozen:
            self.is_frozen = True
            raise
        finally:
            self._writing = False
            self._end_write()
        return result

    def _begin_write(self, writer: Connection, wait_ms: int, *, relaxed: bool) -> Connection:
        """Begin; on a connection that was lost while it was idle, do so again on a new one."""
        try:
            writer.begin(wait_ms, relaxed=relaxed, check=self._check_foreign)
        except errors.Unavailable:
            self._drop_writer()
            writer = self._writer = self._connect(writes=True)
            writer.begin(wait_ms, relaxed=relaxed, check=self._check_foreign)
        return writer

    def _check_head(self, _: Connection, head: LockedHead) -> None:
        """Raise if this program must not write to the store any more."""
        check_head(head.number, head.frozen, self._move)
        if head.token != self._token:
            raise StoreFrozen("it was moved away, and back: open it again")

    def _check_foreign(self, writer: Connection, head: LockedHead) -> None:
        """Raise if it must not be written to after others have written."""
        self._check_head(writer, head)
        if self._guard is not None:
            self._guard(writer)

    def _commit(self, writer: Connection) -> None:
        began_at = self.clock.monotonic()
        try:
            writer.commit()
        except errors.Unavailable as error:
            self._drop_writer()
            raise OutcomeUnknown from error
        self.commit_seconds.add(self.clock.monotonic() - began_at)

    def _end_write(self) -> None:
        """Roll back what was not committed; a connection that cannot is closed."""
        if self._writer is None:
            return
        try:
            self._writer.end()
        except errors.MemorandaError:
            self._drop_writer()

    def _ready_writer(self) -> Connection:
        if self._writer is None or not self._writer.is_usable:
            self._drop_writer()
            self._writer = self._connect(writes=True)
        return self._writer

    def _drop_writer(self) -> None:
        writer, self._writer, self._identity = self._writer, None, None
        if writer is not None:
            writer.close()

    def write_from(self, source: Path, work: Callable[[Connection], Result]) -> NoReturn:
        """Refuse: views are rebuilt in place here."""
        raise NotImplementedError

    def sync(self) -> None:
        """Commit a small write that waits for the disk: every earlier commit is durable with it."""
        with self._write_lock:
            self._check_writable()
            self._transact(lambda _: None, self._lock_wait_ms, relaxed=False)

    # Wake-ups.

    def announce(self) -> None:
        """Tell other processes that the log has grown."""
        self._wakeups.announce(self._store_id, self._send_announcements)

    def listen(self, wake: Callable[[], None]) -> bool:
        """Call `wake` when another process announces a commit; return whether that arrives here."""
        return self._wakeups.listen(self._store_id, wake, self._send_announcements)

    def _send_announcements(self, announcements: Sequence[Announcement]) -> None:
        with self.reading() as reader:
            reader.rows("announce", announcements=announcements)

    # The store as a whole.

    def identity(self, reader: Reader) -> str:
        """Return the identity of the server, its timeline, the database and the store.

        It is read once for each connection that writes: a server that takes over has others.
        """
        if self._identity is None:
            row = reader.find("cluster_identity")
            assert row is not None, "a server has an identity"
            self._identity = ":".join(("postgresql", *map(str, row), str(self._store_id)))
        return self._identity

    def check_definitions(self, reader: Reader) -> None:
        """Do nothing: the tables are those of all stores, and their owner's to define."""

    def check_structure(self, reader: Reader) -> None:
        """Do nothing: PostgreSQL checks pages when it reads them, and operators its indexes."""

    def scratch(self, tag: str) -> AbstractContextManager[Engine]:
        """Provide an empty SQLite database: so two engines check each other."""
        return scratch_database(self.open_at, tag)

    def copy_to(self, path: Path, progress: Progress | None = None) -> None:
        """Copy a snapshot to a new SQLite file."""
        with closing(self.open_at(path)) as target, self.snapshot() as reader:
            copy_rows(reader, target, progress)

    def open_at(self, path: Path) -> SqliteEngine:
        """Create or open a SQLite database in a file."""
        return SqliteEngine(
            path,
            queries=self._sqlite_queries,
            durability="relaxed",
            allow_network_file_system=True,
        )

    def check_vacant(self, field: str, path: Path) -> None:
        """Refuse a path that is taken, or beside which a journal was left."""
        check_vacant(field, path)

    def place(self, field: str, draft: Path, path: Path) -> None:
        """Give a copy its name, unless a journal that is not its own is beside that name."""
        place_file(field, draft, path)

    def documented_views(self) -> list[SqlView]:
        """Return the views that a user's SQL can read."""
        return documented_views()

    def query(self, statement: str, parameters: Parameters = ()) -> QueryResult:
        """Run a user's SQL over a copy in memory: its dialect and functions are SQLite's."""
        with (
            closing(SqliteEngine(None, queries=self._sqlite_queries)) as copy,
            self.snapshot() as reader,
        ):
            copy_rows(reader, copy)
            return copy.query(statement, parameters)

    def diagnose(self, *, quick: bool) -> list[tuple[str, Check]]:  # noqa: ARG002 - none is slow
        """Return the checks of the server."""
        return [("store", self._check_server)]

    def _check_server(self) -> Finding:
        with self.reading() as reader:
            version = reader.database.info.server_version
        server = f"PostgreSQL {version // 10_000}.{version % 10_000}"
        return fine("store", f"a Memoranda store of format {FORMAT} in {server}")

    def owner(self) -> Owner | None:
        """Return the server process whose lease of the store lasts."""
        with self.reading() as reader:
            entry = read_owner(Session(reader.database, self._statements), self._store_id)
        return None if entry is None else entry[0]

    def footprint(self) -> StorageSize:
        """Return the sizes of the tables, of all stores in the database."""
        with self.reading() as reader:
            row = reader.find("sizes")
        return StorageSize(data=row[0] if row else 0, journal=0)

    def purge(self, progress: Progress | None = None) -> bool:
        """Purge the side file; PostgreSQL's own VACUUM removes the rows that it has deleted."""
        self._check_writable()
        return self._side.purge(progress)

    def close(self) -> None:
        """Close every connection."""
        if self._owner != os.getpid():
            return
        self._wakeups.forget(self._store_id)
        if not self._shares_wakeups:
            self._wakeups.close()
        with self._write_lock:
            if self._is_closed:
                return
            self._is_closed = True
            if self._sender is not None:
                SENDERS.leave(self._sender)
            self._drop_writer()
            with suppress(IndexError):
                while True:
                    self._idle.pop().close()
            if self._replica is not None:
                self._replica.close()
            self._side.close()

    def _connect(self, *, writes: bool = False) -> Connection:
        connection = self._wrap(self._open_database(), writes=writes)
        if writes:
            self._server_clock.set(connection.server_time)
        return connection

    def _open_database(self) -> psycopg.Connection[Row]:
        return connect(self._url.conninfo)

    def _wrap(self, database: psycopg.Connection[Row], *, writes: bool = False) -> Connection:
        return Connection(
            database,
            self._open_database,
            self._statements,
            self._store_id,
            self._side,
            writes=writes,
        )

    def _check_open(self) -> None:
        if self._is_closed:
            raise errors.StoreClosed
        check_process(self._owner)

    def _check_writable(self) -> None:
        self._check_open()
        if self._writing:
            raise reentrant_write_error()
        if self.read_only:
            raise errors.StoreReadOnly(
                "the store was opened for reading only: open it without read_only to write to it"
            )


def _cache_folder() -> Path:
    """Return the folder for side files: in the cache of the user."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "memoranda" / "index"
