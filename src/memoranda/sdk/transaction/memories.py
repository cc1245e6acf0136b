"""The calls of a transaction about memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import UNSET, UnsetType

from memoranda.calls.memories import GetMemory, check_named
from memoranda.calls.memory_writes import (
    Configure,
    Promote,
    Reflect,
    Remember,
    RetractMemory,
    Touch,
    UpdateMemory,
)
from memoranda.calls.plain import plain_memory_fields, plain_settings
from memoranda.calls.requests import check_memory_id, check_memory_ids
from memoranda.memory.records import Memory
from memoranda.memory.requests import ChangedMemory, NamespaceSettings, NewMemory, given_fields
from memoranda.model.clock import Duration, Instant
from memoranda.model.document import Document
from memoranda.model.memory import Span
from memoranda.model.refs import IdLike, RefLike
from memoranda.sdk.calls import stage_call, stage_new
from memoranda.sdk.transaction.staging import Staging


class MemoryStaging(Staging):
    """Remembering, reflecting, revising and reading memories as part of a transaction."""

    def remember(
        self,
        content: str,
        *,
        title: str | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        kind: str | UnsetType = UNSET,
        tier: str | UnsetType = UNSET,
        tags: Iterable[str] | UnsetType = UNSET,
        priority: int | UnsetType = UNSET,
        confidence: float | UnsetType = UNSET,
        source: str | UnsetType = UNSET,
        metadata: Document | UnsetType | None = UNSET,
        ttl: Duration | UnsetType | None = UNSET,
        event_time: Instant | UnsetType | None = UNSET,
        source_uri: str | UnsetType | None = UNSET,
        citations: Iterable[str] | UnsetType = UNSET,
        entity_id: str | UnsetType | None = UNSET,
        confidence_source: str | UnsetType | None = UNSET,
        visibility: str | UnsetType = UNSET,
        on_conflict: str | UnsetType = UNSET,
        transcript: IdLike | UnsetType | None = UNSET,
        spans: Sequence[Span] | UnsetType | None = UNSET,
    ) -> str:
        """Stage a memory and return its id; a title that is taken gives the id of its memory.

        The arguments are those of `Store.remember`.
        """
        agent, place = self._defaults.place(agent_id, namespace)
        fields = plain_memory_fields(NewMemory, locals())
        return stage_new(
            self._calls, self._transaction, Remember(agent, place, content, title, **fields)
        )

    def reflect(
        self,
        content: str,
        *,
        on: Iterable[IdLike] | RefLike,
        title: str | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        kind: str | UnsetType = UNSET,
        tier: str | UnsetType = UNSET,
        tags: Iterable[str] | UnsetType = UNSET,
        priority: int | UnsetType = UNSET,
        confidence: float | UnsetType = UNSET,
        source: str | UnsetType = UNSET,
        metadata: Document | UnsetType | None = UNSET,
        ttl: Duration | UnsetType | None = UNSET,
        event_time: Instant | UnsetType | None = UNSET,
        source_uri: str | UnsetType | None = UNSET,
        citations: Iterable[str] | UnsetType = UNSET,
        entity_id: str | UnsetType | None = UNSET,
        confidence_source: str | UnsetType | None = UNSET,
        visibility: str | UnsetType = UNSET,
        on_conflict: str | UnsetType = UNSET,
        transcript: IdLike | UnsetType | None = UNSET,
        spans: Sequence[Span] | UnsetType | None = UNSET,
    ) -> str:
        """Stage a reflection with its links, and return its id.

        The arguments are those of `Store.reflect`.
        """
        agent, place = self._defaults.place(agent_id, namespace)
        targets = check_memory_ids("on", on)
        fields = plain_memory_fields(NewMemory, locals())
        return stage_new(
            self._calls,
            self._transaction,
            Reflect(agent, place, content, title, on=targets, **fields),
        )

    def update_memory(
        self,
        memory_id: IdLike,
        *,
        agent_id: str | None = None,
        expect_version: int | None = None,
        title: str | UnsetType | None = UNSET,
        content: str | UnsetType = UNSET,
        kind: str | UnsetType = UNSET,
        tier: str | UnsetType = UNSET,
        tags: Iterable[str] | UnsetType = UNSET,
        priority: int | UnsetType = UNSET,
        confidence: float | UnsetType = UNSET,
        source: str | UnsetType = UNSET,
        metadata: Document | UnsetType | None = UNSET,
        ttl: Duration | UnsetType | None = UNSET,
        event_time: Instant | UnsetType | None = UNSET,
        source_uri: str | UnsetType | None = UNSET,
        citations: Iterable[str] | UnsetType = UNSET,
        entity_id: str | UnsetType | None = UNSET,
        confidence_source: str | UnsetType | None = UNSET,
    ) -> None:
        """Stage changes of a memory. The arguments are those of `Store.update_memory`."""
        fields = plain_memory_fields(ChangedMemory, locals())
        memory = check_memory_id("memory_id", memory_id)
        return stage_call(
            self._calls, self._transaction, UpdateMemory(memory, agent_id, expect_version, **fields)
        )

    def retract_memory(
        self, memory_id: IdLike, *, reason: str | None = None, agent_id: str | None = None
    ) -> None:
        """Stage a retraction: reads omit the memory then; its history and its links stay."""
        return stage_call(
            self._calls,
            self._transaction,
            RetractMemory(check_memory_id("memory_id", memory_id), reason, agent_id),
        )

    def touch(self, memory_id: IdLike, *, agent_id: str | None = None) -> None:
        """Stage a use of a memory: it is counted, and renews the time to live."""
        return stage_call(
            self._calls, self._transaction, Touch(check_memory_id("memory_id", memory_id), agent_id)
        )

    def promote(
        self, memory_id: IdLike, *, tier: str = "long", agent_id: str | None = None
    ) -> None:
        """Stage the move of a memory to a tier with a longer time to live."""
        return stage_call(
            self._calls,
            self._transaction,
            Promote(check_memory_id("memory_id", memory_id), tier, agent_id),
        )

    def get_memory(
        self,
        memory_id: IdLike | None = None,
        *,
        title: str | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> Memory | None:
        """Return a memory by its id or its title as this transaction sees it.

        Staged requests show as far as they can be decided before the commit. Times that the commit
        sets are None, such as a new end of a memory. Notices that depend on commits of others after
        the beginning do not show.
        """
        check_named(memory_id, title)
        call = GetMemory(
            None if memory_id is None else check_memory_id("memory_id", memory_id),
            title,
            self._defaults.namespace if namespace is None else namespace,
            agent_id=agent_id,
        )
        return self._calls.ask_within(self._transaction, call)

    def configure(
        self,
        *,
        namespace: str | None = None,
        agent_id: str | None = None,
        max_reflection_depth: int | UnsetType = UNSET,
        tiers: Mapping[str, Duration | None] | UnsetType = UNSET,
        transcript_retention: Duration | UnsetType | None = UNSET,
        log_retention: Duration | UnsetType | None = UNSET,
        facts: str | UnsetType = UNSET,
        allow_large: bool = False,
    ) -> None:
        """Stage settings of a namespace and its children, for later writes.

        The arguments are those of `Store.configure`. `facts` takes effect with the commit, and not
        in a transaction with other requests about facts.
        """
        settings = plain_settings(given_fields(NamespaceSettings, locals()))
        place = self._defaults.namespace if namespace is None else namespace
        return stage_call(
            self._calls,
            self._transaction,
            Configure(place, agent_id, facts=facts, allow_large=bool(allow_large), **settings),
        )
