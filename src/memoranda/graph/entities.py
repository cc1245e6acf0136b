"""Entities and literals: normalized names, their ids in the tables, and literal values."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, date, datetime

import msgspec

from memoranda.errors import InvalidInput
from memoranda.graph.sharing import SHARED_AGENT, has_shared_graph
from memoranda.log.read.scope_index import ScopeIds
from memoranda.model.bounded_cache import BoundedCache
from memoranda.model.clock import to_datetime, to_micros, to_rfc3339
from memoranda.model.limits import check_text, short_repr
from memoranda.model.operations.graph import ENTITY, Name
from memoranda.model.scope import Scope
from memoranda.storage.memory_budget import MemoryBudget
from memoranda.storage.port import Reader, Writer

# Names: when two spellings are the same entity or relation.


def normal_name(text: str) -> str:
    """Return the normalized form by which names are compared.

    `Works_At` and `works  at` have the same form. It applies NFKC, folds case, and turns each run
    of white space and underscores into one space. It is idempotent. The form of a text without
    letters or digits may be empty, which callers refuse.
    """
    if text.isascii():  # the common case: NFKC changes nothing, and folding is lower-casing
        return " ".join(text.lower().replace("_", " ").split())
    # NFKC runs twice. Before folding, it turns look-alikes into plain letters, spaces and
    # underscores. After folding, it composes the letters that folding has taken apart.
    folded = _nfkc(_nfkc(text).casefold())
    return " ".join(folded.replace("_", " ").split())


def _nfkc(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


# Nodes: the ids of entities, literals and relations in the tables.

NODE_ID_STEP = 256
"""The distance of new node ids: a node whose first mention is forgotten moves in between others."""
_MAX_CACHED_NODES = 50_000
"""The most nodes kept in memory; then the cache is emptied. About 400 bytes each."""


class NodeRef(msgspec.Struct, frozen=True, gc=False):
    """A name's node id, and the id of its root: the entity it means now."""

    id: int
    root: int
    created_in: int | None = None
    """The commit that created the node, if this process applied it; else None."""


class NodeTable:
    """Finds or creates the nodes of names, with a cache.

    A root changes only when entities are merged; the merge then calls `forget`.
    """

    def __init__(self, scopes: ScopeIds, budget: MemoryBudget | None = None) -> None:
        self._scopes = scopes
        self._nodes: BoundedCache[tuple[str, str, str, str], NodeRef] = BoundedCache(
            _MAX_CACHED_NODES, None if budget is None else budget.share()
        )
        """Nodes by agent, namespace, kind and key."""
        self._single: dict[tuple[str, str], bool] = {}
        """Whether a relation is single-valued, by namespace and key."""
        self._has_shared_graph: dict[str, bool] = {}
        """Whether a namespace has a shared graph beside those of its agents."""
        self._last_id: int | None = None
        """The highest node id in use; None: not read yet."""

    def get(self, writer: Writer, scope: Scope, name: Name, commit_ts: int) -> NodeRef:
        """Return the node of a name. A new one is its own root."""
        key = (scope.agent_id, scope.namespace, name.kind, name.key)
        node = self._nodes.get(key)
        if node is None:
            graph = self.graph_of(writer, scope)
            row = writer.find("graph_node_find", graph, name.kind, name.key)
            node = NodeRef(*row) if row else self._add(writer, graph, name, commit_ts)
            self._nodes[key] = node
        return node

    def look_up(self, reader: Reader, scope: Scope, name: Name) -> NodeRef | None:
        """Return the node of a name in an agent's own graph; None if there is none yet."""
        key = (scope.agent_id, scope.namespace, name.kind, name.key)
        node = self._nodes.get(key)
        if node is None:
            graph = self._scopes.look_up(reader, scope.agent_id, scope.namespace)
            row = graph and reader.find("graph_node_find", graph, name.kind, name.key)
            if not row:
                return None
            node = self._nodes[key] = NodeRef(*row)
        return node

    def graph_of(self, writer: Writer, scope: Scope) -> int:
        """Return the graph of a scope; a new shared graph gets the next id."""
        if scope.agent_id != SHARED_AGENT:
            return self._scopes.id_of(writer, scope.agent_id, scope.namespace)
        row = writer.row("graph_shared_find", namespace=scope.namespace)
        if row is None:
            writer.run("graph_shared_add", namespace=scope.namespace)
            row = writer.row("graph_shared_find", namespace=scope.namespace)
        assert row is not None, "the graph was just added"
        return int(row[0])

    def has_shared_graph(self, reader: Reader, namespace: str) -> bool:
        """Say whether a namespace ever shared its facts."""
        shared = self._has_shared_graph.get(namespace)
        if shared is None:
            shared = self._has_shared_graph[namespace] = has_shared_graph(reader, namespace)
        return shared

    def _add(self, writer: Writer, graph: int, name: Name, commit_ts: int) -> NodeRef:
        """Create a node with the next id."""
        if self._last_id is None:
            row = writer.find("graph_node_last")
            assert row is not None, "a maximum has a row"
            self._last_id = int(row[0])
        self._last_id += NODE_ID_STEP
        writer.put(
            "graph_node_add", self._last_id, graph, name.kind, name.key, name.text, commit_ts
        )
        return NodeRef(self._last_id, self._last_id, commit_ts)

    def is_single(self, reader: Reader, namespace: str, relation: str) -> bool:
        """Say whether a relation is single-valued in a namespace."""
        single = self._single.get((namespace, relation))
        if single is None:
            row = reader.row("graph_cardinality_find", namespace=namespace, relation=relation)
            single = self._single[namespace, relation] = row is not None and bool(row[0])
        return single

    def look_up_singles(self, reader: Reader, names: Sequence[tuple[str, str]]) -> None:
        """Read together which relations, by namespace and key, are single-valued."""
        missing = [name for name in dict.fromkeys(names) if name not in self._single]
        for name, rows in zip(
            missing, reader.rows_each("graph_cardinality_find", missing), strict=True
        ):
            self._single[name] = bool(rows and rows[0][0])

    def forget(self) -> None:
        """Empty the caches: the tables may have changed in another way."""
        self._nodes.clear()
        self._single.clear()
        self._has_shared_graph.clear()
        self._last_id = None
        self._scopes.drop_caches()


