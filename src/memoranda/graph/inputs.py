"""What callers say of facts, checked before anything is staged."""

from __future__ import annotations

from collections.abc import Iterable

from memoranda.errors import InvalidInput
from memoranda.graph.literal import Literal, name_of
from memoranda.graph.names import normal_name
from memoranda.graph.resolution import RelationCardinality
from memoranda.model.graph_operations import ENTITY, RELATION, Name
from memoranda.model.limits import Limits, check_name, check_text, plain_text, shown

Object = str | Literal
"""What a fact leads to: the name of an entity, or a value."""
Cardinality = RelationCardinality | str
BOTH, OUT, IN = DIRECTIONS = ("both", "out", "in")
"""Whether facts are followed either way, from subjects to objects, or from objects to subjects."""


def check_entity(field: str, text: object, limits: Limits) -> Name:
    """Return a name as the log keeps it."""
    return _name(field, text, limits, ENTITY)


def check_relation(field: str, text: object, limits: Limits) -> Name:
    """Return a relation as the log keeps it."""
    return _name(field, text, limits, RELATION)


def check_object(value: object, limits: Limits) -> Name:
    """Return the object of a fact: the name of an entity, or a literal."""
    if isinstance(value, Literal):
        return name_of(value, limits.literal_bytes)
    if not isinstance(value, str):
        raise InvalidInput(
            "object",
            f"{shown(value)} is no name: give text, or Literal({shown(value)}) for a value",
        )
    return _name("object", value, limits, ENTITY)


def check_visibility(visibility: object) -> bool | None:
    """Return whether a fact is its agent's own; None: as what it comes from."""
    if visibility is None:
        return None
    if visibility not in ("namespace", "private"):
        raise InvalidInput("visibility", f"{shown(visibility)} is not 'namespace' or 'private'")
    return visibility == "private"


def check_confidence(value: object) -> float:
    """Return a degree of confidence."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise InvalidInput("confidence", f"{shown(value)} is not a number from 0 to 1")
    return float(value)


def check_cardinality(value: object) -> bool:
    """Say whether a cardinality means one object at a time."""
    if isinstance(value, RelationCardinality):
        return value is RelationCardinality.SINGLE_VALUED
    text = plain_text("cardinality", value)
    try:
        return RelationCardinality(text) is RelationCardinality.SINGLE_VALUED
    except ValueError as error:
        raise InvalidInput("cardinality", f"{shown(text)} is not 'single' or 'multi'") from error


def check_names(field: str, names: object, limits: Limits) -> list[Name]:
    """Return some entities, of which there may be one."""
    if isinstance(names, str):
        return [check_entity(field, names, limits)]
    if not isinstance(names, Iterable):
        raise InvalidInput(field, f"{shown(names)} is neither a name nor a list of names")
    return [check_entity(field, name, limits) for name in names]


def check_count(field: str, value: object, *, least: int = 0) -> int:
    """Return a number of hops, or of answers."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInput(field, f"{shown(value)} is not a number of {least} or more")
    return int(value)


def check_score(value: object) -> float:
    """Return how alike two names have to be; 0 would be all of them."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.5 <= value <= 1:
        raise InvalidInput("score", f"{shown(value)} is not a number from 0.5 to 1")
    return float(value)


def check_direction(value: object) -> str:
    """Return which way facts are followed."""
    text = plain_text("direction", value)
    if text not in DIRECTIONS:
        raise InvalidInput("direction", f"{shown(text)} is not one of {', '.join(DIRECTIONS)}")
    return text


def _name(field: str, text: object, limits: Limits, kind: str) -> Name:
    exact = check_text(field, text, most_bytes=limits.name_bytes)
    check_name(field, exact)
    key = normal_name(exact)
    if not key:
        raise InvalidInput(field, f"{shown(exact)} has nothing that names anything")
    return Name(exact, key, kind)
