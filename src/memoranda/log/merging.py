"""Merging: the commits that touched any of some scopes, in order, each once."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import groupby

from memoranda.log import pages
from memoranda.storage.port import Engine


def commits_of(engine: Engine, scopes: Sequence[int], *, after: int, through: int) -> Iterator[int]:
    """Yield the numbers, which are small: what is read ahead of one scope costs little."""
    most = max(pages.PAGE_ROWS // max(len(scopes), 1), 8)
    streams = [_of_one(engine, scope_id, after, through, most) for scope_id in scopes]
    return (commit_ts for commit_ts, _ in groupby(heapq.merge(*streams)))


def _of_one(engine: Engine, scope_id: int, after: int, through: int, most: int) -> Iterator[int]:
    while after < through:
        with engine.reading() as reader:
            rows = reader.rows(
                "commits_of_scope", scope_id=scope_id, after=after, through=through, most=most
            )
        if not rows:
            return
        for (commit_ts,) in rows:
            yield commit_ts
        after = rows[-1][0]
