"""Calls that assert, end and retract facts, and that name entities and relations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from memoranda.calls.arguments import TypedText, plain_item, plain_object
from memoranda.calls.call import AnyInstant, WriteCall
from memoranda.calls.core import Core
from memoranda.calls.grant import Grant
from memoranda.calls.open_transaction import OpenTransaction, checked_agent
from memoranda.calls.plain import plain_spans
from memoranda.calls.requests import (
    alias_entity,
    check_evidence,
    merge_entities,
    retract_fact,
    set_cardinality,
)
from memoranda.calls.write import WriteHandler, Writes, Written, receipts
from memoranda.errors import InvalidInput
from memoranda.graph.edge_resolver import EdgeResolution
from memoranda.graph.effects import ResolutionQuery, outcome_of, resolve_commit
from memoranda.graph.requests import (
    AssertFact as AssertRequest,
)
from memoranda.graph.requests import (
    AssertFactAs,
    EndFactAs,
    EndFactFrom,
    EndUnknownFact,
    GraphRequest,
    Object,
    check_confidence,
    check_entity,
    check_object,
    check_relation,
    check_visibility,
)
from memoranda.graph.requests import EndFact as EndRequest
from memoranda.model import codec
from memoranda.model.clock import Instant, check_time, plain_instant, to_rfc3339
from memoranda.model.ids import derive_id
from memoranda.model.limits import Limits, check_text, renamed_fields
from memoranda.model.memory import Span
from memoranda.model.operations import Alias as AliasOperation
from memoranda.model.operations import Classify, Merge
from memoranda.model.operations.graph import Name
from memoranda.model.receipt import Receipt
from memoranda.model.refs import Evidence, IdLike, MemoryRef, TranscriptRef
from memoranda.model.scope import Scope


class AssertFact(WriteCall[EdgeResolution], frozen=True):
    """Assert a fact."""

    agent_id: str
    namespace: str
    subject: str
    relation: str
    object: str | TypedText | None
    valid_from: AnyInstant = None
    valid_to: AnyInstant = None
    confidence: float = 1.0
    source: str | MemoryRef | TranscriptRef | None = None
    spans: tuple[Span, ...] | None = None
    visibility: str | None = None
    once: str | None = None
    """An idempotency key for a set of facts: the same fact is asserted once under it."""

    @classmethod
    def of(
        cls,
        place: tuple[str, str],
        *,
        subject: str,
        relation: str,
        object: Object,
        valid_from: Instant | None = None,
        valid_to: Instant | None = None,
        confidence: float = 1.0,
        source: IdLike | None = None,
        spans: Sequence[Span] | None = None,
        visibility: str | None = None,
        once: str | None = None,
        txn_id: str | None = None,
    ) -> AssertFact:
        """Return the call of arguments as a caller gives them; a place is an agent's namespace."""
        return cls(
            *place,
            subject,
            relation,
            plain_object(object),
            plain_instant("valid_from", valid_from),
            plain_instant("valid_to", valid_to),
            confidence,
            check_evidence(source),
            plain_spans(spans),
            visibility,
            once,
            txn_id=txn_id,
        )

    @property
    def looks_up(self) -> bool:
        """Whether it has a source: its kind, its words or its time are read."""
        return self.source is not None


class EndFact(WriteCall[EdgeResolution], frozen=True):
    """End a fact, or without an object whatever holds."""

    agent_id: str
    namespace: str
    subject: str
    relation: str
    object: str | TypedText | None = None
    at: AnyInstant = None
    source: str | MemoryRef | TranscriptRef | None = None
    spans: tuple[Span, ...] | None = None
    visibility: str | None = None
    allow_unknown: bool = False
    """Whether the end of a fact about an unknown subject is recorded, too."""

    @property
    def looks_up(self) -> bool:
        """Whether it has a source."""
        return self.source is not None


class RetractFact(WriteCall[EdgeResolution], frozen=True):
    """Retract one assertion, or every assertion of a fact."""

    agent_id: str
    namespace: str
    assertion_id: str | None = None
    subject: str | None = None
    relation: str | None = None
    object: str | TypedText | None = None
    reason: str | None = None


