"""Facts as evidence: whether a fact is still what it was when something came to rest on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from memoranda.graph.fact_explanation import (
    AssertionLifetime,
    BeliefReader,
    TimelineCache,
    assertion_lifetime,
)
from memoranda.graph.records import Fact
from memoranda.log.compaction import horizon
from memoranda.log.read.as_of import AsOf
from memoranda.model.clock import to_datetime
from memoranda.storage.port import Reader


class FactUse(msgspec.Struct, frozen=True):
    """The use of a fact as evidence, by one of the assertions that the fact is derived from."""

    assertion_id: str
    used_at: int | None = None
    """The commit of the dependent; the fact as believed then is the evidence. None at the root."""


class FactStatus(msgspec.Struct, frozen=True):
    """A fact that something rests on, as of the commit of the read."""

    fact: Fact
    """The fact as it is believed, or as it was believed last."""
    commit_ts: int
    """The commit of the assertion."""
    stale: tuple[str, ...] = ()
    """Why the fact itself is no longer believed as it was; its evidence is not checked here."""
    is_closed: bool = False
    """Whether a statement after its use ended it, or moved its end earlier: not time alone."""


def fact_statuses(
    reader: Reader,
    uses: Sequence[FactUse],
    as_of: AsOf,
    viewer: str,
    timelines: TimelineCache | None = None,
    *,
    newest: int | None = None,
) -> Iterator[tuple[FactUse, FactStatus]]:
    """Yield the status of each fact that was asserted by the commit of the read.

    `newest` is the commit that the tables have, if it is not in the log yet.
    """
    beliefs = BeliefReader(reader, viewer, timelines, newest)
    for use in uses:
        lifetime = assertion_lifetime(reader, use.assertion_id)
        if lifetime is not None and lifetime.asserted_in <= as_of.commit:
            status = _status(reader, beliefs, use, lifetime, as_of)
            if status is not None:
                horizon.check(reader, (status.fact.namespace,), as_of.commit)
                yield use, status


def _status(
    reader: Reader,
    beliefs: BeliefReader,
    use: FactUse,
    lifetime: AssertionLifetime,
    as_of: AsOf,
) -> FactStatus | None:
    """Return the status of a fact; None if the commit that asserted it also retracted it."""
    assertion_id, used_at = use.assertion_id, use.used_at
    fact = beliefs.fact(assertion_id, as_of.commit)
    if fact is None:
        last = beliefs.fact(assertion_id, lifetime.retracted_in - 1)
        retraction = "retracted" if lifetime.reason is None else f"retracted: {lifetime.reason}"
        return None if last is None else FactStatus(last, lifetime.asserted_in, (retraction,))
    mark, is_closed = None, False
    if fact.valid_to is not None:
        used_time = None
        if used_at is not None:
            is_closed = beliefs.closed_since(assertion_id, fact, as_of.commit, used_at)
            used_time = _time_of(reader, used_at)
        now = to_datetime(as_of.now)
        mark = _end_mark(fact.valid_to, used_time, now, is_closed=is_closed)
    return FactStatus(fact, lifetime.asserted_in, () if mark is None else (mark,), is_closed)


def _end_mark(
    end: datetime, used_time: datetime | None, now: datetime, *, is_closed: bool
) -> str | None:
    """Return why a fact that has an end is stale; None if it is not.

    It is stale if its end was set or moved earlier after its use, or if it ended after its use. A
    fact that had already ended when it was used is evidence about the past, and stays valid.
    """
    if is_closed:
        return f"closed: it ends on {end.date()}" if end > now else f"closed on {end.date()}"
    was_valid_when_used = used_time is None or end > used_time
    return f"ended on {end.date()}" if was_valid_when_used and end <= now else None


def _time_of(reader: Reader, commit: int) -> datetime:
    row = reader.row("event_time", commit_ts=commit)
    assert row is not None, "the dependent was committed"
    return to_datetime(row[0])
