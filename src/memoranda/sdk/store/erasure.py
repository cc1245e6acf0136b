"""The store's calls that erase, certify and compact."""

from __future__ import annotations

from collections.abc import Iterator

from memoranda.audit.erasure_proofs import ErasureProof
from memoranda.calls.erasure import Certificate as CertificateCall
from memoranda.calls.erasure import Erasures, ProveErasure, Purge
from memoranda.calls.erasure_writes import Compact, Forget, PreviewErasure, Sweep
from memoranda.calls.requests import (
    check_assertion_id,
    check_memory_id,
    check_source_id,
    check_transcript_ref,
)
from memoranda.errors import InvalidInput, NotFound
from memoranda.log.compaction.compactor import Compaction
from memoranda.log.erasure.certificate import Certificate
from memoranda.log.read.as_of import Moment, plain_moment
from memoranda.model.clock import Duration, plain_duration
from memoranda.model.erasure import DEFAULT_SWEEP_AGE, RETENTION, Retention
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
        if key is not None or entity is not None:
            agent_id, namespace = self._defaults.place(agent_id, namespace)
        call = Forget(
            None if memory_id is None else check_memory_id("memory_id", memory_id),
            None
            if transcript_id is None
            else check_transcript_ref("transcript_id", transcript_id).transcript_id,
            key,
            None if fact is None else check_assertion_id("fact", fact),
            entity,
            whole_agent,
            whole_namespace,
            None if facts_from is None else check_source_id("facts_from", facts_from),
            agent_id,
            namespace,
            bool(children),
            bool(derived),
            reason,
            purge,
            txn_id=txn_id,
        )
        return self._calls.ask(PreviewErasure(call)) if dry_run else self._write(call)

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
        place, over = (
            self._selected_namespace(namespace),
            plain_duration("expired_for", expired_for),
        )
        call = Sweep(place, over, reason, purge, txn_id=txn_id)
        try:
            return self._calls.ask(PreviewErasure(call)) if dry_run else self._write(call)
        except NotFound:
            return None

    def purge(self, *, progress: Progress | None = None) -> bool:
        """Remove erased bytes from the files, and return whether all of them are gone.

        The file is written again, which takes about a second for 100 MB. Others read meanwhile, and
        wait to write, so in a large store it is a job for a quiet hour. A reader with an open
        snapshot prevents it: then it returns False after a quarter of a second, and can be called
        again. It waits longer for the store's own background work, up to two seconds. An
        interrupted purge leaves a valid store, and can be repeated.
        """
        check_callable("progress", progress)
        return self._calls.ask(Purge(), progress)

    def certificate(self, erasure_id: str) -> Certificate:
        """Return the certificate of an erasure, or raise `NotFound`."""
        return self._calls.ask(CertificateCall(erasure_id))

    def prove_erasure(self, erasure_id: str) -> ErasureProof:
        """Prove an erasure to others: `json()` is what `memoranda-verify certificate` reads.

        The proof has a signed checkpoint if one covers the erasure.
        """
        return self._calls.ask(ProveErasure(erasure_id))

    def erasures(self) -> Iterator[Certificate]:
        """Yield the certificates of all erasures, oldest first."""
        return listed(self._calls, Erasures())


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
        call = Compact(
            self._defaults.namespace if namespace is None else namespace,
            None if before is RETENTION else plain_moment("before", before),
            confirm is True,
            reason,
            bool(purge),
        )
        return self._calls.ask(call, progress)
