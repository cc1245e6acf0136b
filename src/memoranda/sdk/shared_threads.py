"""The threads of a process with many open stores: their number does not grow with the stores."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from memoranda.sdk.lanes import LanePool, shared_sizes
from memoranda.search.shared_workers import SharedWorkers
from memoranda.search.vectors.embedder import AUTO, EmbedderSpec

if TYPE_CHECKING:
    from memoranda.storage.postgres.wakeups import DatabaseWakeups  # it loads psycopg

_LEADERS = 16
"""Stores that write at a time. A leader mostly waits for the disk, and where another process has
locked a store's file, for that process: then it leaves the others to the other stores."""


class SharedThreads:
    """Threads for calls, for commits and for background work of all stores, fair between them."""

    def __init__(self, embedder: EmbedderSpec = AUTO) -> None:
        self.lanes = LanePool(shared_sizes(_processors()))
        """Where calls are answered."""
        self.leaders = ThreadPoolExecutor(_LEADERS, thread_name_prefix="memoranda-committer")
        """Where batches of commits are written."""
        self.workers = SharedWorkers(embedder)
        """Where documents are indexed and embedded."""
        self.wakeups: dict[str, DatabaseWakeups] = {}
        """Announcements of commits, by database: its stores share a connection."""

    def close(self) -> None:
        """Let the threads end; the stores are closed already."""
        self.lanes.close()
        self.leaders.shutdown(wait=False)
        self.workers.close()
        for wakeups in self.wakeups.values():
            wakeups.close()


def _processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
