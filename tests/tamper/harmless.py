"""Changes that cannot matter, each with the reason why verification need not find it."""

from __future__ import annotations

from collections.abc import Callable

from backports import zstd

from memoranda.audit.merkle_store import expected_rows
from memoranda.errors import Corruption
from memoranda.log.field_commitments import SALT_SIZE
from memoranda.model.codec import digest_of, unpack
from tests.tamper.attacks import Deed
from tests.tamper.tables import Row

_NUMBER_NOBODY_USES = "a number that no row need point to, and that orders nothing"
_NOTE = "a note of this place, which no log could tell to be wrong"


def harmless(deed: Deed) -> str | None:
    """Return why a deed need not be found, if it need not."""
    free = FREE.get(deed.table)
    if free is not None and _without(deed.before, free[0]) == _without(deed.after, free[0]):
        return free[1]
    for (table, column), reason in _COLUMNS.items():
        if deed.table == table and deed.columns == (column,):
            return reason(deed)
    if deed.table == "checkpoint" and deed.attack == "remove":
        return "a checkpoint stands on its own, and is kept elsewhere by whoever relies on it"
    return _of_meta(deed) if deed.table == "meta" else None


def _without(rows: tuple[Row, ...], column: str) -> list[str]:
    """Return what rows say but for a column, in an order that does not depend on theirs."""
    return sorted(repr({name: row[name] for name in row if name != column}) for row in rows)


def _request_salt(deed: Deed) -> str | None:
    """Say whether nothing but the salt went of a request that came to nothing."""
    for old, new in zip(deed.before, deed.after, strict=True):
        erased = old["salts"][:-SALT_SIZE] + bytes(SALT_SIZE)
        if new["salts"] != erased or old["operations"] != b"\x90":
            return None
    return "the salt of a request without operations can be erased at any time"


def _same_content(deed: Deed) -> str | None:
    """Say whether what is packed is what it was."""
    for old, new in zip(deed.before, deed.after, strict=True):
        content = zstd.decompress(old["content"])
        try:
            unpack(new["content"], size=len(content), digest=digest_of(content))
        except (Corruption, TypeError):
            return None
    return "how content is packed is the storage's own matter: it unpacks to the same"


def _of_meta(deed: Deed) -> str | None:
    names = {row["name"] for row in (*deed.before, *deed.after)}
    reference = {str(name) for row in deed.before for name in [row["name"]]}
    cursors = any(str(name).startswith("cursor") for name in names)
    if deed.attack in ("duplicate", "append") and not (names & {"log_id", "epoch"} or cursors):
        return "a note that nobody reads"
    if reference == {"index"}:
        return "a count of the index's changes, by which two who fill it notice each other"
    if reference <= {"home", "settled", "index"}:
        return _NOTE
    if reference == names == {"tree"} and _keeps_nodes(deed):
        return "a tree that is said to reach less far, with no node in between, is filled again"
    if any(name.startswith("view:") for name in reference):
        return "a view that seems to be another version's is built again when the store is opened"
    return None


def _keeps_nodes(deed: Deed) -> bool:
    """Say whether the tree has as many nodes where it is said to end as where it did."""
    ends = [str(row["value"]) for row in (*deed.before, *deed.after)]
    return all(map(str.isdecimal, ends)) and len({expected_rows(int(end)) for end in ends}) == 1


FREE = {
    "memory_state": ("id", _NUMBER_NOBODY_USES),
    "graph_statement": ("id", _NUMBER_NOBODY_USES),
    "transcript": ("id", "a number that no row points to where nobody cites it"),
}
"""Columns that need not be as they were, as long as nothing else shows it."""

_COLUMNS: dict[tuple[str, str], Callable[[Deed], str | None]] = {
    ("event", "salts"): _request_salt,
    ("blob", "content"): _same_content,
}
