"""Filling: bringing the index to what the views say, behind the commits and in short writes.

Which commits are not in the index yet is a list that is written with them. What these speak of is
derived anew and compared with what the index has, so filling anything twice changes nothing, and
who dies in between loses nothing. All of that is done without a lock; the write lock is taken for
a part that takes some milliseconds to write, over and over, with others let in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from memoranda.errors import StoreBusy
from memoranda.log.failpoints import Failpoint, pass_by
from memoranda.model.clock import Clock, SystemClock
from memoranda.search.folding import Breathe, go_on
from memoranda.search.plans import AT_ONCE, Plan, Stale, first_listed, look
from memoranda.search.transcripts import Cuttings, RememberedCuttings
from memoranda.storage.locks import held, new_lock
from memoranda.storage.port import Engine, Progress, Reader, Writer

MUCH = 512
"""With more passages than this waiting, who searches fills the index first, for a while."""
BRIEFLY = 0.25
"""How many seconds who searches does so at most, for so much that it fills the index."""
NOT_LONG = 1.0
"""How many at most, however much it is: the rest is looked through as it is."""
HOLD = 0.01
"""How many seconds a write may take, about."""
_FIRST_PART = 32 * 1024
_LEAST_PART, _MOST_PART = 4 * 1024, 256 * 1024
_A_TURN = 0.001
_OTHERS_FILL = 0.1
_ALL = 2**63 - 1


def backlog(reader: Reader) -> int:
    """Return how many commits are not in the index yet."""
    return _waiting(reader)[0]


def work(reader: Reader) -> int:
    """Return about how many passages are not in the index yet."""
    return _waiting(reader)[1]


def _waiting(reader: Reader) -> tuple[int, int]:
    commits, passages = reader.row("to_index_totals") or (0, 0)
    return commits, passages


class Pace:
    """How much is written at once, so that it takes about as long as it may."""

    def __init__(self) -> None:
        self.size = _FIRST_PART
        """In bytes of words."""

    def took(self, seconds: float) -> None:
        """Take in how long the last write was."""
        fitting = self.size * HOLD / max(seconds, 1e-6)
        self.size = int(min(max(fitting, self.size / 4, _LEAST_PART), self.size * 2, _MOST_PART))


class Indexer:
    """Fills the index of one store. Threads may share it: one of them fills at a time."""

    def __init__(
        self,
        engine: Engine,
        *,
        failpoint: Failpoint = pass_by,
        breathe: Breathe = go_on,
        clock: Clock | None = None,
        remembered: RememberedCuttings | None = None,
    ) -> None:
        self._engine = engine
        self._failpoint = failpoint
        self._breathe = breathe
        self._clock = clock or SystemClock()
        self.remembered = RememberedCuttings() if remembered is None else remembered
        self._turn = new_lock()
        self._pace = Pace()
        self._plan: Plan | None = None
        self._last_erasure = 0

    def fill(
        self,
        *,
        most_commits: int | None = None,
        progress: Progress | None = None,
        wait: float | None = None,
    ) -> int:
        """Index what waits now; return how many commits.

        `most_commits` bounds what is begun. `wait` bounds how long others who write are waited
        for, each time; then it is `StoreBusy`.
        """
        with self._engine.reading() as reader:
            whole = backlog(reader)
            last = reader.row("to_index_last")
        bound = whole if most_commits is None else min(most_commits, whole)
        through = last[0] if last is not None and last[0] is not None else 0
        done = 0
        while done < bound:
            some = self.fill_some(most=min(AT_ONCE, bound - done), through=through, wait=wait)
            if some is None:
                break
            done += some
            if progress is not None:
                progress(done, whole)
        return done

    def catch_up(self) -> None:
        """Index what waits if it is more than a search should look through, but not for long.

        Raises `StoreBusy` if others write for long: a search can look through it all the same.
        """
        begun = self._clock.monotonic()
        left = 0.0
        while True:
            with self._engine.reading() as reader:
                much = work(reader)
            if much <= MUCH:
                return
            passed = self._clock.monotonic() - begun
            left = left or min(BRIEFLY * much / MUCH, NOT_LONG)
            if passed >= left or self.fill_some(wait=left - passed) is None:
                return

    def fill_some(
        self, *, most: int = AT_ONCE, through: int = _ALL, wait: float | None = None
    ) -> int | None:
        """Index a part of the oldest that waits; return how many commits are done with it.

        None: nothing waits. 0: there is more to do, of the same commits.
        """
        try:
            with held(self._turn, self, -1 if wait is None else wait):
                done = self._fill_part(most, through, wait)
        except Stale:  # whoever was faster may go on
            self._clock.sleep(_OTHERS_FILL)
            return 0
        give_way()
        return done

    def _fill_part(self, most: int, through: int, wait: float | None) -> int | None:
        plan, self._plan = self._plan, None  # whatever goes wrong, it is made anew
        if plan is None:
            plan = self._make_plan(most, through)
            if plan is None:
                return None
        plan.prepare(self._pace.size, self._snapshots)
        self._failpoint("derived")
        try:
            self._write(plan, wait)
        except StoreBusy:
            self._plan = plan  # nothing was written, and it is still good
            raise
        if plan.done:
            return len(plan.commits)
        self._plan = plan
        return 0

    def _make_plan(self, most: int, through: int) -> Plan | None:
        with self._cuttings() as cuttings:
            self._drop_erased(cuttings.reader)
            commits = first_listed(cuttings.reader, most, through)
            if not commits:
                return None
            found = look(cuttings, commits)
        return Plan(found, self._breathe)

    def _drop_erased(self, reader: Reader) -> None:
        """Remember no words if any were erased since."""
        last = (reader.row("erasure_last") or (None,))[0] or 0
        if last != self._last_erasure:
            self._last_erasure = last
            self.remembered.drop()

    def _write(self, plan: Plan, wait: float | None) -> None:
        begun = self._clock.monotonic()

        def put(writer: Writer) -> str:
            nonlocal begun
            begun = self._clock.monotonic()  # others who write are not waited for any longer
            stamped = plan.put(writer)
            self._failpoint("indexing")
            return stamped

        plan.go_on(self._engine.write(put, wait=wait))
        self._pace.took(self._clock.monotonic() - begun)
        self._failpoint("indexed")

    @contextmanager
    def _cuttings(self) -> Iterator[Cuttings]:
        with self._engine.snapshot() as reader:
            yield Cuttings(reader, self.remembered, self._breathe)

    def _snapshots(self) -> Iterator[Cuttings]:
        """Yield one short snapshot."""
        with self._cuttings() as cuttings:
            yield cuttings


def give_way() -> None:
    """Let those have their turn who wait to write: taking it again at once would keep them out."""
    SystemClock().sleep(_A_TURN)


def fill(
    engine: Engine, *, most_commits: int | None = None, progress: Progress | None = None
) -> int:
    """Index what waits now; return how many commits."""
    return Indexer(engine).fill(most_commits=most_commits, progress=progress)
