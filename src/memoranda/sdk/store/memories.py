"""The store's calls about memories and namespace settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import UNSET, UnsetType

from memoranda.calls.arguments import plain_items
from memoranda.calls.memories import GetMemory, ListMemories, MemoryHistory, check_named
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
from memoranda.log.read.as_of import Moment, plain_moment
from memoranda.memory.records import Memory
from memoranda.memory.requests import ChangedMemory, NamespaceSettings, NewMemory, given_fields
from memoranda.model.clock import Duration, Instant, plain_instant
from memoranda.model.document import Document
from memoranda.model.memory import Span
from memoranda.model.receipt import Receipt
from memoranda.model.refs import IdLike, RefLike
from memoranda.model.scope import ALL_AGENTS, AllAgents, AllNamespaces
from memoranda.sdk.calls import listed
from memoranda.sdk.store.handle import Handle


class MemoryCalls(Handle):
    """Remembering, reflecting, revising and reading memories."""

    def remember(
        self,
        content: str,
        *,
        title: str | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        txn_id: str | None = None,
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
    ) -> Memory:
        """Store a memory and return it; `outcome` is created, updated or unchanged.

        A title is unique in its namespace: reusing it adds a version to the memory that has it, and
        fields that are not given keep their values.

        kind: observation (the default), reflection, decision, event, conversation, claim, concept
            or persona
        tier: short (6 hours), mid (7 days) or long (for ever; the default); `configure` sets the
            lengths. A known title keeps its tier, or gets a longer one; never a shorter one.
        tags: up to 50
        priority: 1 to 10; 5 by default
        confidence: 0 to 1; 1 by default
        source: the system it comes from; "api" by default
        metadata: a JSON object
        ttl: its lifetime from this commit on, such as "1d", instead of the tier's. Without one, a
            known title lasts at least as long again as it was to last.
        event_time: when the described event happened
        source_uri, citations, entity_id, confidence_source: text about its origin
        visibility: "namespace" (the default) or "private": only its own agent sees it. Private
            titles are apart from those of the namespace.
        on_conflict: for a known title, "update" (the default), or "error": raise `TitleTaken`
        transcript, spans: the transcript it cites, and byte ranges in it; without spans, all of it
        """
        agent, place = self._defaults.place(agent_id, namespace)
        fields = plain_memory_fields(NewMemory, locals())
        return self._write(Remember(agent, place, content, title, txn_id=txn_id, **fields))

    def reflect(
        self,
        content: str,
        *,
        on: Iterable[IdLike] | RefLike,
        title: str | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        txn_id: str | None = None,
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
    ) -> Memory:
        """Store a memory that reflects on others, with links to them, and return it.

        `on` is a list of memories, such as the hits of a search, or of their ids; or one of them.
        `kind` is reflection by default. The other arguments are those of `remember`.
        """
        agent, place = self._defaults.place(agent_id, namespace)
        targets = check_memory_ids("on", on)
        fields = plain_memory_fields(NewMemory, locals())
        return self._write(
            Reflect(agent, place, content, title, on=targets, txn_id=txn_id, **fields)
        )

    def update_memory(
        self,
        memory_id: IdLike,
        *,
        agent_id: str | None = None,
        expect_version: int | None = None,
        txn_id: str | None = None,
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
    ) -> Memory:
        """Change fields of a memory, and return its new version; other fields keep their values.

        The fields are those of `remember`; None removes a title, metadata, an event time or a text
        about the origin. `ttl` counts from this commit, and None is the tier's lifetime; a `tier`
        without a `ttl` brings its own. `expect_version` makes it a compare-and-set.
        """
        fields = plain_memory_fields(ChangedMemory, locals())
        memory = check_memory_id("memory_id", memory_id)
        return self._write(UpdateMemory(memory, agent_id, expect_version, txn_id=txn_id, **fields))

    def retract_memory(
        self,
        memory_id: IdLike,
        *,
        reason: str | None = None,
        agent_id: str | None = None,
        txn_id: str | None = None,
    ) -> Memory:
        """Retract a memory: reads omit it from now on; its history and its links stay."""
        memory = check_memory_id("memory_id", memory_id)
        return self._write(RetractMemory(memory, reason, agent_id, txn_id=txn_id))

    def touch(
        self, memory_id: IdLike, *, agent_id: str | None = None, txn_id: str | None = None
    ) -> Memory:
        """Count a use of a memory, and renew its time to live."""
        memory = check_memory_id("memory_id", memory_id)
        return self._write(Touch(memory, agent_id, txn_id=txn_id))

    def promote(
        self,
        memory_id: IdLike,
        *,
        tier: str = "long",
        agent_id: str | None = None,
        txn_id: str | None = None,
    ) -> Memory:
        """Move a memory to a tier with a longer time to live."""
        memory = check_memory_id("memory_id", memory_id)
        return self._write(Promote(memory, tier, agent_id, txn_id=txn_id))

    def get_memory(
        self,
        memory_id: IdLike | None = None,
        *,
        title: str | None = None,
        version: int | None = None,
        at: Moment | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> Memory | None:
        """Return a memory by its id or its title: now, at a version, or at a moment.

        A retracted or expired memory is returned only if a version is given.
        """
        check_named(memory_id, title)
        call = GetMemory(
            None if memory_id is None else check_memory_id("memory_id", memory_id),
            title,
            self._defaults.namespace if namespace is None else namespace,
            version,
            plain_moment("at", at),
            agent_id,
        )
        return self._calls.ask(call)

    def memory_history(
        self, memory_id: IdLike, *, since: Moment | None = None, agent_id: str | None = None
    ) -> Iterator[Memory]:
        """Yield every version of a memory, retractions included, oldest first.

        With `since`, the first one is the version that the memory had at that moment.
        """
        memory = check_memory_id("memory_id", memory_id)
        call = MemoryHistory(memory, plain_moment("since", since), agent_id)
        return listed(self._calls, call)

    def list_memories(
        self,
        *,
        namespace: str | AllNamespaces | None = None,
        children: bool = True,
        agent_id: str | AllAgents | None = None,
        kind: str | None = None,
        tier: str | None = None,
        tags: Iterable[str] = (),
        metadata: Document | None = None,
        created_after: Instant | None = None,
        created_before: Instant | None = None,
        at: Moment | None = None,
        content: bool = False,
    ) -> Iterator[Memory]:
        """Yield the memories of a namespace and its children that are visible to the bound agent.

        They are ordered by namespace, then by creation. `agent_id` selects the memories of one
        agent, `tags` those that have all these tags, `metadata` those that have these members,
        `created_after` and `created_before` those created in this half-open interval. `content` is
        None in each, unless `content=True`.
        """
        call = ListMemories(
            self._selected_namespace(namespace),
            bool(children),
            None if agent_id is ALL_AGENTS else agent_id,
            kind,
            tier,
            plain_items(tags),
            metadata,
            plain_instant("created_after", created_after),
            plain_instant("created_before", created_before),
            plain_moment("at", at),
            bool(content),
        )
        return listed(self._calls, call)

    def configure(
        self,
        *,
        namespace: str | None = None,
        agent_id: str | None = None,
        txn_id: str | None = None,
        max_reflection_depth: int | UnsetType = UNSET,
        tiers: Mapping[str, Duration | None] | UnsetType = UNSET,
        transcript_retention: Duration | UnsetType | None = UNSET,
        log_retention: Duration | UnsetType | None = UNSET,
        facts: str | UnsetType = UNSET,
        allow_large: bool = False,
    ) -> Receipt:
        """Change the settings of a namespace.

        Settings apply to later writes, in the namespace and in children without a setting of their
        own. Settings that are not given keep their values.

        max_reflection_depth: longest chain of reflections on reflections; 0 forbids reflections
        tiers: the lifetime of each tier's memories, such as {"short": "6h"}; None is for ever
        transcript_retention: shortest time that transcripts are kept, such as "90d"; None is for
            ever
        log_retention: age from which `compact` may drop replaced operations; None is for ever
        facts: "shared" if the agents of the namespace share one history of facts, else "own". The
            facts said so far are derived again; many require `allow_large`
        """
        settings = plain_settings(given_fields(NamespaceSettings, locals()))
        place = self._defaults.namespace if namespace is None else namespace
        call = Configure(
            place,
            agent_id,
            facts=facts,
            allow_large=bool(allow_large),
            txn_id=txn_id,
            **settings,
        )
        return self._write(call)
