"""What a store does with facts: saying what holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memoranda.graph.answers import Answer, answer
from memoranda.graph.inputs import Cardinality, Object
from memoranda.graph.resolution import EdgeResolution
from memoranda.model.instant import Instant
from memoranda.model.memory import Span
from memoranda.model.scope import Scope
from memoranda.sdk.fact_staging import Source
from memoranda.sdk.handle import Handle
from memoranda.sdk.transaction import Transaction


class FactCalls(Handle):
    """Asserting, ending and retracting facts, and naming what they are about."""

    def assert_fact(
        self,
        *,
        subject: str,
        relation: str,
        object: Object,
        valid_from: Instant | None = None,
        valid_to: Instant | None = None,
        confidence: float = 1.0,
        source: Source | None = None,
        spans: Sequence[Span] | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        visibility: str | None = None,
        once: str | None = None,
        txn_id: str | None = None,
    ) -> EdgeResolution:
        """Say that something holds, and return what that did to its timeline.

        It holds from `valid_from` on; not given, from when its source memory's event happened, or
        else from the commit on, and until `valid_to`; of a relation with many objects that ends
        this assertion only. The order in which facts arrive does not matter.

        What comes from a private memory is private to its agent, too, unless `visibility` is
        "namespace"; with "private" anything is. `once` names an occasion, such as a document that
        is read: on it the same thing is said once.
        """

        def work(transaction: Transaction) -> str | None:
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
        source: Source | None = None,
        spans: Sequence[Span] | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        visibility: str | None = None,
        txn_id: str | None = None,
    ) -> EdgeResolution:
        """Say that something stopped being true, and return what that did.

        Without an object it is whatever held; without a time, since its source memory's event
        happened, or else since now. What is said on the ground of a `source` goes with it: when
        that is forgotten, what was ended holds as if this was never said. `visibility` is as in
        `assert_fact`.
        """

        def work(transaction: Transaction) -> str | None:
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
            )

        return self._resolved(work, agent_id, namespace, txn_id)

    def retract_fact(
        self,
        *,
        assertion_id: str | None = None,
        subject: str | None = None,
        relation: str | None = None,
        object: Object | None = None,
        reason: str | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        txn_id: str | None = None,
    ) -> EdgeResolution:
        """Say that something was said in error, and return what is believed instead."""

        def work(transaction: Transaction) -> str | None:
            transaction.retract_fact(
                assertion_id=assertion_id,
                subject=subject,
                relation=relation,
                object=object,
                reason=reason,
                agent_id=agent_id,
                namespace=namespace,
            )
            return None

        return self._resolved(work, agent_id, namespace, txn_id)

    def set_cardinality(
        self,
        *,
        relation: str,
        cardinality: Cardinality,
        allow_large: bool = False,
        agent_id: str | None = None,
        namespace: str | None = None,
        txn_id: str | None = None,
    ) -> int:
        """Let a relation have one object at a time in a namespace ("single"), or many ("multi").

        What was said of it is derived anew, for every agent there. Returns the `commit_ts`.
        """

        def work(transaction: Transaction) -> None:
            transaction.set_cardinality(
                relation=relation,
                cardinality=cardinality,
                allow_large=allow_large,
                agent_id=agent_id,
                namespace=namespace,
            )

        return self._committed(work, txn_id)

    def alias(
        self,
        *,
        entity: str,
        alias: str,
        allow_large: bool = False,
        agent_id: str | None = None,
        namespace: str | None = None,
        txn_id: str | None = None,
    ) -> int:
        """Give an entity another name, and return the `commit_ts`.

        What was said under that name is about the entity from here on, in belief; what was known
        before stays as it was.
        """

        def work(transaction: Transaction) -> None:
            transaction.alias(
                entity=entity,
                alias=alias,
                allow_large=allow_large,
                agent_id=agent_id,
                namespace=namespace,
            )

        return self._committed(work, txn_id)

    def merge_entities(
        self,
        *,
        source: str,
        into: str,
        allow_large: bool = False,
        agent_id: str | None = None,
        namespace: str | None = None,
        txn_id: str | None = None,
    ) -> int:
        """Let two entities be one, under the name of the second; returns the `commit_ts`."""

        def work(transaction: Transaction) -> None:
            transaction.merge_entities(
                source=source,
                into=into,
                allow_large=allow_large,
                agent_id=agent_id,
                namespace=namespace,
            )

        return self._committed(work, txn_id)

    def _resolved(
        self,
        work: Callable[[Transaction], str | None],
        agent_id: str | None,
        namespace: str | None,
        txn_id: str | None,
    ) -> EdgeResolution:
        """Commit what is said of a fact, and return what that did."""
        transaction, assertion_id = self._commit(work, txn_id)
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        return self._calls.run(self._answer, transaction, scope, assertion_id)

    def _answer(
        self, transaction: Transaction, scope: Scope, assertion_id: str | None
    ) -> EdgeResolution:
        made = self._outcome(transaction, self._defaults.actor)
        with self._core.engine.snapshot() as reader:
            if not made.is_own(reader):  # it changed nothing
                return EdgeResolution(open=None)
            viewer = self._defaults.acting(scope.agent_id)
            asked = Answer(scope, made.commit, assertion_id, viewer)
            return answer(reader, self._core.effects, asked)
