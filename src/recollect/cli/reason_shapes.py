"""What the store answers to why, as the JSON a program reads."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from recollect.cli.shapes import time_text

if TYPE_CHECKING:
    from recollect.why.reason import Reason

Shape = dict[str, Any]


class Place(NamedTuple):
    """One place in a tree of reasons."""

    reason: Reason
    number: int
    parent: int | None
    """The number of what rests on this; None at the root."""
    lasts: tuple[bool, ...]
    """For each level down to here, whether this was the last branch of it."""


def places(root: Reason) -> Iterator[Place]:
    """Yield a tree from its root on, each part before what it rests on, however deep it is."""
    above: list[int] = []
    for number, (reason, lasts) in enumerate(root.branches()):
        depth = len(lasts)
        yield Place(reason, number, above[depth - 1] if depth else None, lasts)
        above[depth:] = [number]


def place(found: Place) -> Shape:
    """Return one part of a tree; nested, a deep tree would be more than programs can read."""
    return {
        "number": found.number,
        "parent": found.parent,
        "depth": len(found.lasts),
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
