"""Verification: walking the chain from the first event to the head."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

import msgspec

from recollect.errors import ChainBroken
from recollect.log import blobs, chain, pages
from recollect.log.erasures import Erasures
from recollect.model import codec
from recollect.model.clock import Clock
from recollect.model.event import Head, SealedEvent
from recollect.model.instant import to_datetime
from recollect.storage.port import Engine, Progress

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
    last, erasures = chain.genesis(log_id), Erasures()
    while last.commit_ts < through:
        with engine.snapshot() as reader:  # or what is erased meanwhile would look like damage
            events = pages.page(reader, after=last.commit_ts, through=through)
            if not events:
                raise ChainBroken(last.commit_ts + 1, "it went missing while the log was read")
            for event in events:
                last = chain.check(last, event)
                operations = codec.decode_operations(event.operations)
                erasures.check(reader, event, operations)
                blobs.check(reader, event.commit_ts, operations)
        yield events
    with engine.snapshot() as reader:
        erasures.check_all(reader)


def verify(
    engine: Engine,
    log_id: str,
    clock: Clock,
    progress: Progress | None = None,
    follow: Follow | None = None,
) -> Verification:
    """Check every event up to the head, or raise `ChainBroken` for the first bad one.

    Events that are found sound are handed to `follow`, which may hold them to more.
    """
    with engine.reading() as reader:
        through = pages.head_commit(reader)
        stray = reader.row("event_before_first")
    if stray is not None:
        raise ChainBroken(stray[0], "commits are numbered from 1")
    last = chain.genesis(log_id)
    for events in checked_pages(engine, log_id, through):
        last = Head(events[-1].commit_ts, events[-1].committed_at, events[-1].hash)
        if follow is not None:
            follow(events)
        if progress is not None:
            progress(last.commit_ts, through)
    return Verification(
        log_id=log_id,
        commits=last.commit_ts,
        head_hash=last.hash.hex(),
        last_committed_at=to_datetime(last.committed_at) if last.commit_ts else None,
        warnings=clock_warnings(last.committed_at, clock) if last.commit_ts else (),
    )
