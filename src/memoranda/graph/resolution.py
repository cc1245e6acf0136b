"""What a new edge does to those that are there: memoir's protocol, for any catalog of edges.

A resolver answers from the edges that are current, and only from these. The store knows every
assertion there was and derives its timelines from all of them; where edges arrive in the order in
which they became true, both say the same.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from datetime import datetime
from typing import Protocol

import msgspec

from memoranda.errors import EdgeError, InvalidInput, MemorandaError
from memoranda.graph.names import normal_name
from memoranda.model.instant import to_micros
from memoranda.model.limits import check_items, plain_text, shown
from memoranda.model.scope import Scope


class RelationCardinality(enum.Enum):
    """How many objects a subject may have in one relation at the same time.

    It is about one moment, not about a life: whoever changes employers has one at a time, and two
    deployments are two events of which neither ends the other.
    """

    SINGLE_VALUED = "single"
    MULTI_VALUED = "multi"


class CardinalityPolicy(msgspec.Struct, frozen=True):
    """Says which relations are single-valued; every other one is multi-valued.

    An edge too many can be taken away later, while a wrong end hides something true: so nothing
    ends unless somebody said that it does.
    """

    single_valued: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Keep the forms by which relations are compared, however they were spelled."""
        forms = frozenset(map(_checked_form, check_items("relations", self.single_valued)))
        msgspec.structs.force_setattr(self, "single_valued", forms)

    @classmethod
    def with_single_valued(cls, relations: Iterable[str]) -> CardinalityPolicy:
        """Return a policy by which these relations have one object at a time."""
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
        raise InvalidInput("relations", f"{shown(relation)} has nothing that names a relation")
    return form


class Edge(msgspec.Struct, frozen=True):
    """A relation that somebody says holds from `valid_from` on, when it became true."""

    subject_key: str
    relation: str
    object_key: str
    confidence: float
    """From 0 to 1. It goes with the edge and decides nothing."""
    valid_from: datetime

    def __post_init__(self) -> None:
        """Refuse a time without an offset: it could not be compared with any other."""
        to_micros("valid_from", self.valid_from)


class ExistingEdge(msgspec.Struct, frozen=True):
    """An edge that is there. All but `valid_to` is what it is known by within its scope."""

    subject_key: str
    relation: str
    object_key: str
    valid_from: datetime
    valid_to: datetime | None = None
    """When it ended; none while it is current."""

    def __post_init__(self) -> None:
        """Refuse times without an offset, as for a new edge."""
        to_micros("valid_from", self.valid_from)
        if self.valid_to is not None:
            to_micros("valid_to", self.valid_to)


class EdgeResolution(msgspec.Struct, frozen=True):
    """What a new edge does. Ending an edge keeps it: a newer fact won, and nothing is deleted.

    A resolver fills the first two. The store, which sees whole timelines, says the rest as well.
    """

    open: Edge | None
    """The edge that begins; none where nothing begins."""
    close: tuple[ExistingEdge, ...] = ()
    """Edges that end where the new one begins, as they were before."""
    changed: tuple[tuple[ExistingEdge, ExistingEdge], ...] = ()
    """Edges that begin or end elsewhere now: before, and after."""
    folded: ExistingEdge | None = None
    """The edge that says the same already, and has gained a source."""
    reopened: tuple[ExistingEdge, ...] = ()
    """Edges that were part of an earlier one until something came between the two, or that have
    lost their end."""
    assertion_id: str | None = None
    """What was said can be retracted under this; only the store gives it."""
    commit_ts: int | None = None


class EdgeCatalog(Protocol):
    """Where a resolver finds the edges that are there."""

    def current_edges(
        self, scope: Scope, subject_key: str, relation: str
    ) -> Iterable[ExistingEdge]:
        """Return the edges of a subject and a relation in a scope that have not ended.

        Names are given in the form that `normal_name` returns, and compared in it. What cannot
        be read is an `EdgeError`, with the catalog's own error as its cause.
        """
        ...


class EdgeResolver(Protocol):
    """Decides what a new edge does to those that are there; one can stand for another."""

    def resolve(self, scope: Scope, edge: Edge) -> EdgeResolution:
        """Return what the edge does in its scope; `EdgeError` if that cannot be found out."""
        ...


class NaiveAppendResolver:
    """Opens every edge and ends none, without looking: the least there is to compare with."""

    def resolve(self, scope: Scope, edge: Edge) -> EdgeResolution:  # noqa: ARG002
        """Open the edge."""
        return EdgeResolution(open=edge)


class TemporalEdgeResolver:
    """Ends what a new edge contradicts: another object of a single-valued relation.

    The edge that is resolved last wins, however sure anybody was. It has to be the newest, too:
    ended by one that became true earlier, an edge would end before it begins, and what has ended
    is not looked at again. The store takes edges in any order.

    What says the same as a current edge since a time after it began is that edge, told once more:
    the edge to open is known by all that the current one is known by.
    """

    def __init__(self, catalog: EdgeCatalog, policy: CardinalityPolicy) -> None:
        self._catalog = catalog
        self._policy = policy

    def resolve(self, scope: Scope, edge: Edge) -> EdgeResolution:
        """Return the edge to open and those to end; the catalog is read only if one may end."""
        if self._policy.cardinality(edge.relation) is RelationCardinality.MULTI_VALUED:
            return EdgeResolution(open=edge)
        holder, opened, closed = normal_name(edge.object_key), edge, []
        for existing in self._current(scope, edge):
            if normal_name(existing.object_key) != holder:
                closed.append(existing)
            elif existing.valid_from <= opened.valid_from:
                opened = _told_again(existing, edge.confidence)
        return EdgeResolution(open=opened, close=tuple(closed))

    def _current(self, scope: Scope, edge: Edge) -> list[ExistingEdge]:
        """Return what may be ended, and nothing else that a catalog may have given besides."""
        subject, relation = normal_name(edge.subject_key), normal_name(edge.relation)
        try:
            found = list(self._catalog.current_edges(scope, subject, relation))
        except EdgeError:
            raise
        except MemorandaError as error:
            raise EdgeError(_unread(error), retryable=error.retryable) from error
        except OSError as error:
            raise EdgeError(_unread(error)) from error
        return [
            existing
            for existing in found
            if existing.valid_to is None
            and normal_name(existing.subject_key) == subject
            and normal_name(existing.relation) == relation
        ]


def _told_again(existing: ExistingEdge, confidence: float) -> Edge:
    return Edge(
        existing.subject_key,
        existing.relation,
        existing.object_key,
        confidence,
        existing.valid_from,
    )


def _unread(error: Exception) -> str:
    return f"the edge catalog cannot be read: {error}"
