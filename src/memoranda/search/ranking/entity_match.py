"""Match entities: find the entities that a query names, and the facts about them.

A query with Alice's name is about her facts, even where the query has other words. A fact between
two named entities counts most, then a fact about one of them, then a fact one hop away. The
memories that such facts come from count too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from memoranda.graph import as_of, lookup
from memoranda.graph.as_of import Belief, ResolvedQuery
from memoranda.graph.entities import normal_name
from memoranda.graph.lookup import NamedEntity, TimeSlice
from memoranda.graph.records import Fact
from memoranda.model.refs import MemoryRef
from memoranda.model.scope import Scope
from memoranda.search.text.tokenizer import tokens
from memoranda.storage.port import Reader

BOTH_ENDS_WEIGHT: Final = 1.0
"""Weight of a fact whose subject and object are both named."""
ONE_END_WEIGHT: Final = 0.7
"""Weight of a fact of which one end is named."""
NEIGHBOUR_WEIGHT: Final = 0.3
"""Weight of a fact that is one hop away from a named entity."""
SOURCE_FACTOR: Final = 0.5
"""Weight of a memory, as a share of the weight of a fact that comes from it."""
_MAX_NAME_WORDS: Final = 6
"""Words of a name: longer parts of a query are not looked up."""
_MAX_NAME_CHARACTERS: Final = 512
"""Characters of a name, likewise."""
_MAX_QUERY_WORDS: Final = 64
"""Words of a query in which names are looked for."""
_MAX_LOOKUPS: Final = 50_000
"""Lookups of a name in a namespace: in many namespaces, fewer names are looked up."""
_MIN_LOOKED_UP_NAMES: Final = 12
"""Names that are looked up however many namespaces there are."""
_MAX_ENTITIES: Final = 32
"""Entities of a query: a common first name may mean very many."""
_MAX_FACTS: Final = 200
"""Facts about entities that are read in one hop."""
_MAX_NEIGHBOURS: Final = 50
"""Entities from which the second hop starts."""


class GraphScope(msgspec.Struct, frozen=True):
    """The facts that a search may use."""

    namespaces: tuple[str, ...]
    agent_id: str | None
    viewer: str | None = None


class EntityFacts(msgspec.Struct):
    """The facts about the entities of a query, and their weights."""

    facts: dict[str, Fact] = msgspec.field(default_factory=dict)
    """By the id of the first assertion."""
    weights: dict[str, float] = msgspec.field(default_factory=dict)

    def source_weights(self) -> dict[str, float]:
        """Return the memories that the facts come from, and their weights."""
        weights: dict[str, float] = {}
        for assertion_id, fact in self.facts.items():
            for source in fact.sources:
                if isinstance(source, MemoryRef):
                    weight = SOURCE_FACTOR * self.weights[assertion_id]
                    weights[source.memory_id] = max(weight, weights.get(source.memory_id, 0.0))
        return weights


def facts_near_entities(
    reader: Reader, query: str, scope: GraphScope, time: TimeSlice
) -> EntityFacts:
    """Return the facts about the entities that a query names, up to two hops away."""
    result = EntityFacts()
    if not lookup.has_entities(reader):
        return result
    limit = max(_MAX_LOOKUPS // max(len(scope.namespaces), 1), _MIN_LOOKED_UP_NAMES)
    names = sorted(candidate_names(query), key=lambda name: name.count(" "))[:limit]
    if not names:
        return result
    entities = lookup.find_named_entities(
        reader,
        names,
        namespaces=scope.namespaces,
        agent_id=scope.agent_id,
        viewer=scope.viewer,
        as_of_commit=time.as_of_commit,
        limit=_MAX_ENTITIES,
    )
    for entity_scope, nodes in _by_scope(_longest_names(entities)).items():
        query_in_scope = as_of.query_graph(
            reader, entity_scope, scope.viewer, time.as_of_commit, time.valid_at
        )
        if query_in_scope is None:
            continue
        weighted = _weighted_beliefs(reader, query_in_scope, nodes)
        weights = {belief.triple: weight for belief, weight in reversed(weighted)}
        beliefs = [belief for belief, _ in weighted]
        facts = lookup.facts_at(reader, query_in_scope.scope, beliefs, time, scope.viewer)
        for belief, fact in facts:
            assertion_id = fact.ref.assertion_id
            result.facts[assertion_id] = fact
            result.weights[assertion_id] = weights[belief.triple]
    return result


def candidate_names(query: str) -> list[str]:
    """Return the parts of a query that may be names, normalized, the longest first."""
    stripped = (_strip(word) for word in query.split(None, _MAX_QUERY_WORDS)[:_MAX_QUERY_WORDS])
    words = [word for word in stripped if word]
    names: dict[str, None] = {}
    for size in range(_MAX_NAME_WORDS, 0, -1):
        for start in range(len(words) - size + 1):
            text = " ".join(words[start : start + size])
            name = normal_name(text) if len(text) <= _MAX_NAME_CHARACTERS else ""
            if name and (size > 1 or tokens(name)):
                names[name] = None
    return list(names)


def _strip(word: str) -> str:
    """Return a word without the punctuation around it and without a possessive ending."""
    start, end = 0, len(word)
    while start < end and not _is_name_character(word[start], "_+#@"):
        start += 1
    while start < end and not _is_name_character(word[end - 1], "_+#"):
        end -= 1
    return word[start:end].removesuffix("'s").removesuffix("\u2019s")


def _is_name_character(character: str, signs: str) -> bool:
    return character.isalnum() or character in signs


def _longest_names(entities: Sequence[NamedEntity]) -> list[NamedEntity]:
    """Return the entities whose names are no part of another's: `New York` hides `York`."""
    return [
        entity
        for entity in entities
        if not any(
            longer.scope == entity.scope and f" {entity.key} " in f" {longer.key} "
            for longer in entities
            if longer.key != entity.key
        )
    ]


def _by_scope(entities: Iterable[NamedEntity]) -> dict[Scope, list[int]]:
    nodes: dict[Scope, list[int]] = {}
    for entity in entities:
        nodes.setdefault(entity.scope, []).append(entity.node)
    return nodes


def _weighted_beliefs(
    reader: Reader, query: ResolvedQuery, nodes: Sequence[int]
) -> list[tuple[Belief, float]]:
    """Return the beliefs about entities and, after them, those about their neighbours."""
    entities = set(nodes)
    first = _beliefs_about(reader, query, nodes)
    weighted = [
        (
            belief,
            BOTH_ENDS_WEIGHT
            if {belief.subject, belief.interval.object} <= entities
            else ONE_END_WEIGHT,
        )
        for belief in first
    ]
    ends = {node for belief in first for node in (belief.subject, belief.interval.object)}
    neighbours = sorted(ends - entities)[:_MAX_NEIGHBOURS]
    if neighbours:
        triples = {belief.triple for belief in first}
        second = _beliefs_about(reader, query, neighbours)
        weighted += [
            (belief, NEIGHBOUR_WEIGHT) for belief in second if belief.triple not in triples
        ]
    return weighted


def _beliefs_about(reader: Reader, query: ResolvedQuery, nodes: Sequence[int]) -> list[Belief]:
    return as_of.beliefs_touching(reader, query, nodes, outward=True, inward=True, limit=_MAX_FACTS)
