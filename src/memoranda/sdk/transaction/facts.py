"""What a transaction does with facts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from memoranda.errors import InvalidInput, NotFound
from memoranda.graph.inputs import (
    Cardinality,
    Object,
    check_cardinality,
    check_confidence,
    check_entity,
    check_object,
    check_relation,
    check_visibility,
)
from memoranda.graph.pending import PendingFacts
from memoranda.graph.records import Fact
from memoranda.graph.requests import (
    AliasEntity,
    AssertFact,
    AssertFactAs,
    EndFact,
    EndFactAs,
    EndFactFrom,
    GraphRequest,
    MergeEntities,
    RetractAssertion,
    RetractFact,
    SetCardinality,
    TimelineRead,
)
from memoranda.memory import transcripts
from memoranda.memory.inputs import check_id, check_note
from memoranda.memory.records import Memory
from memoranda.model import codec
from memoranda.model.graph_operations import Name
from memoranda.model.ids import derived
from memoranda.model.instant import Instant, to_micros, to_rfc3339
from memoranda.model.limits import check_text
from memoranda.model.memory import Span
from memoranda.model.refs import Evidence, MemoryRef, TranscriptRef
from memoranda.model.scope import Scope
from memoranda.sdk.references import check_evidence
from memoranda.sdk.staging import Staging

Source = str | Evidence | Memory
"""What a fact comes from: a memory or a transcript, by its id or by a reference."""


class FactStaging(Staging):
    """Asserting, ending and retracting facts, and naming what they are about."""

    _facts: PendingFacts

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
    ) -> str:
        """Stage that something holds, and return the id of the assertion.

        It holds from `valid_from` on; not given, from when its source memory's event happened, or
        else from the commit on. `valid_to` says where it ends; of a relation with many objects it
        ends this assertion only. `source` is the memory or transcript it comes from, `spans` the
        places in the transcript. What comes from a private memory is private to its agent, too;
        `visibility` says otherwise: "namespace", or "private" whatever it comes from. `once` names
        an occasion: on the same one the same thing is said once, however often it is tried, be it
        retracted since.
        """
        scope, limits = self._owner(agent_id, namespace), self._core.limits
        evidence = self._evidence(source, spans)
        begin = None if valid_from is None else to_micros("valid_from", valid_from)
        end = None if valid_to is None else to_micros("valid_to", valid_to)
        if end is not None:
            _check_order(self._begin(evidence, scope) if begin is None else begin, end)
        names = (
            check_entity("subject", subject, limits),
            check_relation("relation", relation, limits),
            check_object(object, limits),
        )
        details = (begin, end, check_confidence(confidence), evidence)
        if once is None:
            assertion_id = self._draft.new_id(self._core.ids)
        else:
            occasion = check_text("once", once, most_bytes=limits.txn_id_bytes)
            assertion_id = _id_of(occasion, scope, names, details)
        private = check_visibility(visibility)
        asked = (scope, assertion_id, *names, *details, once is not None)
        self._stage_fact(
            AssertFact(*asked) if private is None else AssertFactAs(*asked, private=private)
        )
        return assertion_id

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
    ) -> str:
        """Stage that something stopped being true, and return the id under which that is said.

        Without an object it is whatever held; without a time, since its source memory's event
        happened, or else since the commit. `source`, `spans` and `visibility` are as in
        `assert_fact`.
        """
        scope, limits = self._owner(agent_id, namespace), self._core.limits
        evidence = self._evidence(source, spans)
        asked = (
            scope,
            self._draft.new_id(self._core.ids),
            check_entity("subject", subject, limits),
            check_relation("relation", relation, limits),
            None if object is None else check_object(object, limits),
            None if at is None else to_micros("at", at),
        )
        private = check_visibility(visibility)
        request = EndFact(*asked) if evidence is None else EndFactFrom(*asked, evidence)
        if private is not None:
            request = EndFactAs(*asked, evidence, private)
        self._stage_fact(request)
        return request.assertion_id

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
    ) -> None:
        """Stage that something was said in error: under an id, or every assertion of a fact.

        Without an object it is every assertion of the subject and relation.
        """
        scope, limits = self._owner(agent_id, namespace), self._core.limits
        checked = check_note("reason", reason, limits)
        if assertion_id is not None:
            if not subject is relation is object is None:
                raise InvalidInput(
                    "assertion_id", "says which one already: leave out subject, relation, object"
                )
            known = check_id("assertion_id", assertion_id)
            self._stage_fact(RetractAssertion(scope, known, checked))
            return
        if subject is None or relation is None:
            raise InvalidInput(
                "assertion_id", "is missing: give one, or the subject and relation of a fact"
            )
        self._stage_fact(
            RetractFact(
                scope,
                check_entity("subject", subject, limits),
                check_relation("relation", relation, limits),
                None if object is None else check_object(object, limits),
                checked,
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
        """Stage that a relation has one object at a time in a namespace ("single"), or many."""
        self._stage_fact(
            SetCardinality(
                self._owner(self._defaults.acting(agent_id), namespace),
                check_relation("relation", relation, self._core.limits),
                check_cardinality(cardinality),
                self._most(allow_large),
            )
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
        """Stage another name for an entity: what was said under it is about the entity, too."""
        limits = self._core.limits
        self._stage_fact(
            AliasEntity(
                self._owner(agent_id, namespace),
                check_entity("entity", entity, limits),
                check_entity("alias", alias, limits),
                self._most(allow_large),
            )
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
        """Stage that two entities are one, which goes by the name of the second."""
        limits = self._core.limits
        self._stage_fact(
            MergeEntities(
                self._owner(agent_id, namespace),
                check_entity("source", source, limits),
                check_entity("into", into, limits),
                self._most(allow_large),
            )
        )

    def refusals(self) -> dict[int, InvalidInput | NotFound]:
        """Return what of the staged requests about facts would be refused now, by their places.

        A commit tells of the first one only. What each of them says by itself was checked when it
        was staged: here it is what they need to be there, such as a source.
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

    def _read_timeline(self, read: TimelineRead) -> list[Fact]:
        with self._core.engine.snapshot() as reader:
            memories = self._memories.rules(reader)
            viewer = self._defaults.acting(read.scope.agent_id)
            now = self._core.clock.now()
            return self._facts.timeline(reader, read, memories.look_up, now, viewer)

    def _stage_fact(self, request: GraphRequest) -> None:
        self._draft.stage(request)
        self._facts.add(request)

    def _most(self, allow_large: object) -> int | None:
        return None if allow_large else self._core.limits.derived_statements

    def _evidence(self, source: object, spans: object) -> Evidence | None:
        """Return what a fact comes from; an id that no transcript has is a memory's."""
        found = check_evidence(source)
        if isinstance(found, str):
            found = TranscriptRef(found) if self._has_transcript(found) else MemoryRef(found)
        if spans is None and not (isinstance(found, TranscriptRef) and found.spans):
            return found
        if not isinstance(found, TranscriptRef):
            raise InvalidInput("spans", "are places in a transcript: give one as the source")
        checked = self._check_spans(found.transcript_id, spans or found.spans)
        return TranscriptRef(found.transcript_id, checked)

    def _begin(self, evidence: Evidence | None, scope: Scope) -> int:
        """Return since when something holds that is not said to hold since any time."""
        if isinstance(evidence, MemoryRef):
            with suppress(NotFound), self._core.engine.reading() as reader:  # the commit says so
                found = self._memories.rules(reader).look_up(evidence, scope)
                if found.event_time is not None:
                    return found.event_time
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
) -> str:
    """Return the id that what says the same has on one occasion, however it is spelled."""
    subject, relation, object_ = names
    *when, source = details
    said = (subject.key, relation.key, object_.kind, object_.key, *map(str, when))
    words = "" if source is None else codec.encode(source).hex()
    return derived("once", once, scope.namespace, scope.agent_id, *said, words)


def _check_order(begin: int, end: int) -> None:
    if end <= begin:
        raise InvalidInput(
            "valid_to",
            f"{to_rfc3339(end)} is not after {to_rfc3339(begin)}, when it begins: give a later one",
        )
