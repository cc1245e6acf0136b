"""An agent's activity as a histogram: a line for each bucket of a timeline.

The caller passes the buckets, the width of the terminal and the characters it can show.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from memoranda.cli.output import plural

if TYPE_CHECKING:
    from memoranda import TimelineBucket

_MIN_BAR_COLUMNS = 10
"""Columns that the texts leave to the bars; on a narrow terminal the lines wrap."""
_GAP = "  "


def draw(
    buckets: Sequence[TimelineBucket], width: int, *, block: str, ellipsis: str
) -> Iterable[str]:
    """Yield the lines of a histogram, and a last one with the sums."""
    starts = _times([bucket.start for bucket in buckets])
    highest = max(bucket.operations for bucket in buckets)
    numbers = [f"{bucket.operations:,}" for bucket in buckets]
    digits = max(map(len, numbers))
    kinds = [_kinds(bucket) for bucket in buckets]
    available = width - len(starts[0]) - digits - 3 * len(_GAP)
    bar_columns = max(available - max(map(len, kinds)), available // 3, _MIN_BAR_COLUMNS)
    kind_columns = max(available - bar_columns, _MIN_BAR_COLUMNS)
    for bucket, start, number, names in zip(buckets, starts, numbers, kinds, strict=True):
        bar = block * _columns(bucket.operations, highest, bar_columns)
        text = names if len(names) <= kind_columns else names[: kind_columns - 1] + ellipsis
        cells = (
            click.style(start, dim=True),
            click.style(bar, fg="green") + " " * (bar_columns - len(bar)),
            number.rjust(digits),
            text,
        )
        yield _GAP.join(cells).rstrip()
    yield click.style(_sum(buckets), dim=True)


def _columns(count: int, highest: int, columns: int) -> int:
    """Return the length of a bar; the smallest count has one column."""
    return max(round(count * columns / highest), 1) if count else 0


def _times(starts: Sequence[datetime]) -> list[str]:
    """Return times as short as tells them apart, in UTC."""
    step = starts[1] - starts[0] if len(starts) > 1 else timedelta(seconds=1)
    timespec = (
        "minutes"
        if step >= timedelta(minutes=1)
        else "seconds"
        if step >= timedelta(seconds=1)
        else "microseconds"
    )
    texts = (start.astimezone(UTC).isoformat(" ", timespec) for start in starts)
    return [f"{text.removesuffix('+00:00')}Z" for text in texts]


def _kinds(bucket: TimelineBucket) -> str:
    """Return the kinds of operation, the most frequent first."""
    counts = sorted(bucket.counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{kind.value} {count:,}" for kind, count in counts)


def _sum(buckets: Sequence[TimelineBucket]) -> str:
    operations = sum(bucket.operations for bucket in buckets)
    events = sum(bucket.events for bucket in buckets)
    return f"{plural(operations, 'operation')} in {plural(events, 'event')}"
