"""The calls of a transaction about links, transcripts and notices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from memoranda.calls.link_writes import Link as LinkCall
from memoranda.calls.link_writes import ResolveInvalidation, Supersede, Unlink
from memoranda.calls.links import Dependents, Links
from memoranda.calls.plain import plain_messages, plain_spans
from memoranda.calls.requests import check_memory_id, check_transcript_ref
from memoranda.calls.transcript_writes import LinkTranscript, StoreTranscript
from memoranda.memory.records import DependentRecord, Link
from memoranda.memory.requests import ChatMessage
from memoranda.model.clock import Duration, Instant, plain_duration, plain_instant
from memoranda.model.memory import Span
from memoranda.model.refs import IdLike
from memoranda.sdk.calls import stage_call, stage_new
from memoranda.sdk.transaction.staging import Staging


class LinkStaging(Staging):
    """Linking memories, storing and citing transcripts, and resolving notices."""

    def link(
        self, *, source: IdLike, target: IdLike, relation: str, agent_id: str | None = None
    ) -> None:
        """Stage a link from one memory to another; an open link stays as it is."""
        ends = check_memory_id("source", source), check_memory_id("target", target)
        return stage_call(self._calls, self._transaction, LinkCall(*ends, relation, agent_id))

    def unlink(
        self, *, source: IdLike, target: IdLike, relation: str, agent_id: str | None = None
    ) -> None:
        """Stage the end of a link."""
        ends = check_memory_id("source", source), check_memory_id("target", target)
        return stage_call(self._calls, self._transaction, Unlink(*ends, relation, agent_id))

    def supersede(self, *, old: IdLike, new: IdLike, agent_id: str | None = None) -> None:
        """Stage that one memory supersedes another."""
        ends = check_memory_id("old", old), check_memory_id("new", new)
        return stage_call(self._calls, self._transaction, Supersede(*ends, agent_id))

    def links(
        self, memory_id: IdLike, *, relation: str | None = None, agent_id: str | None = None
    ) -> list[Link]:
        """Return the open links of a memory as this transaction sees them."""
        memory = check_memory_id("memory_id", memory_id)
        call = Links(memory, relation, agent_id=agent_id)
        return self._calls.ask_within(self._transaction, call)

    def dependents(
        self, memory_id: IdLike, *, depth: int | None = 1, agent_id: str | None = None
    ) -> list[DependentRecord]:
        """Return the memories that reflect on a memory, up to `depth` links away (None: any).

        They are as this transaction sees them. The links of each memory on the way are tracked.
        """
        memory = check_memory_id("memory_id", memory_id)
        call = Dependents(memory, depth, agent_id=agent_id)
        return self._calls.ask_within(self._transaction, call)

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
        call = StoreTranscript(
            *self._defaults.place(agent_id, namespace),
            plain_messages(text),
            names,
            plain_instant("occurred_at", occurred_at),
            plain_duration("ttl", ttl),
        )
        return stage_new(self._calls, self._transaction, call)

    def link_transcript(
        self,
        *,
        memory_id: IdLike,
        transcript_id: IdLike,
        spans: Sequence[Span] | None = None,
        agent_id: str | None = None,
    ) -> None:
        """Stage a citation of a transcript by a memory: these spans of it, or all of it."""
        memory = check_memory_id("memory_id", memory_id)
        transcript = check_transcript_ref("transcript_id", transcript_id)
        return stage_call(
            self._calls,
            self._transaction,
            LinkTranscript(memory, transcript, plain_spans(spans), agent_id),
        )

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
        notice = check_memory_id("notice_id", notice_id)
        new = None if replacement is None else check_memory_id("replacement", replacement)
        return stage_call(
            self._calls,
            self._transaction,
            ResolveInvalidation(notice, decision, note, new, agent_id),
        )
