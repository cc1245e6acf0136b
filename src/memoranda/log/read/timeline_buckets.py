"""Timeline buckets: an agent's operations by kind, for the equal parts of a time.

Nothing is decoded: whole blocks of commits come from their stored sums, and the rest of a bucket
from the index of scopes. The buckets show what a replay of the same scope shows, erased operations
and compaction summaries included.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from heapq import merge
from itertools import groupby, pairwise

import msgspec

from memoranda.errors import Corruption
from memoranda.log import pages
from memoranda.log.compaction.summary import CompactionSummaries
from memoranda.log.read import block_sums, kind_counts
from memoranda.log.read.kind_counts import BLOCK_COMMITS, FIRST_KIND, CountReader, Counts
from memoranda.log.read.replay import Bounds
from memoranda.log.read.visibility import Selection
from memoranda.model.clock import to_datetime, to_micros
from memoranda.model.operations import OperationType
from memoranda.model.scope import ALL_NAMESPACES
from memoranda.storage.port import Engine, Reader, Row

MAX_BUCKETS = 2_000
"""Buckets of one call: more than a chart has columns."""
DEFAULT_BUCKETS = 100
"""Buckets, if the caller names no number."""


class TimelineBucket(msgspec.Struct, frozen=True):
    """The activity of an agent in one part of a time, which includes `start` and not `end`."""

    start: datetime
    end: datetime
    counts: dict[OperationType, int]
    """The operations by type; a type without one is left out."""
    events: int
    """The events with such an operation."""

    @property
    def operations(self) -> int:
        """The number of operations of all types."""
        return sum(self.counts.values())


def read_buckets(
    engine: Engine, log_id: str, selection: Selection, bounds: Bounds, number: int
) -> list[TimelineBucket]:
    """Return the buckets of a time; none if no bounds are given and there is no event."""
    with engine.snapshot() as reader:
        after, through = bounds.resolve(reader, log_id)
        summaries = CompactionSummaries(engine, log_id, selection)
        summaries.find_horizons(reader, after, through)
        scopes = _find_scopes(reader, selection, summaries.horizons, after, through)
        timeline = _Timeline(reader, selection, scopes)
        times = _divide(*timeline.limits(bounds), number)
        return timeline.buckets(times) if len(times) > 1 else []


def _divide(start: int, end: int, number: int) -> list[int]:
    """Return the ends of equal parts of a time, none of them shorter than a microsecond."""
    length = max(end - start, 0)
    parts = min(number, length)
    return [start + length * part // parts for part in range(parts + 1)] if parts else []


# Scopes: parts that are counted event by event, and compacted parts.


class _Scope(msgspec.Struct, frozen=True):
    """A scope whose operations are counted."""

    id: int
    after: int
    """Later commits are counted where they stand."""
    horizon: int | None
    """Where everything that is left of the commits up to it is counted, as in a replay."""


def _find_scopes(
    reader: Reader, selection: Selection, horizons: Mapping[str, int], after: int, through: int
) -> list[_Scope]:
    agent_id, namespace = selection.agent_id, selection.namespace
    if namespace is ALL_NAMESPACES:
        rows = reader.rows("scopes_with_events", agent_id=agent_id, after=after, through=through)
    else:
        row = reader.row("scope_find", agent_id=agent_id, namespace=namespace)
        rows = [] if row is None else [(*row, namespace)]
    return [
        _Scope(scope_id, horizons.get(name, after), horizons.get(name)) for scope_id, name in rows
    ]


Range = tuple[int, int, int]
"""A number that names a range, and two ends."""


def _clipped(commits: Sequence[int], after: int, through: int) -> list[int]:
    """Return the ends of buckets as far as they lie in a range of commits."""
    return [min(max(commit, after), max(after, through)) for commit in commits]


class _Timeline:
    """Counts the operations of some scopes, in one snapshot."""

    def __init__(self, reader: Reader, selection: Selection, scopes: Sequence[_Scope]) -> None:
        self._reader = reader
        self._head = pages.head_commit(reader)
        self._scopes = scopes
        self._shown = CountReader(
            public_only=selection.viewer not in (None, selection.agent_id),
            all_namespaces=selection.namespace is ALL_NAMESPACES,
        )

    def limits(self, bounds: Bounds) -> tuple[int, int]:
        """Return the time of the buckets: as the caller states it, or from first to last event."""
        start = end = None
        if bounds.from_timestamp is not None:
            start = to_micros("from_timestamp", bounds.from_timestamp)
        if bounds.to_timestamp is not None:
            end = to_micros("to_timestamp", bounds.to_timestamp)
        commits = [commit for scope in self._scopes for commit in self._ends(scope)]
        if start is None and commits:
            start = self._time(min(commits))
        if end is None and commits:
            end = self._time(max(commits)) + 1
        return (0, 0) if start is None or end is None else (start, end)

    def buckets(self, times: Sequence[int]) -> list[TimelineBucket]:
        """Return the buckets between these times."""
        head = self._head
        commits = self._commits_before(times, head)
        counts: list[Counts] = [{} for _ in times[1:]]
        events = [0] * len(counts)
        turn = max((scope.horizon or 0 for scope in self._scopes), default=0)
        for scope in self._scopes:
            _add(counts, self._sums(scope.id, _clipped(commits, scope.after, turn)))
            sums = self._sums(scope.id, _clipped(commits, max(scope.after, turn), head))
            _add(counts, sums)
            for bucket, bucket_counts in sums.items():
                events[bucket] += self._shown.events(bucket_counts)
            if scope.horizon is not None:
                (residue,) = self._sums(scope.id, (0, scope.horizon)).values()
                bucket = bisect_left(commits, scope.horizon) - 1
                _add(counts, {bucket: kind_counts.without_erased(residue)})
        for commit in self._commits_through(turn, commits[0]):
            events[bisect_left(commits, commit) - 1] += 1
        return [
            TimelineBucket(to_datetime(start), to_datetime(end), self._shown.by_type(own), number)
            for (start, end), own, number in zip(pairwise(times), counts, events, strict=True)
        ]

    def _commits_before(self, times: Sequence[int], head: int) -> list[int]:
        """Return the last commit before each time.

        The times of some commits narrow the search for all of them, which halves its steps.
        """
        samples = range(1, head + 1, head // (2 * len(times)) + 1)
        rows = self._reader.rows("event_times", commits=[*samples])
        sample_times = [time for (time,) in rows]
        searches: list[Range] = []
        for time in times:
            place = bisect_left(sample_times, time)
            low = samples[place - 1] if place else 0
            high = samples[place] - 1 if place < len(samples) else head
            searches.append((time - 1, low, high))
        return [commit for (commit,) in self._reader.rows("commits_at_times", searches=searches)]

    def _sums(self, scope_id: int, commits: Sequence[int]) -> dict[int, Counts]:
        """Return the counts of a scope between each commit and the next, where they differ.

        The sums of blocks reach from the beginning of the first commit's block to that of the
        last one's. What a block has up to these commits is counted event by event.
        """
        parts = [
            (bucket, first, last)
            for bucket, (first, last) in enumerate(pairwise(commits))
            if first < last
        ]
        blocks = [
            (bucket, first // BLOCK_COMMITS, last // BLOCK_COMMITS - 1)
            for bucket, first, last in parts
        ]
        beginnings = self._beginnings(scope_id, {end for part in parts for end in part[1:]})
        sums: dict[int, Counts] = {}
        for bucket, first, last in parts:
            sums[bucket] = kind_counts.difference(beginnings[first], beginnings[last])
        for bucket, code, count in self._rows("kind_counts_of_blocks", scope_id, blocks):
            sums[bucket][code] = sums[bucket].get(code, 0) + count
        return sums

    def _beginnings(self, scope_id: int, commits: Collection[int]) -> dict[int, Counts]:
        """Return the counts of a scope from the beginning of each commit's block to the commit."""
        beginnings: dict[int, Counts] = {commit: {} for commit in commits}
        ranges = [
            (commit, commit // BLOCK_COMMITS * BLOCK_COMMITS - 1, commit) for commit in commits
        ]
        unpack = cache(kind_counts.unpack)
        for commit, kinds, events in self._rows("kinds_of_ranges", scope_id, ranges):
            counts = beginnings[commit]
            for code, count in unpack(kinds).items():
                counts[code] = counts.get(code, 0) + count * events
        return beginnings

    def _rows(self, query: str, scope_id: int, ranges: Sequence[Range]) -> list[Row]:
        return self._reader.rows(query, scope_id=scope_id, ranges=ranges) if ranges else []

    def _commits_through(self, turn: int, after: int) -> Iterator[int]:
        """Yield the commits of the events up to the last horizon, each once.

        Some namespaces are summed up there and others are not, so that sums over all of them would
        correct for events of which a part is no longer shown.
        """
        streams: list[Iterable[int]] = [
            self._visible_commits(scope.id, max(scope.after, after), turn) for scope in self._scopes
        ]
        streams.append(sorted(scope.horizon for scope in self._scopes if scope.horizon is not None))
        for commit, _ in groupby(merge(*streams)):
            yield commit

    def _visible_commits(self, scope_id: int, after: int, through: int) -> Iterator[int]:
        if after >= through:
            return
        values = {"scope_id": scope_id, "after": after, "through": through}
        for commit, kinds in self._reader.stream("kinds_of_scope", **values):
            if self._shown.is_visible(kind_counts.unpack(kinds)):
                yield commit

    def _ends(self, scope: _Scope) -> Iterator[int]:
        """Yield the first and the last commit of a scope, if it has any that are shown."""
        if scope.horizon is not None:
            yield scope.horizon
        for query in ("first_block_of_kinds", "last_block_of_kinds"):
            public_only = int(self._shown.public_only)
            row = self._reader.row(
                query, scope_id=scope.id, first_kind=FIRST_KIND, public_only=public_only
            )
            if row is not None:
                after, last = row[0] * BLOCK_COMMITS - 1, (row[0] + 1) * BLOCK_COMMITS - 1
                after = max(after, scope.horizon or 0)
                yield from self._visible_commits(scope.id, after, last)
        # The sums of the last block, and with them its commits, may be missing.
        after = max(block_sums.first_open_commit(self._head) - 1, scope.horizon or 0)
        yield from self._visible_commits(scope.id, after, self._head)

    def _time(self, commit: int) -> int:
        row = self._reader.row("event_time", commit_ts=commit)
        if row is None:
            raise Corruption(f"commit {commit} is in the index and not in the log")
        return int(row[0])


def _add(counts: Sequence[Counts], sums: Mapping[int, Counts]) -> None:
    """Add sums to the counts of their buckets."""
    for bucket, bucket_sums in sums.items():
        own = counts[bucket]
        for code, count in bucket_sums.items():
            own[code] = own.get(code, 0) + count
