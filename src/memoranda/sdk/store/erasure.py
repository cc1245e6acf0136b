"""What a store forgets, and how it proves that it has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from msgspec.structs import replace

from memoranda.errors import InvalidInput, NotFound, StoreBusy, StoreFull, Unavailable
from memoranda.log import certificates
from memoranda.log.certificates import Certificate, Certificates
from memoranda.log.previewing import preview
from memoranda.log.purging import purge as purge_storage
from memoranda.memory.inputs import Duration, check_duration, check_id, check_note
from memoranda.model.erasure import SWEEP, SWEPT_AFTER, Due, Forget, Target
from memoranda.model.scope import AllNamespaces
from memoranda.sdk.calls import paged
from memoranda.sdk.erasure_targets import check_target
from memoranda.sdk.handle import Handle
from memoranda.storage.workfolders import leftovers


class ErasureCalls(Handle):
    """Forgetting, certificates, and letting bytes go."""

    def forget(
        self,
        *,
        memory_id: str | None = None,
        transcript_id: str | None = None,
        key: str | None = None,
        fact: str | None = None,
        entity: str | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        facts_from: str | None = None,
        children: bool = False,
        derived: bool = False,
        reason: str | None = None,
        dry_run: bool = False,
        purge: bool = True,
        txn_id: str | None = None,
    ) -> Certificate:
        """Erase one thing for good, and return a certificate that says so, but not what it was.

        A memory or a transcript goes with the facts it is the source of; `facts_from` erases these
        alone, `fact` one assertion. With `derived`, memories that cite a transcript go with it. A
        key, of the bound agent and namespace, goes with its history; an entity there with all its
        names and every fact that mentions it; an agent in every namespace; a namespace with every
        agent in exactly that, or with `children` in those below it too. What others built on it
        stays, and `why` shows that its ground is forgotten. A `dry_run` erases nothing and says
        what would go.
        """
        given = {
            "memory": memory_id,
            "transcript": transcript_id,
            "key": key,
            "fact": fact,
            "entity": entity,
            "agent": agent_id,
            "namespace": namespace,
            "facts": facts_from,
            "children": children,
            "derived": derived,
        }
        target = check_target(given, self._defaults, self._core.limits)
        asked = self._erasure(target, self._viewer(None), reason)
        if dry_run:
            return self._calls.run(self._preview, asked)
        commit_ts = self._commit_alone(asked, txn_id)
        return self._calls.run(self._finish, commit_ts, purge=purge)

    def sweep(
        self,
        *,
        namespace: str | AllNamespaces | None = None,
        expired_for: Duration = SWEPT_AFTER,
        reason: str | None = "its time is over",
        dry_run: bool = False,
        purge: bool = True,
        txn_id: str | None = None,
    ) -> Certificate | None:
        """Erase memories whose time is over for so long, and transcripts that are kept no longer.

        It sweeps a namespace and those below it, whoever's memories they are. What a memory that
        stays reflects on or derives from stays, at any depth, and so does what facts come from, and
        the transcripts they cite. Returns None where there is nothing to sweep.
        """
        over = check_duration("expired_for", expired_for)
        if over is None:
            raise InvalidInput("expired_for", "is missing: give a timedelta, or seconds")
        now = self._core.clock.now()
        target = Target(SWEEP, self._namespace(namespace) or "", None, Due(now - over, now))
        asked = self._erasure(target, None, reason)
        try:
            if dry_run:
                return self._calls.run(self._preview, asked)
            commit_ts = self._commit_alone(asked, txn_id)
        except NotFound:
            return None
        return self._calls.run(self._finish, commit_ts, purge=purge)

    def purge(self) -> bool:
        """Let what was erased leave the files, and say whether all of it has.

        Somebody who reads can be in the way; it is tried again with the next call.
        """
        return self._calls.run(purge_storage, self._core.engine)

    def certificate(self, erasure_id: str) -> Certificate:
        """Return the certificate of an erasure, or raise `NotFound`."""
        return self._calls.run(self._find, check_id("erasure_id", erasure_id))

    def erasures(self) -> Iterator[Certificate]:
        """Yield the certificates of all erasures, oldest first."""
        return paged(self._calls, Certificates(self._core.engine))

    def _erasure(self, target: Target, viewer: str | None, reason: str | None) -> Forget:
        reason = check_note("reason", reason, self._core.limits)
        return Forget(target, viewer, self._core.ids.unique(), reason)

    def _preview(self, asked: Forget) -> Certificate:
        with self._core.engine.snapshot() as reader:
            found = preview(reader, self._core.views, asked)
        return Certificate(
            erasure_id="",
            target=asked.target.kind,
            commit_ts=None,
            committed_at=None,
            by=self._defaults.actor,
            reason=asked.reason,
            operations=found.operations,
            events=found.events,
            digest="",
            copies=self._copies(),
            preview=found,
        )

    def _finish(self, commit_ts: int, *, purge: bool) -> Certificate:
        """Let the bytes go, if that can be done now, and return what the log says."""
        if purge:
            with suppress(StoreBusy, StoreFull, Unavailable):  # it is erased, and stays pending
                purge_storage(self._core.engine)
        with self._core.engine.snapshot() as reader:
            found = certificates.certificate_of(reader, commit_ts)
        assert found is not None, "what was just erased has a certificate"
        return replace(found, copies=self._copies())

    def _find(self, erasure_id: str) -> Certificate:
        with self._core.engine.snapshot() as reader:
            found = certificates.find(reader, erasure_id)
        if found is None:
            raise NotFound(
                f"there is no erasure {erasure_id!r}: see `erasures`, or `memoranda certificate`"
            )
        return replace(found, copies=self._copies())

    def _copies(self) -> tuple[str, ...]:
        """Return where copies of the store are that nobody finished."""
        path = self._core.engine.path
        if path is None:
            return ()
        return tuple(each.path for each in leftovers(path, self._core.log_id))
