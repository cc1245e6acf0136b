"""What a store does to sum up the log of a namespace."""

from __future__ import annotations

from contextlib import suppress

from memoranda.errors import InvalidInput, StoreBusy, StoreFull, Unavailable
from memoranda.log.compaction import Compaction
from memoranda.log.moments import Moment, commit_at_time
from memoranda.log.purging import purge as purge_storage
from memoranda.log.slices import Plan
from memoranda.memory import settings
from memoranda.memory.inputs import check_note
from memoranda.model.limits import check_callable
from memoranda.model.retention import RETENTION, Retention
from memoranda.sdk.handle import Handle
from memoranda.storage.port import Progress


class CompactCalls(Handle):
    """Giving up the way to what holds, and keeping what holds."""

    def compact(
        self,
        *,
        before: Moment | Retention,
        namespace: str | None = None,
        confirm: bool = False,
        reason: str | None = None,
        purge: bool = False,
        progress: Progress | None = None,
    ) -> Compaction:
        """Sum up what every agent did in a namespace up to a moment, for good.

        Whatever holds then, or something rests on, stays and is read as before. The other
        operations keep only their hashes, and what is asked about moments before raises
        `Compacted`. Without `confirm=True` nothing is done: the answer says what would go.
        `before` may be `RETENTION`: as long ago as the namespace's `log_retention` says. Others go
        on writing meanwhile: it is done in slices of some milliseconds. One that is interrupted
        leaves a sound store, and the next one goes on with it. With `purge` the file is then made
        smaller, for which it is written anew and nobody else can write.
        """
        check_callable("progress", progress)
        if before is None:
            raise InvalidInput("before", "is missing: give a commit, a time, or RETENTION")
        limits = self._core.limits
        scope = self._defaults.scope(self._defaults.actor, namespace, limits, writing=True)
        noted = check_note("reason", reason, limits)
        done = self._calls.run(
            self._compact, scope.namespace, before, noted, progress, confirmed=confirm is True
        )
        if done.commit_ts is not None and purge:
            self._calls.run(self._let_go)
        return done

    def _let_go(self) -> None:
        """Let the bytes of what is gone leave the files, if that can be done now."""
        with suppress(StoreBusy, StoreFull, Unavailable):  # it is gone, and stays pending
            purge_storage(self._core.engine)

    def _compact(
        self,
        namespace: str,
        before: Moment | Retention,
        reason: str | None,
        progress: Progress | None,
        *,
        confirmed: bool,
    ) -> Compaction:
        core = self._core
        if before is RETENTION:
            horizon = self._retained_from(namespace)
        else:
            horizon = core.commit_at("before", before)
        by = self._defaults
        plan = Plan(namespace, horizon, by.actor, reason, progress, by.signing)
        return core.committer.compact(plan, confirmed=confirmed)

    def _retained_from(self, namespace: str) -> int:
        """Return the last commit that is older than a namespace's log is to be kept."""
        with self._core.engine.reading() as reader:
            found = settings.fold(settings.load(reader), namespace).log_retention
            if found is None:
                problem = f"namespace {namespace!r} keeps its log for ever"
                remedy = "give a moment, or configure(log_retention=…)"
                raise InvalidInput("before", f"{problem}: {remedy}")
            return commit_at_time(reader, self._core.clock.now() - found)
