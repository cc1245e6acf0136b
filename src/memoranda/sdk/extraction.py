"""What was extracted on its way into a transaction, and what became of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import zip_longest
from typing import Any, Protocol

import msgspec

from memoranda.errors import InvalidInput, NotFound
from memoranda.extract.messages import messages_in, messages_of
from memoranda.extract.outline import unclear_days
from memoranda.extract.protocol import (
    ExtractedFact,
    ExtractedMemory,
    Extraction,
    Extractor,
    Message,
    Skipped,
)
from memoranda.graph.inputs import check_relation
from memoranda.log import pages
from memoranda.memory import transcripts
from memoranda.memory.transcripts import TranscriptInfo
from memoranda.model.graph_operations import Assert, End
from memoranda.model.ids import derived
from memoranda.model.limits import Limits, shown
from memoranda.model.memory import Span
from memoranda.model.memory_operations import Remember, Revise
from memoranda.model.operations import AnyOperation
from memoranda.model.refs import TranscriptRef
from memoranda.model.scope import Scope
from memoranda.storage.port import Engine

Stage = Callable[..., Any]
_SOURCE = "extract"


class ExtractionReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was extracted from a transcript."""

    transcript_id: str
    extractor: str
    memories: tuple[str, ...] = ()
    """The ids of the memories."""
    facts: tuple[str, ...] = ()
    """The ids of the assertions, and of the ends of what holds no longer."""
    skipped: tuple[Skipped, ...] = ()
    """What was found and set aside, and why; known only to who extracted it."""
    already: bool = False
    """Whether all of it was extracted before: nothing was written now."""

    @property
    def is_new(self) -> bool:
        """Whether something was written now."""
        return not self.already and bool(self.memories or self.facts)


