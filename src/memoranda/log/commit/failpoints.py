"""Named points of a commit at which a test can kill the process.

batch-begun    the write lock is held, nothing is decided
decided        a transaction's operations are decided, none is written
appended       its event is written, its views are not
applied        its views are written
before-commit  the whole batch is written, the storage has not committed
after-commit   the batch is durable, no caller has its outcome
acknowledged   every caller has its outcome

Each slice of a compaction passes two more before it is committed:

compaction-erased    the content is gone from the events and the views, no event records it
compaction-appended  the event that records it is written

The full-text index, which is filled after the commits, has its own:

derived   a part of the index queue is ready to be written, and no lock is held
indexing  it is in the index, the storage has not committed it
indexed   the storage has committed it
"""

from __future__ import annotations

from collections.abc import Callable

Failpoint = Callable[[str], None]
"""Called with the name of each point as it is reached."""

NAMES = (
    "batch-begun",
    "decided",
    "appended",
    "applied",
    "before-commit",
    "after-commit",
    "acknowledged",
)

OF_INDEXING = ("derived", "indexing", "indexed")

OF_COMPACTION = ("compaction-erased", "compaction-appended")


def no_failpoint(name: str) -> None:
    """Do nothing: the failpoint outside of tests."""
