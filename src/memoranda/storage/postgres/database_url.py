"""URLs of stores in PostgreSQL: `postgresql://user@host/database?store=name`."""

from __future__ import annotations

from pathlib import Path
from typing import TypeGuard
from urllib.parse import parse_qsl, quote, urlsplit

import msgspec
from msgspec.structs import replace

from memoranda.errors import InvalidInput
from memoranda.model.limits import plain_text, short_repr

_SCHEMES = ("postgresql", "postgres")
_OWN_OPTIONS = ("store", "index")
_POOLER = "pooler=transaction"
_FORM = "give postgresql://user@host/database?store=name"
_MAX_NAME_BYTES = 256
"""The longest name of a store, in bytes of UTF-8."""


class DatabaseUrl(msgspec.Struct, frozen=True):
    """A store in a PostgreSQL database."""

    conninfo: str
    """The URL that `connect` understands: libpq's, which may name a pooler."""
    store: str
    index: Path | None = None
    """The folder for the full-text index and the vectors; None: the cache of the user."""

    @property
    def name(self) -> str:
        """The URL for people: without user, password and options."""
        parts = urlsplit(self.conninfo)
        host = parts.netloc.rpartition("@")[2]
        store = f"?store={quote(self.store, safe='')}" if self.store else ""
        return f"postgresql://{host}{parts.path}{store}"

    def with_store(self, name: str) -> DatabaseUrl:
        """Return another store of the same database."""
        return replace(self, store=name)

    def __str__(self) -> str:
        """Return the whole URL, with a password if it has one."""
        own = {"store": self.store, "index": "" if self.index is None else str(self.index)}
        options = "&".join(
            f"{name}={quote(value, safe='/')}" for name, value in own.items() if value
        )
        mark = "&" if "?" in self.conninfo else "?"
        return f"{self.conninfo}{mark if options else ''}{options}"


def split_pooler(conninfo: str) -> tuple[str, bool]:
    """Return the URL that libpq understands, and whether a pooler is between.

    `pooler=transaction` says that a connection to it is one to the server only for the length of a
    transaction.
    """
    head, _, query = conninfo.partition("?")
    options = query.split("&") if query else []
    rest = "&".join(option for option in options if option != _POOLER)
    return f"{head}{'?' if rest else ''}{rest}", _POOLER in options


def is_database_url(url: object) -> TypeGuard[str]:
    """Say whether a URL names a store in PostgreSQL, well or badly."""
    return isinstance(url, str) and url.partition("://")[0].lower() in _SCHEMES and "://" in url


def parse_replica_url(field: str, url: object, store: str) -> str:
    """Return the URL that `connect` understands, of a replica of a store's database.

    Its store is that of the primary, and need not be named.
    """
    if not is_database_url(url):
        raise InvalidInput(
            field, "is no URL of a PostgreSQL server: give postgresql://host/database"
        )
    named = url if "store" in dict(parse_qsl(url.partition("?")[2])) else _with_store(url, store)
    replica = parse_database_url(field, named)
    if replica.store != store:
        raise InvalidInput(
            field, f"names store {short_repr(replica.store)}, and the store is {short_repr(store)}"
        )
    if replica.index is not None:
        raise InvalidInput(field, "names an index folder: reads use that of the store's own URL")
    return replica.conninfo


def _with_store(url: str, store: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}store={quote(store, safe='')}"


def parse_database_url(field: str, url: str) -> DatabaseUrl:
    """Return the parts of a store's URL; raise `InvalidInput`, which repeats no password."""
    database = parse_database(field, url)
    if not database.store:
        raise _bad_name(field, "")
    return database


def parse_database(field: str, url: str) -> DatabaseUrl:
    """As `parse_database_url`, for a database of stores too: the name of the store is empty."""
    try:
        parts = urlsplit(plain_text(field, url))
    except ValueError:  # its text repeats the URL, and with it the password
        raise InvalidInput(field, f"is no URL of a host: {_FORM}") from None
    if parts.fragment:
        raise InvalidInput(field, "ends with a fragment: write # in the name of a store as %23")
    options = parse_qsl(parts.query, keep_blank_values=True)
    own = {name: value for name, value in options if name in _OWN_OPTIONS}
    if len(own) < sum(name in _OWN_OPTIONS for name, _ in options):
        raise InvalidInput(field, f"names store or index twice: {_FORM}")
    name = plain_text(field, own.get("store", ""))
    is_empty = "store" in own and not name
    if is_empty or len(name.encode()) > _MAX_NAME_BYTES or not name.isprintable():
        raise _bad_name(field, name)
    if dict(options).get("pooler", "transaction") != "transaction":
        raise InvalidInput(field, "names a pooler that is not known: give pooler=transaction")
    rest = "&".join(
        f"{quote(option)}={quote(value, safe='/')}"
        for option, value in options
        if option not in own
    )
    folder = own.get("index")
    return DatabaseUrl(
        f"postgresql://{parts.netloc}{parts.path}{'?' if rest else ''}{rest}",
        name,
        Path(folder).absolute() if folder else None,
    )


def _bad_name(field: str, name: str) -> InvalidInput:
    return InvalidInput(
        field,
        f"{short_repr(name)} is no name of a store: end the URL with ?store=name, of at most "
        f"{_MAX_NAME_BYTES} bytes and without control characters",
    )
