"""Which graph a fact belongs to: its agent's own one, or the one that a namespace's agents share.

Every statement, alias and merge is in the graph of its agent. A namespace that ever shared its
facts has one more graph: as if a single agent had made all statements that are not private. The
setting in the log only selects which of both is read. So changing it back and forth loses nothing,
and a read as of an earlier commit selects as the setting was then.

A shared graph has nothing private in it. An agent with private facts in such a namespace reads the
shared graph with its own private statements laid over it (`ResolvedQuery.overlay_id`).
"""

from __future__ import annotations

from collections.abc import Iterable

from memoranda.errors import InvalidInput
from memoranda.model.intervals import NEWEST
from memoranda.model.limits import plain_text, short_repr
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader

FACTS = "facts"
"""The setting by which a namespace shares its facts: 1 if they are shared, 0 if not."""
OWN, SHARED = "own", "shared"
SHARED_AGENT = ""
"""The agent of a shared graph in a `Scope`: no agent has this id."""
NO_GRAPH = 0
"""The id of a graph that has nothing yet."""


def check_facts(value: object) -> bool:
    """Say whether a value of the setting asks for shared facts."""
    text = plain_text("facts", value)
    if text not in (OWN, SHARED):
        raise InvalidInput("facts", f"{short_repr(text)} is not {OWN!r} or {SHARED!r}")
    return text == SHARED


def shared_scope(namespace: str) -> Scope:
    """Return the scope that stands for the shared graph of a namespace."""
    return Scope(namespace, SHARED_AGENT)


def shared_graph(reader: Reader, namespace: str, as_of_commit: int | None = None) -> int | None:
    """Return the shared graph of a namespace; None if it did not share its facts at a commit."""
    commit = NEWEST if as_of_commit is None else as_of_commit
    row = reader.row("graph_sharing_at", namespace=namespace, as_of_commit=commit)
    return None if row is None or not row[0] else int(row[1] or NO_GRAPH)


def shared_graphs(
    reader: Reader, namespaces: Iterable[str], as_of_commit: int | None = None
) -> set[str]:
    """Return the namespaces that shared their facts at a commit."""
    if not reader.cached(_is_any_shared):  # the common case, of many namespaces at once
        return set()
    return {name for name in namespaces if shared_graph(reader, name, as_of_commit) is not None}


def _is_any_shared(reader: Reader) -> bool:
    return reader.row("graph_sharing_any") is not None


def own_graph(reader: Reader, scope: Scope) -> int:
    """Return the graph of an agent in a namespace."""
    row = reader.row("scope_find", agent_id=scope.agent_id, namespace=scope.namespace)
    return NO_GRAPH if row is None else int(row[0])


def has_shared_graph(reader: Reader, namespace: str) -> bool:
    """Say whether a namespace, or one above it, ever shared its facts."""
    return reader.row("graph_sharing_ever", namespace=namespace) is not None
