"""The agents and the namespaces of a log, with their activity, from the index of scopes.

The engine's own namespaces, whose segments begin with `_`, do not count.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

import msgspec

from memoranda.log.pages import Position, ResumablePages
from memoranda.model.clock import to_datetime
from memoranda.storage.port import Engine, Reader

Summary = TypeVar("Summary")
_PAGE_ROWS = 64
"""Few, since the commits of each row are counted in the page's snapshot."""


class AgentSummary(msgspec.Struct, frozen=True):
    """An agent and its activity; no content."""

    agent_id: str
    namespaces: int
    """Namespaces with an operation of the agent."""
    commits: int
    """Commits with an operation of the agent."""
    last_commit: int
    last_active: datetime


class NamespaceSummary(msgspec.Struct, frozen=True):
    """A namespace and its activity, without that of the namespaces below it; no content."""

    namespace: str
    agents: int
    """Agents with an operation in the namespace."""
    commits: int
    """Commits with an operation in the namespace."""
    last_commit: int
    last_active: datetime


class Directory(ResumablePages[Summary]):
    """Every agent or every namespace of a log, in order, page by page."""

    rows = _PAGE_ROWS

    def __init__(
        self,
        engine: Engine,
        *,
        names: str,
        activity: str,
        summary: Callable[[str, int, int, int, datetime], Summary],
    ) -> None:
        self._engine = engine
        self._names = names
        self._activity = activity
        self._summary = summary
        self._after = ""

    @property
    def position(self) -> Position:
        """The last name."""
        return [self._after]

    @position.setter
    def position(self, position: Position) -> None:
        (self._after,) = position

    def next_page(self) -> list[Summary]:
        """Return the next summaries."""
        with self._engine.snapshot() as reader:
            names = reader.rows(self._names, after=self._after, limit=self.rows)
            page = [self._read(reader, name) for (name,) in names]
        if names:
            (self._after,) = names[-1]
        return page

    def _read(self, reader: Reader, name: str) -> Summary:
        row = reader.row(self._activity, name=name)
        assert row is not None, "only names with a commit are listed"
        scopes, commits, last_commit, time = row
        return self._summary(name, scopes, commits, last_commit, to_datetime(time))


def agents(engine: Engine) -> Directory[AgentSummary]:
    """Return the agents of a log."""
    return Directory(
        engine, names="agents_page", activity="activity_of_agent", summary=AgentSummary
    )


def namespaces(engine: Engine) -> Directory[NamespaceSummary]:
    """Return the namespaces of a log."""
    return Directory(
        engine,
        names="namespaces_page",
        activity="activity_of_namespace",
        summary=NamespaceSummary,
    )
