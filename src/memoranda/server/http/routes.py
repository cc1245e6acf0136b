"""The routes of the HTTP interface: each call of the registry has one, below its store.

Reads and writes of items with an address are resources. Every other call is a `POST` to its name,
with its arguments as the members of a JSON object. Where a route is a resource, arguments are in
its path first, then in the query (`GET`, `DELETE`) or in the body.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

import msgspec

from memoranda.calls.call import Call, WriteCall
from memoranda.calls.facts import Entity
from memoranda.calls.keys import GetState
from memoranda.calls.memories import GetMemory
from memoranda.calls.registry import CALLS
from memoranda.calls.transcripts import GetTranscript, Origins
from memoranda.errors import InvalidInput
from memoranda.model.limits import short_repr
from memoranda.model.scope import DEFAULT_NAMESPACE
from memoranda.wire.over_http import PREFIX

BODY_METHODS = frozenset(("POST", "PUT", "PATCH"))
"""Methods whose arguments are in the body."""
_PARAMETER = re.compile(r"\{(\w+)\}")


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """How one call is made over HTTP."""

    name: str
    """The name of the operation: that of the call, unless the call has another route too."""
    method: str
    path: str
    """Below the store, without a slash at the beginning."""
    kind: type[Call[Any]]
    query: frozenset[str] = frozenset()
    """Arguments that are in the query although the method has a body: they are a part of what the
    address names."""
    left_out: frozenset[str] = frozenset()
    """Arguments that the route does not take."""
    defaults: Mapping[str, Any] = {}
    """Arguments that may be left out here, and must be given where no route says so."""

    @property
    def has_body(self) -> bool:
        """Whether arguments are in the body."""
        return self.method in BODY_METHODS

    @property
    def is_write(self) -> bool:
        """Whether the call is committed."""
        return issubclass(self.kind, WriteCall)

    @property
    def missing(self) -> str | None:
        """The error text for a null answer, if the address names an item; else None."""
        return _MISSING.get(self.kind)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The arguments in the path."""
        return tuple(_PARAMETER.findall(self.path))

    @property
    def template(self) -> str:
        """The whole path, with its parameters in braces."""
        return f"{PREFIX}/{{store}}/{self.path}" if self.path else f"{PREFIX}/{{store}}"


_RESOURCES: Mapping[str, tuple[str, str]] = {
    # keys
    "get_state": ("GET", "agents/{agent_id}/keys/{key}"),
    "write": ("PUT", "agents/{agent_id}/keys/{key}"),
    "delete": ("DELETE", "agents/{agent_id}/keys/{key}"),
    "history": ("GET", "agents/{agent_id}/keys/{key}/history"),
    "list_keys": ("GET", "agents/{agent_id}/keys"),
    "scan_prefix": ("GET", "agents/{agent_id}/state"),
    "diff": ("GET", "agents/{agent_id}/diff"),
    "stale_keys": ("GET", "agents/{agent_id}/stale-keys"),
    "timeline_buckets": ("GET", "agents/{agent_id}/timeline-buckets"),
    # memories and transcripts
    "remember": ("POST", "memories"),
    "list_memories": ("GET", "memories"),
    "get_memory": ("GET", "memories/{memory_id}"),
    "update_memory": ("PATCH", "memories/{memory_id}"),
    "retract_memory": ("POST", "memories/{memory_id}/retract"),
    "touch": ("POST", "memories/{memory_id}/touch"),
    "promote": ("POST", "memories/{memory_id}/promote"),
    "memory_history": ("GET", "memories/{memory_id}/history"),
    "links": ("GET", "memories/{memory_id}/links"),
    "dependents": ("GET", "memories/{memory_id}/dependents"),
    "origins": ("GET", "memories/{memory_id}/origins"),
    "transcripts_for": ("GET", "memories/{memory_id}/transcripts"),
    "link_transcript": ("POST", "memories/{memory_id}/transcripts"),
    "replay_transcripts": ("GET", "memories/{memory_id}/transcript-replay"),
    "store_transcript": ("POST", "transcripts"),
    "list_transcripts": ("GET", "transcripts"),
    "get_transcript": ("GET", "transcripts/{transcript_id}"),
    "load_transcript": ("GET", "transcripts/{transcript_id}/content"),
    "memories_for": ("GET", "transcripts/{transcript_id}/memories"),
    "invalidations": ("GET", "invalidations"),
    "resolve_invalidation": ("POST", "invalidations/{notice_id}/resolve"),
    # facts
    "assert_fact": ("POST", "facts"),
    "iter_facts": ("GET", "facts"),
    "iter_shared_facts": ("GET", "facts-with-visibility"),
    "facts": ("POST", "all-facts"),
    "explain": ("GET", "facts/{fact}/explanation"),
    "timeline": ("GET", "timeline"),
    "entities": ("GET", "entities"),
    "entity": ("GET", "entities/{name}"),
    "neighbors": ("GET", "entities/{entity}/neighbors"),
    "path": ("GET", "path"),
    "subgraph": ("GET", "subgraph"),
    "suggest_merges": ("GET", "merge-suggestions"),
    "cardinalities": ("GET", "cardinalities"),
    "set_cardinality": ("PUT", "cardinalities/{relation}"),
    # the log
    "replay": ("GET", "replay"),
    "subscribe": ("GET", "subscribe"),
    "cursors": ("GET", "cursors"),
    "acknowledge": ("PUT", "cursors/{cursor}"),
    "drop_cursor": ("DELETE", "cursors/{cursor}"),
    "audit_events": ("GET", "audit-events"),
    "checkpoints": ("GET", "checkpoints"),
    "checkpoint": ("POST", "checkpoints"),
    "prove": ("GET", "commits/{commit_ts}/proof"),
    "trusted_keys": ("GET", "trusted-keys"),
    "trust_key": ("POST", "trusted-keys"),
    "erasures": ("GET", "erasures"),
    "certificate": ("GET", "erasures/{erasure_id}"),
    "prove_erasure": ("GET", "erasures/{erasure_id}/proof"),
    # the store
    "describe_store": ("GET", ""),
    "agents": ("GET", "agents"),
    "namespaces": ("GET", "namespaces"),
    "find_id": ("GET", "id"),
    "find_ids": ("GET", "ids"),
    "get_stats": ("GET", "stats"),
    "sql_views": ("GET", "sql-views"),
}
"""Name of a call -> its method and its path below the store. Others are a `POST` to their name."""
_MISSING: Mapping[type[Call[Any]], str] = {
    GetState: "the key has no value",
    GetMemory: "there is no such memory",
    GetTranscript: "there is no such transcript",
    Origins: "there is no such memory",
    Entity: "nothing is known of such an entity",
}
_IN_QUERY: Mapping[str, frozenset[str]] = {
    "write": frozenset(("namespace",)),
    "set_cardinality": frozenset(("namespace",)),
}


