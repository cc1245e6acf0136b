"""Compaction: a namespace's log up to a horizon, without what no longer holds there.

What still holds at the horizon stays where it was said, and so does what something that stays rests
on. The other operations keep only their hashes. It is done in slices, each a commit of its own that
vouches with an `Erase` for what it took away, and others write in between:

1. The log is surveyed in short reads: what rests on what.
2. The first slice sets the horizon, with a `Summary`. From then on nobody is told of what was
   before, and nothing can come to rest on what was replaced by then; so the survey stays true. If
   anything was committed behind the survey that rests on something, the horizon is set alone, and
   the survey is made again.
3. What goes is erased from the horizon back to the log's beginning, and what it had led to is left
   there before it goes: so each slice leaves the views as a rebuild would.
4. The last slice says with another `Summary` that nothing is left to go.

One that was interrupted is gone on with by the next one, which finds again what is to go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

import msgspec
from msgspec.structs import replace

from memoranda.log import horizons
from memoranda.log.slices import Changed, Pace, Plan, Slice, Step
from memoranda.log.surveying import Portion, Survey
from memoranda.log.views import Views
from memoranda.model.ids import IdSource
from memoranda.model.instant import to_datetime
from memoranda.storage.port import Engine

CarryOut = Callable[[Plan, Slice], Step]
"""Carries out a slice in a commit of its own, when nobody else writes."""


class Compaction(msgspec.Struct, frozen=True):
    """What a compaction did, or would do."""

    namespace: str
    horizon: int
    """From this commit on everything is as it was; of what was before, only what led there."""
    horizon_at: datetime | None
    """The time of that commit; None if there is none."""
    erased: int
    """How many operations keep only their hashes."""
    kept: int
    """How many stay, because they still hold or something rests on them."""
    commit_ts: int | None = None
    """The last commit that says so; None: nothing was done, or there was nothing to do."""
    unfinished: bool = False
    """Whether an earlier one was interrupted: who confirms goes on with it, up to its horizon."""


class Compactor:
    """Compacts one namespace: finds out what goes, and has it erased slice by slice."""

    def __init__(self, engine: Engine, views: Views, ids: IdSource, plan: Plan) -> None:
        self._engine = engine
        self._views = views
        self._ids = ids
        self._plan = plan
        self._erased = self._kept = 0
        self._commit_ts: int | None = None
        self._told = (0, 0)

    def run(self, carry_out: CarryOut, *, confirmed: bool) -> Compaction:
        """Erase what no longer holds, or only count; a preview takes no lock."""
        with self._engine.reading() as reader:
            known = horizons.find(reader, self._plan.namespace)
        if known is not None and known.commit_ts >= self._plan.horizon:
            if not known.unfinished:
                return self._result(unfinished=False)
            self._plan = replace(self._plan, horizon=known.commit_ts)
        if confirmed:
            while not self._erase(carry_out):
                pass
            return self._result(unfinished=False)
        survey = self._surveyed()
        for _ in survey.slices(Pace(), self._teller(survey, surveyed=True)):
            pass
        self._erased, self._kept = survey.erased, survey.kept
        return self._result(unfinished=known is not None and known.unfinished)

    def _surveyed(self) -> Survey:
        plan = self._plan
        survey = Survey(
            self._engine,
            self._views,
            self._ids,
            namespace=plan.namespace,
            horizon=plan.horizon,
        )
        survey.look(self._teller(survey, surveyed=False))
        return survey

    def _erase(self, carry_out: CarryOut) -> bool:
        """Erase slice by slice, and say whether that was all: else it is to be surveyed anew."""
        survey, pace = self._surveyed(), Pace()
        surveyed: int | None = survey.through
        slices = survey.slices(pace, self._teller(survey, surveyed=True))
        for portion, is_last in _with_last(slices):
            parts, after = portion.parts, 0 if is_last else None
            while True:
                part = Slice(parts, self._erased, surveyed, after)
                try:
                    step = carry_out(self._plan, part)
                except Changed:
                    return False
                self._note(step, survey)
                if step.survey_again:
                    return False
                parts, surveyed, after = {}, None, step.requests_after
                if after is None:
                    pace.note(portion.weight, step.seconds)
                    break
        return True

    def _note(self, step: Step, survey: Survey) -> None:
        self._erased += step.erased
        self._kept = survey.kept
        if step.commit_ts is not None:
            self._commit_ts = step.commit_ts

    def _result(self, *, unfinished: bool) -> Compaction:
        plan = self._plan
        with self._engine.reading() as reader:
            time = reader.row("event_time", commit_ts=plan.horizon)
        return Compaction(
            namespace=plan.namespace,
            horizon=plan.horizon,
            horizon_at=to_datetime(time[0]) if time else None,
            erased=self._erased,
            kept=self._kept,
            commit_ts=self._commit_ts,
            unfinished=unfinished,
        )

    def _teller(self, survey: Survey, *, surveyed: bool) -> Callable[[int], None]:
        """Return what tells how far it is; it never goes back, should it be surveyed again."""
        progress, whole = self._plan.progress, survey.through + self._plan.horizon
        before = survey.through if surveyed else 0

        def tell(done: int) -> None:
            if progress is not None:
                self._told = max(self._told, (before + done, whole))
                progress(*self._told)

        return tell


def _with_last(slices: Iterator[Portion]) -> Iterator[tuple[Portion, bool]]:
    """Yield slices, one at least, and whether each is the last."""
    last = next(slices, Portion({}))
    for following in slices:
        yield last, False
        last = following
    yield last, True
