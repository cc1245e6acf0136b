"""The directory of a database: it knows the stores that are in other databases.

The database that programs are given, the home of all stores, knows each by its name. A store is at
home, or on a server: a database that was added under a short name. There it has the same id, and
the same name. A server's database is an ordinary one, so its stores can also be opened by its own
URL, without the directory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import msgspec
from msgspec.structs import replace

from memoranda.errors import InvalidInput, NotFound, Unavailable
from memoranda.model.limits import plain_text, short_repr
from memoranda.storage.postgres.catalog import StoreRow
from memoranda.storage.postgres.database_url import DatabaseUrl, parse_database
from memoranda.storage.postgres.schema import Schema
from memoranda.storage.postgres.session import Session, open_session

HOME = "home"
"""The name of the directory's own database, where a server is named."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)


class Server(msgspec.Struct, frozen=True):
    """A database that stores can be in."""

    name: str
    url: DatabaseUrl
    stores: int
    """How many of the directory's stores are there."""


class StoredElsewhere(Exception):
    """The rows of a store are in another database."""

    def __init__(self, url: DatabaseUrl) -> None:
        super().__init__(url.name)
        self.url = url


class Directory:
    """The servers of a home database."""

    def __init__(self, session: Session, home: DatabaseUrl) -> None:
        self._session = session
        self._home = home

    def list(self) -> list[Server]:
        """Return the servers, without the home, in the order of their names."""
        return [
            Server(name, self._database(url), stores)
            for name, url, stores in self._session.rows("server_list")
        ]

    def url_of(self, store: StoreRow) -> DatabaseUrl:
        """Return the URL of a store where its rows are."""
        return self.url_on(store.location, store.name)

    def url_on(self, location: str | None, name: str) -> DatabaseUrl:
        """Return the URL that a store has on a server; None: at home."""
        if location is None:
            return self._home.with_store(name)
        return self._find(location).url.with_store(name)

    def location_of(self, field: str, name: str) -> str | None:
        """Return how the location of a server is stored; raise `NotFound` if there is none."""
        if plain_text(field, name) == HOME:
            return None
        return self._find(name).name

    def choose(self) -> str | None:
        """Return the location of a new store: the server with the fewest, or home without any."""
        servers = self.list()
        return min(servers, key=lambda server: server.stores).name if servers else None

    def put(self, name: str, url: str, database: Session) -> None:
        """Add a server, or give it another URL; `database` is connected to it."""
        check_server_name("name", name)
        home, other = Schema(self._session), Schema(database)
        home.prepare(create=True)
        other.prepare(create=True)
        if home.is_distributed:
            raise InvalidInput("name", "the database is distributed by Citus, which spreads stores")
        if _identity(self._session) == _identity(database):
            raise InvalidInput("url", f"names this very database: that is {HOME!r}")
        if database.rows("server_list"):
            raise InvalidInput("url", "names a database that spreads stores over servers itself")
        self._check_other(name, database)
        self._session.find("server_put", name, url)

    def _check_other(self, name: str, database: Session) -> None:
        """Refuse a database under a second name: a move between the two would remove the store."""
        for server in self.list():
            if server.name != name:
                with suppress(Unavailable), closing(open_session(server.url.conninfo)) as other:
                    if _identity(other) == _identity(database):
                        raise InvalidInput("url", f"names the database of server {server.name!r}")

    @contextmanager
    def placing(self, location: str | None) -> Iterator[None]:
        """Let nobody remove a server while a store is placed there; `NotFound` if it is gone."""
        with self._session.transaction():
            if location is not None and self._session.find("server_hold", location) is None:
                raise _missing(location)
            yield

    def remove(self, name: str) -> None:
        """Remove a server that no store is on."""
        with self._session.transaction():
            self._session.find("server_hold", name)  # stores that are being placed are counted
            server = self._find(name)
            if self._session.find("server_remove", name) is None:
                raise InvalidInput(
                    "name",
                    f"{name!r} has {server.stores} stores: move them to another server first",
                )

    def _find(self, name: str) -> Server:
        for server in self.list():
            if server.name == name:
                return server
        raise _missing(name)

    def _database(self, url: str) -> DatabaseUrl:
        database = parse_database("url", url)
        return replace(database, index=database.index or self._home.index)


def check_server_name(field: str, name: object) -> str:
    """Return the name of a server, or raise `InvalidInput`."""
    text = plain_text(field, name)
    if not _NAME.fullmatch(text) or text == HOME:
        raise InvalidInput(
            field,
            f"{short_repr(text)} cannot name a server: give 1 to 64 of a-z, 0-9, '.', '_' and '-', "
            f"the first of them a letter or a digit, and not {HOME!r}",
        )
    return text


def _missing(name: str) -> NotFound:
    return NotFound(f"there is no server {short_repr(name)}: add it, or list those there are")


def _identity(session: Session) -> tuple[object, object]:
    row = session.find("cluster_identity")
    assert row is not None, "a server has an identity"
    return row[0], row[2]
