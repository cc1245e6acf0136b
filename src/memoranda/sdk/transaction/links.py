"""What a transaction does with links, transcripts and notices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memoranda.errors import InvalidInput
from memoranda.memory.inputs import (
    Duration,
    Message,
    check_duration,
    check_id,
    check_note,
    choose,
)
from memoranda.memory.records import Link
from memoranda.memory.rendering import TEXT
from memoranda.memory.requests import (
    CiteTranscript,
    LinkMemories,
    LinksRead,
    ResolveNotice,
    StoreMessages,
    StoreTranscript,
    UnlinkMemories,
)
from memoranda.memory.spoken import check_spoken
from memoranda.model.instant import Instant, to_micros
from memoranda.model.memory import RELATIONS, SUPERSEDES, Span
from memoranda.model.packing import pack
from memoranda.sdk.staging import Staging

DECISIONS = ("keep", "revise", "retract")


class LinkStaging(Staging):
    """Linking memories, keeping and citing transcripts, and resolving notices."""

    def link(self, *, source: str, target: str, relation: str, agent_id: str | None = None) -> None:
        """Stage a link from one memory to another; one that holds already stays as it is."""
        self._stage(
            LinkMemories(
                self._acting(agent_id),
                check_id("source", source),
                check_id("target", target),
                choose("relation", relation, RELATIONS),
            )
        )

    def unlink(
        self, *, source: str, target: str, relation: str, agent_id: str | None = None
    ) -> None:
        """Stage the end of a link."""
        self._stage(
            UnlinkMemories(
                self._acting(agent_id),
                check_id("source", source),
                check_id("target", target),
                choose("relation", relation, RELATIONS),
            )
        )

    def supersede(self, *, old: str, new: str, agent_id: str | None = None) -> None:
        """Stage that one memory takes another one's place."""
        by = self._acting(agent_id)
        self._stage(LinkMemories(by, check_id("new", new), check_id("old", old), SUPERSEDES))

    def links(
        self, memory_id: str, *, relation: str | None = None, agent_id: str | None = None
    ) -> list[Link]:
        """Return the links of a memory that hold as this transaction sees it."""
        viewer, memory_id = self._acting(agent_id), check_id("memory_id", memory_id)
        chosen = RELATIONS if relation is None else (choose("relation", relation, RELATIONS),)
        self._draft.track(LinksRead(memory_id))
        return self._calls.run(self._read_links, memory_id, chosen, viewer)

    def store_transcript(
        self,
        text: str | Iterable[Message],
        *,
        occurred_at: Instant | None = None,
        ttl: Duration | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> str:
        """Stage words as they were said, a text or messages, and return the transcript's id."""
        scope = self._owner(agent_id, namespace)
        words = check_spoken(text, self._core.limits)
        occurred = None if occurred_at is None else to_micros("occurred_at", occurred_at)
        lifetime = check_duration("ttl", ttl)
        transcript_id = self._draft.new_id(self._core.ids)
        digest, size = words.digest, len(words.content)
        named = (scope, transcript_id, digest, size, occurred, lifetime)
        request = StoreTranscript(*named)
        if words.form != TEXT:
            request = StoreMessages(*named, words.form, len(words.text))
        self._stage(request, blobs={digest: pack(words.content)})
        self._transcripts[transcript_id] = (digest, size, words.form)
        self._words = (transcript_id, words.text)
        return transcript_id

    def link_transcript(
        self,
        *,
        memory_id: str,
        transcript_id: str,
        spans: Sequence[Span] | None = None,
        agent_id: str | None = None,
    ) -> None:
        """Stage that a memory comes from a transcript: from these spans of it, or the whole."""
        by, memory_id = self._acting(agent_id), check_id("memory_id", memory_id)
        transcript_id = check_id("transcript_id", transcript_id)
        checked = self._check_spans(transcript_id, spans)
        self._stage(CiteTranscript(by, memory_id, transcript_id, checked))

    def resolve_invalidation(
        self,
        notice_id: str,
        *,
        decision: str,
        note: str | None = None,
        replacement: str | None = None,
        agent_id: str | None = None,
    ) -> None:
        """Stage a decision: `keep`, `retract`, or `revise` with the memory that replaces it."""
        by, notice_id = self._acting(agent_id), check_id("notice_id", notice_id)
        decision = choose("decision", decision, DECISIONS)
        if decision == "revise" and replacement is None:
            raise InvalidInput(
                "replacement", "is missing: 'revise' needs the memory that takes its place"
            )
        if decision != "revise" and replacement is not None:
            raise InvalidInput(
                "replacement", f"goes with the decision 'revise' only, and this is {decision!r}"
            )
        new = None if replacement is None else check_id("replacement", replacement)
        checked = check_note("note", note, self._core.limits)
        self._stage(ResolveNotice(by, notice_id, decision, checked, new))

    def _read_links(self, memory_id: str, relations: Sequence[str], viewer: str) -> list[Link]:
        with self._core.engine.reading() as reader:
            return self._memories.links(reader, memory_id, relations, viewer)
