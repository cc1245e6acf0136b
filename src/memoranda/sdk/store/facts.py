"""The store's calls that assert, end and retract facts, one or many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from operator import length_hint

from msgspec.structs import replace

from memoranda.calls.arguments import plain_object
from memoranda.calls.bulk_facts import (
    REFUSALS,
    Batch,
    CountAsserted,
    Refusal,
    Reject,
    Row,
    check_batch,
    check_facts,
)
from memoranda.calls.fact_writes import (
    Alias,
    AssertFact,
    EndFact,
    MergeEntities,
    RetractFact,
    SetCardinality,
)
from memoranda.calls.plain import plain_cardinality, plain_spans
from memoranda.calls.requests import check_assertion_id, check_evidence
from memoranda.calls.results import AssertedFacts
from memoranda.graph.edge_resolver import EdgeResolution
from memoranda.graph.requests import Cardinality, Object
from memoranda.model.clock import Instant, plain_instant
from memoranda.model.limits import check_callable
from memoranda.model.memory import Span
from memoranda.model.receipt import Receipt
from memoranda.model.refs import IdLike
from memoranda.sdk.store.handle import Handle
from memoranda.sdk.transaction.transaction import Transaction
from memoranda.storage.port import Progress


class FactCalls(Handle):
    """Asserting, ending and retracting facts, and naming entities."""

    def assert_fact(
        self,
        *,
        subject: str,
        relation: str,
        object: Object,
        valid_from: Instant | None = None,
        valid_to: Instant | None = None,
        confidence: float = 1.0,
        source: IdLike | None = None,
        spans: Sequence[Span] | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        visibility: str | None = None,
        once: str | None = None,
        txn_id: str | None = None,
    ) -> EdgeResolution:
        """Assert a fact, and return the changes to its timeline.

        `source` is the memory or transcript that it comes from, `spans` are its words there. It is
        valid from `valid_from` until `valid_to`. `valid_from` defaults to the event time of
        the source memory, or else to the commit. In a multi-valued relation `valid_to` ends this
        assertion only. The timeline does not depend on the order of assertions.

        A fact from a private memory is private to its agent, unless `visibility` is "namespace";
        "private" makes any fact private. `once` is an idempotency key for a set of facts, such as
        the name of a document: the same fact is asserted once under it.
        """
        call = AssertFact.of(
            self._defaults.place(agent_id, namespace),
            subject=subject,
            relation=relation,
            object=object,
            valid_from=valid_from,
            valid_to=valid_to,
            confidence=confidence,
            source=source,
            spans=spans,
            visibility=visibility,
            once=once,
            txn_id=txn_id,
        )
        return self._write(call)

    def end_fact(
        self,
        *,
        subject: str,
        relation: str,
        object: Object | None = None,
        at: Instant | None = None,
        source: IdLike | None = None,
        spans: Sequence[Span] | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        visibility: str | None = None,
        allow_unknown: bool = False,
        txn_id: str | None = None,
    ) -> EdgeResolution:
        """End a fact, and return the changes to its timeline.

        Without an `object`, whatever holds ends. `at` defaults to the event time of the source
        memory, or else to the commit. If the `source` is erased later, the end is erased with it,
        and the fact holds again. `visibility` is as in `assert_fact`.

        Statements may arrive in any order: what ends need not be asserted yet. But a subject that
        nothing mentions yet is most often misspelled, and raises `NotFound`. With `allow_unknown`,
        its end is recorded too, and applies to assertions that arrive later.
        """
        call = EndFact(
            *self._defaults.place(agent_id, namespace),
            subject,
            relation,
            plain_object(object),
            plain_instant("at", at),
            check_evidence(source),
            plain_spans(spans),
            visibility,
            bool(allow_unknown),
            txn_id=txn_id,
        )
        return self._write(call)

    def retract_fact(
        self,
        *,
        assertion_id: IdLike | None = None,
        subject: str | None = None,
        relation: str | None = None,
        object: Object | None = None,
        reason: str | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        txn_id: str | None = None,
    ) -> EdgeResolution:
        """Retract an assertion, or all assertions of a fact; return the changes to the timeline."""
        call = RetractFact(
            *self._defaults.place(agent_id, namespace),
            None if assertion_id is None else check_assertion_id("assertion_id", assertion_id),
            subject,
            relation,
            plain_object(object),
            reason,
            txn_id=txn_id,
        )
        return self._write(call)

    def set_cardinality(
        self,
        *,
        relation: str,
        cardinality: Cardinality,
        allow_large: bool = False,
        agent_id: str | None = None,
        namespace: str | None = None,
        txn_id: str | None = None,
    ) -> Receipt:
        """Make a relation of a namespace single-valued ("single") or multi-valued ("multi").

        Its timelines are derived again, for every agent.
        """
        place = self._defaults.namespace if namespace is None else namespace
        call = SetCardinality(
            place,
            relation,
            plain_cardinality(cardinality),
            agent_id,
            bool(allow_large),
            txn_id=txn_id,
        )
        return self._write(call)

    def alias(
        self,
        *,
        entity: str,
        alias: str,
        allow_large: bool = False,
        agent_id: str | None = None,
        namespace: str | None = None,
        txn_id: str | None = None,
    ) -> Receipt:
        """Give an entity another name.

        Facts under that name become facts of the entity. Reads as of earlier commits do not change.
        """
        place = self._defaults.place(agent_id, namespace)
        return self._write(Alias(*place, entity, alias, bool(allow_large), txn_id=txn_id))

    def merge_entities(
        self,
        *,
        source: str,
        into: str,
        allow_large: bool = False,
        agent_id: str | None = None,
        namespace: str | None = None,
        txn_id: str | None = None,
    ) -> Receipt:
        """Merge one entity into another, which keeps its name."""
        place = self._defaults.place(agent_id, namespace)
        return self._write(MergeEntities(*place, source, into, bool(allow_large), txn_id=txn_id))


# Many facts.


class BulkCalls(Handle):
    """Asserting facts in batches."""

    def assert_facts(
        self,
        facts: Iterable[Row],
        *,
        batch: int = 500,
        once: str | None = None,
        reject: Reject | None = None,
        progress: Progress | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> AssertedFacts:
        """Assert a fact for each row, in transactions of `batch` rows, and return the counts.

        A row is a mapping with the arguments of `assert_fact`; one batch is in memory at a time. An
        invalid row raises an error that names it, and earlier batches stay committed; with
        `reject`, that is called with each invalid row, and the import continues. `once` is an
        idempotency key: repeated, in batches of any size, each row is asserted once.
        `progress(done, total)` counts rows; the total is 0 if it is not known.
        """
        check_callable("progress", progress)
        check_callable("reject", reject)
        size = check_batch(batch, self._calls.limits.transaction_operations)
        rows = enumerate(check_facts(facts), start=1)
        common = {"agent_id": agent_id, "namespace": namespace, "once": once}
        length, counts = length_hint(facts), AssertedFacts()
        while batch_rows := list(islice(rows, size)):
            loading = Batch(batch_rows, common, self._defaults)
            counts += self._load(loading, strict=reject is None)
            if loading.refused and reject is None:
                raise loading.located()
            if reject is not None:
                for refusal in loading.told():
                    reject(*refusal)
            if progress is not None:
                progress(loading.last, length)
        return counts

    def _load(self, batch: Batch, *, strict: bool) -> AssertedFacts:
        """Commit the valid rows of a batch; if `strict`, all rows or none."""

        def work(transaction: Transaction) -> list[str]:
            ids = transaction._stage_batch(batch)  # noqa: SLF001  # as one of its own calls
            if not ids or (strict and batch.refused):
                transaction.abort()
            return ids

        try:
            transaction, ids = self._commit(work, None)
        except REFUSALS:
            refusals = self._refusals(batch)
            if not refusals:
                raise
            batch.refuse(refusals)
            return self._load(batch, strict=strict)
        counts, commit = AssertedFacts(rejected=len(batch.refused)), transaction.committed
        if commit is None:
            return counts
        own_commit = commit.commit_ts if commit.changed else None
        asserted = self._calls.ask(CountAsserted(tuple(ids), own_commit))
        commit_time = commit.committed_at if commit.changed else None
        return counts + replace(asserted, commit_ts=own_commit, committed_at=commit_time)

    def _refusals(self, batch: Batch) -> dict[int, Refusal]:
        """Return the errors of a refused batch, by the positions of their rows."""
        with self.begin_transaction() as transaction:
            transaction._stage_batch(batch)  # noqa: SLF001
            refusals = transaction.refusals()
            transaction.abort()
        return refusals
