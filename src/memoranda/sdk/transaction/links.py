"""The calls of a transaction about links, transcripts and notices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from memoranda.calls.core import check_optional_integer
from memoranda.calls.requests import (
    SUPERSEDE_ARGUMENTS,
    check_memory_id,
    check_transcript_ref,
    link_memories,
    resolve_notice,
    supersede_memory,
    unlink_memories,
)
from memoranda.memory.messages import TEXT
from memoranda.memory.records import DependentRecord, Link
from memoranda.memory.requests import (
    ChatMessage,
    CiteTranscript,
    LinksRead,
    StoreMessages,
    StoreTranscript,
    check_choice,
)
from memoranda.memory.transcripts import check_transcript
from memoranda.model.clock import Duration, Instant, check_duration, check_time
from memoranda.model.codec import pack
from memoranda.model.memory import REFLECTS_ON, RELATIONS, Span
from memoranda.model.refs import IdLike
from memoranda.sdk.transaction.staging import Staging


class LinkStaging(Staging):
    """Linking memories, storing and citing transcripts, and resolving notices."""

    def link(
        self, *, source: IdLike, target: IdLike, relation: str, agent_id: str | None = None
    ) -> None:
        """Stage a link from one memory to another; an open link stays as it is."""
        self._stage(link_memories(self._acting(agent_id), source, target, relation))

    def unlink(
        self, *, source: IdLike, target: IdLike, relation: str, agent_id: str | None = None
    ) -> None:
        """Stage the end of a link."""
        self._stage(unlink_memories(self._acting(agent_id), source, target, relation))

    def supersede(self, *, old: IdLike, new: IdLike, agent_id: str | None = None) -> None:
        """Stage that one memory supersedes another."""
        self._stage(
            supersede_memory(self._acting(agent_id), old, new), arguments=SUPERSEDE_ARGUMENTS
        )

    def links(
        self, memory_id: IdLike, *, relation: str | None = None, agent_id: str | None = None
    ) -> list[Link]:
        """Return the open links of a memory as this transaction sees them."""
        viewer, memory_id = self._acting(agent_id), check_memory_id("memory_id", memory_id)
        relations = (
            RELATIONS if relation is None else (check_choice("relation", relation, RELATIONS),)
        )
        self._draft.track(LinksRead(memory_id))
        return self._calls.run(self._read_links, memory_id, relations, viewer)

    def dependents(
        self, memory_id: IdLike, *, depth: int | None = 1, agent_id: str | None = None
    ) -> list[DependentRecord]:
        """Return the memories that reflect on a memory, up to `depth` links away (None: any).

        They are as this transaction sees them. The links of each memory on the way are tracked.
        """
        viewer, memory_id = self._acting(agent_id), check_memory_id("memory_id", memory_id)
        hops = check_optional_integer("depth", depth, minimum=0)
        return self._calls.run(self._read_dependents, memory_id, hops, viewer)

    def store_transcript(
        self,
        text: str | Iterable[ChatMessage],
        *,
        names: Mapping[str, str] | None = None,
        occurred_at: Instant | None = None,
        ttl: Duration | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> str:
        """Stage a transcript, a text or messages, and return its id.

        `names` are the names of speakers by role, as in `Store.store_transcript`.
        """
        scope = self._owner(agent_id, namespace)
        words = check_transcript(text, self._core.limits, names)
        occurred = check_time("occurred_at", occurred_at)
        lifetime = check_duration("ttl", ttl)
        transcript_id = self._draft.new_id(self._core.ids)
        digest, size = words.digest, len(words.content)
        arguments = (scope, transcript_id, digest, size, occurred, lifetime)
        request = StoreTranscript(*arguments)
        if words.form != TEXT:
            request = StoreMessages(*arguments, words.form, len(words.text))
        self._stage(request, blobs={digest: pack(words.content)})
        self._transcripts[transcript_id] = (digest, size, words.form)
        self._words = (transcript_id, words.text)
        return transcript_id

    def link_transcript(
        self,
        *,
        memory_id: IdLike,
        transcript_id: IdLike,
        spans: Sequence[Span] | None = None,
        agent_id: str | None = None,
    ) -> None:
        """Stage a citation of a transcript by a memory: these spans of it, or all of it."""
        by, memory_id = self._acting(agent_id), check_memory_id("memory_id", memory_id)
        source = self._check_quotation(check_transcript_ref("transcript_id", transcript_id), spans)
        self._stage(CiteTranscript(by, memory_id, source.transcript_id, source.spans))

    def resolve_invalidation(
        self,
        notice_id: IdLike,
        *,
        decision: str,
        note: str | None = None,
        replacement: IdLike | None = None,
        agent_id: str | None = None,
    ) -> None:
        """Stage a decision on a notice: `keep`, `retract`, or `revise` with a replacement."""
        actor = self._acting(agent_id)
        self._stage(
            resolve_notice(self._core.limits, actor, notice_id, decision, note, replacement)
        )

    def _read_dependents(
        self, memory_id: str, depth: int | None, viewer: str
    ) -> list[DependentRecord]:
        visited: dict[str, DependentRecord] = {}
        frontier, hop = [memory_id], 0
        with self._core.engine.reading() as reader:
            while frontier and (depth is None or hop < depth):
                hop += 1
                sources: set[str] = set()
                for name in frontier:
                    self._draft.track(LinksRead(name))
                    links = self._memories.links(reader, name, (REFLECTS_ON,), viewer)
                    sources.update(link.source for link in links if link.target == name)
                frontier = sorted(sources - visited.keys() - {memory_id})
                memories = self._memories.overlay(reader).memories(frontier, content=False)
                for name in frontier:
                    memory = memories[name]
                    record = DependentRecord(name, memory.namespace, memory.agent_id, hop)
                    visited[name] = record
        return list(visited.values())

    def _read_links(self, memory_id: str, relations: Sequence[str], viewer: str) -> list[Link]:
        with self._core.engine.reading() as reader:
            return self._memories.links(reader, memory_id, relations, viewer)
