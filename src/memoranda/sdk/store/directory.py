"""The store's calls that list agents and namespaces, and find ids by their first characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memoranda.calls.arguments import plain_items
from memoranda.calls.directory import Agents, FindId, FindIds, Namespaces, ShortIds
from memoranda.calls.id_lookup import IdMatch
from memoranda.log.read.directory import AgentSummary, NamespaceSummary
from memoranda.sdk.calls import listed
from memoranda.sdk.store.handle import Handle


class DirectoryCalls(Handle):
    """Listing agents and namespaces, and finding ids."""

    def agents(self) -> Iterator[AgentSummary]:
        """Yield the agents that wrote anything, in the order of their ids, with their activity."""
        return listed(self._calls, Agents())

    def namespaces(self) -> Iterator[NamespaceSummary]:
        """Yield the namespaces in order, with their activity; the engine's own are left out."""
        return listed(self._calls, Namespaces())

    def find_id(
        self,
        prefix: str,
        *,
        kinds: str | Iterable[str] | None = None,
        agent_id: str | None = None,
    ) -> str:
        """Return the id that begins with a prefix of at least 4 characters.

        `kinds` are memory, notice, transcript, fact (assertions) and erasure; the default is all.
        Only ids that the agent may see count. Raises `NotFound` if there is none, and
        `InvalidInput`, which lists the candidates, if there are several. A complete id is found
        whatever its length is.
        """
        return self._calls.ask(FindId(prefix, plain_items(kinds), agent_id))

    def find_ids(
        self,
        prefix: str = "",
        *,
        kinds: str | Iterable[str] | None = None,
        limit: int = 50,
        agent_id: str | None = None,
    ) -> list[IdMatch]:
        """Return the first ids, in order, that begin with a prefix and that the agent may see."""
        return self._calls.ask(FindIds(prefix, plain_items(kinds), limit, agent_id))

    def short_ids(self, ids: Iterable[str], *, kind: str) -> dict[str, str]:
        """Map ids of one kind to the shortest prefixes that are enough for `find_id`.

        A prefix has at least 8 characters. Later ids may make it ambiguous.
        """
        return self._calls.ask(ShortIds(plain_items(ids), kind))
