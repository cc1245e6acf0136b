"""Facts as reasons: what has to be known of one that something rests on.

Whoever keeps facts gives a `FactSource`; this package only walks through what it says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from recollect.log.moments import Asked
from recollect.model.refs import Evidence
from recollect.storage.port import Reader


class Reliance(msgspec.Struct, frozen=True):
    """That something rests on a fact, by one of the assertions the fact follows from."""

    assertion_id: str
    relied_at: int | None = None
    """The commit that said so: what was believed then is what was relied on. None: nobody did."""


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a fact that something rests on, at the moment asked about."""

    sentence: str
    agent_id: str
    commit_ts: int
    """The commit that asserted it."""
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    stale: tuple[str, ...] = ()
    """Why it is no longer believed as it was; whether its evidence is, is found out here."""
    evidence: tuple[Evidence, ...] = ()


class FactSource(Protocol):
    """Gives an account of facts."""

    def __call__(
        self, reader: Reader, reliances: Sequence[Reliance], asked: Asked, /
    ) -> Mapping[Reliance, Account]:
        """Return an account of each that was asserted by the moment asked about."""
        ...


def no_facts(
    reader: Reader,  # noqa: ARG001
    reliances: Sequence[Reliance],  # noqa: ARG001
    asked: Asked,  # noqa: ARG001
    /,
) -> Mapping[Reliance, Account]:
    """Know of no fact."""
    return {}
