"""Single pages of long answers, each for a request of its own: nothing is kept between two."""

from __future__ import annotations

from typing import Any

import msgspec

from memoranda.log.pages import Pages, Position, ResumablePages

MAX_READS = 8
"""Pages of the engine that are read for one page of a caller: what is in them is in memory at once,
and each is a megabyte or two at most."""


class SinglePage(msgspec.Struct, frozen=True):
    """Some items of a long answer, and where it goes on."""

    items: list[Any]
    position: Position | None = None
    """Where the next page begins; None: there is none, or nobody can go on there."""
    is_cut: bool = False
    """Whether there are more items, to which no position leads."""


def read_page(pages: Pages[Any], position: Position | None, limit: int) -> SinglePage:
    """Read a page of about `limit` items; called in a thread.

    What is read together, as the facts of one subject, is not split.
    """
    if not isinstance(pages, ResumablePages):
        return _read_first(pages, limit)
    if position is not None:
        pages.position = position
    items: list[Any] = []
    for _ in range(MAX_READS):
        pages.limit(limit - len(items))
        page = pages.next_page()
        if not page:
            return SinglePage(items)
        items += page
        if len(items) >= limit:
            break
    position = pages.position
    pages.limit(1)
    return SinglePage(items, position if pages.next_page() else None)


def _read_first(pages: Pages[Any], limit: int) -> SinglePage:
    items: list[Any] = []
    for _ in range(MAX_READS):
        page = pages.next_page()
        items += page
        if not page or len(items) > limit:
            break
    else:
        return SinglePage(items[:limit], is_cut=bool(pages.next_page()) or len(items) > limit)
    return SinglePage(items[:limit], is_cut=len(items) > limit)
