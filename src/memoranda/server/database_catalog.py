"""The stores of a server that are in a PostgreSQL database.

The owner's lock of a store is a lease in the database, so that servers of several machines find
each other. Each operation has a connection of its own: the catalog holds none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.limits import short_repr
from memoranda.sdk.store_files import RemovedStore, StoreSummary, add_head
from memoranda.server.store_catalog import check_name, is_name
from memoranda.storage.postgres.catalog import StoreCatalog, StoreRow
from memoranda.storage.postgres.database_url import DatabaseUrl
from memoranda.storage.postgres.lease import Lease, LeaseKeeper, read_owner
from memoranda.storage.postgres.schema import Schema
from memoranda.storage.postgres.session import Session, open_session

_CONTROL = "_control"
"""The control store's name, or how it begins: it is no name of a store, so no token reaches it."""


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
        self._leases = LeaseKeeper(database.conninfo)
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
        if not self._database.store:
            self._find(name)
        elif name != self._database.store:
            raise self.missing(name)
        return str(self._database.with_store(name))

    def describe(self, name: str) -> str:
        """Return where a store is, for people: without a password."""
        return self._database.with_store(name).name

    def missing(self, name: str) -> NotFound:
        """Return the error of a store that is not there."""
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

    def create(self, name: str) -> None:
        """Create an empty store."""
        self._check_many("name", name)
        with self._catalog() as (catalog, _):
            catalog.create("name", check_name("name", name))

    def rename(self, old: str, new: str) -> None:
        """Give a store that no server has open another name."""
        self._check_many("old", old)
        store = self._find(old)
        if check_name("new", new) == old:
            raise InvalidInput("new", f"{short_repr(new)} is its name already: give another one")
        with self._owning(store) as catalog:
            catalog.rename(store, new)

    def drop(self, name: str) -> RemovedStore:
        """Remove a store that no server has open, for good."""
        self._check_many("name", name)
        store = self._find(name)
        with self._owning(store) as catalog:
            catalog.remove(store)
        return RemovedStore(name, (self._database.with_store(name).name,), None)

    def own(self, name: str, address: str) -> Lease:
        """Take the lease of a store's owner, or raise `StoreBusy` with the one who has it."""
        with self._catalog() as (catalog, session):
            store = catalog.find(name, create=self.creates_on_use)
            return self._leases.acquire(session, store.store_id, repr(name), address)

    def summarize(self, name: str) -> StoreSummary:
        """Return a store's commits and its owner."""
        store = self._find(name)
        with self._catalog() as (_, session):
            entry = read_owner(session, store.store_id)
            summary = StoreSummary(name, None, owner=None if entry is None else str(entry[0]))
            return add_head(summary, session.reader(store.store_id))

    def summaries(self) -> Iterator[StoreSummary]:
        """Yield the summaries of all stores, in the order of their names."""
        for name in self.names():
            with suppress(NotFound):  # it was dropped meanwhile
                yield self.summarize(name)

    def close(self) -> None:
        """Extend no lease any more."""
        self._leases.close()

    def _find(self, name: str) -> StoreRow:
        if not is_name(name):
            raise self.missing(name)
        with self._catalog() as (catalog, _), suppress(NotFound):
            return catalog.find(name)
        raise self.missing(name)

    def _check_many(self, field: str, name: str) -> None:
        if self._database.store:
            raise InvalidInput(
                field,
                f"{short_repr(name)}: this server has the one store {self._database.name}; start "
                "it for a database of stores, without ?store=, to create, rename and drop them",
            )

    @contextmanager
    def _catalog(self) -> Iterator[tuple[StoreCatalog, Session]]:
        with closing(open_session(self._database.conninfo)) as session:
            yield StoreCatalog(session), session

    @contextmanager
    def _owning(self, store: StoreRow) -> Iterator[StoreCatalog]:
        """Own a store for the length of a block."""
        with self._catalog() as (catalog, session):
            lease = self._leases.acquire(session, store.store_id, repr(store.name), self._address)
            try:
                yield catalog
            finally:
                lease.release()
