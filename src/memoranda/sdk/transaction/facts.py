"""The calls of a transaction about facts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from memoranda.calls.requests import (
    alias_entity,
    check_evidence,
    merge_entities,
    retract_fact,
    set_cardinality,
)
from memoranda.errors import InvalidInput, NotFound
from memoranda.graph.entities import Literal
from memoranda.graph.records import Fact
from memoranda.graph.requests import (
    AssertFact,
    AssertFactAs,
    Cardinality,
    EndFact,
    EndFactAs,
    EndFactFrom,
    EndUnknownFact,
    GraphRequest,
    Object,
    TimelineRead,
    check_confidence,
    check_entity,
    check_object,
    check_relation,
    check_visibility,
)
from memoranda.graph.staged_reads import FactOverlay
from memoranda.memory import transcripts
from memoranda.model import codec
from memoranda.model.clock import Instant, check_time, to_datetime, to_rfc3339
from memoranda.model.ids import derive_id
from memoranda.model.limits import check_text, renamed_fields
from memoranda.model.memory import Span
from memoranda.model.operations.graph import Name
from memoranda.model.refs import Evidence, IdLike, MemoryRef, TranscriptRef
from memoranda.model.scope import Scope
from memoranda.sdk.transaction.staging import Staging


class FactStaging(Staging):
    """Asserting, ending and retracting facts, and naming entities."""

    _facts: FactOverlay

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
        scope, limits = self._owner(agent_id, namespace), self._core.limits
        evidence = self._evidence(source, spans)
        begin = check_time("valid_from", valid_from)
        end = check_time("valid_to", valid_to)
        if end is not None:
            _check_order(self._begin(evidence, scope) if begin is None else begin, end)
        names = (
            check_entity("subject", subject, limits),
            check_relation("relation", relation, limits),
            check_object(object, limits),
        )
        details = (begin, end, check_confidence(confidence), evidence)
        private = check_visibility(visibility)
        if once is None:
            assertion_id = self._draft.new_id(self._core.ids)
        else:
            occasion = check_text("once", once, max_bytes=limits.txn_id_bytes)
            assertion_id = _id_of(occasion, scope, names, details, private=private)
        arguments = (scope, assertion_id, *names, *details, once is not None)
        self._stage_fact(
            AssertFact(*arguments) if private is None else AssertFactAs(*arguments, private=private)
        )
        return assertion_id

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
        scope, limits = self._owner(agent_id, namespace), self._core.limits
        evidence = self._evidence(source, spans)
        arguments = (
            scope,
            self._draft.new_id(self._core.ids),
            check_entity("subject", subject, limits),
            check_relation("relation", relation, limits),
            None if object is None else check_object(object, limits),
            check_time("at", at),
        )
        private = check_visibility(visibility)
        request = EndFact(*arguments) if evidence is None else EndFactFrom(*arguments, evidence)
        if allow_unknown:
            request = EndUnknownFact(*arguments, evidence, private)
        elif private is not None:
            request = EndFactAs(*arguments, evidence, private)
        self._stage_fact(request)
        return request.assertion_id

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
        self._stage_fact(
            retract_fact(
                self._core.limits,
                self._owner(agent_id, namespace),
                assertion_id,
                subject,
                relation,
                object,
                reason,
            )
        )

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
        scope, limits = self._owner(self._defaults.acting(agent_id), namespace), self._core.limits
        self._stage_fact(
            set_cardinality(limits, scope, relation, cardinality, allow_large=allow_large)
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
        scope, limits = self._owner(agent_id, namespace), self._core.limits
        self._stage_fact(alias_entity(limits, scope, entity, alias, allow_large=allow_large))

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
        scope, limits = self._owner(agent_id, namespace), self._core.limits
        self._stage_fact(merge_entities(limits, scope, source, into, allow_large=allow_large))

    def refusals(self) -> dict[int, InvalidInput | NotFound]:
        """Return the errors of staged requests about facts, by their positions among those.

        A commit raises only the first of them. Arguments were checked when they were staged; here
        the log is checked for what the requests refer to, such as a source.
        """
        self._draft.check()
        return self._calls.run(self._read_refusals)

    def _read_refusals(self) -> dict[int, InvalidInput | NotFound]:
        with self._core.engine.reading() as reader:
            return self._facts.refusals(reader, self._memories.rules(reader).look_up)

    def timeline(
        self,
        *,
        subject: str,
        relation: str,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> list[Fact]:
        """Return a timeline as this transaction sees it."""
        limits = self._core.limits
        read = TimelineRead(
            self._defaults.scope(agent_id, namespace, limits),
            check_entity("subject", subject, limits).key,
            check_relation("relation", relation, limits).key,
        )
        self._draft.track(read)
        return self._calls.run(self._read_timeline, read)

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
        at = check_time("valid_at", valid_at)
        timeline = self.timeline(
            subject=subject, relation=relation, agent_id=agent_id, namespace=namespace
        )
        instant = to_datetime(self._core.clock.now() if at is None else at)
        holding: dict[str | Literal, Fact] = {}
        for fact in timeline:
            if fact.valid_from <= instant and (fact.valid_to is None or instant < fact.valid_to):
                holding.setdefault(fact.object, fact)
        return list(holding.values())

    def _read_timeline(self, read: TimelineRead) -> list[Fact]:
        with self._core.engine.snapshot() as reader:
            memories = self._memories.rules(reader)
            viewer = self._defaults.acting(read.scope.agent_id)
            now = self._core.clock.now()
            return self._facts.timeline(reader, read, memories.look_up, now, viewer)

    def _stage_fact(self, request: GraphRequest) -> None:
        self._draft.stage(request)
        self._facts.add(request)

    def _evidence(self, source: object, spans: object) -> Evidence | None:
        """Return the source of a fact; an id that no transcript has is the id of a memory."""
        evidence = check_evidence(source)
        if isinstance(evidence, str):
            evidence = (
                TranscriptRef(evidence) if self._has_transcript(evidence) else MemoryRef(evidence)
            )
        if isinstance(evidence, TranscriptRef):
            with renamed_fields(transcript_id="source"):
                return self._check_quotation(evidence, spans)
        if spans is not None:
            raise InvalidInput("spans", "are places in a transcript: give one as the source")
        return evidence

    def _begin(self, evidence: Evidence | None, scope: Scope) -> int:
        """Return the default of `valid_from`: the source's event time, or else now."""
        if isinstance(evidence, MemoryRef):
            with suppress(NotFound), self._core.engine.reading() as reader:  # the commit says so
                referent = self._memories.rules(reader).look_up(evidence, scope)
                if referent.event_time is not None:
                    return referent.event_time
        return self._core.clock.now()

    def _has_transcript(self, transcript_id: str) -> bool:
        if transcript_id in self._transcripts:
            return True
        with self._core.engine.reading() as reader:
            return transcripts.exists(reader, transcript_id)


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
    *when, source = details
    statement = (subject.key, relation.key, object_.kind, object_.key, *map(str, when))
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
