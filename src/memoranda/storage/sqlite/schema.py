"""The stored format: creating it, migrating it, and checking a file's definitions against it.

A trigger, a default or a generated column in a file is SQL of unknown origin that would run with
our statements; it could copy data that is later erased. So every definition is compared with that
of the format, which is created once per process in a database in memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

import apsw

from memoranda.errors import Corruption, InvalidInput, StoreReadOnly, UnsupportedFormat
from memoranda.storage import query_loader
from memoranda.storage.port import Reader
from memoranda.storage.sqlite.connection import (
    Connection,
    open_for_inspection,
    open_untrusted,
    translate_errors,
)

# The stored format: creating, recognising and migrating it.
#
# `schema.sql` is the first format, and each file of `migrations` leads from one format to the next.
# A new store runs them all, so that its tables are the same as those of a migrated store.

FORMAT = 9
"""The stored format this version writes. It reads every older one and refuses newer ones."""

_APPLICATION_ID = 0x52434C54
"""SQLite's `application_id`: "RCLT", after the project's first name. Stored, so never changed."""


def is_new(connection: Connection) -> bool:
    """Say whether a database is empty and has no application id."""
    unmarked = connection.database.pragma("application_id") == 0
    return unmarked and connection.row("any_table") is None


def create_if_new(writer: Connection) -> None:
    """Create the tables, unless another process did so before this one got the write lock."""
    if is_new(writer):
        create(writer.database)


def create(database: apsw.Connection, number: int = FORMAT) -> None:
    """Create the tables of a store in an empty database; the caller has begun a transaction."""
    _run(database, "schema.sql")
    database.pragma("application_id", _APPLICATION_ID)
    database.pragma("user_version", 1)
    migrate(database, number)


def create_in_memory(database: apsw.Connection) -> None:
    """Create the tables of a store in an empty database in memory.

    Its pages are copied from those that were made once: that takes a fraction of the time. A file
    is not created in this way, since other processes may be creating it too.
    """
    with closing(open_untrusted(":memory:")) as image:
        image.deserialize("main", _format_image(FORMAT))
        with database.backup("main", image, "main") as backup:
            backup.step()


def is_outdated(database: apsw.Connection, path: Path | None) -> bool:
    """Say whether a store has an older format; raise if it is no store, or a newer one."""
    if database.pragma("application_id") != _APPLICATION_ID:
        raise InvalidInput("url", f"{path} is not a Memoranda store: give another path")
    number = int(database.pragma("user_version"))
    if number > FORMAT:
        raise UnsupportedFormat(
            f"{path} has format {number}, and this version reads up to {FORMAT}: "
            "upgrade Memoranda to open it"
        )
    if number < 1:
        raise Corruption(f"{path} has format {number}, which does not exist: restore a backup")
    return number < FORMAT


def read_format(path: Path) -> int:
    """Return the format of a file that is known to be a store."""
    with translate_errors(), closing(open_for_inspection(path)) as database:
        return int(database.pragma("user_version"))


def describe_steps(from_format: int) -> list[tuple[int, str]]:
    """Return the formats behind one, each with what is new in it: its file's first sentence."""
    steps = []
    for number in range(from_format + 1, FORMAT + 1):
        script = (files(__package__) / f"migrations/{number}.sql").read_text("utf-8")
        steps.append((number, query_loader.first_sentence(script)))
    return steps


def check_unchanged(database: apsw.Connection, path: Path | None) -> None:
    """Raise if a newer version has migrated the store since this process opened it."""
    number = int(database.pragma("user_version"))
    if number != FORMAT:
        raise UnsupportedFormat(
            f"{path} has format {number} by now, and this version writes {FORMAT}: another version "
            "of Memoranda has migrated it; close the store, upgrade, and open it again"
        )


def check_current(path: Path | None, *, outdated: bool) -> None:
    """Refuse an older format, which a read-only store cannot migrate."""
    if outdated:
        raise StoreReadOnly(
            f"{path} has an older format than {FORMAT}, and opening it for writing migrates it: "
            "open it once without read_only, or copy it to a folder where that is possible"
        )


def migrate(database: apsw.Connection, number: int = FORMAT) -> None:
    """Run every migration from the current format on; none if another process was first.

    The format's number is part of the caller's transaction, so that migrations and number are
    committed together or not at all.
    """
    for step in range(int(database.pragma("user_version")) + 1, number + 1):
        _run(database, f"migrations/{step}.sql")
        database.pragma("user_version", step)


