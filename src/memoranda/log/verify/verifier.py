"""Verification: whether the log is what was written, from the first event to the head."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

import msgspec

from memoranda.log.chain import Opened
from memoranda.log.walk import Attend, Walk
from memoranda.model.clock import Clock
from memoranda.model.event import SealedEvent
from memoranda.model.instant import to_datetime
from memoranda.storage.port import Engine, Progress

_CLOCK_LEAD = 5 * 60 * 1_000_000
Follow = Callable[[Sequence[SealedEvent]], None]


class Verification(msgspec.Struct, frozen=True):
    """What was found sound, and what deserves a look all the same."""

    log_id: str
    commits: int
    head_hash: str
    last_committed_at: datetime | None
    warnings: tuple[str, ...] = ()
    checkpoints: int = 0
    """How many signed checkpoints were compared with the log, and fit."""
    last_checkpoint: int | None = None
    """The size of the last one of them."""
    rows: int | None = None
    """How many rows of views were compared; None: the log alone was looked at."""
    signed: int = 0
    """How many events carry a signature of the agent who acted; each of them holds."""
    unproven: int = 0
    """In how many places of events of chain version 1 an erasure left something: nothing but the
    erasing commit says that it is what stood there."""


def clock_warnings(last_committed_at: int, clock: Clock) -> tuple[str, ...]:
    """Say so when commits run ahead of the clock: it was set back, or had been wrong."""
    lead = last_committed_at - clock.now()
    if lead <= _CLOCK_LEAD:
        return ()
    return (
        f"the last commit is {lead // 1_000_000} s ahead of this machine's clock, and the next "
        "ones will be just behind it: check the clock",
    )


def checked_pages(engine: Engine, log_id: str, through: int) -> Iterator[list[SealedEvent]]:
    """Yield the events up to a commit, or raise `ChainBroken` for the first bad one."""
    with engine.reading() as reader:
        walk = Walk(reader, log_id, through)
    while not walk.ended:
        with engine.snapshot() as reader:  # or what is erased meanwhile would look like damage
            opened = walk.next_page(reader)
        yield sealed(opened)
    with engine.snapshot() as reader:
        walk.check_erasures(reader)


def verify(
    engine: Engine,
    log_id: str,
    clock: Clock,
    progress: Progress | None = None,
    follow: Follow | None = None,
    attend: Attend | None = None,
) -> Verification:
    """Check every event up to the head, or raise `ChainBroken` for the first bad one.

    Events that are found sound are handed to `follow`, which may hold them to more; those that say
    something of keys, or are signed, to `attend`.
    """
    with engine.reading() as reader:
        walk = Walk(reader, log_id, attend=attend)
    while not walk.ended:
        opened: list[Opened] = []
        with engine.snapshot() as reader:
            if follow is None:
                walk.skip(reader)
            else:
                opened = walk.next_page(reader)
        if follow is not None:
            follow(sealed(opened))
        if progress is not None:
            progress(walk.head.commit_ts, walk.through)
    with engine.snapshot() as reader:
        walk.finish(reader)
    return told(walk, log_id, clock)


def sealed(opened: Sequence[Opened]) -> list[SealedEvent]:
    """Return events as they are stored."""
    return [SealedEvent(*row) for row, _, _ in opened]


def told(walk: Walk, log_id: str, clock: Clock, rows: int | None = None) -> Verification:
    """Return what a walk to the log's end comes to."""
    last = walk.head
    return Verification(
        log_id=log_id,
        commits=last.commit_ts,
        head_hash=last.hash.hex(),
        last_committed_at=to_datetime(last.committed_at) if last.commit_ts else None,
        warnings=clock_warnings(last.committed_at, clock) if last.commit_ts else (),
        rows=rows,
        unproven=walk.unproven,
    )
