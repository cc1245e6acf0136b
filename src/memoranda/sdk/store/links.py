"""What a store does with links between memories, and with notices about them."""

from __future__ import annotations

from collections.abc import Iterator

from memoranda.log.moments import Moment
from memoranda.memory import links, provenance
from memoranda.memory.inbox import Inbox
from memoranda.memory.inputs import check_id, choose
from memoranda.memory.records import DependentRecord, Invalidation, Link
from memoranda.model.memory import RELATIONS, SUPERSEDES
from memoranda.model.scope import ALL_AGENTS, AllAgents
from memoranda.sdk.calls import paged
from memoranda.sdk.core import check_version
from memoranda.sdk.handle import Handle
from memoranda.sdk.transaction import Transaction

STATUSES = ("open", "resolved", "all")


class LinkCalls(Handle):
    """Linking memories, finding what rests on them, and deciding about it."""

    def link(
        self,
        *,
        source: str,
        target: str,
        relation: str,
        agent_id: str | None = None,
        txn_id: str | None = None,
    ) -> Link:
        """Link one memory to another, and return the link; one that holds already stays as it is.

        `notified` are the memories whose owners were told that their ground is superseded.
        """

        def work(transaction: Transaction) -> None:
            transaction.link(source=source, target=target, relation=relation, agent_id=agent_id)

        transaction, _ = self._commit(work, txn_id)
        edge = (source, relation, target)
        return self._calls.run(self._link_written, edge, transaction, self._viewer(agent_id))

    def unlink(
        self,
        *,
        source: str,
        target: str,
        relation: str,
        agent_id: str | None = None,
        txn_id: str | None = None,
    ) -> Link:
        """Close a link, and return it."""

        def work(transaction: Transaction) -> None:
            transaction.unlink(source=source, target=target, relation=relation, agent_id=agent_id)

        transaction, _ = self._commit(work, txn_id)
        edge = (source, relation, target)
        return self._calls.run(self._link_written, edge, transaction, self._viewer(agent_id))

    def supersede(
        self, *, old: str, new: str, agent_id: str | None = None, txn_id: str | None = None
    ) -> Link:
        """Let one memory take another one's place; what reflects on the old one stays as it is.

        If both are reflections, the owners of what reflects on the old one are told.
        """

        def work(transaction: Transaction) -> None:
            transaction.supersede(old=old, new=new, agent_id=agent_id)

        transaction, _ = self._commit(work, txn_id)
        edge = (new, SUPERSEDES, old)
        return self._calls.run(self._link_written, edge, transaction, self._viewer(agent_id))

    def links(
        self,
        memory_id: str,
        *,
        relation: str | None = None,
        include_closed: bool = False,
        at: Moment | None = None,
        agent_id: str | None = None,
    ) -> list[Link]:
        """Return the links to and from a memory in the order they were made."""
        viewer, memory_id = self._viewer(agent_id), check_id("memory_id", memory_id)
        chosen = None if relation is None else choose("relation", relation, RELATIONS)
        return self._calls.run(
            self._links, memory_id, chosen, at, viewer, include_closed=bool(include_closed)
        )

    def dependents(
        self,
        memory_id: str,
        *,
        depth: int | None = 1,
        at: Moment | None = None,
        agent_id: str | None = None,
    ) -> list[DependentRecord]:
        """Return the memories that reflect on a memory, so many links away; None: any number."""
        viewer, memory_id = self._viewer(agent_id), check_id("memory_id", memory_id)
        hops = check_version("depth", depth, least=0)
        return self._calls.run(self._dependents, memory_id, hops, at, viewer)

    def invalidations(
        self,
        *,
        status: str = "open",
        agent_id: str | AllAgents | None = None,
        at: Moment | None = None,
    ) -> Iterator[Invalidation]:
        """Yield the notices to an agent, or to `ALL_AGENTS`, oldest first.

        `status` is open (what there is to decide), resolved or all.
        """
        chosen = choose("status", status, STATUSES)
        named = None if agent_id is ALL_AGENTS else self._defaults.agent(agent_id)
        inbox = Inbox(
            self._core.engine,
            at=self._core.commit_at("at", at),
            agent_id=self._agent(named),
            viewer=self._viewer(agent_id),
            is_open=None if chosen == "all" else chosen == "open",
        )
        return paged(self._calls, inbox)

    def resolve_invalidation(
        self,
        notice_id: str,
        *,
        decision: str,
        note: str | None = None,
        replacement: str | None = None,
        agent_id: str | None = None,
        txn_id: str | None = None,
    ) -> int:
        """Close a notice with a decision, and return the `commit_ts`.

        `keep` changes nothing else, `retract` retracts the memory concerned, and `revise` lets
        `replacement` supersede it.
        """

        def work(transaction: Transaction) -> None:
            transaction.resolve_invalidation(
                notice_id, decision=decision, note=note, replacement=replacement, agent_id=agent_id
            )

        return self._committed(work, txn_id)

    def _link_written(
        self, edge: tuple[str, str, str], transaction: Transaction, viewer: str
    ) -> Link:
        with self._core.engine.reading() as reader:
            return links.link_written(reader, edge, self._outcome(transaction, viewer))

    def _links(
        self,
        memory_id: str,
        relation: str | None,
        at: Moment | None,
        viewer: str,
        *,
        include_closed: bool,
    ) -> list[Link]:
        commit = self._core.commit_at("at", at)
        with self._core.engine.snapshot() as reader:
            return links.links_of(
                reader, memory_id, commit, viewer, relation=relation, closed=include_closed
            )

    def _dependents(
        self, memory_id: str, depth: int | None, at: Moment | None, viewer: str
    ) -> list[DependentRecord]:
        commit = self._core.commit_at("at", at)
        with self._core.engine.snapshot() as reader:
            return provenance.dependents(reader, memory_id, depth, commit, viewer)