class SetCardinality(WriteCall[Receipt], frozen=True):
    """Make a relation of a namespace single-valued or multi-valued, for every agent."""

    verb = "admin"

    namespace: str
    relation: str
    cardinality: str
    agent_id: str | None = None
    allow_large: bool = False


class Alias(WriteCall[Receipt], frozen=True):
    """Give an entity another name: facts under that name become facts of the entity."""

    agent_id: str
    namespace: str
    entity: str
    alias: str
    allow_large: bool = False


class MergeEntities(WriteCall[Receipt], frozen=True):
    """Merge one entity into another, which keeps its name."""

    agent_id: str
    namespace: str
    source: str
    into: str
    allow_large: bool = False


def stage_assertion(transaction: OpenTransaction, call: AssertFact) -> str:
    """Stage an assertion, and return its id."""
    scope, limits = transaction.owner(call.namespace, call.agent_id), transaction.limits
    evidence = _evidence(transaction, call.source, call.spans)
    begin = check_time("valid_from", call.valid_from)
    end = check_time("valid_to", call.valid_to)
    start = _begin(transaction, evidence, scope) if begin is None and end is not None else begin
    if start is not None and end is not None:
        _check_order(start, end)
    names = (
        check_entity("subject", call.subject, limits),
        check_relation("relation", call.relation, limits),
        check_object(plain_item(call.object), limits),
    )
    details = (begin, end, check_confidence(call.confidence), evidence)
    private = check_visibility(call.visibility)
    if call.once is None:
        assertion_id = transaction.new_id()
    else:
        occasion = check_text("once", call.once, max_bytes=limits.txn_id_bytes)
        assertion_id = _id_of(occasion, scope, names, details, private=private)
    arguments = (scope, assertion_id, *names, *details, call.once is not None)
    transaction.add_fact(
        AssertRequest(*arguments) if private is None else AssertFactAs(*arguments, private=private)
    )
    return assertion_id


def stage_end(transaction: OpenTransaction, call: EndFact) -> str:
    """Stage the end of a fact, and return the id of this statement."""
    scope, limits = transaction.owner(call.namespace, call.agent_id), transaction.limits
    evidence = _evidence(transaction, call.source, call.spans)
    arguments = (
        scope,
        transaction.new_id(),
        check_entity("subject", call.subject, limits),
        check_relation("relation", call.relation, limits),
        None if call.object is None else check_object(plain_item(call.object), limits),
        check_time("at", call.at),
    )
    private = check_visibility(call.visibility)
    request = EndRequest(*arguments) if evidence is None else EndFactFrom(*arguments, evidence)
    if call.allow_unknown:
        request = EndUnknownFact(*arguments, evidence, private)
    elif private is not None:
        request = EndFactAs(*arguments, evidence, private)
    transaction.add_fact(request)
    return request.assertion_id


def retract_request(grant: Grant, call: RetractFact, limits: Limits) -> GraphRequest:
    """Return the request of a retraction."""
    return retract_fact(
        limits,
        grant.scope(call.namespace, call.agent_id, limits, writing=True),
        call.assertion_id,
        call.subject,
        call.relation,
        None if call.object is None else plain_item(call.object),
        call.reason,
    )


def cardinality_request(grant: Grant, call: SetCardinality, limits: Limits) -> GraphRequest:
    """Return the request to set a cardinality."""
    agent = checked_agent(grant, call.agent_id, limits)
    scope = grant.scope(call.namespace, agent, limits, writing=True)
    return set_cardinality(
        limits, scope, call.relation, call.cardinality, allow_large=call.allow_large
    )


def alias_request(grant: Grant, call: Alias, limits: Limits) -> GraphRequest:
    """Return the request to give an entity another name."""
    scope = grant.scope(call.namespace, call.agent_id, limits, writing=True)
    return alias_entity(limits, scope, call.entity, call.alias, allow_large=call.allow_large)


