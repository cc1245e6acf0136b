"""Moving a store of a directory to another database, while it is used.

    copy      the log, with its views, to the target; then what was written meanwhile, and again;
              nobody but the copier writes there until the store is placed
    freeze    the store takes no writes: those that come are tried again by their callers
    copy      the few commits that are left, and the cursors
    place     the directory says where the store is now: from here on it is moved
    thaw      the target takes writes
    remove    the rows that it has left, once no server has it open there any more

If a move fails before it is placed, the store goes on where it was. If the mover dies in between,
the store may stay frozen: moving it again finishes that, and moving it to where it is undoes it.
Who moves a store has a lease in the directory. Only with that is a store placed, given its writes
back, and removed elsewhere: a mover that was away for long cannot undo what its successor did.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress

import msgspec

from memoranda.calls.core import all_views
from memoranda.errors import MemorandaError, StoreBusy, Unavailable
from memoranda.log import pages
from memoranda.log.copy import LogCopy
from memoranda.log.lineage import stored_log_id
from memoranda.model.clock import SystemClock
from memoranda.sdk.copy_store import copy_between
from memoranda.sdk.open import open_engine
from memoranda.storage.port import Engine, Progress
from memoranda.storage.postgres.catalog import StoreCatalog, StoreRow
from memoranda.storage.postgres.database_url import DatabaseUrl
from memoranda.storage.postgres.directory import HOME, Directory
from memoranda.storage.postgres.lease import Lease, LeaseKeeper, read_owner
from memoranda.storage.postgres.session import Session, open_session

WAIT_SECONDS = 60.0
"""How long a move waits until the server of a store has closed it in the old database."""
_ROUNDS = 20
"""Times that what was written meanwhile is copied before the store is frozen nonetheless."""
_FEW_COMMITS = 100
"""Commits that are left for the time in which the store takes no writes: some 50 milliseconds."""
_POLL_SECONDS = 0.1
"""Time between two looks whether a server has closed the store."""


class Move(msgspec.Struct, frozen=True):
    """What was done."""

    store: str
    source: str
    """The server that the store was on."""
    target: str
    commits: int
    pause_seconds: float
    """How long the store took no writes."""
    removed: bool
    """Whether nothing of the store is left on the source; else a server still has it open there."""


class StoreMover:
    """Moves the stores of a directory."""

    def __init__(self, home: DatabaseUrl, address: str, wait: float = WAIT_SECONDS) -> None:
        self._home = home
        self._address = address
        """Where the mover can be reached, for whoever finds that a store is being moved."""
        self._wait = wait
        self._clock = SystemClock()

    def move(self, name: str, target: str, progress: Progress | None = None) -> Move:
        """Move a store to a server, or home; where it is already, put an aborted move in order."""
        with ExitStack() as resources:
            session = resources.enter_context(closing(open_session(self._home.conninfo)))
            keeper = resources.enter_context(closing(LeaseKeeper(self._home.conninfo)))
            catalog, directory = StoreCatalog(session), Directory(session, self._home)
            location = directory.location_of("to", target)
            row = catalog.find(name)
            lease = keeper.acquire_move(session, row.store_id, repr(name), self._address)
            resources.callback(lease.release)
            row = catalog.find(name)  # another mover may have been there before
            if row.location == location:
                pause, commits = self._thaw(directory, row)
            else:
                pause, commits = self._move(session, directory, lease, row, location, progress)
            source, row = row.location, msgspec.structs.replace(row, location=location)
            removed = self._remove_leftovers(directory, lease, row)
        return Move(name, source or HOME, location or HOME, commits, pause, removed)

    def _thaw(self, directory: Directory, row: StoreRow) -> tuple[float, int]:
        with self._catalog_at(directory.url_of(row)) as (catalog, session):
            catalog.freeze(row.store_id, None)
            return 0.0, pages.head_commit(session.reader(row.store_id))

    def _move(
        self,
        session: Session,
        directory: Directory,
        lease: Lease,
        row: StoreRow,
        location: str | None,
        progress: Progress | None,
    ) -> tuple[float, int]:
        """Move a store, and return how long it took no writes, and its commits."""
        source_url = directory.url_of(row)
        target_url = directory.url_on(location, row.name)
        move = (
            f"it is being moved to {location or HOME!r}; if that was interrupted, `memoranda "
            f"stores move {row.name} --to {location or HOME}` finishes it (move {lease.holder})"
        )
        self._make_place(target_url, row, move, is_home=location is None)
        with (
            closing(
                open_engine(str(source_url), create=False, read_only=True, follow=False)
            ) as source,
            closing(open_engine(str(target_url), create=False, follow=False, move=move)) as target,
        ):
            copier = _Copier(source, target)
            copier.copy_most(progress)
            began_at = self._clock.monotonic()
            with self._frozen(source_url, lease, row, move):
                commits = copier.copy_rest()
                self._place(session, lease, row, location)
            self._thaw_target(target_url, row, move)
            pause = self._clock.monotonic() - began_at
        with suppress(Unavailable), self._catalog_at(source_url) as (catalog, _):
            catalog.freeze(row.store_id, f"it was moved to {location or HOME!r}: open it again")
        return pause, commits

    def _make_place(self, url: DatabaseUrl, row: StoreRow, move: str, *, is_home: bool) -> None:
        with self._catalog_at(url) as (catalog, _):
            if is_home:
                catalog.make_place(row, move)
            else:
                catalog.adopt(row, move)

    def _place(
        self,
        session: Session,
        lease: Lease,
        row: StoreRow,
        location: str | None,
    ) -> None:
        """Note where the store is; this is what moves it."""
        placed = session.find("store_place", location, lease.holder, store_id=row.store_id)
        if placed is None:
            raise StoreBusy(
                f"another process moves {row.name!r} by now, or its new server was removed: see "
                "where it is"
            )

    def _thaw_target(self, url: DatabaseUrl, row: StoreRow, move: str) -> None:
        with self._catalog_at(url) as (catalog, _):
            catalog.thaw(row.store_id, move)

    @contextmanager
    def _frozen(self, url: DatabaseUrl, lease: Lease, row: StoreRow, move: str) -> Iterator[None]:
        """Let the store take no writes in the block; after an error, it takes them again.

        It stays frozen if the connection to the directory was lost: then nobody knows where it is.
        So it does if another process moves it by now, which may need that.
        """
        with self._catalog_at(url) as (catalog, _):
            catalog.freeze(row.store_id, move)
            try:
                yield
            except (MemorandaError, KeyboardInterrupt):
                if self._stays(lease, row):
                    catalog.thaw(row.store_id, move)
                raise

    def _stays(self, lease: Lease, row: StoreRow) -> bool:
        """Give the move up; say whether the store stays where it was.

        The connection may have been lost while the store was placed. That needs the lease, so it
        has happened once the lease is ended, or it never will.
        """
        with closing(open_session(self._home.conninfo)) as session, session.transaction():
            is_held = lease.end(session)
            return is_held and StoreCatalog(session).find(row.name).location == row.location

    def _remove_leftovers(self, directory: Directory, lease: Lease, row: StoreRow) -> bool:
        """Remove what a store has left on other servers; say whether nothing is left."""
        places = {HOME: self._home, **{server.name: server.url for server in directory.list()}}
        places.pop(row.location or HOME)
        is_removed = True
        for name, url in places.items():
            try:
                is_removed &= self._remove_at(url, lease, row, name)
            except Unavailable:  # the store is moved, whatever becomes of its rows there
                is_removed = False
        return is_removed

    def _remove_at(self, url: DatabaseUrl, lease: Lease, row: StoreRow, name: str) -> bool:
        with self._catalog_at(url) as (catalog, session):
            if not catalog.has_rows(row.store_id):
                return True
            until = self._clock.monotonic() + self._wait
            while read_owner(session, row.store_id) is not None:
                if self._clock.monotonic() > until:
                    return False
                self._clock.sleep(_POLL_SECONDS)
            with closing(open_session(self._home.conninfo)) as home, home.transaction():
                if not lease.is_held(home):  # another process moves it, maybe to this place
                    return False
                return catalog.remove_moved(row, keep_name=name == HOME)

    @contextmanager
    def _catalog_at(self, url: DatabaseUrl) -> Iterator[tuple[StoreCatalog, Session]]:
        with closing(open_session(url.conninfo)) as session:
            yield StoreCatalog(session), session


class _Copier:
    """Copies the log of a store, as long as it has one: a store that was never used has none."""

    def __init__(self, source: Engine, target: Engine) -> None:
        self._source = source
        self._target = target
        self._copy: LogCopy | None = None

    def copy_most(self, progress: Progress | None) -> None:
        """Copy and verify the log, then what is written meanwhile, until little is left."""
        if not self._has_log():
            return
        copy_between(self._source, self._target, progress)
        copied = self._copy_once()
        for _ in range(_ROUNDS):
            before, copied = copied, self._copy_once()
            if copied - before <= _FEW_COMMITS:
                return

    def copy_rest(self) -> int:
        """Copy what is left, and return the last commit; nobody writes meanwhile."""
        if not self._has_log():
            return 0
        return self._copy_once()

    def _has_log(self) -> bool:
        with self._source.reading() as reader:
            return stored_log_id(reader) is not None

    def _copy_once(self) -> int:
        if self._copy is None:
            self._copy = LogCopy(self._source, self._target, all_views())
        return self._copy.run().commit_ts
