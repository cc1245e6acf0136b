"""What a store does with memories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Unpack

from memoranda.log.moments import Moment, asked_at
from memoranda.memory import queries
from memoranda.memory.inputs import (
    ChangedMemory,
    NamespaceSettings,
    NewMemory,
    check_id,
    check_tags,
    check_time,
    choose,
)
from memoranda.memory.queries import Filters, Memories, MemoryHistory
from memoranda.memory.records import Memory
from memoranda.memory.requests import TitleKey
from memoranda.model import document
from memoranda.model.document import Document
from memoranda.model.instant import Instant
from memoranda.model.memory import KINDS, TIERS
from memoranda.model.scope import AllAgents, AllNamespaces
from memoranda.sdk.calls import paged
from memoranda.sdk.core import check_version
from memoranda.sdk.handle import Handle
from memoranda.sdk.memory_staging import check_named, title_keys
from memoranda.sdk.transaction import Transaction


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
        **fields: Unpack[NewMemory],
    ) -> Memory:
        """Remember something and return the memory; its `outcome` says what became of it.

        A title is an identity in its namespace: remembering it again makes a new version.
        """

        def work(transaction: Transaction) -> str:
            return transaction.remember(
                content, title=title, agent_id=agent_id, namespace=namespace, **fields
            )

        transaction, memory_id = self._commit(work, txn_id)
        return self._calls.run(self._written, memory_id, transaction, self._viewer(agent_id))

    def reflect(
        self,
        content: str,
        *,
        on: Iterable[str],
        title: str | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        txn_id: str | None = None,
        **fields: Unpack[NewMemory],
    ) -> Memory:
        """Draw a reflection on other memories, and return it."""
        targets = on if isinstance(on, str) or not isinstance(on, Iterable) else tuple(on)

        def work(transaction: Transaction) -> str:
            return transaction.reflect(
                content, on=targets, title=title, agent_id=agent_id, namespace=namespace, **fields
            )

        transaction, memory_id = self._commit(work, txn_id)
        return self._calls.run(self._written, memory_id, transaction, self._viewer(agent_id))

    def update_memory(
        self,
        memory_id: str,
        *,
        agent_id: str | None = None,
        expect_version: int | None = None,
        txn_id: str | None = None,
        **fields: Unpack[ChangedMemory],
    ) -> Memory:
        """Change some of what is said of a memory, and return its new version."""

        def work(transaction: Transaction) -> None:
            transaction.update_memory(
                memory_id, agent_id=agent_id, expect_version=expect_version, **fields
            )

        transaction, _ = self._commit(work, txn_id)
        return self._calls.run(self._written, memory_id, transaction, self._viewer(agent_id))

    def retract_memory(
        self,
        memory_id: str,
        *,
        reason: str | None = None,
        agent_id: str | None = None,
        txn_id: str | None = None,
    ) -> Memory:
        """Take a memory back: it is shown no more, but its history and its links stay."""

        def work(transaction: Transaction) -> None:
            transaction.retract_memory(memory_id, reason=reason, agent_id=agent_id)

        transaction, _ = self._commit(work, txn_id)
        return self._calls.run(self._written, memory_id, transaction, self._viewer(agent_id))

    def touch(
        self, memory_id: str, *, agent_id: str | None = None, txn_id: str | None = None
    ) -> Memory:
        """Count a use of a memory, which then lasts as long again."""

        def work(transaction: Transaction) -> None:
            transaction.touch(memory_id, agent_id=agent_id)

        transaction, _ = self._commit(work, txn_id)
        return self._calls.run(self._written, memory_id, transaction, self._viewer(agent_id))

    def promote(
        self,
        memory_id: str,
        *,
        tier: str = "long",
        agent_id: str | None = None,
        txn_id: str | None = None,
    ) -> Memory:
        """Let a memory last longer."""

        def work(transaction: Transaction) -> None:
            transaction.promote(memory_id, tier=tier, agent_id=agent_id)

        transaction, _ = self._commit(work, txn_id)
        return self._calls.run(self._written, memory_id, transaction, self._viewer(agent_id))

    def get_memory(
        self,
        memory_id: str | None = None,
        *,
        title: str | None = None,
        version: int | None = None,
        at: Moment | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> Memory | None:
        """Return a memory by its id or its title: now, at a version, or at a moment.

        One that is retracted or expired is not shown, unless a version of it is asked for.
        """
        viewer = self._viewer(agent_id)
        wanted = check_version("version", version, least=1)
        check_named(memory_id, title)
        keys: Sequence[TitleKey] = ()
        if title is not None:
            keys = title_keys(self._scope(viewer, namespace), title, self._core.limits)
        else:
            memory_id = check_id("memory_id", memory_id)
        return self._calls.run(self._get_memory, memory_id, keys, wanted, at, viewer)

    def memory_history(
        self, memory_id: str, *, since: Moment | None = None, agent_id: str | None = None
    ) -> Iterator[Memory]:
        """Yield every version of a memory, oldest first, retractions too.

        `since` begins with the version that it had at a moment.
        """
        viewer, memory_id = self._viewer(agent_id), check_id("memory_id", memory_id)
        through = self._core.head()
        first = None if since is None else self._core.commit_at("since", since)
        history = MemoryHistory(self._core.engine, memory_id, viewer, through=through, since=first)
        return paged(self._calls, history)

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
        """Yield the memories of a namespace and those below it, as far as they may be seen.

        They come by namespace and, within one, in the order they were made. `agent_id` asks for
        those of one agent, `tags` for those that have all of them, `metadata` for those that have
        these members, `created_after` and `created_before` for those made at or after the one time
        and before the other. Their content comes only when it is asked for.
        """
        filters = Filters(
            namespace=self._namespace(namespace),
            children=children,
            agent_id=self._agent(agent_id),
            kind=None if kind is None else choose("kind", kind, KINDS),
            tier=None if tier is None else choose("tier", tier, TIERS),
            tags=frozenset(check_tags(tags, self._core.limits)),
            metadata=self._metadata(metadata),
            created_after=check_time("created_after", created_after),
            created_before=check_time("created_before", created_before),
            viewer=self._viewer(agent_id),
        )
        return paged(
            self._calls,
            Memories(self._core.engine, self._asked(at), filters, content=bool(content)),
        )

    def configure(
        self,
        *,
        namespace: str | None = None,
        agent_id: str | None = None,
        txn_id: str | None = None,
        **settings: Unpack[NamespaceSettings],
    ) -> int:
        """Set how long things last and how deep reflections go; return the `commit_ts`.

        It holds in the namespace and in those below it that have no setting of their own, for what
        is written from then on.
        """

        def work(transaction: Transaction) -> None:
            transaction.configure(namespace=namespace, agent_id=agent_id, **settings)

        return self._committed(work, txn_id)

    def _written(self, memory_id: str, transaction: Transaction, viewer: str) -> Memory:
        with self._core.engine.reading() as reader:
            committed = self._outcome(transaction, viewer)
            return queries.written(reader, memory_id, transaction.remembered, committed)

    def _get_memory(
        self,
        memory_id: str | None,
        keys: Sequence[TitleKey],
        version: int | None,
        at: Moment | None,
        viewer: str,
    ) -> Memory | None:
        with self._core.engine.snapshot() as reader:
            asked = asked_at(reader, self._core.clock, at)
            if memory_id is None:
                return queries.get_titled(reader, keys, asked, viewer, version)
            return queries.get(reader, memory_id, asked, viewer, version)

    def _metadata(self, metadata: Document | None) -> Document:
        if metadata is None:
            return {}
        return document.decode(document.encode("metadata", metadata, self._core.limits))
