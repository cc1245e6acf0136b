"""Totals over all stores of a server: finished and pending work, without names of stores."""

from __future__ import annotations

from memoranda.calls.core import Core
from memoranda.log.commit.commit_counts import BATCH_SIZES
from memoranda.model.histogram import Histogram


class StoreTotals:
    """Adds up the numbers of stores.

    A counter never goes down: the set of stores adds a store that it closes to the totals of closed
    ones (`add_done`), and those of open ones are added when somebody asks (`add`).
    """

    def __init__(self) -> None:
        self.commits = 0
        self.batch_sizes = Histogram(BATCH_SIZES)
        self.commit_seconds = Histogram()
        self.queued_commits = 0
        self.queued_bytes = 0
        self.writes_in_flight = 0
        self.unindexed_documents = 0
        self.failing_indexes = 0

    def add(self, core: Core) -> None:
        """Add an open store's finished and pending work."""
        self.add_done(core)
        commits, size = core.committer.queued
        self.queued_commits += commits
        self.queued_bytes += size
        self.writes_in_flight += len(core.answering)
        self.unindexed_documents += max(0, core.background_indexer.estimate_backlog())
        self.failing_indexes += core.background_indexer.failure is not None

    def add_done(self, core: Core) -> None:
        """Add a store's finished work."""
        counts = core.committer.counts
        self.commits += counts.commits
        self.batch_sizes.merge(counts.batch_sizes)
        self.commit_seconds.merge(core.engine.commit_seconds)

    def copy_done(self) -> StoreTotals:
        """Return new totals with the finished work only."""
        totals = StoreTotals()
        totals.commits = self.commits
        totals.batch_sizes.merge(self.batch_sizes)
        totals.commit_seconds.merge(self.commit_seconds)
        return totals
