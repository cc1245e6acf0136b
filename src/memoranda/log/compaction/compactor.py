"""Compaction: erase the part of a namespace's log that no longer matters at a horizon.

An operation that still holds at the horizon stays where it is, and so does everything that a
remaining operation rests on. Of the others only the hashes remain. Other transactions commit while
a compaction runs. It goes through these states:

1. Survey (`Survey.mark`). Read the whole log backwards in short reads, without a lock, and mark
   what remaining operations rest on. This is the mark phase of a mark-and-sweep collector.
2. First slice. It sets the horizon by a `Summary` operation (unfinished). From this commit on no
   read as of an earlier commit is answered, and no new operation can come to rest on something that
   was replaced before the horizon. So the marks stay valid. If an operation with references was
   committed after the survey, the slice sets the horizon only, and state 1 is repeated.
3. Further slices (`Survey.slices`), from the horizon back to the beginning of the log. Each is a
   commit with an `Erase` operation that attests it. Newer operations go first: before an operation
   is erased, everything that it led to has been decided. So each slice leaves the views exactly as
   a rebuild of the log would.
4. Last slice. It also zeroes request salts of transactions without effect, in portions, and a
   second `Summary` (finished) ends the compaction.

A slice is prepared without a lock and written under the write lock, for a time that `pace.py` aims
at. When it is written, each operation is compared with the one it was decided on: an erasure in
between raises `SliceOutdated`, which rolls the slice back, and the compaction goes back to state 1.

A slice ends with an event if it can: an event that is divided among slices is rewritten as a whole
by each of them. An event with more operations than a slice may have is divided. That is the least a
slice can cost, and it is bounded by the limits of one transaction.

A crash leaves the horizon set and unfinished, with all committed slices applied. The next
compaction of the namespace continues with the same horizon, and finds what remains to be erased.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from memoranda.log import field_commitments, pages
from memoranda.log.commit.failpoints import Failpoint
from memoranda.log.commit.transaction_signature import TransactionSigner
from memoranda.log.compaction import horizon
from memoranda.log.compaction.horizon import Horizon
from memoranda.log.compaction.pace import Pace, Weight
from memoranda.log.compaction.retention import RetainedRefs, RetentionPolicy, rests_on
from memoranda.log.erasure.redact_operations import Replacement
from memoranda.log.erasure.rewrite_events import Erasure, Redactor
from memoranda.log.views import Views
from memoranda.model import codec
from memoranda.model.clock import to_datetime
from memoranda.model.erasure import COMPACTION, LogPosition
from memoranda.model.event import Head
from memoranda.model.ids import IdSource
from memoranda.model.operations import (
    ENGINE_SCOPE,
    AnyOperation,
    Erase,
    ErasedOperation,
    Residue,
    Summary,
)
from memoranda.model.receipt import Outcome
from memoranda.storage.port import Engine, Progress, Reader, Row, Writer

_REQUEST_SALTS_PER_SLICE = 512
"""Transactions without effect whose request salts one slice examines."""

Decisions = Mapping[LogPosition, tuple[AnyOperation, Replacement]]
"""Position → the operation there, and its replacement."""


class Plan(msgspec.Struct, frozen=True):
    """What to compact, on whose behalf, and how to report progress."""

    namespace: str
    horizon: int
    by: str
    reason: str | None = None
    progress: Progress | None = None
    signing: TransactionSigner | None = None


class Slice(msgspec.Struct, frozen=True):
    """What one commit of a compaction erases."""

    decisions: Decisions
    erased_before: int
    """Operations that the slices before it erased."""
    surveyed: int | None = None
    """The commit through which references are marked; only in the first slice of a survey."""
    requests_after: int | None = None
    """The commit after which to zero request salts; None: this is not the last slice."""


class Step(msgspec.Struct, frozen=True):
    """The result of a slice."""

    commit_ts: int | None = None
    """The commit; None: there was nothing to record."""
    erased_count: int = 0
    requests_after: int | None = None
    """The commit after which more request salts may have to be zeroed; None: all are."""
    survey_again: bool = False
    """Whether only the horizon was set, because new references made the survey outdated."""
    seconds: float = 0.0
    """Seconds that the write lock was held."""


class SliceOutdated(Exception):
    """Something was erased since the slice was prepared: it must be surveyed again."""


class SliceEraser:
    """Writes a slice in a storage transaction."""

    def __init__(self, writer: Writer, views: Views, ids: IdSource, plan: Plan, head: Head) -> None:
        self._writer = writer
        self._views = views
        self._ids = ids
        self._plan = plan
        self._head = head

    def erase_slice(self, part: Slice, failpoint: Failpoint) -> tuple[list[AnyOperation], Step]:
        """Erase, and return the operations that record it; raise `SliceOutdated` if it may not."""
        current = horizon.find(self._writer, self._plan.namespace)
        is_set = current is not None and current.commit_ts >= self._plan.horizon
        if part.surveyed is not None and self._has_new_references(
            part.surveyed, current, is_set=is_set
        ):
            if is_set:
                raise SliceOutdated
            return [self._summary(0, unfinished=True)], Step(survey_again=True)
        trimmers = [view.compaction_eraser(self._writer) for view in self._views.all]
        erasure = Erasure(
            self._writer, self._views, self._head.commit_ts + 1, self._ids, erasers=trimmers
        )
        erasure.erase(
            {commit_ts for commit_ts, _ in part.decisions}, _make_redactor(part.decisions)
        )
        failpoint("compaction-erased")
        count = erasure.tally.count
        total = part.erased_before + count
        if not total and not is_set:
            return [], Step()
        after = None
        if part.requests_after is not None:
            after = _zero_request_salts(self._writer, part.requests_after)
        is_finished = part.requests_after is not None and after is None
        return [
            *self._erase_operation(erasure),
            *self._summary_operation(current, total, is_finished=is_finished),
        ], Step(erased_count=count, requests_after=after)

    def _has_new_references(self, surveyed: int, current: Horizon | None, *, is_set: bool) -> bool:
        """Return whether an operation with references was committed after the survey.

        Once the horizon is set, later operations rest on nothing that can be erased.
        """
        through = current.summed_in if current is not None and is_set else self._head.commit_ts
        events = pages.page(self._writer, after=surveyed, through=through)
        if events and events[-1].commit_ts < through:
            return True  # too many to read under the write lock: assume so
        if sum(len(event.operations) for event in events) > pages.PAGE_BYTES:
            return True
        return any(
            rests_on(operation)
            for event in events
            for operation in codec.decode_effective(event.operations)
        )

    def _erase_operation(self, erasure: Erasure) -> list[AnyOperation]:
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

    def _summary_operation(
        self, current: Horizon | None, total: int, *, is_finished: bool
    ) -> list[AnyOperation]:
        """Return the `Summary` if it changes the horizon; another process may have a later one."""
        horizon = self._plan.horizon
        if current is None or current.commit_ts < horizon:
            return [self._summary(total, unfinished=not is_finished)]
        if is_finished and current.unfinished and current.commit_ts == horizon:
            return [self._summary(total, unfinished=False)]
        return []

    def _summary(self, count: int, *, unfinished: bool) -> Summary:
        plan = self._plan
        agent_id = ENGINE_SCOPE.agent_id
        return Summary(plan.namespace, agent_id, plan.horizon, count, unfinished)


def _make_redactor(decisions: Decisions) -> Redactor:
    """Return a redactor that applies decisions, and checks that the operations are unchanged."""

    def replacement_of(place: LogPosition, operation: AnyOperation) -> Replacement | None:
        decision = decisions.get(place)
        if decision is None:
            return None
        if decision[0] != operation:
            raise SliceOutdated
        return decision[1]

    return replacement_of


def _zero_request_salts(writer: Writer, after: int) -> int | None:
    """Zero request salts of transactions without effect; return the commit to go on after, or None.

    They have no operations, so nothing tells which of them named what is erased now.
    """
    rows = writer.rows(
        "event_salts_without_effect_page", after=after, limit=_REQUEST_SALTS_PER_SLICE
    )
    for commit_ts, salts in rows:
        new_salts = field_commitments.salts_without_request(salts)
        if new_salts != salts:
            writer.put("event_salts_set", new_salts, commit_ts)
    return rows[-1][0] if len(rows) == _REQUEST_SALTS_PER_SLICE else None


# Surveys: what rests on what, and the residue of each operation.
#
# Everything here happens in short reads without a lock: once from the end of the log to its
# beginning (mark), and once from the horizon back (decide).

ReportProgress = Callable[[int], None]
"""Called with the number of commits that were examined."""


class Portion(msgspec.Struct):
    """The decisions of one slice, and their weight."""

    decisions: dict[LogPosition, tuple[AnyOperation, Replacement]] = msgspec.field(
        default_factory=dict
    )
    weight: Weight = msgspec.field(default_factory=Weight)

    def put(
        self, place: LogPosition, operation: AnyOperation, replacement: Replacement, size: int
    ) -> None:
        """Add a decision; `size` is that of all operations of its event, in bytes."""
        self.decisions[place] = (operation, replacement)
        self.weight.add(place[0], size)


class Survey:
    """What becomes of the operations of a namespace up to a horizon."""

    def __init__(
        self, engine: Engine, views: Views, ids: IdSource, *, namespace: str, horizon: int
    ) -> None:
        self._engine = engine
        self._horizon = horizon
        self._notes = RetainedRefs(namespace, horizon)
        policies = [view.retention_policy(self._notes, ids) for view in views.all]
        self._policies = [policy for policy in policies if policy is not None]
        self._policy_of: dict[type, RetentionPolicy] = {
            kind: policy for policy in self._policies for kind in policy.kinds
        }
        self._erased_early: set[LogPosition] = set()
        """Positions that were erased with a newer operation, and are not reached yet."""
        self.erased_count = self.retained_count = 0
        with engine.reading() as reader:
            self.through = pages.head_commit(reader)
        """The commit through which references are marked."""

    def mark(self, report: ReportProgress) -> None:
        """Mark what remaining operations rest on, from the log's end to its beginning."""
        for rows in self._pages_back(self.through):
            with self._engine.reading() as reader:
                for commit_ts, operations in rows:
                    for position, operation in _backwards(codec.decode_effective(operations)):
                        for policy in self._policies:
                            policy.mark(reader, (commit_ts, position), operation)
            report(self.through - rows[-1][0] + 1)
        for policy in self._policies:
            policy.finish_marking(self._engine)

    def slices(self, pace: Pace, report: ReportProgress) -> Iterator[Portion]:
        """Yield the decisions of one slice after another, from the horizon back."""
        portion = Portion()
        for rows in self._pages_back(self._horizon):
            for row in rows:
                effective = codec.decode_effective(row[1])
                if not pace.has_room(portion.weight, len(effective), len(row[1])):
                    yield portion
                    portion = Portion()
                operations = _backwards(effective)
                while self._fill(portion, row, operations, pace):
                    yield portion
                    portion = Portion()
            report(self._horizon - rows[-1][0] + 1)
        if portion.decisions:
            yield portion

    def _pages_back(self, through: int) -> Iterator[list[Row]]:
        """Yield pages of the log backwards from a commit."""
        before = through + 1
        while True:
            with self._engine.reading() as reader:
                rows = reader.rows(
                    "event_page_back", before=before, limit=pages.PAGE_ROWS, budget=pages.PAGE_BYTES
                )
            if not rows:
                return
            yield rows
            before = rows[-1][0]

    def _fill(
        self, portion: Portion, row: Row, operations: Iterator[tuple[int, AnyOperation]], pace: Pace
    ) -> bool:
        """Decide on operations of an event until the portion is full; return whether it is.

        An event may be divided: what follows from an operation is behind it in the log, so
        operations are erased in the same order within an event as between events.
        """
        commit_ts, size = row[0], len(row[1])
        with self._engine.reading() as reader:
            for position, operation in operations:
                self._decide(reader, (commit_ts, position), operation, portion, size)
                if pace.is_full(portion.weight, position):
                    return True
        return False

    def _decide(
        self,
        reader: Reader,
        place: LogPosition,
        operation: AnyOperation,
        portion: Portion,
        size: int,
    ) -> None:
        """Decide on the residue of an operation."""
        for policy in self._policies:
            policy.visit(place, operation)
        if place in self._erased_early:
            self._erased_early.discard(place)
        elif self._notes.covers(place, operation) and not isinstance(operation, ErasedOperation):
            self._take(reader, place, operation, portion, size)

    def _take(
        self,
        reader: Reader,
        place: LogPosition,
        operation: AnyOperation,
        portion: Portion,
        size: int,
    ) -> None:
        policy = self._policy_of.get(type(operation))
        residue: AnyOperation | None = operation
        if policy is not None:
            residue = policy.residue_of(reader, place, operation)
        if residue is operation or residue == operation:
            self.retained_count += 1
            return
        self._put(portion, place, operation, residue, size)
        for position, companion, companion_residue in (
            () if policy is None else policy.erased_with(reader, operation)
        ):
            if position not in self._erased_early and self._notes.covers(position, companion):
                row = reader.row("event_size", commit_ts=position[0])
                self._put(portion, position, companion, companion_residue, row[0] if row else 0)
                self._erased_early.add(position)

    def _put(
        self,
        portion: Portion,
        place: LogPosition,
        operation: AnyOperation,
        residue: AnyOperation | None,
        size: int,
    ) -> None:
        assert residue is None or isinstance(residue, Residue), "a residue is an operation or None"
        portion.put(
            place, operation, Replacement(operation.namespace, operation.agent_id, residue), size
        )
        self.erased_count += 1


