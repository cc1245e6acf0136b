"""Searching the log for names: which commits have some bytes in them.

Indexes have every place where a name stands but one: the actor of handles that have no agent. So
the whole log is searched for that name. It is done before the write lock is taken. Under the lock,
only the commits that came later are searched: an earlier one can lose a name, and never gets one.
"""

from __future__ import annotations

from memoranda.log import pages
from memoranda.model.intervals import OPEN_END
from memoranda.storage.port import Reader


class LogSearch:
    """Finds the commits with some bytes, and remembers those that it found while it was open."""

    def __init__(self, *, is_open: bool = False) -> None:
        self._is_open = is_open
        """Whether results are remembered; not under the write lock: the commits of a batch may be
        rolled back, and others get their numbers."""
        self._results: dict[bytes, tuple[int, list[int]]] = {}
        """The last commit that was searched for some bytes, and the commits that have them."""

    def close(self) -> None:
        """Remember nothing more."""
        self._is_open = False

    def commits_with(self, reader: Reader, needle: bytes) -> list[int]:
        """Return the commits with some bytes in their operations or envelopes."""
        searched, commits = self._results.get(needle, (0, []))
        through = pages.head_commit(reader) if self._is_open else OPEN_END
        rows = reader.rows("events_with", needle=needle, after=searched, through=through)
        commits = [*commits, *(row[0] for row in rows)]
        if self._is_open:
            self._results[needle] = (through, commits)
        return commits
