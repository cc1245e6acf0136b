"""Deriving timelines: what held when, from what was said. A pure function of the statements."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

import msgspec
from msgspec.structs import replace

STILL = 2**63 - 1
"""Given as an end on either axis: it has not come."""

NEWEST = STILL - 1
"""Given as a commit: whatever is known."""

Place = tuple[int, int, int]
"""An instant, and at one instant the commit and the position in it: where a statement stands."""

OPEN: Place = (STILL, 0, 0)
"""The end of what has none: behind every place."""

Thing = TypeVar("Thing", bound=Hashable)


class Statement(msgspec.Struct, Generic[Thing], frozen=True, gc=False):
    """Somebody said that something began to hold, or that it stopped; no object: whatever it is."""

    place: Place
    asserts: bool
    object: Thing | None
    bound: Place = OPEN
    """The end that an assertion was made with; such an end itself has it as well."""

    @property
    def ends_others(self) -> bool:
        """Whether it is an end that was not made with an assertion."""
        return not self.asserts and self.bound == OPEN


def said_at(
    place: Place, asserts: object, thing: Thing | None, bound: int = STILL
) -> Statement[Thing]:
    """Return a statement of the tables: `bound` is an instant, and an end follows its assertion."""
    if bound == STILL:
        return Statement(place, bool(asserts), thing)
    _, commit_ts, position = place
    end = (bound, commit_ts, position + 1) if asserts else place
    return Statement(place, bool(asserts), thing, end)


class Holding(msgspec.Struct, Generic[Thing], frozen=True, gc=False):
    """An object that holds a relation, from its first assertion up to where it ends."""

    object: Thing
    first: Place
    last: Place
    end: Place = OPEN

    @property
    def is_open(self) -> bool:
        """Whether nothing is known of an end."""
        return self.end == OPEN

    @property
    def ends_at(self) -> int:
        """The instant of its end, whichever of the ends said at that instant it is."""
        return self.end[0]


def derive(statements: Iterable[Statement[Thing]], *, single: bool) -> list[Holding[Thing]]:
    """Return what follows from statements in the order of their places, in that order."""
    return _one_at_a_time(statements) if single else _side_by_side(statements)


def belonging(
    statements: Iterable[Statement[Thing]], edges: Sequence[Holding[Thing]], *, single: bool
) -> Iterator[int | None]:
    """Yield for each statement the number of the edge it is an assertion of; None for an end."""
    begins = [held.first for held in edges]
    numbers = {(held.object, held.first[0]): number for number, held in enumerate(edges)}
    for said in statements:
        if not said.asserts or said.object is None:
            yield None
        elif single:
            yield bisect_right(begins, said.place) - 1
        else:
            yield numbers[said.object, said.place[0]]


def stretches(edges: Iterable[Holding[Thing]]) -> dict[Place, Place]:
    """Return by where edges of one object begin where the last ends of those that overlap them."""
    found: dict[Place, Place] = {}
    overlapping: list[Place] = []
    end = OPEN
    for held in sorted(edges, key=lambda each: each.first):
        if overlapping and held.first[0] >= end[0]:
            found.update(dict.fromkeys(overlapping, end))
            overlapping = []
        end = max(end, held.end) if overlapping else held.end
        overlapping.append(held.first)
    return found | dict.fromkeys(overlapping, end)


def _one_at_a_time(statements: Iterable[Statement[Thing]]) -> list[Holding[Thing]]:
    """Let each assertion set the holder; saying again what holds already extends it."""
    found: list[Holding[Thing]] = []
    held: Holding[Thing] | None = None
    for said in statements:
        if said.asserts:
            assert said.object is not None, "an assertion has an object"
            if held is not None and held.object == said.object:
                held = replace(held, last=said.place)
                continue
            if held is not None:
                found.append(replace(held, end=said.place))
            held = Holding(said.object, said.place, said.place)
        elif held is not None and said.object in (None, held.object):
            found.append(replace(held, end=said.place))
            held = None
    return found if held is None else [*found, held]


def _side_by_side(statements: Iterable[Statement[Thing]]) -> list[Holding[Thing]]:
    """Let each assertion hold until its own end or the next of its object, whichever is first.

    The assertions of one object and one instant are one edge, which ends with the last of them.
    """
    found: dict[tuple[Thing, int], Holding[Thing]] = {}
    unended: dict[Thing, set[tuple[Thing, int]]] = {}
    for said in statements:
        if said.asserts:
            assert said.object is not None, "an assertion has an object"
            which = (said.object, said.place[0])
            known = found.get(which)
            first, end = (said.place, said.bound) if known is None else (known.first, known.end)
            found[which] = Holding(said.object, first, said.place, max(end, said.bound))
            unended.setdefault(said.object, set()).add(which)
        elif said.ends_others:
            for thing in list(unended) if said.object is None else [said.object]:
                for which in unended.pop(thing, ()):
                    held = found[which]
                    found[which] = replace(held, end=min(held.end, said.place))
    return sorted(found.values(), key=lambda held: held.first)
