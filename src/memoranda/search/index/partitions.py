"""Shelves: where passages stand, so that a search touches only what somebody may see.

A shelf has the passages of one namespace and kind that everybody there may see, or one agent alone;
those that hold, or those that were replaced or withdrawn. Every word of the index names its shelf.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from memoranda.storage.port import Reader, Row

MEMORY = "memory"
FACT = "fact"
PASSAGE = "passage"
KINDS = (MEMORY, FACT, PASSAGE)
EVERYBODY = ""
"""The owner of what everybody in the namespace may see."""

Spot = tuple[str, str, str, bool]
"""What makes a shelf that shelf: namespace, owner, kind, and whether what is on it is past."""


class Shelf(msgspec.Struct, frozen=True):
    """A shelf, as it was read."""

    id: int | None
    """None: nothing was ever put on it. A number is never used again."""
    namespace: str
    owner: str
    kind: str
    past: bool
    size: int = 0
    """How many passages are on it."""
    length: int = 0
    """How many tokens these have in all."""
    removals: int = 0
    """Raised when something on it was erased: who remembers anything of it drops that."""

    @property
    def spot(self) -> Spot:
        """What makes it this shelf."""
        return (self.namespace, self.owner, self.kind, self.past)


class Sight(msgspec.Struct, frozen=True):
    """Which shelves are looked at: what a search is allowed to see."""

    namespaces: frozenset[str] | None
    """None: every one but the engine's own and inboxes."""
    viewer: str
    kinds: frozenset[str]
    past: bool

    def sees(self, spot: Spot) -> bool:
        """Say whether a shelf is looked at."""
        namespace, owner, kind, past = spot
        if kind not in self.kinds or (past and not self.past):
            return False
        if owner not in (EVERYBODY, self.viewer):
            return False
        if self.namespaces is None:
            return not any(part.startswith("_") for part in namespace.split("/"))
        return namespace in self.namespaces


def sight_of(
    *, namespaces: Sequence[str] | None, viewer: str, kinds: Collection[str], past: bool
) -> Sight:
    """Return what is looked at."""
    named = None if namespaces is None else frozenset(namespaces)
    return Sight(named, viewer, frozenset(kinds), past)


def visible(
    reader: Reader,
    *,
    namespaces: Sequence[str] | None,
    viewer: str,
    kinds: Collection[str],
    past: bool,
) -> list[Shelf]:
    """Return the shelves with anything on them that somebody may see."""
    sight = sight_of(namespaces=namespaces, viewer=viewer, kinds=kinds, past=past)
    if namespaces is None:
        rows = reader.rows("shelves_seen", viewer=viewer)
    else:
        listed = msgspec.json.encode(list(namespaces)).decode()
        rows = reader.rows("shelves_of_namespaces", namespaces=listed, viewer=viewer)
    found = [_shelf(row) for row in rows]
    return [shelf for shelf in found if sight.sees(shelf.spot)]


def totals(reader: Reader) -> tuple[int, int]:
    """Return how many passages are on all shelves, and how many tokens these have."""
    size, length = reader.row("shelf_totals") or (0, 0)
    return size, length


def namespaces_below(reader: Reader, namespace: str) -> list[str]:
    """Return a namespace and those below it that anything was ever written in."""
    rows = reader.rows(
        "namespaces_below", namespace=namespace, first=f"{namespace}/", beyond=f"{namespace}0"
    )
    return [name for (name,) in rows]


def _shelf(row: Row) -> Shelf:
    number, namespace, owner, kind, past, *figures = row
    return Shelf(number, namespace, owner, kind, bool(past), *figures)
