"""What the store answers to why, as the JSON a program reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from memoranda.cli.shapes import time_text

if TYPE_CHECKING:
    from memoranda.why.reason import Reason

Shape = dict[str, Any]


class Place(NamedTuple):
    """One place in a tree of reasons."""

    reason: Reason
    number: int
    parent: int | None
    """The number of what rests on this; None at the root."""
    depth: int
    lasts: tuple[bool, ...]
    """For each level that is drawn down to here, whether this was the last branch of it."""


def places(root: Reason) -> Iterator[Place]:
    """Yield a tree from its root on, each part before what it rests on, however deep it is."""
    above: list[int] = []
    for number, (reason, depth, lasts) in enumerate(root.branches()):
        yield Place(reason, number, above[depth - 1] if depth else None, depth, lasts)
        above[depth:] = [number]


def drawn(found: Iterable[Place]) -> tuple[Iterator[Place], int]:
    """Return the parts of a tree that a person is shown, and how many are left out."""
    from memoranda.why.reason import MOST_LEVELS, MOST_LINES

    kept: list[Place] = []
    left = 0
    for each in found:
        if each.depth > MOST_LEVELS or len(kept) >= MOST_LINES:
            left += 1
        else:
            kept.append(each)
    return iter(kept), left


def place(found: Place) -> Shape:
    """Return one part of a tree; nested, a deep tree would be more than programs can read."""
    return {
        "number": found.number,
        "parent": found.parent,
        "depth": found.depth,
        **_reason(found.reason),
    }


def stale_key(found: Reason) -> Shape:
    """Return a key, and what is stale of all that it rests on."""
    return {**_reason(found), "rests_on": [_reason(each) for each in found.walk() if each.stale]}


def _reason(found: Reason) -> Shape:
    shape = {
        name: time_text(value) if isinstance(value, datetime) else value
        for name, value in msgspec.structs.asdict(found).items()
        if name != "because"
    }
    if found.ref is not None:
        shape["ref"] = msgspec.structs.asdict(found.ref)
    return {**shape, "believed": found.believed}
