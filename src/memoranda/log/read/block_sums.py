"""The sums of blocks of commits: each scope's operations by kind, stored when a block is complete.

A row that every commit adds to would be one more page that every commit writes. So the counts of
the last, incomplete block are only in the index of scopes, and in the memory of the writer. An
event with many operations is added at once, which bounds what the last commit of a block adds.
"""

from __future__ import annotations

from collections.abc import Callable

from memoranda.log import pages
from memoranda.log.read import kind_counts
from memoranda.log.read.kind_counts import BLOCK_COMMITS, Counts, ScopeName
from memoranda.model import codec
from memoranda.storage.port import Reader, Writer

_MAX_DEFERRED_OPERATIONS = 16
"""Operations up to which an event is added with its block."""

ScopeIdOf = Callable[[ScopeName], int]


def is_deferred(operations: int) -> bool:
    """Say whether an event with so many operations is added with its block, and not at once."""
    return operations <= _MAX_DEFERRED_OPERATIONS


def first_open_commit(head: int) -> int:
    """Return the first commit of the block that is not complete when the log ends at `head`."""
    return (head + 1) // BLOCK_COMMITS * BLOCK_COMMITS


def add_counts(writer: Writer, scope_id: int, commit_ts: int, counts: Counts) -> None:
    """Add the counts of a commit to the stored sums of its block."""
    for code, count in counts.items():
        writer.put("kind_count_add", scope_id, commit_ts // BLOCK_COMMITS, code, count)


class OpenBlock:
    """The counts of the block that the log ends in, as far as this process has applied it."""

    def __init__(self) -> None:
        self._sums: dict[tuple[int, int], int] = {}
        """By scope id and code."""
        self._last = 0
        """The last commit that was applied."""
        self.is_complete = False
        """Whether it ends the block, so that the sums have to be stored."""
        self._has_all = False
        """Whether every commit of the block is in the sums; otherwise the log is counted."""

    def enter(self, commit_ts: int) -> None:
        """Note that a commit is applied next."""
        if commit_ts == 1 or not commit_ts % BLOCK_COMMITS:
            self._sums, self._has_all = {}, True
        self._last = commit_ts
        self.is_complete = not (commit_ts + 1) % BLOCK_COMMITS

    def add(self, scope_id: int, counts: Counts) -> None:
        """Add the counts of a scope in the commit."""
        if self._has_all:
            for code, count in counts.items():
                self._sums[scope_id, code] = self._sums.get((scope_id, code), 0) + count

    def store(self, writer: Writer, log: Reader, scope_id_of: ScopeIdOf) -> None:
        """Store the sums of a complete block."""
        sums = self._sums if self._has_all else _count(log, self._last, scope_id_of)
        for (scope_id, code), count in sorted(sums.items()):
            add_counts(writer, scope_id, self._last, {code: count})

    def drop(self) -> None:
        """Count the log instead: commits may be rolled back, rewritten, or written by others."""
        self._has_all = False


def _count(log: Reader, last: int, scope_id_of: ScopeIdOf) -> dict[tuple[int, int], int]:
    """Count the block that ends with a commit, without the events that were added at once."""
    sums: dict[tuple[int, int], int] = {}
    for event in pages.events(log, after=last // BLOCK_COMMITS * BLOCK_COMMITS - 1, through=last):
        if not is_deferred(len(codec.parts(event.operations))):
            continue
        scopes = kind_counts.count_scopes(codec.decode_effective(event.operations))
        for scope, counts in scopes.items():
            scope_id = scope_id_of(scope)
            for code, count in counts.items():
                sums[scope_id, code] = sums.get((scope_id, code), 0) + count
    return sums
