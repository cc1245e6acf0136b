"""The calls of a transaction about facts."""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.calls.arguments import plain_object
from memoranda.calls.bulk_facts import Batch
from memoranda.calls.core import error_codec
from memoranda.calls.fact_writes import (
    Alias,
    AssertFact,
    EndFact,
    MergeEntities,
    RetractFact,
    SetCardinality,
)
from memoranda.calls.facts import Facts, Timeline
from memoranda.calls.plain import plain_cardinality, plain_spans
from memoranda.calls.requests import check_assertion_id, check_evidence
from memoranda.calls.within import Refusals
from memoranda.errors import InvalidInput, NotFound
from memoranda.graph.records import Fact
from memoranda.graph.requests import Cardinality, Object
from memoranda.model.clock import Instant, plain_instant
from memoranda.model.memory import Span
from memoranda.model.refs import IdLike
from memoranda.sdk.calls import stage_call, stage_new
from memoranda.sdk.transaction.staging import Staging


class FactStaging(Staging):
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
    ) -> str:
        """Stage the assertion of a fact, and return its id.

        It is valid from `valid_from` until `valid_to`. `valid_from` defaults to the event time of
        the source memory, or else to the commit. In a multi-valued relation `valid_to` ends this
        assertion only. `source` is a memory or a transcript, `spans` are places in the transcript.
        A fact from a private memory is private to its agent, unless `visibility` is "namespace";
        "private" makes any fact private. `once` is an idempotency key: the same fact is asserted
        once under it, also if it was retracted since.
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
        )
        return stage_new(self._calls, self._transaction, call)

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
    ) -> str:
        """Stage the end of a fact, and return the id of this statement.

        Without an `object`, whatever holds ends. `at` defaults to the event time of the source
        memory, or else to the commit. `source`, `spans` and `visibility` are as in `assert_fact`.
        What ends need not be asserted yet, but a subject that nothing mentions raises `NotFound`,
        unless `allow_unknown` is True.
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
        )
        return stage_new(self._calls, self._transaction, call)

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
    ) -> None:
        """Stage the retraction of one assertion, or of every assertion of a fact.

        Without an `object`, every assertion of the subject and relation is retracted.
        """
        call = RetractFact(
            *self._defaults.place(agent_id, namespace),
            None if assertion_id is None else check_assertion_id("assertion_id", assertion_id),
            subject,
            relation,
            plain_object(object),
            reason,
        )
        return stage_call(self._calls, self._transaction, call)

    def set_cardinality(
        self,
        *,
        relation: str,
        cardinality: Cardinality,
        allow_large: bool = False,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> None:
        """Stage the cardinality of a relation in a namespace: "single" or "multi"."""
        place = self._defaults.namespace if namespace is None else namespace
        return stage_call(
            self._calls,
            self._transaction,
            SetCardinality(
                place, relation, plain_cardinality(cardinality), agent_id, bool(allow_large)
            ),
        )

    def alias(
        self,
        *,
        entity: str,
        alias: str,
        allow_large: bool = False,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> None:
        """Stage another name for an entity: facts under that name become facts of the entity."""
        place = self._defaults.place(agent_id, namespace)
        return stage_call(
            self._calls, self._transaction, Alias(*place, entity, alias, bool(allow_large))
        )

    def merge_entities(
        self,
        *,
        source: str,
        into: str,
        allow_large: bool = False,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> None:
        """Stage the merge of one entity into another, which keeps its name."""
        place = self._defaults.place(agent_id, namespace)
        return stage_call(
            self._calls, self._transaction, MergeEntities(*place, source, into, bool(allow_large))
        )

    def refusals(self) -> dict[int, InvalidInput | NotFound]:
        """Return the errors of staged requests about facts, by their positions among those.

        A commit raises only the first of them. Arguments were checked when they were staged; here
        the log is checked for what the requests refer to, such as a source.
        """
        answer = self._calls.ask_within(self._transaction, Refusals())
        codec = error_codec()
        errors = {refused.position: codec.decode(refused.error) for refused in answer}
        return {
            position: error
            for position, error in errors.items()
            if isinstance(error, (InvalidInput, NotFound))
        }

    def _stage_batch(self, batch: Batch) -> list[str]:
        """Stage the rows of a batch, and return the ids of the assertions."""
        return self._calls.run_staging(self._transaction, batch.stage)

    def timeline(
        self,
        *,
        subject: str,
        relation: str,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> list[Fact]:
        """Return a timeline as this transaction sees it."""
        call = Timeline(*self._defaults.place(agent_id, namespace), subject, relation)
        return self._calls.ask_within(self._transaction, call)

    def facts(
        self,
        *,
        subject: str,
        relation: str,
        valid_at: Instant | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> list[Fact]:
        """Return the facts of a timeline that hold at a time, as this transaction sees them.

        `valid_at` is now by default. Each object is in the answer once, from its earliest fact. The
        read is tracked as that of a timeline; `Store.facts` reads across timelines.
        """
        place = self._defaults.place(agent_id, namespace)
        at = plain_instant("valid_at", valid_at)
        call = Facts(*place, subject, relation, valid_at=at)
        return self._calls.ask_within(self._transaction, call)