def _run(database: apsw.Connection, name: str) -> None:
    database.execute((files(__package__) / name).read_text("utf-8"))


# Definitions: whether a file defines the tables, indexes, triggers and views of its format only.

Definition = tuple[str, str, str, str | None]
"""Type, name, table and SQL: a row of `sqlite_schema`."""
_SHADOW = re.compile(r"words_(config|content|data|docsize|idx)")
_PLAIN_COLUMNS = re.compile(
    r"\ACREATE TABLE '\w+'\((?!.*\b(AS|CHECK|COLLATE|DEFAULT|GENERATED|REFERENCES)\b)[\w, ()]+\)"
    r"( WITHOUT ROWID)?",
    re.IGNORECASE,
)
"""A table that SQLite defines for a full-text index; other versions may spell it differently.

Only plain column names are accepted, since a default or a generated column would run SQL.
"""


def check_definitions(connection: Connection, path: Path | None) -> None:
    """Raise `Corruption` that names the first definition that differs from the format's."""
    # One snapshot for both: another process may be migrating the file.
    connection.run("begin_reading")
    try:
        actual = {row[:2]: row for row in connection.rows("definitions")}
        number = int(connection.database.pragma("user_version"))
    finally:
        connection.run("rollback")
    expected = _format_definitions(number)
    if actual == expected:
        return
    for kind, name in sorted(actual.keys() | expected.keys(), key=repr):
        definition, expected_definition = actual.get((kind, name)), expected.get((kind, name))
        if definition != expected_definition and not _is_shadow(definition, expected_definition):
            raise _definition_error(path, kind, name, definition, expected_definition)


def check_current_definitions(reader: Reader) -> None:
    """Raise `Corruption` for a definition that this format does not have; in the reader's snapshot.

    Those that SQLite adds by itself follow from the others.
    """
    expected = {
        name: row
        for name, row in _format_definitions(FORMAT).items()
        if not row[1].startswith("sqlite_")
    }
    actual = {row[:2]: row for row in reader.rows("schema_rows")}
    for kind, name in sorted(actual.keys() | expected.keys()):
        definition, expected_definition = actual.get((kind, name)), expected.get((kind, name))
        if definition != expected_definition and not _is_shadow(definition, expected_definition):
            raise Corruption(
                f"the {kind} {name!r} is not what Memoranda makes: it was added, dropped or "
                "changed; restore a backup, or fork the log into a new store"
            )


def check_structure(reader: Reader) -> None:
    """Raise `Corruption` if a page, an index or a column of a table is damaged."""
    reader.row("fulltext_refresh")
    for kind, name, *_ in reader.rows("schema_rows"):
        if kind != "table":
            continue
        complaints = [str(row[0]) for row in reader.rows("structure_check", name=name)]
        if complaints != ["ok"]:
            raise Corruption(f"table {name!r} is damaged: {complaints[0]}; restore a backup")


@cache
def _format_image(number: int) -> bytes:
    """Return the pages of an empty store of a format."""
    with closing(open_untrusted(":memory:")) as database:
        create(database, number)
        return database.serialize("main")


@cache
def _format_definitions(number: int) -> Mapping[tuple[str, str], Definition]:
    """Return the definitions of a format by type and name."""
    with closing(open_untrusted(":memory:")) as database:
        database.deserialize("main", _format_image(number))
        rows: list[Definition] = [*database.execute(query_loader.load(__package__)["definitions"])]
    return MappingProxyType({row[:2]: row for row in rows})


def _is_shadow(first: Definition | None, second: Definition | None) -> bool:
    """Say whether two definitions are of one table of the full-text index, and both are plain."""
    return (
        first is not None
        and second is not None
        and first[:3] == second[:3]
        and _SHADOW.fullmatch(first[1]) is not None
        and _PLAIN_COLUMNS.fullmatch(first[3] or "") is not None
    )


def _definition_error(
    path: Path | None,
    kind: str,
    name: str,
    definition: Definition | None,
    expected: Definition | None,
) -> Corruption:
    if definition is None:
        return Corruption(f"{path} lacks the {kind} {name!r}: restore a backup")
    if expected is not None:
        return Corruption(
            f"the {kind} {name!r} of {path} is not defined as Memoranda defines it: another "
            "program has changed it; restore a backup"
        )
    return Corruption(
        f"{path} has the {kind} {name!r}, which Memoranda did not make: remove it with SQLite's "
        f"own shell (DROP {str(kind).upper()}), or restore a backup"
    )
