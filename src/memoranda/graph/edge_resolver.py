"""Resolve a new edge against the current edges of any catalog: memoir's protocol.

A resolver sees the current edges only. The store derives its timelines from all assertions. Both
give the same result if edges arrive in the order in which they became true.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from datetime import datetime
from typing import Protocol

import msgspec

from memoranda.errors import EdgeError, InvalidInput, MemorandaError
from memoranda.graph.entities import normal_name
from memoranda.model.clock import to_micros
from memoranda.model.limits import check_items, plain_text, short_repr
from memoranda.model.receipt import Written
from memoranda.model.refs import FactRef
from memoranda.model.scope import Scope


class RelationCardinality(enum.Enum):
    """How many objects a subject may have in one relation at the same time.

    It is about one instant, not about all time: a person who changes employers still has one at a
    time. Two deployments are two events, and neither ends the other.
    """

    SINGLE_VALUED = "single"
    MULTI_VALUED = "multi"


class CardinalityPolicy(msgspec.Struct, frozen=True):
    """The set of single-valued relations; all others are multi-valued.

    Multi-valued is the safe default: a superfluous edge can be removed later, while an edge that is
    ended by mistake hides a true fact.
    """

    single_valued: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Normalize the names of the relations."""
        forms = frozenset(map(_checked_form, check_items("relations", self.single_valued)))
        msgspec.structs.force_setattr(self, "single_valued", forms)

    @classmethod
    def with_single_valued(cls, relations: Iterable[str]) -> CardinalityPolicy:
        """Return a policy in which these relations are single-valued."""
        names = check_items("relations", relations)
        return cls(frozenset(plain_text("relations", name) for name in names))

    def cardinality(self, relation: str) -> RelationCardinality:
        """Return the cardinality of a relation."""
        if normal_name(plain_text("relation", relation)) in self.single_valued:
            return RelationCardinality.SINGLE_VALUED
        return RelationCardinality.MULTI_VALUED


def _checked_form(relation: object) -> str:
    form = normal_name(plain_text("relations", relation))
    if not form:
        raise InvalidInput(
            "relations", f"{short_repr(relation)} has only spaces and underscores: give a name"
        )
    return form


class Edge(msgspec.Struct, frozen=True):
    """A new edge: an assertion that a relation holds from `valid_from` on."""

    subject_key: str
    relation: str
    object_key: str
    confidence: float
    """From 0 to 1. It is stored with the edge and has no influence on the resolution."""
    valid_from: datetime

    def __post_init__(self) -> None:
        """Refuse a time without an offset, which cannot be compared with others."""
        to_micros("valid_from", self.valid_from)


class ExistingEdge(msgspec.Struct, frozen=True):
    """An edge of a catalog. All fields but `valid_to` identify it within its scope."""

    subject_key: str
    relation: str
    object_key: str
    valid_from: datetime
    valid_to: datetime | None = None
    """When it ended; None while it is current."""

    def __post_init__(self) -> None:
        """Refuse times without an offset."""
        to_micros("valid_from", self.valid_from)
        if self.valid_to is not None:
            to_micros("valid_to", self.valid_to)


class EdgeResolution(Written, frozen=True):
    """The effects of a new edge. An edge that ends is kept: nothing is deleted.

    A resolver fills the first two fields. The store sees whole timelines and fills all of them. The
    outcome is created for an assertion, updated for an end and deleted for a retraction.
    """

    open: Edge | None
    """The edge that starts; None if none starts."""
    close: tuple[ExistingEdge, ...] = ()
    """Edges that the new one ends, as they were before."""
    changed: tuple[tuple[ExistingEdge, ExistingEdge], ...] = ()
    """Edges whose start or end moved: before and after."""
    folded: ExistingEdge | None = None
    """The existing edge that the new one repeats; it gains an assertion."""
    reopened: tuple[ExistingEdge, ...] = ()
    """Edges that lost their end, or that were split from an earlier edge by the new one."""
    assertion_id: str | None = None
    """The id of the assertion, to retract it; only the store sets it."""

    @property
    def id(self) -> str | None:
        """The id of the assertion, as `assertion_id`."""
        return self.assertion_id

    @property
    def ref(self) -> FactRef | None:
        """The reference to the fact, by the assertion that was made; None if none was."""
        return None if self.assertion_id is None else FactRef(self.assertion_id)


class EdgeCatalog(Protocol):
    """Where a resolver finds existing edges."""

    def current_edges(
        self, scope: Scope, subject_key: str, relation: str
    ) -> Iterable[ExistingEdge]:
        """Return the edges of a subject and a relation in a scope that have not ended.

        Names are passed as `normal_name` returns them, and compared in that form. A catalog that
        cannot be read raises `EdgeError` with its own error as the cause.
        """
        ...


class EdgeResolver(Protocol):
    """Decides what a new edge does to existing edges. Implementations are interchangeable."""

    def resolve(self, scope: Scope, edge: Edge) -> EdgeResolution:
        """Return the effects of an edge in its scope, or raise `EdgeError`."""
        ...


class NaiveAppendResolver:
    """Opens every edge and ends none: a baseline for comparisons."""

    def resolve(self, scope: Scope, edge: Edge) -> EdgeResolution:  # noqa: ARG002
        """Open the edge."""
        return EdgeResolution(open=edge)


class TemporalEdgeResolver:
    """Ends the edges that a new edge contradicts: other objects of a single-valued relation.

    The edge that is resolved last wins, whatever its confidence. Edges must therefore arrive in the
    order in which they became true: an older edge would end a newer one before it starts, and a
    resolver does not see ended edges again. The store takes edges in any order.

    An edge with the same object as a current one that started earlier repeats it: the edge to open
    is then the current one, with the new confidence.
    """

    def __init__(self, catalog: EdgeCatalog, policy: CardinalityPolicy) -> None:
        self._catalog = catalog
        self._policy = policy

    def resolve(self, scope: Scope, edge: Edge) -> EdgeResolution:
        """Return the edge to open and those to end. The catalog is read only if one may end."""
        if self._policy.cardinality(edge.relation) is RelationCardinality.MULTI_VALUED:
            return EdgeResolution(open=edge)
        object_key, edge_to_open, edges_to_close = normal_name(edge.object_key), edge, []
        for existing in self._current(scope, edge):
            if normal_name(existing.object_key) != object_key:
                edges_to_close.append(existing)
            elif existing.valid_from <= edge_to_open.valid_from:
                edge_to_open = _reassert(existing, edge.confidence)
        return EdgeResolution(open=edge_to_open, close=tuple(edges_to_close))

    def _current(self, scope: Scope, edge: Edge) -> list[ExistingEdge]:
        """Return the current edges of the same subject and relation.

        A catalog may return other edges as well: those are left out.
        """
        subject, relation = normal_name(edge.subject_key), normal_name(edge.relation)
        try:
            edges = list(self._catalog.current_edges(scope, subject, relation))
        except EdgeError:
            raise
        except MemorandaError as error:
            raise EdgeError(_unreadable(error), retryable=error.retryable) from error
        except OSError as error:
            raise EdgeError(_unreadable(error)) from error
        return [
            existing
            for existing in edges
            if existing.valid_to is None
            and normal_name(existing.subject_key) == subject
            and normal_name(existing.relation) == relation
        ]


def _reassert(existing: ExistingEdge, confidence: float) -> Edge:
    return Edge(
        existing.subject_key,
        existing.relation,
        existing.object_key,
        confidence,
        existing.valid_from,
    )


def _unreadable(error: Exception) -> str:
    return f"the edge catalog cannot be read: {error}"