# Literals: objects that are values, not entities. They have no aliases and are never merged.

_MAX_DIGITS = 640
"""The most digits of an integer: Python converts this many from and to text with any setting.

It is the smallest value that `sys.set_int_max_str_digits` accepts.
"""
_TOO_LARGE = 10**_MAX_DIGITS
"""The smallest integer with more digits than that."""

Value = str | int | float | bool | date | datetime


LITERAL_KINDS = ("number", "boolean", "date", "time", "text")
_LITERAL_PATTERNS = {
    "number": re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE),
    "boolean": re.compile(r"true|false"),
    "date": re.compile(r"\d{4}-\d\d-\d\d", re.ASCII),
    "time": re.compile(
        r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)",
        re.ASCII | re.IGNORECASE,
    ),
}
_EXAMPLES = {
    "number": "42 or 3.14",
    "boolean": "true or false",
    "date": "2020-01-31",
    "time": "2020-01-31T10:00:00Z",
}


class Literal(msgspec.Struct, frozen=True):
    """A number, a truth value, a date, a time or a text as the object of a fact."""

    value: Value

    def __str__(self) -> str:
        return _canonical_form(self.value)[1]


def literal_name(literal: Literal, max_bytes: int) -> Name:
    """Return a literal as the log stores it, in one form for equal values: 1 and 1.0 are equal."""
    value = literal.value
    if isinstance(value, str):
        text = check_text("object", value, max_bytes=max_bytes)
        return Name(text, text, "text")
    if isinstance(value, datetime):
        value = to_datetime(to_micros("object", value))
    elif not isinstance(value, (bool, int, float, date)):
        raise InvalidInput(
            "object", f"{short_repr(value)} is not a literal: give text, a number, a date or a time"
        )
    elif isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput("object", f"{value} is not a finite number")
    elif isinstance(value, int) and abs(value) >= _TOO_LARGE:
        raise InvalidInput(
            "object", f"{short_repr(value)} has over {_MAX_DIGITS} digits: give it as text"
        )
    kind, text = _canonical_form(value)
    return Name(check_text("object", text, max_bytes=max_bytes), text, kind)


def parse_literal(kind: str, text: str) -> Literal:
    """Parse a literal of a kind as users write it. Its size is checked when it is used."""
    if kind == "text":
        return Literal(text)
    form = _LITERAL_PATTERNS.get(kind)
    if form is None:
        raise InvalidInput(
            "object_kind",
            f"{short_repr(kind)} is none of {', '.join(LITERAL_KINDS)}: leave it out for a name",
        )
    exact = text.strip()
    if not form.fullmatch(exact):
        raise InvalidInput(
            "object", f"{short_repr(text)} is not a {kind}, such as {_EXAMPLES[kind]}"
        )
    try:
        literal = decode_literal(kind, exact.upper() if kind == "time" else exact)
    except ValueError as error:
        raise InvalidInput(
            "object", f"{short_repr(text)} is not a {kind}: {error!s:.80}"
        ) from error
    return literal


def literal_kind(literal: Literal) -> str:
    """Return the kind of a literal, one of `LITERAL_KINDS`."""
    return _canonical_form(literal.value)[0]


def decode_literal(kind: str, text: str) -> Literal:
    """Return the literal that the log stores as this kind and text."""
    if kind == "boolean":
        return Literal(text == "true")
    if kind == "number":
        return Literal(int(text) if text.lstrip("-").isdigit() else float(text))
    if kind == "date":
        return Literal(date.fromisoformat(text))
    if kind == "time":
        return Literal(datetime.fromisoformat(text).astimezone(UTC))
    return Literal(text)


def object_of(name: Name) -> str | Literal:
    """Return the object of a fact as callers see it: the name of an entity, or a literal."""
    return name.text if name.kind == ENTITY else decode_literal(name.kind, name.key)


def _canonical_form(value: Value) -> tuple[str, str]:
    """Return a value's kind and its canonical text."""
    if isinstance(value, bool):
        return "boolean", "true" if value else "false"
    if isinstance(value, datetime):
        return "time", to_rfc3339(to_micros("object", value))
    if isinstance(value, date):
        return "date", value.isoformat()
    if isinstance(value, str):
        return "text", value
    is_integer = isinstance(value, int) or value.is_integer()
    return "number", str(int(value) if is_integer else value)
