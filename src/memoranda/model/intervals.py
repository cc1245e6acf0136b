"""The ends of half-open intervals, of commits and of valid time."""

from __future__ import annotations

from typing import Final

OPEN_END: Final = 2**63 - 1
"""The end of an interval that is still open: a commit, or microseconds since 1970 UTC.

It is the largest integer that databases store, so `start <= x AND x < end` needs no case for NULL,
and an index on the end finds the open intervals. SQL files name it by the word `OPEN_END`.
"""

NEWEST: Final = OPEN_END - 1
"""A commit after every commit: a read as of it sees the newest state.

It is below `OPEN_END`, so that an open interval contains it.
"""