def merge_request(grant: Grant, call: MergeEntities, limits: Limits) -> GraphRequest:
    """Return the request of a merge."""
    scope = grant.scope(call.namespace, call.agent_id, limits, writing=True)
    return merge_entities(limits, scope, call.source, call.into, allow_large=call.allow_large)


def _single(
    request: Callable[[Grant, Any, Limits], GraphRequest],
) -> Callable[[OpenTransaction, Any], None]:
    """Return the staging of a call that is one request about facts."""

    def stage(transaction: OpenTransaction, call: WriteCall[Any]) -> None:
        transaction.draft.check()
        transaction.add_fact(request(transaction.grant, call, transaction.limits))

    return stage


def _evidence(transaction: OpenTransaction, source: object, spans: object) -> Evidence | None:
    """Return the source of a fact; an id that no transcript has is the id of a memory."""
    evidence = check_evidence(source)
    if isinstance(evidence, str):
        is_transcript = transaction.has_transcript(evidence)
        evidence = TranscriptRef(evidence) if is_transcript else MemoryRef(evidence)
    if isinstance(evidence, TranscriptRef):
        with renamed_fields(transcript_id="source"):
            return transaction.check_quotation(evidence, spans)
    if spans is not None:
        raise InvalidInput("spans", "are places in a transcript: give one as the source")
    return evidence


def _begin(transaction: OpenTransaction, evidence: Evidence | None, scope: Scope) -> int | None:
    """Return the default of `valid_from`: the source's event time, or else when it is staged."""
    if isinstance(evidence, MemoryRef):
        time = transaction.event_time(evidence, scope)
        if time is not None:
            return time
    return None if transaction.is_staged_again else transaction.now()


def _id_of(
    once: str,
    scope: Scope,
    names: tuple[Name, Name, Name],
    details: tuple[int | None, int | None, float, Evidence | None],
    *,
    private: bool | None,
) -> str:
    """Return the id of a fact under an idempotency key, the same for each spelling of its names.

    Visibility is a part of it where it is not the default. Without a source, "namespace" is the
    default.
    """
    subject, relation, object_ = names
    *valid_time, source = details
    statement = (subject.key, relation.key, object_.kind, object_.key, *map(str, valid_time))
    words = "" if source is None else codec.encode(source).hex()
    as_usual = private is None or (source is None and not private)
    seen_by = () if as_usual else ("private" if private else "namespace",)
    return derive_id("once", once, scope.namespace, scope.agent_id, *statement, words, *seen_by)


def _check_order(begin: int, end: int) -> None:
    if end <= begin:
        raise InvalidInput(
            "valid_to",
            f"{to_rfc3339(end)} is not after {to_rfc3339(begin)}, when it begins: give a later one",
        )


def _answer(
    core: Core, call: AssertFact | EndFact | RetractFact, written: Written
) -> EdgeResolution:
    """Return the changes to the timeline."""
    committed = written.committed
    with core.engine.snapshot() as reader:
        if not committed.is_own(reader):  # it changed nothing
            return EdgeResolution(open=None, **committed.answer(reader, "unchanged"))
        scope = Scope(call.namespace, call.agent_id)
        query = ResolutionQuery(scope, committed.result, written.item_id, committed.viewer)
        resolution = resolve_commit(reader, core.effects, query)
        outcome = outcome_of(committed.own_operations(reader))
        return replace(resolution, **committed.answer(reader, outcome))


WRITES: Writes = {
    AssertFact: WriteHandler(stage_assertion, _answer),
    EndFact: WriteHandler(stage_end, _answer),
    RetractFact: WriteHandler(_single(retract_request), _answer, retract_request),
    SetCardinality: WriteHandler(
        _single(cardinality_request), receipts("updated", Classify), cardinality_request
    ),
    Alias: WriteHandler(_single(alias_request), receipts("updated", AliasOperation), alias_request),
    MergeEntities: WriteHandler(_single(merge_request), receipts("updated", Merge), merge_request),
}
