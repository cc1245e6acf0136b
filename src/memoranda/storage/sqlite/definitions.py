"""Definitions: whether a file defines what its format does, and nothing else.

A trigger, a default or a generated column in a file is somebody's SQL that would run in our name:
it could keep what is forgotten. So whatever is defined is compared with what the format defines,
which is found out once a process, in memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from types import MappingProxyType

from memoranda.errors import Corruption
from memoranda.storage import queries
from memoranda.storage.sqlite import formats
from memoranda.storage.sqlite.connection import Connection
from memoranda.storage.sqlite.opening import guarded

Definition = tuple[str, str, str, str | None]
"""A kind, a name, the table it belongs to, and the SQL."""
_SHADOW = re.compile(r"words_(config|content|data|docsize|idx)")
_PLAIN_COLUMNS = re.compile(
    r"\ACREATE TABLE '\w+'\((?!.*\b(AS|CHECK|COLLATE|DEFAULT|GENERATED|REFERENCES)\b)[\w, ()]+\)"
    r"( WITHOUT ROWID)?",
    re.IGNORECASE,
)
"""What SQLite itself defines for a full-text index, and may spell otherwise one day."""


def check_definitions(connection: Connection, path: Path | None) -> None:
    """Raise `Corruption` that names the first thing which is not defined as it has to be."""
    connection.run("begin_reading")  # somebody else may be taking the file to the next format
    try:
        found = {row[:2]: row for row in connection.rows("definitions")}
        number = int(connection.database.pragma("user_version"))
    finally:
        connection.run("rollback")
    wanted = _wanted(number)
    if found == wanted:
        return
    for kind, name in sorted(found.keys() | wanted.keys(), key=repr):
        one, other = found.get((kind, name)), wanted.get((kind, name))
        if one != other and not _is_shadow(one, other):
            raise Corruption(
                _told(path, kind, name, found=one is not None, known=other is not None)
            )


@cache
def _wanted(number: int) -> Mapping[tuple[str, str], Definition]:
    """Return what a format defines, by kind and name."""
    with closing(guarded(":memory:")) as database:
        formats.create(database, number)
        rows: list[Definition] = [*database.execute(queries.load(__package__)["definitions"])]
    return MappingProxyType({row[:2]: row for row in rows})


def _is_shadow(one: Definition | None, other: Definition | None) -> bool:
    """Say whether two definitions are of one part of the full-text index, and harmless."""
    return (
        one is not None
        and other is not None
        and one[:3] == other[:3]
        and _SHADOW.fullmatch(one[1]) is not None
        and _PLAIN_COLUMNS.fullmatch(one[3] or "") is not None
    )


def _told(path: Path | None, kind: str, name: str, *, found: bool, known: bool) -> str:
    if not found:
        return f"{path} lacks the {kind} {name!r}: restore a backup"
    if known:
        return (
            f"the {kind} {name!r} of {path} is defined otherwise than Memoranda does: it was "
            "changed behind its back; restore a backup"
        )
    return (
        f"{path} has the {kind} {name!r}, which Memoranda did not make: remove it with SQLite's "
        f"own shell (DROP {str(kind).upper()}), or restore a backup"
    )
