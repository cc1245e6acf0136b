"""The stores of a server that are in a PostgreSQL database, or in others that it knows.

The database may be a directory: some of its stores are in other databases then (`directory.py`).
The owner's lock of a store is a lease where its rows are, so that servers of several machines find
each other. Each operation has a connection of its own: the catalog holds none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

from msgspec.structs import replace

from memoranda.errors import InvalidInput, NotFound, Unavailable
from memoranda.model.limits import short_repr
from memoranda.sdk.move_store import Move, StoreMover
from memoranda.sdk.store_files import RemovedStore, StoreSummary, add_head
from memoranda.server.store_catalog import check_name, is_name
from memoranda.storage.port import Progress
from memoranda.storage.postgres.catalog import StoreCatalog, StoreRow
from memoranda.storage.postgres.database_url import DatabaseUrl, is_database_url, parse_database
from memoranda.storage.postgres.directory import HOME, Directory, Server, check_server_name
from memoranda.storage.postgres.lease import Lease, LeaseKeeper, read_owner
from memoranda.storage.postgres.schema import Schema
from memoranda.storage.postgres.session import Session, open_session
from memoranda.storage.thread_locks import new_lock

_CONTROL = "_control"
"""The name of the control store, or its beginning. It is no valid name of a store, so no token
reaches it."""


def control_store_url(database: DatabaseUrl) -> str:
    """Return the URL of the control store: one for a database of stores, one for a single store."""
    suffix = f".{database.store}" if database.store else ""
    return str(database.with_store(f"{_CONTROL}{suffix}"))


class DatabaseCatalog:
    """A database of stores, or one store of it if its URL names one."""

    folder = None

    def __init__(self, database: DatabaseUrl, address: str) -> None:
        if database.store.startswith(_CONTROL):
            raise InvalidInput("url", f"{database.store!r} has a server's tokens: name another")
        self._database = database
        self._address = address
        self._leases: dict[str, LeaseKeeper] = {}
        """By the database that they are in."""
        self._mutex = new_lock()
        """Protects `_leases`."""
        self.creates_on_use = bool(database.store)
        with closing(open_session(database.conninfo)) as session:
            Schema(session).prepare(create=True)

    def canonical(self, name: str) -> str:
        """Return the only store's name for the empty name, which names none of many."""
        if not name and not self._database.store:
            raise NotFound("no store was named, and this server has many: name one")
        return name or self._database.store

    def locate(self, name: str) -> str:
        """Return the URL of a store, or raise `NotFound`."""
        if self._database.store:
            if name != self._database.store:
                raise self.missing(name)
            return str(self._database)
        return str(self._find(name)[1])

    def describe(self, name: str) -> str:
        """Return where a store is, for people: without a password."""
        return self._find(name)[1].name

    def missing(self, name: str) -> NotFound:
        """Return the error for a missing store."""
        if self._database.store:
            return NotFound(f"there is no store {short_repr(name)}: this server has one only")
        return NotFound(f"there is no store {short_repr(name)}: check its name, or create it")

    def names(self) -> list[str]:
        """Return the names of all stores, in order."""
        if self._database.store:
            return [self._database.store]
        with self._catalog() as (catalog, _):
            return [row.name for row in catalog.list() if is_name(row.name)]

    def check_readable(self) -> None:
        """Raise `Unavailable` if the database does not answer."""
        with closing(open_session(self._database.conninfo)) as session:
            session.server_time()

    def create(self, name: str, on: str | None = None) -> None:
        """Create an empty store; on the server that is named, or on the one with the fewest."""
        self._check_many("name", name)
        check_name("name", name)
        with self._catalog() as (catalog, session):
            directory = Directory(session, self._database)
            location = directory.choose() if on is None else directory.location_of("on", on)
            url = directory.url_on(location, name)
            with directory.placing(location):
                store = catalog.create("name", name, location)
            if location is None:
                return
            is_created = False
            try:
                with self._catalog_at(url) as (store_catalog, _):
                    store_catalog.adopt(store)
                is_created = True
            finally:
                if not is_created:  # there it may be, if only the answer was lost
                    self._remove_copied(store, url)
                    catalog.remove(store)

    def rename(self, old: str, new: str) -> None:
        """Give a store that no server has open another name."""
        self._check_many("old", old)
        if check_name("new", new) == old:
            raise InvalidInput("new", f"{short_repr(new)} is its name already: give another one")
        with (
            self._staying(old) as (catalog, session, store, url),
            self._owning(store, url) as store_catalog,
            session.transaction(),  # a name that is taken here is not given there
        ):
            catalog.rename(store, new)
            if store.location is not None:
                row = store_catalog.find_id(store.store_id)
                if row is not None and row.name != new:  # else an earlier try was interrupted
                    store_catalog.rename(row, new)

    def drop(self, name: str) -> RemovedStore:
        """Remove a store that no server has open, for good."""
        self._check_many("name", name)
        with self._staying(name) as (catalog, session, store, url):
            with (
                suppress(NotFound),
                self._owning(store, url) as store_catalog,
            ):  # or it is gone there
                store_catalog.remove(store)
            for server in Directory(session, self._database).list():
                if server.name != store.location:
                    self._remove_copied(store, server.url)
            if store.location is not None:
                catalog.remove(store)
        return RemovedStore(name, (url.name,), None)

    def _remove_copied(self, store: StoreRow, url: DatabaseUrl) -> None:
        """Remove what a move or a creation that failed has left on a server; one may be away."""
        with suppress(Unavailable), self._catalog_at(url) as (server_catalog, _):
            if server_catalog.has_rows(store.store_id):
                server_catalog.remove_moved(store, keep_name=False)

    # Servers.

    def servers(self) -> list[Server]:
        """Return the databases that stores can be in, this one first."""
        with self._catalog() as (catalog, session):
            at_home = [row for row in catalog.list() if row.location is None and is_name(row.name)]
            home = Server(HOME, self._database, len(at_home))
            return [home, *Directory(session, self._database).list()]

    def put_server(self, name: str, url: str) -> None:
        """Add a database that stores can be in, or give it another URL."""
        check_server_name("name", name)
        if not is_database_url(url):
            raise InvalidInput("url", "is no PostgreSQL database: give postgresql://host/database")
        database = parse_database("url", url)
        if database.store:
            raise InvalidInput("url", "names one store: give the URL without ?store=")
        with (
            self._catalog() as (_, session),
            closing(open_session(database.conninfo)) as server_session,
        ):
            Directory(session, self._database).put(name, str(database), server_session)

    def remove_server(self, name: str) -> None:
        """Remove a database that none of the stores is in."""
        with self._catalog() as (_, session):
            Directory(session, self._database).remove(name)

    def move(self, name: str, to: str, *, wait: float, progress: Progress | None = None) -> Move:
        """Move a store to another database; a server may have it open, and follows it."""
        self._check_many("name", name)
        self._find(name)
        return StoreMover(self._database, self._address, wait).move(name, to, progress)

    # Owners.

    def own(self, name: str, address: str) -> Lease:
        """Take the lease of a store's owner, or raise `StoreBusy` with the one who has it."""
        with self._catalog() as (catalog, session):
            store = catalog.find(name, create=self.creates_on_use)
            url = Directory(session, self._database).url_of(store)
            if store.location is None:
                return self._keeper(url).acquire(session, store.store_id, repr(name), address)
        with closing(open_session(url.conninfo)) as store_session:
            return self._keeper(url).acquire(store_session, store.store_id, repr(name), address)

    def _keeper(self, url: DatabaseUrl) -> LeaseKeeper:
        with self._mutex:
            keeper = self._leases.get(url.conninfo)
            if keeper is None:
                keeper = self._leases[url.conninfo] = LeaseKeeper(url.conninfo)
            return keeper

    def summarize(self, name: str) -> StoreSummary:
        """Return a store's commits, its owner and its server."""
        store, url = self._find(name)
        summary = StoreSummary(name, None, server=store.location)
        try:
            with self._catalog_at(url) as (_, session):
                entry = read_owner(session, store.store_id)
                owner = None if entry is None else str(entry[0])
                reader = session.reader(store.store_id)
                return add_head(replace(summary, owner=owner), reader)
        except Unavailable as error:
            return replace(summary, problem=str(error))

    def summaries(self) -> Iterator[StoreSummary]:
        """Yield the summaries of all stores, in the order of their names."""
        for name in self.names():
            with suppress(NotFound):  # it was dropped meanwhile
                yield self.summarize(name)

    def close(self) -> None:
        """Stop extending leases."""
        for keeper in self._leases.values():
            keeper.close()

    def _find(self, name: str) -> tuple[StoreRow, DatabaseUrl]:
        """Return a store and its URL where its rows are."""
        if not is_name(name) and not self._database.store:
            raise self.missing(name)
        with self._catalog() as (catalog, session):
            try:
                store = catalog.find(name)
            except NotFound:
                raise self.missing(name) from None
            return store, Directory(session, self._database).url_of(store)

    def _check_many(self, field: str, name: str) -> None:
        if self._database.store:
            raise InvalidInput(
                field,
                f"{short_repr(name)}: this server has the one store {self._database.name}; start "
                "it for a database of stores, without ?store=, to create, rename and drop them",
            )

    @contextmanager
    def _catalog(self) -> Iterator[tuple[StoreCatalog, Session]]:
        with self._catalog_at(self._database) as catalog:
            yield catalog

    @contextmanager
    def _catalog_at(self, url: DatabaseUrl) -> Iterator[tuple[StoreCatalog, Session]]:
        with closing(open_session(url.conninfo)) as session:
            yield StoreCatalog(session), session

    @contextmanager
    def _staying(self, name: str) -> Iterator[tuple[StoreCatalog, Session, StoreRow, DatabaseUrl]]:
        """Let nobody move a store for the length of a block; yield the home, and where it is."""
        with self._catalog() as (catalog, session):
            store, _ = self._find(name)
            lease = self._keeper(self._database).acquire_move(
                session, store.store_id, repr(name), self._address
            )
            try:
                yield catalog, session, *self._find(name)  # it may have been moved before
            finally:
                lease.release()

    @contextmanager
    def _owning(self, store: StoreRow, url: DatabaseUrl) -> Iterator[StoreCatalog]:
        """Own a store for the length of a block, where its rows are."""
        with self._catalog_at(url) as (catalog, session):
            lease = self._keeper(url).acquire(
                session, store.store_id, repr(store.name), self._address
            )
            try:
                yield catalog
            finally:
                lease.release()
