"""Staging the results of an extractor, part by part, and reporting them."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import zip_longest

import msgspec
from msgspec.structs import replace

from memoranda.calls.arguments import plain_items, plain_object
from memoranda.calls.extraction import CommittedItems
from memoranda.calls.fact_writes import AssertFact, EndFact
from memoranda.calls.memory_writes import Remember
from memoranda.calls.open_transaction import OpenTransaction
from memoranda.calls.plain import plain_spans
from memoranda.calls.results import ExtractionReport, ImportedChat
from memoranda.calls.transactions import stage
from memoranda.errors import InvalidInput
from memoranda.extract.protocol import (
    ExtractedFact,
    ExtractedMemory,
    Extraction,
    Extractor,
    Message,
    Skipped,
)
from memoranda.graph.requests import check_relation
from memoranda.memory.transcripts import TranscriptInfo, rendered
from memoranda.model.clock import to_datetime
from memoranda.model.ids import derive_id
from memoranda.model.limits import Limits, short_repr
from memoranda.model.memory import Span
from memoranda.model.refs import TranscriptRef
from memoranda.model.scope import Scope
from memoranda.model.suggestions import did_you_mean

CommitPoint = tuple[int, int]
"""A commit's number, and its time in microseconds."""
_SOURCE = "extract"


def with_extraction(chat: ImportedChat, report: ExtractionReport) -> ImportedChat:
    """Return the result of an import that was followed by an extraction."""
    return replace(
        chat, extraction=report, commit_ts=report.commit_ts, committed_at=report.committed_at
    )


class PartResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of extracting a part of a transcript."""

    memories: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    already: bool = False
    """Whether it was extracted before."""
    commit: CommitPoint | None = None
    """The commit of the part; None: nothing was found in it."""

    @property
    def is_new(self) -> bool:
        """Whether something was written now."""
        return not self.already and bool(self.memories or self.facts)


_PERSON_ROLES = frozenset({"human", "user"})
"""Roles of people, who are not the same person in every conversation."""
_SUFFIX_LENGTH = 6
"""Characters at the end of a transcript's id that are appended to the role of an unnamed person.
The last ones differ even between ids of the same moment."""


class Conversation(msgspec.Struct, frozen=True):
    """A transcript and its messages."""

    info: TranscriptInfo
    messages: Sequence[Message]
    unclear: tuple[Skipped, ...] = ()
    """Dates that can be read in two ways, such as 02/03."""


def conversation(info: TranscriptInfo, content: bytes, names: Mapping[str, str]) -> Conversation:
    """Return a transcript with its messages; `names` are those of speakers by role.

    A person without a name gets one of its own in each conversation, such as `user 9f3a1c`: facts
    about "user" would otherwise be about one person in all of them.
    """
    talk = _conversation(info, content)
    roles = {message.speaker.casefold() for message in talk.messages}
    for role in names.keys() - roles:
        problem = f"no message has the role {short_repr(role)}"
        raise InvalidInput("names", problem + did_you_mean(role, sorted(roles)))
    defaults = {role: f"{role} {info.id[-_SUFFIX_LENGTH:]}" for role in _PERSON_ROLES & roles}
    if not names and not defaults:
        return talk
    speakers = {**defaults, **names}
    messages = [
        replace(message, speaker=speakers.get(message.speaker.casefold(), message.speaker))
        for message in talk.messages
    ]
    return replace(talk, messages=messages)


def _conversation(info: TranscriptInfo, content: bytes) -> Conversation:
    from memoranda.extract.messages import ambiguous_dates, messages_from_rendering, parse_messages

    rendering = rendered(info, content)
    if rendering is not None:
        return Conversation(info, messages_from_rendering(rendering))
    text = content.decode()
    messages = parse_messages(text, info.occurred_at)
    timeless = any(message.at is None for message in messages)
    unclear = ambiguous_dates(text, info.occurred_at) if timeless else ()
    return Conversation(info, messages, unclear)


class Part(msgspec.Struct, frozen=True):
    """Messages of a transcript that are extracted in one transaction, and their owner."""

    transcript_id: str
    scope: Scope
    extractor: str
    messages: Sequence[Message]
    occurred_at: datetime

    @property
    def txn_id(self) -> str:
        """The idempotency key of its transaction, the same for each extraction of this part.

        It is derived from ids only, so it tells nothing about erased words.
        """
        place = str(self.messages[0].span[0])
        names = (self.transcript_id, self.extractor, place)
        part_id = derive_id("extract", *names, self.scope.namespace, self.scope.agent_id)
        return f"extract:{part_id}"

    def extract(self, extractor: Extractor) -> Extraction:
        """Run an extractor on the messages."""
        extraction = extractor.extract(self.messages, occurred_at=self.occurred_at)
        if not isinstance(extraction, Extraction):
            if inspect.iscoroutine(extraction):  # type: ignore[unreachable]
                extraction.close()
            raise InvalidInput(
                "extractor",
                f"{self.extractor} gave {short_repr(extraction)} in place of an Extraction",
            )
        return extraction

    def stage(
        self, extraction: Extraction, single: Collection[str], transaction: OpenTransaction
    ) -> list[Skipped]:
        """Stage the extracted items, and return those with invalid fields.

        `single` are the spellings of the single-valued relations.
        """
        skipped: list[Skipped] = []
        for memory in extraction.memories:
            try:
                stage(transaction, self._remember(memory))
            except InvalidInput as error:
                skipped.append(Skipped(str(memory.content), str(error)))
        for fact in _needed(extraction.facts, single):
            try:
                stage(transaction, self._statement(fact))
            except InvalidInput as error:
                skipped.append(Skipped(_spoken(fact), str(error)))
        return skipped

    def _remember(self, memory: ExtractedMemory) -> Remember:
        return Remember(
            self.scope.agent_id,
            self.scope.namespace,
            memory.content,
            memory.title,
            kind=memory.kind,
            tags=plain_items(memory.tags),
            confidence=memory.confidence,
            event_time=memory.event_time or self._said_at(memory.spans),
            transcript=TranscriptRef(self.transcript_id),
            spans=plain_spans(memory.spans) or None,
            source=_SOURCE,
            confidence_source=self.extractor,
        )

    def _statement(self, fact: ExtractedFact) -> AssertFact | EndFact:
        since = fact.valid_from or self._said_at(fact.spans)
        object_ = plain_object(fact.object)
        source, spans = TranscriptRef(self.transcript_id), plain_spans(fact.spans) or None
        place = (self.scope.agent_id, self.scope.namespace, fact.subject, fact.relation)
        if fact.ends:
            return EndFact(*place, object_, since, source=source, spans=spans, allow_unknown=True)
        return AssertFact(
            *place,
            object_,
            since,
            fact.valid_to,
            fact.confidence,
            source,
            spans,
        )

    def _said_at(self, spans: Sequence[Span]) -> datetime:
        """Return the time of the message that has the first of these spans."""
        for message in self.messages:
            if spans and message.at and message.span[0] <= spans[0][0] < message.span[1]:
                return message.at
        return self.occurred_at


def _spoken(fact: ExtractedFact) -> str:
    statement = f"{fact.subject} {fact.relation} {fact.object or '…'}"
    return f"{statement} (ended)" if fact.ends else statement


def relations_of(extraction: Extraction, limits: Limits) -> dict[str, list[str]]:
    """Return the relations of extracted facts by normal form, with their spellings."""
    spellings: dict[str, list[str]] = {}
    for fact in extraction.facts:
        with suppress(InvalidInput):  # staging skips such a fact
            key = check_relation("relation", fact.relation, limits).key
            spellings.setdefault(key, []).append(fact.relation)
    return spellings


def _needed(facts: Sequence[ExtractedFact], single: Collection[str]) -> Iterator[ExtractedFact]:
    """Yield the facts to stage: without ends that the next fact of the relation implies."""
    for fact, following in zip_longest(facts, facts[1:]):
        ended_anyway = (
            fact.ends
            and following is not None
            and not following.ends
            and fact.relation in single
            and (fact.subject, fact.relation) == (following.subject, following.relation)
            and fact.valid_from == following.valid_from
        )
        if not ended_anyway:
            yield fact


def part_result(
    items: CommittedItems | None, *, already: bool, skipped: tuple[Skipped, ...] = ()
) -> PartResult:
    """Return the result of a part whose transaction is in the log, else None."""
    if items is None:
        return PartResult(already=already, skipped=skipped)
    return PartResult(
        memories=items.memories,
        facts=items.facts,
        skipped=skipped,
        already=already,
        commit=(items.commit_ts, items.committed_micros),
    )


def last_commit(parts: Sequence[PartResult]) -> CommitPoint | None:
    """Return the last commit of the parts; None if none of them has one."""
    return max((part.commit for part in parts if part.commit is not None), default=None)


def whole(
    transcript_id: str, extractor: str, parts: Sequence[PartResult], commit: CommitPoint
) -> ExtractionReport:
    """Return the report of a transcript from the results of its parts."""
    return ExtractionReport(
        transcript_id=transcript_id,
        extractor=extractor,
        memories=tuple(dict.fromkeys(item_id for part in parts for item_id in part.memories)),
        facts=tuple(item_id for part in parts for item_id in part.facts),
        skipped=tuple(item_id for part in parts for item_id in part.skipped),
        already=any(part.already for part in parts) and not any(part.is_new for part in parts),
        commit_ts=commit[0],
        committed_at=to_datetime(commit[1]),
    )
