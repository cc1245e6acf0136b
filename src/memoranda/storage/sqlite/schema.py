"""The stored format: how a file is made a store, known as one, and brought from an older format.

`schema.sql` is the first format; each file of `migrations` leads from one format to the next. A new
store takes the same way, so that it has the same tables as one that is as old as the format.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import apsw

from memoranda.errors import Corruption, InvalidInput, StoreReadOnly, UnsupportedFormat
from memoranda.storage.sqlite.connection import Connection

FORMAT = 6
"""The stored format this version writes. It reads every older one and refuses newer ones."""

_APPLICATION_ID = 0x52434C54  # "RCLT": what `file` and SQLite call the application's mark


def is_new(connection: Connection) -> bool:
    """Say whether there is nothing yet that could be anybody's."""
    unmarked = connection.database.pragma("application_id") == 0
    return unmarked and connection.row("any_table") is None


def create(database: apsw.Connection, number: int = FORMAT) -> None:
    """Make an empty database a store; in a transaction, like everything here that writes."""
    _run(database, "schema.sql")
    database.pragma("application_id", _APPLICATION_ID)
    database.pragma("user_version", 1)
    migrate(database, number)


def is_outdated(database: apsw.Connection, path: Path | None) -> bool:
    """Say whether a store has an older format; raise if it is none, or has a newer one."""
    if database.pragma("application_id") != _APPLICATION_ID:
        raise InvalidInput("url", f"{path} is not a Memoranda store: give another path")
    found = int(database.pragma("user_version"))
    if found > FORMAT:
        raise UnsupportedFormat(
            f"{path} has format {found}, and this version reads up to {FORMAT}: "
            "upgrade Memoranda to open it"
        )
    if found < 1:
        raise Corruption(f"{path} has format {found}, which there never was: restore a backup")
    return found < FORMAT


def check_current(path: Path | None, *, outdated: bool) -> None:
    """Refuse an older format where it cannot be migrated."""
    if outdated:
        raise StoreReadOnly(
            f"{path} has an older format than {FORMAT}, to which it is brought when it is opened "
            "for writing: do that once, or copy it to where it can be done"
        )


def migrate(database: apsw.Connection, number: int = FORMAT) -> None:
    """Take every step from the format that is there: none, if another process was first.

    The format's number is part of the transaction, so a step is taken wholly or not at all.
    """
    for step in range(int(database.pragma("user_version")) + 1, number + 1):
        _run(database, f"migrations/{step}.sql")
        database.pragma("user_version", step)


def _run(database: apsw.Connection, name: str) -> None:
    database.execute((files(__package__) / name).read_text("utf-8"))
