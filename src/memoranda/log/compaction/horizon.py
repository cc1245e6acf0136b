"""Horizons: from which commit on a namespace is known, where older operations were summed up."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from memoranda.errors import Compacted
from memoranda.storage.port import Reader, Row


class Horizon(msgspec.Struct, frozen=True):
    """A namespace that is known from a commit on, and the commit that summed it up."""

    namespace: str
    commit_ts: int
    summed_in: int
    """The commit from which on nothing is told of what was before the horizon."""
    unfinished: bool = False
    """Whether some of what is to go is still there: who compacts again goes on with it."""


def find(reader: Reader, namespace: str) -> Horizon | None:
    """Return a namespace's horizon, if it has one."""
    row = reader.row("horizon_get", namespace=namespace)
    return _horizon(row) if row else None


def listed(reader: Reader) -> list[Horizon]:
    """Return every horizon there is."""
    return [_horizon(row) for row in reader.rows("horizon_rows")]


def set_behind(reader: Reader, since: int) -> list[Horizon]:
    """Return the horizons that were set after a commit."""
    return [_horizon(row) for row in reader.rows("horizons_behind", since=since)]


def unfinished(reader: Reader) -> list[Horizon]:
    """Return the horizons up to which something is still to go."""
    return [horizon for horizon in listed(reader) if horizon.unfinished]


def check(reader: Reader, namespaces: Iterable[str], at: int) -> None:
    """Raise `Compacted` if one of these namespaces is not known any more as of a commit."""
    for namespace in dict.fromkeys(namespaces):
        row = reader.row("horizon_above", namespace=namespace, at=at)
        if row is not None:
            raise _unknown(namespace, at, row[0])


def check_below(
    reader: Reader, at: int, *, namespace: str, children: object, beyond: object
) -> None:
    """Raise `Compacted` if a namespace of a range is not known any more as of a commit."""
    row = reader.row(
        "horizon_above_in_range", at=at, namespace=namespace, children=children, beyond=beyond
    )
    if row is not None:
        raise _unknown(row[0], at, row[1])


def check_vouched(reader: Reader, through: int) -> None:
    """Raise `Compacted` if a log up to a commit would lack one that summed up a part of it."""
    for horizon in listed(reader):
        if through < horizon.summed_in:
            raise Compacted(
                horizon.summed_in,
                f"commit {horizon.summed_in}, which summed up namespace {horizon.namespace!r}, is "
                f"behind commit {through}",
            )


def known_from(reader: Reader, commit: int) -> int:
    """Return the first commit, at or behind one, as of which everything is known."""
    row = reader.row("horizon_highest")
    return commit if row is None else max(commit, row[0])


def _horizon(row: Row) -> Horizon:
    namespace, commit_ts, summed_in, unfinished = row
    return Horizon(namespace, commit_ts, summed_in, bool(unfinished))


def _unknown(namespace: str, at: int, horizon: int) -> Compacted:
    return Compacted(horizon, f"namespace {namespace!r} is not known as of commit {at}")
