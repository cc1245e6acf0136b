"""Reads from a replica that see at least a given commit.

A replica follows the primary at some distance. Before a reader is lent, it must have seen the
commit that the caller needs; else it waits, for a bounded time, and `ReplicaBehind` says so.

A call may read in several pieces, on several connections, and must never go back in time. So all
connections are of one server, whose state only goes forward: the first one decides which of the
hosts in the URL that is. If it is lost, another one is chosen, and from then on every reader must
have seen all that the primary had at that moment.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import psycopg

from memoranda import errors
from memoranda.model.backoff import Backoff
from memoranda.model.clock import SystemClock
from memoranda.storage.port import Row
from memoranda.storage.postgres.connection import Connection, connect
from memoranda.storage.postgres.error_translation import translate_errors
from memoranda.storage.postgres.side_index import SideIndex
from memoranda.storage.postgres.statements import Statements
from memoranda.storage.thread_locks import hold, new_lock

Value = TypeVar("Value")
_RECHECK = Backoff(0.001, 0.05)
"""Seconds between two looks at where a replica is."""
_CONNECT_SECONDS = 1.0
"""Least seconds to wait while another thread has the lock: it may only connect, which is short."""


class Position(tuple[int, int]):
    """How far a database is: its last commit, and the stamp of its index. Each only grows."""

    __slots__ = ()

    def has(self, other: tuple[int, int]) -> bool:
        """Say whether everything of another position is there."""
        return self[0] >= other[0] and self[1] >= other[1]


class _LostConnection(errors.Unavailable):
    """The connection was lost while it was idle, or while the replica was waited for."""


class ReplicaReader(Connection):
    """A connection to the replica."""

    server: object = None
    """The server that it is connected to."""
    position = Position((0, 0))
    """The last known position of the server."""


class ReplicaPool:
    """Connections to one replica of a store.

    `_lock` is held while a server is chosen and waited for. Whoever needs a connection meanwhile
    waits for the lock, and for what it needs then, until the same time.
    """

    def __init__(
        self,
        conninfo: str,
        statements: Statements,
        store_id: int,
        token: str,
        side: SideIndex,
        *,
        primary: Callable[[], Position],
        check_open: Callable[[], None],
        wait: float,
    ) -> None:
        self._conninfo = conninfo
        self._statements = statements
        self._store_id = store_id
        self._token = token
        self._side = side
        self._primary = primary
        """Reads where the primary is."""
        self._check_open = check_open
        self._wait = wait
        self._clock = SystemClock()
        self._idle: deque[ReplicaReader] = deque()
        self._lock = new_lock()
        self._server: dict[str, str] | None = None
        """The address of the chosen server; None: none is chosen."""
        self._floor = Position((0, 0))
        """The position that every new connection must have reached."""

    def lend(self, min_commit: int) -> ReplicaReader:
        """Return a reader that has seen a commit, and the index as this process has changed it."""
        self._check_open()
        until = self._deadline()
        while self._idle:
            with suppress(IndexError):  # another thread may have taken the last one
                reader = self._idle.pop()
                with suppress(_LostConnection):
                    return self._wait_until_ready(reader, min_commit, until)
        return self._wait_until_ready(self._connect(until), min_commit, until)

    def _deadline(self) -> float:
        return self._clock.monotonic() + self._wait

    def _wait_until_ready(
        self, reader: ReplicaReader, min_commit: int, until: float
    ) -> ReplicaReader:
        needed = (max(min_commit, self._floor[0]), max(self._side.last_stamp, self._floor[1]))
        if reader.position.has(needed):
            return reader
        try:
            reader.position = self._wait_for(reader.database, needed, until)
        except errors.MemorandaError as error:
            is_lost = reader.database.closed
            self.take_back(reader)
            if is_lost:
                raise _LostConnection(str(error)) from error
            raise
        return reader

    def take_back(self, reader: ReplicaReader) -> None:
        """Return a reader to the pool; one of a server that is not read any more is closed."""
        with suppress(errors.MemorandaError):
            reader.end()
            if reader.is_usable and reader.server is self._server:
                self._idle.append(reader)
                return
        reader.close()

    def close(self) -> None:
        """Close the idle connections."""
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _connect(self, until: float) -> ReplicaReader:
        database, server, floor = self._connect_to_chosen(until)
        reader = ReplicaReader(
            database, self._open, self._statements, self._store_id, self._side, writes=False
        )
        reader.server, reader.position = server, floor
        return reader

    def _open(self) -> psycopg.Connection[Row]:
        return self._connect_to_chosen(self._deadline())[0]

    def _connect_to_chosen(
        self, until: float
    ) -> tuple[psycopg.Connection[Row], dict[str, str], Position]:
        """Connect to the chosen server; if it is gone or none is chosen, choose one.

        Returns the server and its least position, too: another thread may choose another one next.
        """
        is_locked = False
        try:
            seconds = max(until - self._clock.monotonic(), _CONNECT_SECONDS)
            with hold(self._lock, True, seconds):
                is_locked = True
                return self._choose(until)
        except errors.StoreBusy:
            if is_locked:
                raise
            raise self._behind(self._floor[0], 0) from None

    def _choose(self, until: float) -> tuple[psycopg.Connection[Row], dict[str, str], Position]:
        if self._server is not None:
            with suppress(errors.Unavailable):
                return connect(self._conninfo, **self._server), self._server, self._floor
        database = connect(self._conninfo)
        try:
            self._check_store(database, until)
            if self._server is not None:
                self._floor = Position(map(max, self._floor, self._primary()))
            self._wait_for(database, self._floor, until)
        except errors.MemorandaError:
            database.close()
            raise
        self._server = _address(database)
        return database, self._server, self._floor

    def _behind(self, min_commit: int, replica_commit: int) -> errors.ReplicaBehind:
        return errors.ReplicaBehind(
            min_commit=min_commit, replica_commit=replica_commit, seconds=self._wait
        )

    def _check_store(self, database: psycopg.Connection[Row], until: float) -> None:
        """Refuse a database without this store; one that was just created may not be there yet."""
        statement = self._statements.own("store_token")

        def read_token() -> str | None:
            row = database.execute(statement.text, statement.bind((), self._store_id)).fetchone()
            return None if row is None else str(row[0])

        token = self._poll(read_token, bool, until)
        if token is None:
            raise self._behind(0, 0)
        if token != self._token:
            raise errors.InvalidInput("read_url", "is no replica of the store's database")

    def _wait_for(
        self, database: psycopg.Connection[Row], needed: tuple[int, int], until: float
    ) -> Position:
        """Return where the replica is, once it is as far as needed."""
        position = self._poll(
            lambda: read_position(database, self._statements, self._store_id),
            lambda position: position.has(needed),
            until,
        )
        if position is None or not position.has(needed):
            raise self._behind(needed[0], 0 if position is None else position[0])
        return position

    def _poll(
        self, read: Callable[[], Value | None], is_enough: Callable[[Value], bool], until: float
    ) -> Value | None:
        """Read until it is enough, or until the time is over; return what was read last.

        None: there is nothing yet.
        """
        attempt = 0
        while True:
            try:
                with translate_errors():
                    value: Value | None = read()
            except psycopg.errors.UndefinedTable:  # the store's tables were just created
                value = None
            if (value is not None and is_enough(value)) or self._clock.monotonic() >= until:
                return value
            self._clock.sleep(_RECHECK.seconds(attempt))
            attempt += 1


def read_position(
    database: psycopg.Connection[Row], statements: Statements, store_id: int
) -> Position:
    """Return the last commit that a database has, and the stamp of the index."""
    statement = statements.own("replica_position")
    row = database.execute(statement.text, statement.bind((), store_id)).fetchone()
    assert row is not None, "it has one row"
    return Position((int(row[0]), int(row[1])))


def _address(database: psycopg.Connection[Row]) -> dict[str, str]:
    """Return the parameters of the connection that identify its server."""
    info = database.info
    address = {"host": info.host, "port": str(info.port)}
    if info.hostaddr and not info.host.startswith("/"):
        address["hostaddr"] = info.hostaddr
    return address


class ReplicaReads:
    """The reads of one call: an engine whose readers have seen a commit; it does nothing else."""

    def __init__(self, pool: ReplicaPool, name: str, min_commit: int) -> None:
        self._pool = pool
        self._min_commit = min_commit
        self.name = name
        self.read_only = True
        self.path: Path | None = None
        self.is_closed = False

    def reading(self) -> AbstractContextManager[Connection]:
        """Lend a reader for the length of a block."""
        return self._lend(snapshot=False)

    def snapshot(self) -> AbstractContextManager[Connection]:
        """As `reading`, with one snapshot for all reads of the block."""
        return self._lend(snapshot=True)

    @contextmanager
    def _lend(self, *, snapshot: bool) -> Iterator[Connection]:
        reader = self._pool.lend(self._min_commit)
        try:
            if snapshot:
                reader.begin_snapshot()
            yield reader
        finally:
            self._pool.take_back(reader)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse what is the primary's: a call that does so says it (`Call.needs_primary`)."""
        raise NotImplementedError("this is read from the primary")

    write = write_from = guard_writes = sync = purge = query = copy_to = open_at = _refuse
    announce = listen = _refuse
    check_definitions = check_structure = scratch = trim_readers = _refuse
    check_vacant = place = documented_views = footprint = identity = diagnose = close = _refuse
