"""What a store does with transcripts, and where beliefs come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from memoranda.errors import NotFound
from memoranda.log.moments import Moment, asked_at
from memoranda.log.pages import Mapped
from memoranda.memory import provenance, standing, transcripts
from memoranda.memory.inputs import Duration, Message, check_id
from memoranda.memory.provenance import Replayed
from memoranda.memory.queries import Filters
from memoranda.memory.records import Origin, TranscriptLink
from memoranda.memory.transcripts import TranscriptInfo, Transcripts
from memoranda.model.instant import Instant
from memoranda.model.memory import Span
from memoranda.model.scope import AllNamespaces
from memoranda.sdk.calls import paged
from memoranda.sdk.core import check_version
from memoranda.sdk.handle import Handle
from memoranda.sdk.transaction import Transaction
from memoranda.sdk.transcript import ReplayEntry, Transcript


class TranscriptCalls(Handle):
    """Keeping words, citing them, and finding which words a belief is made of."""

    def store_transcript(
        self,
        text: str | Iterable[Message],
        *,
        occurred_at: Instant | None = None,
        ttl: Duration | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        txn_id: str | None = None,
    ) -> Transcript:
        """Keep words as they were said: a text, or messages with a `role` and a `content`.

        Messages are kept as they are given, in the shapes of OpenAI, Anthropic and LangChain, as
        mappings or objects, and given back by `Transcript.messages`. The text of the transcript is
        only a rendering of them: who says what is in the messages, and nothing that is said can
        change it. A text is what one voice claims, whoever it says was speaking.
        """
        words = text if isinstance(text, str) or not isinstance(text, Iterable) else tuple(text)

        def work(transaction: Transaction) -> str:
            return transaction.store_transcript(
                words, occurred_at=occurred_at, ttl=ttl, agent_id=agent_id, namespace=namespace
            )

        _, transcript_id = self._commit(work, txn_id)
        info = self._calls.run(self._transcript, transcript_id, None)
        if info is None:  # it is a retry, and comes behind an erasure
            raise NotFound(f"transcript {transcript_id!r} was forgotten")
        return Transcript(self._core, self._calls, info)

    def get_transcript(self, transcript_id: str, *, at: Moment | None = None) -> Transcript | None:
        """Return a transcript; its text is read when it is asked for."""
        info = self._calls.run(self._transcript, check_id("transcript_id", transcript_id), at)
        return None if info is None else Transcript(self._core, self._calls, info)

    def list_transcripts(
        self,
        *,
        namespace: str | AllNamespaces | None = None,
        children: bool = True,
        at: Moment | None = None,
    ) -> Iterator[Transcript]:
        """Yield the transcripts of a namespace and those below it, as they were stored."""
        filters = Filters(
            namespace=self._namespace(namespace),
            children=children,
            agent_id=None,
            kind=None,
            tier=None,
            tags=frozenset(),
            metadata={},
            viewer=self._defaults.actor,
        )
        found = Transcripts(self._core.engine, self._asked(at), filters)
        return paged(
            self._calls,
            Mapped(found, lambda info: Transcript(self._core, self._calls, info)),
        )

    def link_transcript(
        self,
        *,
        memory_id: str,
        transcript_id: str,
        spans: Sequence[Span] | None = None,
        agent_id: str | None = None,
        txn_id: str | None = None,
    ) -> TranscriptLink:
        """Say that a memory comes from a transcript: from these spans of it, or the whole."""

        def work(transaction: Transaction) -> None:
            transaction.link_transcript(
                memory_id=memory_id, transcript_id=transcript_id, spans=spans, agent_id=agent_id
            )

        self._commit(work, txn_id)
        found = self._calls.run(self._cited, memory_id, None, self._viewer(agent_id))
        for link in found:
            if link.transcript_id == transcript_id:
                return link
        raise NotFound(  # it is a retry, and comes behind an erasure
            f"memory {memory_id!r} or transcript {transcript_id!r} was forgotten"
        )

    def transcripts_for(
        self, memory_id: str, *, at: Moment | None = None, agent_id: str | None = None
    ) -> list[TranscriptLink]:
        """Return the transcripts a memory itself comes from, and the spans of them."""
        viewer = self._viewer(agent_id)
        return self._calls.run(self._cited, check_id("memory_id", memory_id), at, viewer)

    def memories_for(
        self, transcript_id: str, *, at: Moment | None = None, agent_id: str | None = None
    ) -> list[TranscriptLink]:
        """Return the memories that come from a transcript, in the order of their ids."""
        viewer = self._viewer(agent_id)
        return self._calls.run(self._citing, check_id("transcript_id", transcript_id), at, viewer)

    def replay_transcripts(
        self,
        memory_id: str,
        *,
        depth: int | None = None,
        at: Moment | None = None,
        agent_id: str | None = None,
    ) -> list[ReplayEntry]:
        """Return the transcripts a memory is made of, in the order in which they were said.

        For a reflection these are its own and those of what it reflects on, so many links away;
        0 means its own alone, None means all. Their text is read when it is asked for.
        """
        viewer, memory_id = self._viewer(agent_id), check_id("memory_id", memory_id)
        hops = check_version("depth", depth, least=0)
        found = self._calls.run(self._replay, memory_id, hops, at, viewer)
        return [ReplayEntry(self._core, self._calls, each) for each in found]

    def origins(
        self, memory_id: str, *, at: Moment | None = None, agent_id: str | None = None
    ) -> Origin | None:
        """Return what a memory rests on, as a tree: memories, and the words they come from."""
        viewer, memory_id = self._viewer(agent_id), check_id("memory_id", memory_id)
        return self._calls.run(self._origins, memory_id, at, viewer)

    def _transcript(self, transcript_id: str, at: Moment | None) -> TranscriptInfo | None:
        with self._core.engine.snapshot() as reader:
            commit = asked_at(reader, self._core.clock, at).commit
            return transcripts.get(reader, transcript_id, commit)

    def _cited(self, memory_id: str, at: Moment | None, viewer: str) -> list[TranscriptLink]:
        with self._core.engine.snapshot() as reader:
            commit = asked_at(reader, self._core.clock, at).commit
            if standing.find_one(reader, memory_id, commit, viewer=viewer) is None:
                return []
            return transcripts.links_of_memory(reader, memory_id, commit)

    def _citing(self, transcript_id: str, at: Moment | None, viewer: str) -> list[TranscriptLink]:
        with self._core.engine.snapshot() as reader:
            commit = asked_at(reader, self._core.clock, at).commit
            found = transcripts.find(reader, [transcript_id], commit).get(transcript_id)
            if found is None:
                return []
            return transcripts.links_of_transcript(reader, found, commit, viewer)

    def _replay(
        self, memory_id: str, depth: int | None, at: Moment | None, viewer: str
    ) -> list[Replayed]:
        with self._core.engine.snapshot() as reader:
            asked = asked_at(reader, self._core.clock, at)
            return provenance.replay_transcripts(reader, memory_id, depth, asked, viewer)

    def _origins(self, memory_id: str, at: Moment | None, viewer: str) -> Origin | None:
        with self._core.engine.snapshot() as reader:
            asked = asked_at(reader, self._core.clock, at)
            return provenance.origins(reader, memory_id, asked, viewer)
