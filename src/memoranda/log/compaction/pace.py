"""The weight of a slice of a compaction, and how it adapts to the time that slices take."""

from __future__ import annotations

import msgspec

TARGET_SECONDS = 0.015
"""Seconds a slice should hold the write lock: well below 100 ms, as machines and loads vary."""
MIN_WEIGHT, FIRST_WEIGHT, MAX_WEIGHT = 32, 256, 2048
"""Least, first and largest weight of a slice. An operation weighs 1, and so does a kilobyte of
event."""
_OVERWEIGHT_DIVISOR = 4
"""A slice may be heavier by this part of its weight, to end with an event."""
_KILOBYTE = 1024
_KILOBYTES_PER_OPERATION = 4
"""Kilobytes of an event that may be rewritten for each operation erased from it."""


def event_weight(size: int) -> int:
    """Return the weight of rewriting an event whose operations have so many bytes."""
    return 1 + size // _KILOBYTE


class Weight(msgspec.Struct):
    """The estimated cost of a slice: its operations, and the events they are in.

    An event is rewritten as a whole, however few of its operations are erased.
    """

    total: int = 0
    operations: int = 0
    heaviest: int = 0
    """Weight of the heaviest event."""
    _events: set[int] = msgspec.field(default_factory=set)

    def add(self, commit_ts: int, size: int) -> None:
        """Add an operation of an event whose operations have so many bytes."""
        self.operations += 1
        self.total += 1
        if commit_ts not in self._events:
            self._events.add(commit_ts)
            event = event_weight(size)
            self.total += event
            self.heaviest = max(self.heaviest, event)


class Pace:
    """Adapts the weight of slices to `TARGET_SECONDS`."""

    def __init__(self) -> None:
        self.weight = FIRST_WEIGHT

    def is_full(self, weight: Weight, remaining: int = 0) -> bool:
        """Return whether a slice is heavy enough, with `remaining` operations of its event to come.

        If one event alone is heavier than a slice may be, enough of its operations are erased at
        once that it is not rewritten for each of them. A few operations more end an event in this
        slice, which else the next one would rewrite again.
        """
        can_end = weight.total + remaining <= self.weight + self.weight // _OVERWEIGHT_DIVISOR
        return (
            weight.total >= self.weight
            and weight.operations * _KILOBYTES_PER_OPERATION >= weight.heaviest
            and not (remaining and can_end)
        )

    def has_room(self, weight: Weight, operations: int, size: int) -> bool:
        """Return whether a slice can take a whole event more, or no slice could take it whole."""
        event = operations + event_weight(size)
        return not weight.operations or event > self.weight or weight.total + event <= self.weight

    def note(self, weight: int, seconds: float) -> None:
        """Learn from a slice; the weight at most doubles, in case its cost was underestimated."""
        is_telling = 2 * weight >= self.weight  # a slice that ends with an event may be lighter
        if is_telling or seconds > TARGET_SECONDS:
            fitting = MAX_WEIGHT if seconds <= 0 else int(weight * TARGET_SECONDS / seconds)
            self.weight = max(MIN_WEIGHT, min(fitting, 2 * self.weight, MAX_WEIGHT))
