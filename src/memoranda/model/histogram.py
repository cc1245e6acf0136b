"""Histograms: how often a value fell between bounds, as plain numbers."""

from __future__ import annotations

from bisect import bisect_left

SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 10.0)
"""Bounds for times: from a commit in memory to one that waits for a slow disk."""


class Histogram:
    """Counts values. One thread at a time may add to it; others may read it meanwhile."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...] = SECONDS) -> None:
        self.bounds = bounds
        """The upper bounds of all buckets but the last, which has none."""
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0
        """The sum of all values."""

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def merge(self, other: Histogram) -> None:
        """Count all values of another histogram with the same bounds."""
        assert other.bounds == self.bounds, "histograms with other bounds cannot be added"
        self.counts = [own + added for own, added in zip(self.counts, other.counts, strict=True)]
        self.total += other.total

    @property
    def count(self) -> int:
        """How many values there are."""
        return sum(self.counts)