class ImportedChat(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation that was imported."""

    transcript_id: str
    already: bool
    """Whether it was imported before: nothing was stored now."""
    messages: int
    """How many messages it has."""
    extraction: ExtractionReport | None = None


class Conversation(msgspec.Struct, frozen=True):
    """A transcript, and the messages in it."""

    info: TranscriptInfo
    messages: Sequence[Message]
    unclear: tuple[Skipped, ...] = ()
    """Days in it that can be read in two ways."""


def conversation(engine: Engine, transcript_id: str) -> Conversation:
    """Return what was said in a transcript."""
    with engine.reading() as reader:
        found = transcripts.get(reader, transcript_id, pages.head_commit(reader))
        if found is None or found.erased:
            raise NotFound(f"transcript_id: there is no transcript {transcript_id!r}")
        content, rendering = transcripts.load_rendered(reader, found)
    if rendering is not None:
        return Conversation(found, messages_in(rendering))
    text = content.decode()
    messages = messages_of(text, found.occurred_at)
    timeless = any(each.at is None for each in messages)
    unclear = unclear_days(text, found.occurred_at) if timeless else ()
    return Conversation(found, messages, unclear)


class Taking(Protocol):
    """The part of a transaction that takes what was extracted."""

    @property
    def remember(self) -> Stage:
        """Stage a memory."""
        ...

    @property
    def assert_fact(self) -> Stage:
        """Stage a fact."""
        ...

    @property
    def end_fact(self) -> Stage:
        """Stage the end of one."""
        ...


class Part(msgspec.Struct, frozen=True):
    """Some messages of a transcript that are extracted together, and for whom."""

    transcript_id: str
    scope: Scope
    extractor: str
    messages: Sequence[Message]
    occurred_at: datetime

    @property
    def txn_id(self) -> str:
        """The name of its transaction: the same for the same part of the same transcript.

        It follows from ids, not from words: of words that are erased it tells nothing.
        """
        place = str(self.messages[0].span[0])
        whose = (self.scope.namespace, self.scope.agent_id)
        return f"extract:{derived('extract', self.transcript_id, self.extractor, place, *whose)}"

    def extract(self, extractor: Extractor) -> Extraction:
        """Return what an extractor finds in it."""
        found = extractor.extract(self.messages, occurred_at=self.occurred_at)
        if not isinstance(found, Extraction):
            if inspect.iscoroutine(found):  # type: ignore[unreachable]
                found.close()
            raise InvalidInput(
                "extractor", f"{self.extractor} gave {shown(found)} in place of an Extraction"
            )
        return found

    def report(
        self,
        memories: tuple[str, ...],
        facts: tuple[str, ...],
        *,
        already: bool,
        skipped: tuple[Skipped, ...] = (),
    ) -> ExtractionReport:
        """Return what became of it."""
        return ExtractionReport(
            transcript_id=self.transcript_id,
            extractor=self.extractor,
            memories=memories,
            facts=facts,
            skipped=skipped,
            already=already,
        )

    def stage(
        self, transaction: Taking, found: Extraction, single: Collection[str]
    ) -> list[Skipped]:
        """Stage what was found, and return what of it cannot be taken.

        `single` are the relations that have one object at a time, as they are spelled.
        """
        skipped: list[Skipped] = []
        whose = {"agent_id": self.scope.agent_id, "namespace": self.scope.namespace}
        for memory in found.memories:
            try:
                transaction.remember(memory.content, **self._memory(memory), **whose)
            except InvalidInput as error:
                skipped.append(Skipped(str(memory.content), str(error)))
        for fact in _needed(found.facts, single):
            try:
                self._stage_fact(transaction, fact, whose)
            except InvalidInput as error:
                skipped.append(Skipped(_spoken(fact), str(error)))
        return skipped

    def _memory(self, memory: ExtractedMemory) -> dict[str, Any]:
        return {
            "title": memory.title,
            "kind": memory.kind,
            "tags": memory.tags,
            "confidence": memory.confidence,
            "event_time": memory.event_time or self._said_at(memory.spans),
            "transcript": self.transcript_id,
            "spans": memory.spans or None,
            "source": _SOURCE,
            "confidence_source": self.extractor,
        }

    def _stage_fact(self, transaction: Taking, fact: ExtractedFact, whose: dict[str, str]) -> None:
        since = fact.valid_from or self._said_at(fact.spans)
        said = {"subject": fact.subject, "relation": fact.relation, "object": fact.object}
        words = {"source": TranscriptRef(self.transcript_id), "spans": fact.spans or None}
        if fact.ends:
            transaction.end_fact(**said, at=since, **words, **whose)
            return
        transaction.assert_fact(
            **said,
            valid_from=since,
            valid_to=fact.valid_to,
            confidence=fact.confidence,
            **words,
            **whose,
        )

    def _said_at(self, spans: Sequence[Span]) -> datetime:
        """Return when the first of some words were said."""
        for message in self.messages:
            if spans and message.at and message.span[0] <= spans[0][0] < message.span[1]:
                return message.at
        return self.occurred_at


def _spoken(fact: ExtractedFact) -> str:
    said = f"{fact.subject} {fact.relation} {fact.object or '…'}"
    return f"{said} (ended)" if fact.ends else said


def ids_in(operations: Iterable[AnyOperation]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids of the memories and of the facts that a commit is about, each once."""
    memories: dict[str, None] = {}
    facts: dict[str, None] = {}
    for each in operations:
        if isinstance(each, (Remember, Revise)):
            memories[each.memory_id] = None
        elif isinstance(each, (Assert, End)):
            facts[each.assertion_id] = None
    return tuple(memories), tuple(facts)


def relations_of(found: Extraction, limits: Limits) -> dict[str, list[str]]:
    """Return the relations that facts are about as they are compared, and how they are spelled."""
    used: dict[str, list[str]] = {}
    for fact in found.facts:
        with suppress(InvalidInput):  # such a fact is set aside when it is staged
            key = check_relation("relation", fact.relation, limits).key
            used.setdefault(key, []).append(fact.relation)
    return used


def _needed(facts: Sequence[ExtractedFact], single: Collection[str]) -> Iterator[ExtractedFact]:
    """Yield what is to be said: no end where a new object of a single-valued relation ends it."""
    for fact, then in zip_longest(facts, facts[1:]):
        ended_anyway = (
            fact.ends
            and then is not None
            and not then.ends
            and fact.relation in single
            and (fact.subject, fact.relation) == (then.subject, then.relation)
            and fact.valid_from == then.valid_from
        )
        if not ended_anyway:
            yield fact


def whole(
    transcript_id: str, extractor: str, parts: Sequence[ExtractionReport]
) -> ExtractionReport:
    """Return what was extracted from all parts of a transcript."""
    return ExtractionReport(
        transcript_id=transcript_id,
        extractor=extractor,
        memories=tuple(dict.fromkeys(each for part in parts for each in part.memories)),
        facts=tuple(each for part in parts for each in part.facts),
        skipped=tuple(each for part in parts for each in part.skipped),
        already=any(part.already for part in parts) and not any(part.is_new for part in parts),
    )
