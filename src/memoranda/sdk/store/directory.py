"""The store's calls that list agents and namespaces, and find ids by their first characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memoranda.log.read import directory
from memoranda.log.read.directory import AgentSummary, NamespaceSummary
from memoranda.memory.requests import check_choice
from memoranda.model.limits import check_items, plain_text
from memoranda.sdk import id_lookup
from memoranda.sdk.calls import paged
from memoranda.sdk.components import check_optional_integer
from memoranda.sdk.id_lookup import IdMatch
from memoranda.sdk.store.handle import Handle


class DirectoryCalls(Handle):
    """Listing agents and namespaces, and finding ids."""

    def agents(self) -> Iterator[AgentSummary]:
        """Yield the agents that wrote anything, in the order of their ids, with their activity."""
        return paged(self._calls, directory.agents(self._core.engine))

    def namespaces(self) -> Iterator[NamespaceSummary]:
        """Yield the namespaces in order, with their activity; the engine's own are left out."""
        return paged(self._calls, directory.namespaces(self._core.engine))

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
        return self._calls.run(
            self._find_id, prefix, id_lookup.check_kinds(kinds), self._viewer(agent_id)
        )

    def find_ids(
        self,
        prefix: str = "",
        *,
        kinds: str | Iterable[str] | None = None,
        limit: int = 50,
        agent_id: str | None = None,
    ) -> list[IdMatch]:
        """Return the first ids, in order, that begin with a prefix and that the agent may see."""
        most = check_optional_integer("limit", limit, minimum=0) or 0
        text, names = plain_text("prefix", prefix), id_lookup.check_kinds(kinds)
        return self._calls.run(self._find_ids, text, names, self._viewer(agent_id), most)

    def short_ids(self, ids: Iterable[str], *, kind: str) -> dict[str, str]:
        """Map ids of one kind to the shortest prefixes that are enough for `find_id`.

        A prefix has at least 8 characters. Later ids may make it ambiguous.
        """
        names = [plain_text("ids", name) for name in check_items("ids", ids)]
        checked = check_choice("kind", kind, id_lookup.KINDS)
        return self._calls.run(self._short_ids, names, checked)

    def _find_id(self, prefix: str, kinds: tuple[str, ...], viewer: str) -> str:
        with self._core.engine.snapshot() as reader:
            return id_lookup.find(reader, prefix, kinds, viewer)

    def _find_ids(
        self, prefix: str, kinds: tuple[str, ...], viewer: str, limit: int
    ) -> list[IdMatch]:
        with self._core.engine.snapshot() as reader:
            return id_lookup.matches(reader, prefix, kinds, viewer, limit)

    def _short_ids(self, ids: list[str], kind: str) -> dict[str, str]:
        with self._core.engine.reading() as reader:
            return id_lookup.shorten(reader, ids, kind)