def _routes() -> Iterator[Route]:
    for name, kind in CALLS.items():
        if kind.local_only is not None:
            continue
        method, path = _RESOURCES.get(name, ("POST", name.replace("_", "-")))
        left_out = frozenset(("title", "namespace")) if name == "get_memory" else frozenset()
        yield Route(
            name=name,
            method=method,
            path=path,
            kind=kind,
            query=_IN_QUERY.get(name, frozenset()),
            left_out=left_out,
        )
    yield Route(
        name="get_memory_by_title",
        method="GET",
        path="titles/{title}",
        kind=CALLS["get_memory"],
        left_out=frozenset(("memory_id",)),
        defaults={"namespace": DEFAULT_NAMESPACE},
    )


ROUTES: Mapping[str, Route] = MappingProxyType({route.name: route for route in _routes()})
"""Every route by the name of its operation."""


class _Node:
    """A part of a path, and what may follow it."""

    __slots__ = ("following", "parameter", "routes")

    def __init__(self) -> None:
        self.following: dict[str, _Node] = {}
        self.parameter: _Node | None = None
        """What follows any part that is none of `following`."""
        self.routes: dict[str, Route] = {}
        """By method; empty if no path ends here."""


class Router:
    """Finds the routes of a path."""

    def __init__(self, routes: Mapping[str, Route] = ROUTES) -> None:
        self._root = _Node()
        for route in routes.values():
            self._add(route)

    def _add(self, route: Route) -> None:
        node = self._root
        for part in route.path.split("/") if route.path else ():
            if _PARAMETER.fullmatch(part):
                node.parameter = node.parameter or _Node()
                node = node.parameter
            else:
                node = node.following.setdefault(part, _Node())
        assert route.method not in node.routes, f"{route.method} {route.path} has two calls"
        node.routes[route.method] = route

    def find(self, parts: list[str]) -> tuple[Mapping[str, Route], list[str]] | None:
        """Return the routes of a path below a store, by method, and the texts of its parameters.

        `parts` are the parts of the path as they were sent. A parameter is decoded; None if there
        is no such path.
        """
        node, texts = self._root, []
        for part in parts:
            following = node.following.get(part)
            if following is None:
                following = node.parameter
                if following is None or not part:
                    return None
                texts.append(decode_part(part))
            node = following
        return (node.routes, texts) if node.routes else None


def decode_part(part: str) -> str:
    """Decode a part of a path; raise `InvalidInput` if it is not UTF-8."""
    if "%" not in part:
        return part
    try:
        return unquote(part, errors="strict")
    except UnicodeDecodeError as error:
        raise InvalidInput("path", f"{short_repr(part)} is not percent-encoded UTF-8") from error
