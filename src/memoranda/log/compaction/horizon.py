"""Compaction horizons: the oldest commit at which a namespace can still be read."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from memoranda.errors import Compacted
from memoranda.model.intervals import NEWEST
from memoranda.storage.port import Reader, Row


class Horizon(msgspec.Struct, frozen=True):
    """The horizon of a namespace, and the commit that set it."""

    namespace: str
    commit_ts: int
    summed_in: int
    """The commit that set it: from there on, reads before the horizon are refused."""
    unfinished: bool = False
    """Whether operations remain to be erased: the next compaction continues it."""


ONE = "horizon_get"
"""The query of one namespace's horizon."""
ALL = "horizon_rows"
"""The query of every horizon."""


def find(reader: Reader, namespace: str) -> Horizon | None:
    """Return a namespace's horizon, if it has one."""
    row = reader.row(ONE, namespace=namespace)
    return horizon_of(row) if row else None


def all_horizons(reader: Reader) -> list[Horizon]:
    """Return every horizon."""
    return [horizon_of(row) for row in reader.rows(ALL)]


def set_after(reader: Reader, after: int) -> list[Horizon]:
    """Return the horizons that were set after a commit."""
    return [horizon_of(row) for row in reader.rows("horizons_set_after", after=after)]


def unfinished(reader: Reader) -> list[Horizon]:
    """Return the horizons of interrupted compactions."""
    return [horizon for horizon in all_horizons(reader) if horizon.unfinished]


def check(reader: Reader, namespaces: Iterable[str], at: int) -> None:
    """Raise `Compacted` if one of these namespaces cannot be read as of a commit."""
    if at == NEWEST:
        return
    for namespace in dict.fromkeys(namespaces):
        horizon = reader.cached(_highest_above, namespace, at)
        if horizon is not None:
            raise _unknown(namespace, at, horizon)


def _highest_above(reader: Reader, namespace: str, at: int) -> int | None:
    row = reader.row("horizon_above", namespace=namespace, at=at)
    return None if row is None else row[0]


def check_below(reader: Reader, at: int, *, namespace: str, children: object, end: object) -> None:
    """Raise `Compacted` if a namespace of a range cannot be read as of a commit."""
    row = reader.row(
        "horizon_above_in_range", at=at, namespace=namespace, children=children, end=end
    )
    if row is not None:
        raise _unknown(row[0], at, row[1])


def check_attested(reader: Reader, through: int) -> None:
    """Raise `Compacted` if a log that ends at a commit would lack the commit that set a horizon."""
    for horizon in all_horizons(reader):
        if through < horizon.summed_in:
            raise Compacted(
                horizon.summed_in,
                f"commit {horizon.summed_in}, which compacted namespace {horizon.namespace!r}, is "
                f"after commit {through}",
            )


def first_readable_commit(reader: Reader, commit: int) -> int:
    """Return the first commit, from this one on, as of which every namespace can be read."""
    row = reader.row("horizon_highest")
    return commit if row is None else max(commit, row[0])


def horizon_of(row: Row) -> Horizon:
    """Return the horizon of a row."""
    namespace, commit_ts, summed_in, unfinished = row
    return Horizon(namespace, commit_ts, summed_in, bool(unfinished))


def _unknown(namespace: str, at: int, horizon: int) -> Compacted:
    return Compacted(horizon, f"namespace {namespace!r} cannot be read as of commit {at}")
