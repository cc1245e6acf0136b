"""URLs of stores in PostgreSQL: `postgresql://user@host/database?store=name`."""

from __future__ import annotations

from pathlib import Path
from typing import TypeGuard
from urllib.parse import parse_qsl, quote, urlsplit

import msgspec

from memoranda.errors import InvalidInput
from memoranda.model.limits import plain_text, short_repr

_SCHEMES = ("postgresql", "postgres")
_OWN_OPTIONS = ("store", "index")
_FORM = "give postgresql://user@host/database?store=name"
_MAX_NAME_BYTES = 256
"""The longest name of a store, in bytes of UTF-8."""


class DatabaseUrl(msgspec.Struct, frozen=True):
    """A store in a PostgreSQL database."""

    conninfo: str
    """The URL that libpq understands: without our own parameters."""
    store: str
    index: Path | None = None
    """The folder for the full-text index and the vectors; None: the cache of the user."""

    @property
    def name(self) -> str:
        """The URL for people: without user, password and options."""
        parts = urlsplit(self.conninfo)
        host = parts.netloc.rpartition("@")[2]
        return f"postgresql://{host}{parts.path}?store={quote(self.store, safe='')}"


def is_database_url(url: object) -> TypeGuard[str]:
    """Say whether a URL names a store in PostgreSQL, well or badly."""
    return isinstance(url, str) and url.partition("://")[0].lower() in _SCHEMES and "://" in url


def parse_database_url(field: str, url: str) -> DatabaseUrl:
    """Return the parts of a URL; raise `InvalidInput`, which repeats no password."""
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
    if not name or len(name.encode()) > _MAX_NAME_BYTES or not name.isprintable():
        raise InvalidInput(
            field,
            f"{short_repr(name)} is no name of a store: end the URL with ?store=name, of at most "
            f"{_MAX_NAME_BYTES} bytes and without control characters",
        )
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
