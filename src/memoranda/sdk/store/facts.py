"""The store's calls that assert, end and retract facts, one or many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from operator import length_hint

from msgspec.structs import replace

from memoranda.calls.requests import alias_entity, merge_entities, retract_fact, set_cardinality
from memoranda.calls.results import AssertedFacts
from memoranda.graph.edge_resolver import EdgeResolution
from memoranda.graph.effects import ResolutionQuery, outcome_of, resolve_commit
from memoranda.graph.requests import Cardinality, Object
from memoranda.log.commit.outcome import Committed
from memoranda.model.clock import Instant, to_datetime
from memoranda.model.limits import check_callable
from memoranda.model.memory import Span
from memoranda.model.operations import Alias, Classify, Merge
from memoranda.model.receipt import Receipt
from memoranda.model.refs import IdLike
from memoranda.model.scope import Scope
from memoranda.sdk.bulk_facts import (
    REFUSALS,
    Batch,
    Refusal,
    Reject,
    Row,
    check_batch,
    check_facts,
)
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

        def work(transaction: Transaction) -> str:
            return transaction.assert_fact(
                subject=subject,
                relation=relation,
                object=object,
                valid_from=valid_from,
                valid_to=valid_to,
                confidence=confidence,
                source=source,
                spans=spans,
                agent_id=agent_id,
                namespace=namespace,
                visibility=visibility,
                once=once,
            )

        return self._resolved(work, agent_id, namespace, txn_id)

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

        def work(transaction: Transaction) -> str:
            return transaction.end_fact(
                subject=subject,
                relation=relation,
                object=object,
                at=at,
                source=source,
                spans=spans,
                agent_id=agent_id,
                namespace=namespace,
                visibility=visibility,
                allow_unknown=allow_unknown,
            )

        return self._resolved(work, agent_id, namespace, txn_id)

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
        limits = self._core.limits
        scope = self._defaults.scope(agent_id, namespace, limits, writing=True)
        request = retract_fact(limits, scope, assertion_id, subject, relation, object, reason)
        committed = self._commit_one(request, txn_id)
        return self._calls.run(self._resolution, committed, scope, None)

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
        limits, actor = self._core.limits, self._defaults.acting(agent_id)
        scope = self._defaults.scope(actor, namespace, limits, writing=True)
        request = set_cardinality(limits, scope, relation, cardinality, allow_large=allow_large)
        return self._receipt(self._commit_one(request, txn_id), "updated", Classify)

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
        limits = self._core.limits
        scope = self._defaults.scope(agent_id, namespace, limits, writing=True)
        request = alias_entity(limits, scope, entity, alias, allow_large=allow_large)
        return self._receipt(self._commit_one(request, txn_id), "updated", Alias)

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
        limits = self._core.limits
        scope = self._defaults.scope(agent_id, namespace, limits, writing=True)
        request = merge_entities(limits, scope, source, into, allow_large=allow_large)
        return self._receipt(self._commit_one(request, txn_id), "updated", Merge)

    def _resolved(
        self,
        work: Callable[[Transaction], str],
        agent_id: str | None,
        namespace: str | None,
        txn_id: str | None,
    ) -> EdgeResolution:
        """Commit an assertion or the end of a fact, and return what it did to the timeline."""
        transaction, assertion_id = self._commit(work, txn_id)
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        committed = self._outcome(transaction, self._defaults.actor)
        return self._calls.run(self._resolution, committed, scope, assertion_id)

    def _resolution(
        self, committed: Committed, scope: Scope, assertion_id: str | None
    ) -> EdgeResolution:
        with self._core.engine.snapshot() as reader:
            if not committed.is_own(reader):  # it changed nothing
                return EdgeResolution(open=None, **committed.answer(reader, "unchanged"))
            viewer = self._defaults.acting(scope.agent_id)
            query = ResolutionQuery(scope, committed.result, assertion_id, viewer)
            resolution = resolve_commit(reader, self._core.effects, query)
            outcome = outcome_of(committed.own_operations(reader))
            return replace(resolution, **committed.answer(reader, outcome))


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
        size = check_batch(batch, self._core.limits.transaction_operations)
        rows = enumerate(check_facts(facts), start=1)
        common = {"agent_id": agent_id, "namespace": namespace, "once": once}
        length, counts = length_hint(facts), AssertedFacts()
        while batch_rows := list(islice(rows, size)):
            loading = Batch(batch_rows, common)
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
            ids = batch.stage(transaction.assert_fact)
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
        counts = AssertedFacts(rejected=len(batch.refused))
        if transaction.commit_ts is None:
            return counts
        committed = self._outcome(transaction, self._defaults.actor)
        return counts + self._calls.run(self._counted, committed, ids)

    def _refusals(self, batch: Batch) -> dict[int, Refusal]:
        """Return the errors of a refused batch, by the positions of their rows."""
        with self.begin_transaction() as transaction:
            batch.stage(transaction.assert_fact)
            refusals = transaction.refusals()
            transaction.abort()
        return refusals

    def _counted(self, committed: Committed, ids: list[str]) -> AssertedFacts:
        """Count assertions of this commit, and standing and retracted ones of earlier commits."""
        with self._core.engine.reading() as reader:
            commit = committed.commit if committed.is_own(reader) else None
            committed_at = None if commit is None else to_datetime(committed.result.time(reader))
            rows = reader.rows("graph_assertions_by_id", ids=ids)
        asserted = sum(1 for commit_ts, _ in rows if commit_ts == commit)
        retracted = sum(
            1 for commit_ts, is_retracted in rows if commit_ts != commit and is_retracted
        )
        return AssertedFacts(
            asserted=asserted,
            unchanged=len(ids) - asserted - retracted,
            retracted=retracted,
            commit_ts=commit,
            committed_at=committed_at,
        )
