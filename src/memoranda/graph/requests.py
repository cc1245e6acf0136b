"""Requests about facts, and the validation of what callers pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import msgspec

from memoranda.errors import InvalidInput
from memoranda.graph.edge_resolver import RelationCardinality
from memoranda.graph.entities import Literal, literal_name, normal_name
from memoranda.model.limits import (
    Limits,
    check_printable,
    check_text,
    plain_text,
    short_repr,
)
from memoranda.model.memory import VISIBILITIES
from memoranda.model.operations.graph import ENTITY, RELATION, Name
from memoranda.model.refs import Evidence
from memoranda.model.scope import Scope
from memoranda.model.suggestions import did_you_mean


class AssertFact(msgspec.Struct, frozen=True, array_like=True, tag=31, gc=False):
    """Assert that a fact holds, perhaps with an end."""

    scope: Scope
    assertion_id: str
    subject: Name
    relation: Name
    object: Name
    valid_from: int | None
    valid_to: int | None
    confidence: float
    source: Evidence | None
    once: bool = False
    """Whether to skip the assertion if its id was used before."""


class AssertFactAs(AssertFact, frozen=True, array_like=True, tag=39, gc=False):
    """Assert a fact with an explicit visibility, which overrides the one of its source."""

    private: bool = False


class EndFact(msgspec.Struct, frozen=True, array_like=True, tag=32, gc=False):
    """State that a fact no longer holds."""

    scope: Scope
    assertion_id: str
    subject: Name
    relation: Name
    object: Name | None
    at: int | None

    @property
    def source(self) -> Evidence | None:
        """The evidence it comes from, if it names any."""
        return None


class EndFactFrom(EndFact, frozen=True, array_like=True, tag=38, gc=False):
    """End a fact with evidence. A type of its own, so that `EndFact` keeps its encoding."""

    source: Evidence


class EndFactAs(EndFact, frozen=True, array_like=True, tag=40, gc=False):
    """End a fact with an explicit visibility, which overrides the one of its source."""

    source: Evidence | None = None
    private: bool = False


class EndUnknownFact(EndFact, frozen=True, array_like=True, tag=44, gc=False):
    """End a fact whose subject nothing needs to mention yet: statements arrive in any order."""

    source: Evidence | None = None
    private: bool | None = None
    """Whether it is private to its agent; None: if its source is."""


class RetractAssertion(msgspec.Struct, frozen=True, array_like=True, tag=33, gc=False):
    """Retract one assertion or end."""

    identity: ClassVar = ("assertion_id",)

    scope: Scope
    assertion_id: str
    reason: str | None


class RetractFact(msgspec.Struct, frozen=True, array_like=True, tag=34, gc=False):
    """Retract every assertion of a fact; without an object, of every object."""

    scope: Scope
    subject: Name
    relation: Name
    object: Name | None
    reason: str | None


class SetCardinality(msgspec.Struct, frozen=True, array_like=True, tag=35, gc=False):
    """Make a relation single-valued or multi-valued in a namespace."""

    scope: Scope
    relation: Name
    single: bool
    max_statements: int | None
    """The most statements to derive again; None: any number."""


class AliasEntity(msgspec.Struct, frozen=True, array_like=True, tag=36, gc=False):
    """Add a name to an entity."""

    scope: Scope
    entity: Name
    alias: Name
    max_statements: int | None


class MergeEntities(msgspec.Struct, frozen=True, array_like=True, tag=37, gc=False):
    """Merge one entity into another."""

    scope: Scope
    source: Name
    into: Name
    max_statements: int | None


class ShareFacts(msgspec.Struct, frozen=True, array_like=True, tag=41, gc=False):
    """Let the agents of a namespace share their facts, or have facts of their own."""

    scope: Scope
    shared: bool
    max_statements: int | None


GraphRequest = (
    AssertFact
    | AssertFactAs
    | EndFactAs
    | EndUnknownFact
    | EndFact
    | EndFactFrom
    | RetractAssertion
    | RetractFact
    | SetCardinality
    | AliasEntity
    | MergeEntities
    | ShareFacts
)


class TimelineRead(msgspec.Struct, frozen=True):
    """A read of a timeline that a commit must find unchanged, by the keys of both names."""

    scope: Scope
    subject: str
    relation: str
    public_only: bool = False
    """Whether its reader may see no private statements of the agent, nor changes of them."""

    def __str__(self) -> str:
        scope = self.scope
        return (
            f"the timeline of {self.subject!r} {self.relation!r} "
            f"of {scope.agent_id!r} in {scope.namespace!r}"
        )


# Validation of arguments, before anything is staged.

Object = str | Literal
"""The object of a fact: the name of an entity, or a value."""
Cardinality = RelationCardinality | str
"""`single` or `multi`, or the member of the enumeration."""
BOTH, OUT, IN = DIRECTIONS = ("both", "out", "in")
"""How a traversal follows facts: both ways, from subject to object, or from object to subject."""


def check_entity(field: str, text: object, limits: Limits) -> Name:
    """Return the name of an entity, with its key."""
    return _name(field, text, limits, ENTITY)


def check_relation(field: str, text: object, limits: Limits) -> Name:
    """Return the name of a relation, with its key."""
    return _name(field, text, limits, RELATION)


def check_object(value: object, limits: Limits) -> Name:
    """Return the name or the literal that is the object of a fact."""
    if isinstance(value, Literal):
        return literal_name(value, limits.literal_bytes)
    if not isinstance(value, str):
        raise InvalidInput(
            "object",
            f"{short_repr(value)} is no name: give text, or Literal({short_repr(value)}) "
            "for a value",
        )
    return _name("object", value, limits, ENTITY)


def check_visibility(visibility: object) -> bool | None:
    """Return whether a fact is private to its agent; None: if its source is."""
    if visibility is None:
        return None
    visibility = plain_text("visibility", visibility)
    if visibility not in VISIBILITIES:
        raise InvalidInput(
            "visibility",
            f"{short_repr(visibility)} is not 'namespace' or 'private'"
            + did_you_mean(visibility, VISIBILITIES),
        )
    return visibility == "private"


def check_confidence(value: object) -> float:
    """Return a confidence from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise InvalidInput("confidence", f"{short_repr(value)} is not a number from 0 to 1")
    return float(value)