def _backwards(operations: Sequence[AnyOperation]) -> Iterator[tuple[int, AnyOperation]]:
    """Yield the operations of an event with their positions, the last one first."""
    for position in range(len(operations) - 1, -1, -1):
        yield position, operations[position]


# The compactor: runs the states above.

WriteSlice = Callable[[Plan, Slice], Step]
"""Writes a slice in a commit of its own, when no other thread writes."""


class Compaction(msgspec.Struct, frozen=True):
    """What a compaction did, or would do."""

    namespace: str
    horizon: int
    """The oldest commit at which the namespace can still be read."""
    horizon_at: datetime | None
    """The time of that commit; None if there is none."""
    erased: int
    """Operations of which only the hashes remain."""
    retained: int
    """Operations that stay, because they still hold or something rests on them."""
    commit_ts: int | None = None
    """The last commit of the compaction; None: nothing was done, or nothing had to be."""
    committed_at: datetime | None = None
    """The time of that commit."""
    unfinished: bool = False
    """Whether an earlier one was interrupted: confirming continues it, up to its horizon."""

    @property
    def outcome(self) -> Outcome:
        """What the call did: deleted if it erased anything; unchanged for a preview."""
        return "unchanged" if self.commit_ts is None or not self.erased else "deleted"


class Compactor:
    """Compacts one namespace: surveys it, and has it erased slice by slice."""

    def __init__(self, engine: Engine, views: Views, ids: IdSource, plan: Plan) -> None:
        self._engine = engine
        self._views = views
        self._ids = ids
        self._plan = plan
        self._erased_count = self._retained_count = 0
        self._commit_ts: int | None = None
        self._last_progress = (0, 0)

    def run(self, write_slice: WriteSlice, *, confirmed: bool) -> Compaction:
        """Erase what no longer holds; unless `confirmed`, only count it, without a lock."""
        with self._engine.reading() as reader:
            current = horizon.find(reader, self._plan.namespace)
        if current is not None and current.commit_ts >= self._plan.horizon:
            if not current.unfinished:
                return self._result(unfinished=False)
            self._plan = replace(self._plan, horizon=current.commit_ts)
        if confirmed:
            while not self._erase(write_slice):
                pass
            return self._result(unfinished=False)
        survey = self._survey()
        for _ in survey.slices(Pace(), self._progress_reporter(survey, is_marked=True)):
            pass
        self._erased_count, self._retained_count = survey.erased_count, survey.retained_count
        return self._result(unfinished=current is not None and current.unfinished)

    def _survey(self) -> Survey:
        plan = self._plan
        survey = Survey(
            self._engine,
            self._views,
            self._ids,
            namespace=plan.namespace,
            horizon=plan.horizon,
        )
        survey.mark(self._progress_reporter(survey, is_marked=False))
        return survey

    def _erase(self, write_slice: WriteSlice) -> bool:
        """Erase slice by slice; return False if the namespace must be surveyed again."""
        survey, pace = self._survey(), Pace()
        surveyed: int | None = survey.through
        slices = survey.slices(pace, self._progress_reporter(survey, is_marked=True))
        for portion, is_last in _mark_last(slices):
            decisions, after = portion.decisions, 0 if is_last else None
            while True:
                next_slice = Slice(decisions, self._erased_count, surveyed, after)
                try:
                    step = write_slice(self._plan, next_slice)
                except SliceOutdated:
                    return False
                self._note(step, survey)
                if step.survey_again:
                    return False
                decisions, surveyed, after = {}, None, step.requests_after
                if after is None:
                    pace.note(portion.weight.total, step.seconds)
                    break
        return True

    def _note(self, step: Step, survey: Survey) -> None:
        self._erased_count += step.erased_count
        self._retained_count = survey.retained_count
        if step.commit_ts is not None:
            self._commit_ts = step.commit_ts

    def _result(self, *, unfinished: bool) -> Compaction:
        plan = self._plan
        with self._engine.reading() as reader:
            horizon_at = _time_of(reader, plan.horizon)
            committed_at = _time_of(reader, self._commit_ts)
        return Compaction(
            namespace=plan.namespace,
            horizon=plan.horizon,
            horizon_at=horizon_at,
            erased=self._erased_count,
            retained=self._retained_count,
            commit_ts=self._commit_ts,
            committed_at=committed_at,
            unfinished=unfinished,
        )

    def _progress_reporter(self, survey: Survey, *, is_marked: bool) -> Callable[[int], None]:
        """Return a function that reports progress; it never goes back, even if surveyed again."""
        progress, total = self._plan.progress, survey.through + self._plan.horizon
        before = survey.through if is_marked else 0

        def report(commits: int) -> None:
            if progress is not None:
                self._last_progress = max(self._last_progress, (before + commits, total))
                progress(*self._last_progress)

        return report


def _time_of(reader: Reader, commit_ts: int | None) -> datetime | None:
    row = None if commit_ts is None else reader.row("event_time", commit_ts=commit_ts)
    return to_datetime(row[0]) if row else None


def _mark_last(slices: Iterator[Portion]) -> Iterator[tuple[Portion, bool]]:
    """Yield slices, at least one, each with whether it is the last."""
    last = next(slices, Portion())
    for following in slices:
        yield last, False
        last = following
    yield last, True
