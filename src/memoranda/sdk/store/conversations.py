"""The store's calls that import conversations and extract memories and facts from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from memoranda.calls.extraction import (
    FindSameTranscript,
    GetCommittedItems,
    GetHead,
    UnusedRelations,
)
from memoranda.calls.facts import Cardinalities
from memoranda.calls.requests import check_transcript_ref
from memoranda.calls.results import ExtractionReport, ImportedChat
from memoranda.calls.transcript_writes import StoreTranscript
from memoranda.calls.transcripts import GetTranscript, LoadTranscript
from memoranda.errors import IdempotencyMismatch, NotFound, Unavailable
from memoranda.extract.protocol import (
    Extraction,
    Extractor,
    Skipped,
    extractor_name,
    single_valued_relations,
)
from memoranda.graph.edge_resolver import RelationCardinality
from memoranda.graph.requests import check_relation
from memoranda.memory.messages import plain_messages
from memoranda.memory.requests import ChatMessage
from memoranda.memory.speakers import check_names, name_speakers, names_of_a_text
from memoranda.memory.transcripts import StoredTranscript, TranscriptContent, check_transcript
from memoranda.model.clock import Duration, Instant, check_time, plain_duration, to_datetime
from memoranda.model.document import Document
from memoranda.model.limits import check_callable, check_items, plain_text
from memoranda.model.refs import IdLike
from memoranda.model.scope import Scope
from memoranda.sdk.extraction import (
    Part,
    PartResult,
    conversation,
    last_commit,
    part_result,
    relations_of,
    whole,
    with_extraction,
)
from memoranda.sdk.store.handle import Handle
from memoranda.sdk.transaction.transaction import Transaction
from memoranda.storage.port import Progress

if TYPE_CHECKING:
    from memoranda.extract.messages import Outline


class ExtractCalls(Handle):
    """Importing conversations, and extracting memories and facts from them."""

    def import_chat(
        self,
        text: str | Iterable[ChatMessage],
        *,
        names: Mapping[str, str] | None = None,
        extractor: Extractor | str | None = None,
        occurred_at: Instant | None = None,
        ttl: Duration | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        progress: Progress | None = None,
    ) -> ImportedChat:
        """Store a conversation once, and extract from it if an extractor is given.

        It is a text with one message a line, as `Name: text`, with an optional time in brackets
        before it; or a list of messages with a `speaker` (or `role`), a `content` and an optional
        `timestamp`, as `store_transcript` takes them. It has one time, `occurred_at`, which
        defaults to that of the first message with a time: import each session on its own. The same
        content of the same time is stored once in a scope. It is stored before the extraction: if
        that fails, import or `extract` again. `extractor` is as in `extract`, `names` as in
        `store_transcript`.
        """
        from memoranda.extract.extractors import resolve_extractor

        check_callable("progress", progress)
        resolved_extractor = None if extractor is None else resolve_extractor(extractor)
        words = self._named(text, names)
        scope = self._defaults.scope(agent_id, namespace, self._calls.limits, writing=True)
        occurred_micros = check_time("occurred_at", occurred_at)
        spoken, lines = self._calls.run(self._outlined, words, occurred_micros)
        occurred = lines.started_at if occurred_at is None else occurred_at
        place = (scope.agent_id, scope.namespace)
        duplicate = self._calls.ask(
            FindSameTranscript(*place, spoken.digests, len(spoken.text), occurred)
        )
        if duplicate is None:
            info = self._write(
                StoreTranscript(*place, words, None, occurred, plain_duration("ttl", ttl))
            )
            stored = StoredTranscript(info.id, info.commit_ts, info.created_micros)
        else:
            stored = duplicate
        transcript_id = stored.id
        imported = ImportedChat(
            transcript_id=transcript_id,
            already=duplicate is not None,
            messages=lines.message_count,
            commit_ts=stored.commit_ts,
            committed_at=to_datetime(stored.created_micros),
        )
        if resolved_extractor is None:
            return imported
        try:
            report = self.extract(
                transcript_id,
                extractor=resolved_extractor,
                agent_id=scope.agent_id,
                namespace=scope.namespace,
                progress=progress,
            )
        except Unavailable as error:
            raise Unavailable(
                f"{error}; the conversation is stored as transcript {transcript_id}: `extract` it"
            ) from error
        return with_extraction(imported, report)

    def extract(
        self,
        transcript_id: IdLike,
        *,
        extractor: Extractor | str,
        names: Mapping[str, str] | None = None,
        single_valued: Sequence[str] | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        progress: Progress | None = None,
    ) -> ExtractionReport:
        """Extract memories and facts from a transcript, each with a citation of its words.

        `extractor` is an `Extractor`, a chat endpoint with a model, `URL#model`, or `rules`, which
        needs no model and understands a few kinds of plain English sentences. A long transcript is
        split into parts of one transaction each. A committed part is not extracted again under the
        same extractor's name, so after a failure, extract again. `skipped` lists what could not be
        stored. `names` are the names of speakers that the transcript calls by a role only, such as
        `{"user": "Ann"}`; they are not stored with the transcript. A user without a name is another
        person in each conversation, such as `user 9f3a1c`.

        The owner is the bound agent, or else the agent that stored the transcript; the namespace
        defaults to that of the transcript. Relations in `single_valued`, by default those of the
        extractor, become single-valued if they are new to the namespace; the cardinality of others
        does not change. `progress(done, total)` counts bytes.
        """
        from memoranda.extract.extractors import resolve_extractor
        from memoranda.extract.messages import split_into_blocks

        check_callable("progress", progress)
        resolved_extractor = resolve_extractor(extractor)
        transcript_id = check_transcript_ref("transcript_id", transcript_id).transcript_id
        speakers = check_names(names, self._calls.limits)
        info = self._calls.ask(GetTranscript(transcript_id))
        if info is None or info.erased:
            raise NotFound(f"there is no transcript {transcript_id!r}", field="transcript_id")
        content = self._calls.ask(LoadTranscript(transcript_id))
        talk = self._calls.run(conversation, info, content, speakers)
        owner = info.agent_id if agent_id is self._defaults.agent_id is None else agent_id
        target_namespace = info.namespace if namespace is None else namespace
        scope = self._defaults.scope(owner, target_namespace, self._calls.limits, writing=True)
        single = (
            single_valued_relations(resolved_extractor)
            if single_valued is None
            else _relations(single_valued)
        )
        occurred = info.occurred_at or info.created_at
        parts: list[PartResult] = []
        for block in split_into_blocks(talk.messages):
            part = Part(transcript_id, scope, extractor_name(resolved_extractor), block, occurred)
            parts.append(self._extract(part, resolved_extractor, single))
            if progress is not None:
                progress(block[-1].span[1], info.original_size)
        commit = last_commit(parts)
        if commit is None:
            commit = self._calls.ask(GetHead())
        report = whole(transcript_id, extractor_name(resolved_extractor), parts, commit)
        return replace(report, skipped=talk.unclear + report.skipped)

    def _extract(self, part: Part, extractor: Extractor, single: Sequence[str]) -> PartResult:
        """Extract a part and commit the result, unless the log has it."""
        earlier = self._calls.ask(GetCommittedItems(part.txn_id))
        if earlier is not None:
            return part_result(earlier, already=True)
        extraction = self._calls.run_apart(part.extract, extractor)
        skipped: list[Skipped] = []

        def work(transaction: Transaction) -> None:
            fresh, one_each = self._single(part.scope, extraction, single)
            for relation in fresh:
                transaction.set_cardinality(
                    relation=relation,
                    cardinality="single",
                    agent_id=part.scope.agent_id,
                    namespace=part.scope.namespace,
                )
            skipped[:] = transaction._stage_part(part, extraction, one_each)  # noqa: SLF001

        is_duplicate = False
        try:
            self._commit(work, part.txn_id)
        except IdempotencyMismatch:  # another process committed this part, with another result
            is_duplicate = True
        commit = self._calls.ask(GetCommittedItems(part.txn_id))
        items = (*extraction.skipped, *skipped)
        return part_result(commit, already=is_duplicate, skipped=items)

    def _named(
        self, text: str | Iterable[ChatMessage], names: Mapping[str, str] | None
    ) -> str | list[Document]:
        """Return a text, or plain messages with the names of their speakers."""
        limits = self._calls.limits
        speakers = check_names(names, limits)
        if not isinstance(text, str):
            return name_speakers(plain_messages("text", text, limits), speakers)
        if speakers:
            raise names_of_a_text()
        return text

    def _outlined(
        self, words: str | list[Document], occurred_at: int | None
    ) -> tuple[TranscriptContent, Outline]:
        """Return the content to store of a conversation, and its outline."""
        from memoranda.extract.messages import outline_messages, outline_text

        spoken = check_transcript(words, self._calls.limits)
        if spoken.rendering is not None and not isinstance(words, str):
            return spoken, outline_messages(words, spoken.rendering)
        began = None if occurred_at is None else to_datetime(occurred_at)
        return spoken, outline_text(spoken.text.decode(), began)

    def _single(
        self, scope: Scope, extraction: Extraction, single_valued: Sequence[str]
    ) -> tuple[list[str], set[str]]:
        """Return the single-valued relations of an extraction: the new ones, and all of them."""
        limits = self._calls.limits
        keys = {check_relation("single_valued", relation, limits).key for relation in single_valued}
        spellings = relations_of(extraction, limits)
        candidates = tuple(spelled[0] for key, spelled in spellings.items() if key in keys)
        fresh = self._calls.ask(UnusedRelations(scope.namespace, candidates)) if candidates else []
        cardinalities = self._calls.ask(Cardinalities(scope.namespace))
        one_each = set[str]()
        for key, spelled in spellings.items():
            is_single = cardinalities.get(key) is RelationCardinality.SINGLE_VALUED
            if is_single or spelled[0] in fresh:
                one_each.update(spelled)
        return fresh, one_each


def _relations(names: object) -> tuple[str, ...]:
    return tuple(plain_text("single_valued", name) for name in check_items("single_valued", names))