def check_cardinality(value: object) -> bool:
    """Say whether a cardinality is single-valued."""
    if isinstance(value, RelationCardinality):
        return value is RelationCardinality.SINGLE_VALUED
    text = plain_text("cardinality", value)
    try:
        return RelationCardinality(text) is RelationCardinality.SINGLE_VALUED
    except ValueError as error:
        problem = f"{short_repr(text)} is not 'single' or 'multi'"
        hint = did_you_mean(text, [cardinality.value for cardinality in RelationCardinality])
        raise InvalidInput("cardinality", problem + hint) from error


def check_names(field: str, names: object, limits: Limits) -> list[Name]:
    """Return the names of one or several entities."""
    if isinstance(names, str):
        return [check_entity(field, names, limits)]
    if not isinstance(names, Iterable):
        raise InvalidInput(field, f"{short_repr(names)} is neither a name nor a list of names")
    return [check_entity(field, name, limits) for name in names]


def check_score(value: object) -> float:
    """Return a similarity threshold from 0.5 to 1: below, most pairs of names would match."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.5 <= value <= 1:
        raise InvalidInput("score", f"{short_repr(value)} is not a number from 0.5 to 1")
    return float(value)


def check_direction(value: object) -> str:
    """Return one of `DIRECTIONS`."""
    text = plain_text("direction", value)
    if text not in DIRECTIONS:
        problem = f"{short_repr(text)} is not one of {', '.join(DIRECTIONS)}"
        raise InvalidInput("direction", problem + did_you_mean(text, DIRECTIONS))
    return text


def _name(field: str, text: object, limits: Limits, kind: str) -> Name:
    exact = check_text(field, text, max_bytes=limits.name_bytes)
    check_printable(field, exact)
    key = normal_name(exact)
    if not key:
        raise InvalidInput(
            field, f"{short_repr(exact)} has only spaces and underscores: give a name"
        )
    return Name(exact, key, kind)
