"""Naming: the entities that a query names, and the facts around them.

Who asks for Alice is asking about what holds of her, also where other words say it. Facts about
what a query names count most, the more of their ends it names; those a hop further count less, and
so do the memories that facts come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from memoranda.graph import beliefs, lookup
from memoranda.graph.beliefs import Asking, Belief
from memoranda.graph.lookup import Named, When
from memoranda.graph.names import normal_name
from memoranda.graph.records import Fact
from memoranda.model.refs import MemoryRef
from memoranda.model.scope import Scope
from memoranda.search.words import tokens
from memoranda.storage.port import Reader

BOTH_ENDS: Final = 1.0
ONE_END: Final = 0.7
NEAR: Final = 0.3
"""What a fact counts that is a hop away from what is named."""
SOURCE: Final = 0.5
"""What a memory counts, for each that a fact counts which comes from it."""
_LONGEST_NAME: Final = 6
"""How many words a name can have."""
_MOST_CHARACTERS: Final = 512
"""How many characters a name can have; no more of a query is looked at at once."""
_MOST_WORDS: Final = 64
_MOST_LOOKED_UP: Final = 50_000
"""How often a name is looked up in a namespace, in all: of many namespaces, fewer names are."""
_LEAST_LOOKED_UP: Final = 12
_MOST_ENTITIES: Final = 32
_MOST_FACTS: Final = 200
_MOST_NEAR: Final = 50
"""How many entities the second hop begins from."""


class Where(msgspec.Struct, frozen=True):
    """Whose facts are looked at."""

    namespaces: tuple[str, ...]
    agent_id: str | None
    viewer: str | None = None


class Nearby(msgspec.Struct):
    """The facts around what a query names, and how much each counts."""

    facts: dict[str, Fact] = msgspec.field(default_factory=dict)
    """By the ids of their first assertions."""
    weights: dict[str, float] = msgspec.field(default_factory=dict)

    def sources(self) -> dict[str, float]:
        """Return the memories that the facts come from, and how much each counts."""
        found: dict[str, float] = {}
        for name, fact in self.facts.items():
            for source in fact.sources:
                if isinstance(source, MemoryRef):
                    weight = SOURCE * self.weights[name]
                    found[source.memory_id] = max(weight, found.get(source.memory_id, 0.0))
        return found


def nearby(reader: Reader, query: str, where: Where, when: When) -> Nearby:
    """Return what there is to know around the entities that a query names."""
    found = Nearby()
    most = max(_MOST_LOOKED_UP // max(len(where.namespaces), 1), _LEAST_LOOKED_UP)
    names = sorted(names_in(query), key=lambda name: name.count(" "))[:most]
    if not names:
        return found
    entities = lookup.named(
        reader,
        names,
        namespaces=where.namespaces,
        agent_id=where.agent_id,
        known=when.known,
        most=_MOST_ENTITIES,
    )
    for (scope, scope_id), nodes in _by_scope(_longest(entities)).items():
        asking = Asking(scope=scope, scope_id=scope_id, known=when.known, valid=when.valid)
        asking = beliefs.seen_by(reader, asking, where.viewer)
        around = _around(reader, asking, nodes)
        weights = {belief.edge: weight for belief, weight in reversed(around)}
        held = [belief for belief, _ in around]
        for belief, fact in lookup.shown_at(reader, scope, held, when, where.viewer):
            name = fact.ref.assertion_id
            found.facts[name], found.weights[name] = fact, weights[belief.edge]
    return found


def names_in(query: str) -> list[str]:
    """Return everything in a query that could be a name, as names are compared, longest first."""
    bare = (_bare(word) for word in query.split(None, _MOST_WORDS)[:_MOST_WORDS])
    words = [word for word in bare if word]
    found: dict[str, None] = {}
    for size in range(_LONGEST_NAME, 0, -1):
        for start in range(len(words) - size + 1):
            joined = " ".join(words[start : start + size])
            name = normal_name(joined) if len(joined) <= _MOST_CHARACTERS else ""
            if name and (size > 1 or tokens(name)):
                found[name] = None
    return list(found)


def _bare(word: str) -> str:
    """Return a word without the signs around it and without the end of a possessive."""
    first, beyond = 0, len(word)
    while first < beyond and not _is_part(word[first], "_+#@"):
        first += 1
    while first < beyond and not _is_part(word[beyond - 1], "_+#"):
        beyond -= 1
    return word[first:beyond].removesuffix("'s").removesuffix("\u2019s")


def _is_part(character: str, signs: str) -> bool:
    return character.isalnum() or character in signs


def _longest(entities: Sequence[Named]) -> list[Named]:
    """Return those entities whose names are not only a part of another's: New York is not York."""
    return [
        each
        for each in entities
        if not any(
            other.scope_id == each.scope_id and f" {each.key} " in f" {other.key} "
            for other in entities
            if other.key != each.key
        )
    ]


def _by_scope(entities: Iterable[Named]) -> dict[tuple[Scope, int], list[int]]:
    found: dict[tuple[Scope, int], list[int]] = {}
    for each in entities:
        found.setdefault((each.scope, each.scope_id), []).append(each.node)
    return found


def _around(reader: Reader, asking: Asking, nodes: Sequence[int]) -> list[tuple[Belief, float]]:
    """Return what touches some entities, and what touches those it leads to."""
    named = set(nodes)
    first = _touching(reader, asking, nodes)
    found = [
        (each, BOTH_ENDS if {each.subject, each.held.object} <= named else ONE_END)
        for each in first
    ]
    ends = {node for each in first for node in (each.subject, each.held.object)} - named
    if ends:
        near = _touching(reader, asking, sorted(ends)[:_MOST_NEAR])
        known = {each.edge for each in first}
        found += [(each, NEAR) for each in near if each.edge not in known]
    return found


def _touching(reader: Reader, asking: Asking, nodes: Sequence[int]) -> list[Belief]:
    return beliefs.touching(reader, asking, nodes, outward=True, inward=True, most=_MOST_FACTS)
