"""Facts as reasons: what is to be said of one that something rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from memoranda.graph.explaining import Believed, Standing, standing_of
from memoranda.graph.records import Fact
from memoranda.log import horizons
from memoranda.log.moments import Asked
from memoranda.model.instant import to_datetime
from memoranda.storage.port import Reader


class Reliance(msgspec.Struct, frozen=True):
    """That something rests on a fact, by one of the assertions the fact follows from."""

    assertion_id: str
    relied_at: int | None = None
    """The commit that said so: what was believed then is what was relied on. None: nobody did."""


class Account(msgspec.Struct, frozen=True):
    """What is known of a fact that something rests on, at the moment asked about."""

    fact: Fact
    """As it is believed, or as it was believed last."""
    commit_ts: int
    """The commit that asserted it."""
    stale: tuple[str, ...] = ()
    """Why it is no longer believed as it was; whether its evidence is, is found out elsewhere."""


def accounts(
    reader: Reader, reliances: Sequence[Reliance], asked: Asked, viewer: str
) -> Iterator[tuple[Reliance, Account]]:
    """Yield an account of each that had been asserted by the moment asked about."""
    believed = Believed(reader, viewer)
    for reliance in reliances:
        standing = standing_of(reader, reliance.assertion_id)
        if standing is not None and standing.asserted_in <= asked.commit:
            account = _account(reader, believed, reliance, standing, asked)
            if account is not None:
                horizons.check(reader, (account.fact.namespace,), asked.commit)
                yield reliance, account


def _account(
    reader: Reader, facts: Believed, reliance: Reliance, standing: Standing, asked: Asked
) -> Account | None:
    """Return what there is to say; None of what was taken back by the commit that said it."""
    assertion_id, relied_at = reliance.assertion_id, reliance.relied_at
    believed = facts.fact(assertion_id, asked.commit)
    if believed is None:
        last = facts.fact(assertion_id, standing.retracted_in - 1)
        told = "retracted" if standing.reason is None else f"retracted: {standing.reason}"
        return None if last is None else Account(last, standing.asserted_in, (told,))
    doubt = None
    if believed.valid_to is not None:
        relied, since = None, None
        if relied_at is not None:
            same = facts.is_as_at(assertion_id, relied_at)
            relied = believed if same else facts.fact(assertion_id, relied_at)
            since = _time_of(reader, relied_at)
        doubt = _doubt(believed.valid_to, relied, since, to_datetime(asked.now))
    return Account(believed, standing.asserted_in, () if doubt is None else (doubt,))


def _doubt(end: datetime, relied: Fact | None, since: datetime | None, now: datetime) -> str | None:
    """Return why a fact that ends is not what it was when something came to rest on it.

    One that had ended by then was relied on as history, and is no less true for that.
    """
    if relied is not None and (relied.valid_to is None or end < relied.valid_to):
        return f"closed: it ends on {end.date()}" if end > now else f"closed on {end.date()}"
    held = since is None or end > since
    return f"ended on {end.date()}" if held and end <= now else None


def _time_of(reader: Reader, commit: int) -> datetime:
    row = reader.row("event_time", commit_ts=commit)
    assert row is not None, "what relies on something was committed"
    return to_datetime(row[0])
