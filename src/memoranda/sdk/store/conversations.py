"""What a store does with conversations: importing them, and extracting what they say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from memoranda.errors import IdempotencyMismatch, Unavailable
from memoranda.extract.choosing import chosen_extractor
from memoranda.extract.messages import blocks
from memoranda.extract.outline import Outline, outline, outline_of
from memoranda.extract.protocol import (
    Extraction,
    Extractor,
    Skipped,
    name_of,
    single_valued_by,
)
from memoranda.graph import queries as graph
from memoranda.graph.inputs import check_relation
from memoranda.graph.resolution import RelationCardinality
from memoranda.log import retries
from memoranda.memory import transcripts
from memoranda.memory.chat_json import plain_messages
from memoranda.memory.committed import operations_of
from memoranda.memory.inputs import Duration, check_id, check_time
from memoranda.memory.inputs import Message as Chatted
from memoranda.memory.spoken import Spoken, check_spoken
from memoranda.model.document import Document
from memoranda.model.instant import Instant, to_datetime
from memoranda.model.limits import check_callable, check_flag, check_items, plain_text
from memoranda.model.scope import Scope
from memoranda.sdk.extraction import (
    ExtractionReport,
    ImportedChat,
    Part,
    conversation,
    ids_in,
    relations_of,
    whole,
)
from memoranda.sdk.handle import Handle
from memoranda.sdk.transaction import Transaction
from memoranda.storage.port import Progress


class ExtractCalls(Handle):
    """Keeping conversations, and drawing memories and facts from them."""

    def import_chat(
        self,
        text: str | Iterable[Chatted],
        *,
        extract: bool = False,
        extractor: Extractor | str | None = None,
        occurred_at: Instant | None = None,
        ttl: Duration | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        progress: Progress | None = None,
    ) -> ImportedChat:
        """Keep a conversation, once, and with `extract` or an extractor draw from it what it says.

        It is a plain transcript, a message a line as `Name: text`, with or without a time in
        brackets before it, or a list of messages with a `speaker` (or `role`), a `content` and
        perhaps a `timestamp`, as `store_transcript` takes them. It has one time, `occurred_at`,
        not given that of the first message that has one: import each session on its own. The same
        words of the same time are kept once in a scope. They are stored before anything is
        extracted: if that fails, import or `extract` again. `extractor` is one, or `rules`, or an
        endpoint and a model, `URL#model`.
        """
        check_callable("progress", progress)
        chosen = chosen_extractor(extractor, default=check_flag("extract", extract))
        words = text if isinstance(text, str) else plain_messages("text", text, self._core.limits)
        scope = self._defaults.scope(agent_id, namespace, self._core.limits, writing=True)
        given = check_time("occurred_at", occurred_at)
        spoken, lines = self._calls.run(self._outlined, words, given)
        occurred = lines.began if occurred_at is None else occurred_at
        known = self._calls.run(self._same, scope, spoken, occurred)
        kept = known or self._keep(scope, words, occurred, ttl)
        made = ImportedChat(transcript_id=kept, already=known is not None, messages=lines.messages)
        if chosen is None:
            return made
        whose = {"agent_id": scope.agent_id, "namespace": scope.namespace}
        try:
            report = self.extract(kept, extractor=chosen, progress=progress, **whose)
        except Unavailable as error:
            raise Unavailable(
                f"{error}; the words are kept as transcript {kept}: `extract` tries again"
            ) from error
        return replace(made, extraction=report)

    def extract(
        self,
        transcript_id: str,
        *,
        extractor: Extractor | str | None = None,
        single_valued: Sequence[str] | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        progress: Progress | None = None,
    ) -> ExtractionReport:
        """Draw memories and facts from a transcript, each citing the words it comes from.

        Without an extractor it is `rules`, which needs no model, for plain English. Where the
        transcript is long it is done in parts, each in one transaction; a part that is done is not
        done again under the same extractor's name, so after a failure, extract again. What cannot
        be taken is set aside in `skipped`.

        What is drawn is of the bound agent, else of the one who stored the transcript, and in
        the transcript's namespace if none is named. Relations in `single_valued`, not given the
        extractor's own, have one object at a time from there on if they are new to the namespace:
        of one that was used or set before, it stays as it is.
        `progress` is told how many bytes are done, and of how many.
        """
        check_callable("progress", progress)
        chosen = chosen_extractor(extractor)
        transcript_id = check_id("transcript_id", transcript_id)
        talk = self._calls.run(conversation, self._core.engine, transcript_id)
        info = talk.info
        who = info.agent_id if agent_id is self._defaults.agent_id is None else agent_id
        where = info.namespace if namespace is None else namespace
        scope = self._defaults.scope(who, where, self._core.limits, writing=True)
        single = single_valued_by(chosen) if single_valued is None else _relations(single_valued)
        occurred = info.occurred_at or info.created_at
        reports: list[ExtractionReport] = []
        for block in blocks(talk.messages):
            part = Part(transcript_id, scope, name_of(chosen), block, occurred)
            reports.append(self._extract(part, chosen, single))
            if progress is not None:
                progress(block[-1].span[1], info.original_size)
        report = whole(transcript_id, name_of(chosen), reports)
        return replace(report, skipped=talk.unclear + report.skipped)

    def _extract(self, part: Part, extractor: Extractor, single: Sequence[str]) -> ExtractionReport:
        """Extract a part, unless that was done."""
        known = self._calls.run(self._done, part)
        if known is not None:
            return part.report(*known, already=True)
        found = self._calls.run(part.extract, extractor)
        skipped: list[Skipped] = []

        def work(transaction: Transaction) -> None:
            fresh, one_each = self._calls.run(self._single, part.scope, found, single)
            for relation in fresh:
                transaction.set_cardinality(
                    relation=relation,
                    cardinality="single",
                    agent_id=part.scope.agent_id,
                    namespace=part.scope.namespace,
                )
            skipped[:] = part.stage(transaction, found, one_each)

        already = False
        try:
            self._commit(work, part.txn_id)
        except IdempotencyMismatch:  # somebody else was first, and found something else
            already = True
        made = self._calls.run(self._done, part) or ((), ())
        return part.report(*made, already=already, skipped=(*found.skipped, *skipped))

    def _outlined(
        self, words: str | list[Document], occurred_at: int | None
    ) -> tuple[Spoken, Outline]:
        """Return what is to be kept of a conversation, and how long it is and since when."""
        spoken = check_spoken(words, self._core.limits)
        if spoken.rendering is not None and not isinstance(words, str):
            return spoken, outline_of(words, spoken.rendering)
        began = None if occurred_at is None else to_datetime(occurred_at)
        return spoken, outline(spoken.text.decode(), began)

    def _keep(
        self,
        scope: Scope,
        words: str | list[Document],
        occurred_at: Instant | None,
        ttl: Duration | None,
    ) -> str:
        """Store the words of a conversation, in a transaction of their own."""

        def work(transaction: Transaction) -> str:
            return transaction.store_transcript(
                words,
                occurred_at=occurred_at,
                ttl=ttl,
                agent_id=scope.agent_id,
                namespace=scope.namespace,
            )

        return self._commit(work, None)[1]

    def _same(self, scope: Scope, words: Spoken, occurred_at: Instant | None) -> str | None:
        with self._core.engine.reading() as reader:
            return transcripts.same(reader, scope, words, check_time("occurred_at", occurred_at))

    def _done(self, part: Part) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """Return the memories and the facts that were extracted from a part, if the log has it."""
        actor = self._defaults.actor
        with self._core.engine.reading() as reader:
            commit = retries.commit_of(reader, part.txn_id, actor)
            return None if commit is None else ids_in(operations_of(reader, commit))

    def _single(
        self, scope: Scope, found: Extraction, wanted: Sequence[str]
    ) -> tuple[list[str], set[str]]:
        """Return the relations in use that are to have one object at a time: new ones, and all."""
        limits = self._core.limits
        keys = {check_relation("single_valued", each, limits).key for each in wanted}
        fresh, one_each = list[str](), set[str]()
        with self._core.engine.reading() as reader:
            known = graph.cardinalities(reader, scope.namespace)
            for key, spelled in relations_of(found, limits).items():
                if key in keys and graph.unclassified(reader, scope.namespace, key):
                    fresh.append(spelled[0])
                elif known.get(key) is not RelationCardinality.SINGLE_VALUED:
                    continue
                one_each.update(spelled)
        return fresh, one_each


def _relations(names: object) -> tuple[str, ...]:
    return tuple(plain_text("single_valued", name) for name in check_items("single_valued", names))
