"""The store's calls that erase, certify and compact."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from memoranda.calls.erasure import Certificate as CertificateCall
from memoranda.calls.erasure import Erasures, Purge, unfinished_copies
from memoranda.calls.requests import check_target
from memoranda.errors import InvalidInput, NotFound
from memoranda.log.commit.outcome import CommitResult
from memoranda.log.compaction.compactor import Compaction, Plan
from memoranda.log.erasure import certificate as erasure_certificate
from memoranda.log.erasure.certificate import Certificate, pending_reason
from memoranda.log.erasure.forget import search_ahead
from memoranda.log.erasure.log_search import LogSearch
from memoranda.log.erasure.preview import preview
from memoranda.log.erasure.purge import purge_or_defer
from memoranda.log.read.as_of import Moment, commit_at_time
from memoranda.memory import settings
from memoranda.memory.requests import check_note
from memoranda.model.clock import Duration, check_duration
from memoranda.model.erasure import (
    DEFAULT_SWEEP_AGE,
    RETENTION,
    SWEEP,
    Due,
    Forget,
    Retention,
    Target,
)
from memoranda.model.limits import check_callable
from memoranda.model.refs import IdLike
from memoranda.model.scope import AllNamespaces
from memoranda.sdk.calls import listed
from memoranda.sdk.store.handle import Handle
from memoranda.storage.port import Progress


class ErasureCalls(Handle):
    """Erasing, listing certificates, and purging erased bytes from the files."""

    def forget(
        self,
        *,
        memory_id: IdLike | None = None,
        transcript_id: IdLike | None = None,
        key: str | None = None,
        fact: IdLike | None = None,
        entity: str | None = None,
        whole_agent: str | None = None,
        whole_namespace: str | None = None,
        facts_from: IdLike | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        children: bool = False,
        derived: bool = False,
        reason: str | None = None,
        dry_run: bool = False,
        purge: bool | None = None,
        txn_id: str | None = None,
    ) -> Certificate:
        """Erase one target for good, and return a certificate, which has no content of it.

        memory_id, transcript_id: erased with the facts it is the source of; with `derived`, also
            the memories that cite the transcript
        key: a key with its history, of `agent_id` in `namespace`, by default the bound ones
        fact: one assertion, by its id
        entity: all names of an entity and every fact that mentions it; its scope is as for a key
        whole_agent: an agent in every namespace, and its name
        whole_namespace: a namespace for every agent, and its name; with `children`, also the
            namespaces below it
        facts_from: the facts whose source is this memory or transcript, but not the source

        Records of others that rest on it stay, and `why` shows that their source was erased.
        `dry_run` erases nothing and returns a preview.

        Once this returns, nothing can read the target. In a store of up to 16 MiB its bytes have
        left the files, too. In a larger one they stay until `purge` is called, which takes a while,
        and the certificate says so in `pending_purge` and `pending_reason`. `purge=True` purges at
        once whatever the size, and `purge=False` never does.
        """
        options = {
            "memory": memory_id,
            "transcript": transcript_id,
            "key": key,
            "fact": fact,
            "entity": entity,
            "agent": whole_agent,
            "namespace": whole_namespace,
            "facts": facts_from,
            "children": children,
            "derived": derived,
        }
        target = check_target(options, self._defaults, agent_id, namespace, self._core.limits)
        request = self._erasure(target, self._viewer(agent_id), reason)
        if dry_run:
            return self._calls.run_search(self._preview, request)
        search = self._calls.run_search(self._search_ahead, request)
        result = self._commit_one(request, txn_id, search=search).result
        return self._calls.run_search(self._finish, result, purge=purge)

    def sweep(
        self,
        *,
        namespace: str | AllNamespaces | None = None,
        expired_for: Duration = DEFAULT_SWEEP_AGE,
        reason: str | None = "its time is over",
        dry_run: bool = False,
        purge: bool | None = None,
        txn_id: str | None = None,
    ) -> Certificate | None:
        """Erase memories that have been expired for `expired_for`, and expired transcripts.

        It sweeps a namespace and its children, for all agents. Memories that a remaining memory
        reflects on or derives from stay, at any depth; so do the sources of facts, and cited
        transcripts. Return None if there is nothing to erase. `purge` is as in `forget`.
        """
        over = check_duration("expired_for", expired_for)
        if over is None:
            raise InvalidInput("expired_for", "is missing: give a length of time, such as 30d")
        now = self._core.clock.now()
        target = Target(SWEEP, self._namespace(namespace) or "", None, Due(now - over, now))
        request = self._erasure(target, None, reason)
        try:
            if dry_run:
                return self._calls.run_search(self._preview, request)
            search = self._calls.run_search(self._search_ahead, request)
            result = self._commit_one(request, txn_id, search=search).result
        except NotFound:
            return None
        return self._calls.run_search(self._finish, result, purge=purge)

    def purge(self, *, progress: Progress | None = None) -> bool:
        """Remove erased bytes from the files, and return whether all of them are gone.

        The file is written again, which takes about a second for 100 MB. Others read meanwhile, and
        wait to write, so in a large store it is a job for a quiet hour. A reader with an open
        snapshot prevents it: then it returns False after a quarter of a second, and can be called
        again. An interrupted purge leaves a valid store, and can be repeated.
        """
        check_callable("progress", progress)
        return self._calls.ask(Purge(), progress)

    def certificate(self, erasure_id: str) -> Certificate:
        """Return the certificate of an erasure, or raise `NotFound`."""
        return self._calls.ask(CertificateCall(erasure_id))

    def erasures(self) -> Iterator[Certificate]:
        """Yield the certificates of all erasures, oldest first."""
        return listed(self._calls, Erasures())

    def _erasure(self, target: Target, viewer: str | None, reason: str | None) -> Forget:
        reason = check_note("reason", reason, self._core.limits)
        return Forget(target, viewer, self._core.ids.unique(), reason)

    def _search_ahead(self, request: Forget) -> LogSearch:
        with self._core.engine.snapshot() as reader:
            return search_ahead(reader, self._core.views, request)

    def _preview(self, request: Forget) -> Certificate:
        with self._core.engine.snapshot() as reader:
            erasure_preview = preview(reader, self._core.views, request)
        return Certificate(
            erasure_id="",
            target=request.target.kind,
            commit_ts=None,
            committed_at=None,
            by=self._defaults.actor,
            reason=request.reason,
            operations=erasure_preview.operations,
            events=erasure_preview.events,
            digest="",
            copies=unfinished_copies(self._core),
            preview=erasure_preview,
        )

    def _finish(self, result: CommitResult, *, purge: bool | None) -> Certificate:
        """Purge the files, if that is to be done and possible now, and return the certificate."""
        reason = purge_or_defer(self._core.engine, at_once=purge)
        with self._core.engine.snapshot() as reader:
            certificate = erasure_certificate.certificate_of(reader, result.load(reader))
        assert certificate is not None, "what was just erased has a certificate"
        if certificate.pending_purge and reason is not None:
            certificate = replace(certificate, pending_reason=pending_reason(reason))
        return replace(certificate, copies=unfinished_copies(self._core))


# Compaction.


class CompactCalls(Handle):
    """Compacting the log of a namespace."""

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
        """Compact the log of a namespace up to a moment, for all agents and for good.

        Operations that still hold at that moment, or that something rests on, stay and are read as
        before. The others keep only their hashes, and reads as of earlier moments raise
        `Compacted`. Without `confirm=True` nothing changes, and the result is a preview. `before`
        may be `RETENTION`: the `log_retention` of the namespace. It runs in slices of some
        milliseconds, between which others write. An interrupted compaction leaves a valid store,
        and the next one completes it. `purge` then rewrites the file to make it smaller, during
        which no other writer commits.
        """
        check_callable("progress", progress)
        if before is None:
            raise InvalidInput("before", "is missing: give a commit, a time, or RETENTION")
        limits = self._core.limits
        scope = self._defaults.scope(self._defaults.actor, namespace, limits, writing=True)
        noted = check_note("reason", reason, limits)
        compaction = self._calls.run_search(
            self._compact, scope.namespace, before, noted, progress, confirmed=confirm is True
        )
        if compaction.commit_ts is not None and purge:
            self._calls.run_search(purge_or_defer, self._core.engine, at_once=True)
        return compaction

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
        """Return the last commit that is older than the log retention of a namespace."""
        with self._core.engine.reading() as reader:
            retention = settings.fold(settings.load(reader), namespace).log_retention
            if retention is None:
                problem = f"namespace {namespace!r} has no log_retention"
                remedy = "give a moment, or configure(log_retention=…)"
                raise InvalidInput("before", f"{problem}: {remedy}")
            return commit_at_time(reader, self._core.clock.now() - retention)
