"""Named moments of a commit, where a test can make the process die.

batch-begun    the write lock is held, nothing is decided
decided        a transaction's operations are known, nothing of it is written
appended       its event is written, its views are not
applied        its views are written
before-commit  the whole batch is written, the storage has not committed
after-commit   the batch is durable, nobody was told
acknowledged   everybody was told

Each slice of a compaction has moments of its own before it is committed:

compaction-erased    what goes is gone from the events and the views, nothing says so
compaction-appended  the event that says so is written

And so has the index, which is filled behind the commits:

derived   a part of what waits is ready to be written, and no lock is held
indexing  it is in the index, the storage has not committed that
indexed   it has
"""

from __future__ import annotations

from collections.abc import Callable

Failpoint = Callable[[str], None]
"""Called with the name of each moment as it is passed."""

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


def pass_by(name: str) -> None:
    """Do nothing, as outside of tests."""
