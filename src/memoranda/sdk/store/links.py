"""The store's calls about links between memories, and about notices of changed evidence."""

from __future__ import annotations

from collections.abc import Iterator

from memoranda.calls.link_writes import Link as LinkCall
from memoranda.calls.link_writes import ResolveInvalidation, Supersede, Unlink
from memoranda.calls.links import Dependents, Invalidations, Links
from memoranda.calls.requests import check_memory_id
from memoranda.log.read.as_of import Moment, plain_moment
from memoranda.memory.records import DependentRecord, Invalidation, Link
from memoranda.model.refs import IdLike
from memoranda.model.scope import ALL_AGENTS, AllAgents
from memoranda.sdk.calls import listed
from memoranda.sdk.store.handle import Handle


class LinkCalls(Handle):
    """Linking memories, listing dependents, and resolving notices."""

    def link(
        self,
        *,
        source: IdLike,
        target: IdLike,
        relation: str,
        agent_id: str | None = None,
        txn_id: str | None = None,
    ) -> Link:
        """Link one memory to another, and return the link; an open link stays as it is.

        `notified` are the memories whose owners got a notice that a memory they rest on is
        superseded.
        """
        ends = check_memory_id("source", source), check_memory_id("target", target)
        return self._write(LinkCall(*ends, relation, agent_id, txn_id=txn_id))

    def unlink(
        self,
        *,
        source: IdLike,
        target: IdLike,
        relation: str,
        agent_id: str | None = None,
        txn_id: str | None = None,
    ) -> Link:
        """Close a link, and return it."""
        ends = check_memory_id("source", source), check_memory_id("target", target)
        return self._write(Unlink(*ends, relation, agent_id, txn_id=txn_id))

    def supersede(
        self, *, old: IdLike, new: IdLike, agent_id: str | None = None, txn_id: str | None = None
    ) -> Link:
        """Let one memory supersede another, and return the link.

        The owners of keys, memories and facts that rest on the old one get notices. Those do not
        change; `notified` has the ids of the memories.
        """
        ends = check_memory_id("old", old), check_memory_id("new", new)
        return self._write(Supersede(*ends, agent_id, txn_id=txn_id))

    def links(
        self,
        memory_id: IdLike,
        *,
        relation: str | None = None,
        include_closed: bool = False,
        at: Moment | None = None,
        agent_id: str | None = None,
    ) -> list[Link]:
        """Return the links from and to a memory, in the order of their creation."""
        memory = check_memory_id("memory_id", memory_id)
        moment = plain_moment("at", at)
        return self._calls.ask(Links(memory, relation, bool(include_closed), moment, agent_id))

    def dependents(
        self,
        memory_id: IdLike,
        *,
        depth: int | None = 1,
        at: Moment | None = None,
        agent_id: str | None = None,
    ) -> list[DependentRecord]:
        """Return the memories that reflect on a memory, up to `depth` links away (None: any)."""
        memory = check_memory_id("memory_id", memory_id)
        return self._calls.ask(Dependents(memory, depth, plain_moment("at", at), agent_id))

    def invalidations(
        self,
        *,
        status: str = "open",
        agent_id: str | AllAgents | None = None,
        at: Moment | None = None,
    ) -> Iterator[Invalidation]:
        """Yield the notices to an agent, or to `ALL_AGENTS`, oldest first.

        Each says which key, memory or fact of the agent rests on evidence that changed, and what
        happened to the evidence. `status` is open (not decided yet), resolved or all.
        """
        owner = None if agent_id is ALL_AGENTS else self._defaults.agent(agent_id)
        return listed(self._calls, Invalidations(owner, status, plain_moment("at", at)))

    def resolve_invalidation(
        self,
        notice_id: IdLike,
        *,
        decision: str,
        note: str | None = None,
        replacement: IdLike | None = None,
        agent_id: str | None = None,
        txn_id: str | None = None,
    ) -> Invalidation:
        """Resolve a notice with a decision, and return it.

        `keep` changes nothing else. For a memory, `retract` retracts it, and `revise` lets
        `replacement` supersede it. For a key or a fact, both record a change that was made: writing
        or deleting the key, or retracting the fact, settles its notices anyway.
        """
        notice = check_memory_id("notice_id", notice_id)
        new = None if replacement is None else check_memory_id("replacement", replacement)
        return self._write(
            ResolveInvalidation(notice, decision, note, new, agent_id, txn_id=txn_id)
        )
