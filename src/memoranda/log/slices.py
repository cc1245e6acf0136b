"""Slices of a compaction: what one commit of it erases, and how that is carried out.

A slice is put together in short reads and carried out under the write lock, for as long as is aimed
at. What it erases is compared then with what it was put together from: whatever was erased in
between, by whomever, undoes the slice.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from memoranda.log import horizons, pages, salting
from memoranda.log.erasing import Erasure, Reduce
from memoranda.log.failpoints import Failpoint
from memoranda.log.horizons import Horizon
from memoranda.log.redaction import Left
from memoranda.log.retaining import rests_on
from memoranda.log.signing import Signing
from memoranda.log.views import Views
from memoranda.model import codec
from memoranda.model.erasure import COMPACTION, Place
from memoranda.model.event import Head
from memoranda.model.ids import IdSource
from memoranda.model.operations import ENGINE_SCOPE, AnyOperation, Erase, Summary
from memoranda.storage.port import Progress, Writer

AIM = 0.025
"""Seconds that a slice is to hold the write lock: well below 100 ms, as machines and loads vary."""
LEAST, BEGIN, MOST = 32, 256, 2048
"""A slice's weight, at least, at first and at most: an operation weighs 1, as a kilobyte does."""
_REQUESTS = 512
"""Of how many transactions without effect the salts are looked at in one slice."""
_COMMITS_BEHIND = 256
"""How many commits behind a survey are looked at under the write lock."""
_KILOBYTE = 1024

Decided = Mapping[Place, tuple[AnyOperation, Left]]
"""What stands at places, and what is to be left there."""


class Plan(msgspec.Struct, frozen=True):
    """What is to be compacted, by whom, and how that is told."""

    namespace: str
    horizon: int
    by: str
    reason: str | None = None
    progress: Progress | None = None
    signing: Signing | None = None


class Slice(msgspec.Struct, frozen=True):
    """What is to be erased in one commit."""

    left: Decided
    erased_before: int
    """How many operations the slices before it erased."""
    surveyed: int | None = None
    """The commit up to which it is known what rests on what, in the first slice of a survey."""
    requests_after: int | None = None
    """Behind which commit salts of requests are to go; None: there is more to be erased first."""


class Step(msgspec.Struct, frozen=True):
    """What became of a slice."""

    commit_ts: int | None = None
    """The commit; None: there was nothing to say."""
    erased: int = 0
    requests_after: int | None = None
    """Behind which commit there may be more salts of requests; None: they are gone."""
    survey_again: bool = False
    """Whether only the horizon was set, as it is not known any more what rests on what."""
    seconds: float = 0.0
    """How long the write lock was held."""


class Changed(Exception):
    """Something was erased since a slice was put together: it has to be found out anew."""


class Pace:
    """How much a slice may weigh, so that it takes as long as is aimed at."""

    def __init__(self) -> None:
        self.weight = BEGIN

    def note(self, weight: int, seconds: float) -> None:
        """Learn from a slice; what is light by mistake is never trusted with more than double."""
        if weight >= self.weight or seconds > AIM:
            fitting = MOST if seconds <= 0 else int(weight * AIM / seconds)
            self.weight = max(LEAST, min(fitting, 2 * self.weight, MOST))


def weight_of(decided: int, size: int) -> int:
    """Return what an event weighs of which some operations go."""
    return 1 + decided + size // _KILOBYTE


class SliceEraser:
    """Carries out a slice in a storage transaction."""

    def __init__(self, writer: Writer, views: Views, ids: IdSource, plan: Plan, head: Head) -> None:
        self._writer = writer
        self._views = views
        self._ids = ids
        self._plan = plan
        self._head = head

    def carry_out(self, part: Slice, failpoint: Failpoint) -> tuple[list[AnyOperation], Step]:
        """Erase, and return what is to be said of it; raises `Changed` if it may not."""
        known = horizons.find(self._writer, self._plan.namespace)
        begun = known is not None and known.commit_ts >= self._plan.horizon
        if part.surveyed is not None and self._rests_anew(part.surveyed, known, begun=begun):
            if begun:
                raise Changed
            return [self._summary(0, unfinished=True)], Step(survey_again=True)
        trimmers = [view.trimmer(self._writer) for view in self._views.all]
        erasure = Erasure(
            self._writer, self._views, self._head.commit_ts + 1, self._ids, erasers=trimmers
        )
        erasure.erase({commit_ts for commit_ts, _ in part.left}, _reduce(part.left))
        failpoint("compaction-erased")
        count = erasure.tally.count
        total = part.erased_before + count
        if not total and not begun:
            return [], Step()
        after = None
        if part.requests_after is not None:
            after = _forget_requests(self._writer, part.requests_after)
        ended = part.requests_after is not None and after is None
        return [*self._said(erasure), *self._told(known, total, ended=ended)], Step(
            erased=count, requests_after=after
        )

    def _rests_anew(self, surveyed: int, known: Horizon | None, *, begun: bool) -> bool:
        """Say whether something was committed behind the survey that rests on anything.

        What comes behind the horizon's own commit rests on nothing that could go.
        """
        through = known.summed_in if known is not None and begun else self._head.commit_ts
        if through - surveyed > _COMMITS_BEHIND:
            return True
        return any(
            rests_on(operation)
            for event in pages.events(self._writer, after=surveyed, through=through)
            for operation in codec.decode_standing(event.operations)
        )

    def _said(self, erasure: Erasure) -> list[AnyOperation]:
        plan, tally = self._plan, erasure.tally
        if not tally.count:
            return []
        scope = (ENGINE_SCOPE.namespace, ENGINE_SCOPE.agent_id)
        return [
            Erase(
                *scope,
                self._ids.unique(),
                COMPACTION,
                plan.by,
                plan.reason,
                tally.count,
                tally.digest,
            )
        ]

    def _told(self, known: Horizon | None, total: int, *, ended: bool) -> list[AnyOperation]:
        """Return what is said of the horizon, if that is new: another may have a later one."""
        horizon = self._plan.horizon
        if known is None or known.commit_ts < horizon:
            return [self._summary(total, unfinished=not ended)]
        if ended and known.unfinished and known.commit_ts == horizon:
            return [self._summary(total, unfinished=False)]
        return []

    def _summary(self, count: int, *, unfinished: bool) -> Summary:
        plan = self._plan
        agent_id = ENGINE_SCOPE.agent_id
        return Summary(plan.namespace, agent_id, plan.horizon, count, unfinished)


def _reduce(decided: Decided) -> Reduce:
    """Return what is to be left at each place, as long as there stands what was looked at."""

    def left_of(place: Place, operation: AnyOperation) -> Left | None:
        looked_at = decided.get(place)
        if looked_at is None:
            return None
        if looked_at[0] != operation:
            raise Changed
        return looked_at[1]

    return left_of


def _forget_requests(writer: Writer, after: int) -> int | None:
    """Zero salts of requests without effect behind a commit; return where to go on, if there is.

    Nothing tells which of them named what is erased now: they have no operations.
    """
    rows = writer.rows("event_salts_without_effect_page", after=after, most=_REQUESTS)
    for commit_ts, salts in rows:
        left = salting.without_request(salts)
        if left != salts:
            writer.put("event_salts_set", left, commit_ts)
    return rows[-1][0] if len(rows) == _REQUESTS else None
