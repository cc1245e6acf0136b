"""Counts of the commits of a store since it was opened."""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.log.commit.outcome import CommitOutcome, CommitResult
from memoranda.model.histogram import Histogram

BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
"""Bounds for the requests of a batch: up to as many as one has at most."""


class CommitCounts:
    """Counts commits and batches. Only the leader of the group commit changes it."""

    __slots__ = ("batch_sizes", "commits")

    def __init__(self) -> None:
        self.commits = 0
        """Events that were appended and are durable."""
        self.batch_sizes = Histogram(BATCH_SIZES)
        """Requests that shared one storage transaction, and so one sync of the disk."""

    def add_batch(self, outcomes: Sequence[CommitOutcome]) -> None:
        """Count a batch that is durable."""
        self.batch_sizes.add(len(outcomes))
        for outcome in outcomes:
            if isinstance(outcome, CommitResult) and outcome.applied is not None:
                self.commits += 1
