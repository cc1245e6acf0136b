"""Find beliefs of other agents that contradict a fact, so that no hit looks undisputed that is not.

Two beliefs contradict each other if both hold at the instant of the query, in one namespace, about
the same subject and a single-valued relation, and have different objects. Agents that share their
facts have one history, in which such beliefs follow each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from memoranda.graph import lookup, reads
from memoranda.graph.entities import Literal, normal_name
from memoranda.graph.reads import FactQuery
from memoranda.graph.records import Fact
from memoranda.graph.sharing import shared_graphs
from memoranda.model.clock import to_datetime
from memoranda.model.intervals import NEWEST
from memoranda.model.operations.graph import RELATION, Name
from memoranda.model.scope import Scope
from memoranda.search.query import SearchQuery
from memoranda.storage.port import Reader

_MAX_AGENTS: Final = 64
"""Entities of the subject's name that are looked at, one for each agent that knows it."""
MAX_CONFLICTING: Final = 5
"""Contradicting facts that a hit lists."""


def conflicting_facts(
    reader: Reader, query: SearchQuery, facts: Iterable[Fact]
) -> dict[str, tuple[Fact, ...]]:
    """Return the facts that contradict some facts, by the first assertion of these.

    They are as the viewer may see them, whether they are hits themselves or not.
    """
    at = to_datetime(query.valid_at)
    current = [
        fact
        for fact in facts
        if fact.agent_id is not None
        and fact.valid_from <= at
        and (fact.valid_to is None or at < fact.valid_to)
    ]
    shared = shared_graphs(reader, {fact.namespace for fact in current}, query.as_of_commit)
    return {
        fact.ref.assertion_id: tuple(_contradicting(reader, query, fact))[:MAX_CONFLICTING]
        for fact in current
        if fact.namespace not in shared and _is_single(reader, query, fact)
    }


def _is_single(reader: Reader, query: SearchQuery, fact: Fact) -> bool:
    row = reader.row(
        "graph_cardinality_at",
        namespace=fact.namespace,
        relation=normal_name(fact.relation),
        as_of_commit=NEWEST if query.as_of_commit is None else query.as_of_commit,
    )
    return row is not None and bool(row[0])


def _contradicting(reader: Reader, query: SearchQuery, fact: Fact) -> Iterable[Fact]:
    """Yield what other agents believe instead, under any name the agent has for the subject."""
    assert fact.agent_id is not None, "agents that share their facts do not contradict each other"
    viewer, key = query.request.viewer, normal_name(fact.subject)
    own = FactQuery(
        scope=Scope(fact.namespace, fact.agent_id),
        as_of_commit=query.as_of_commit,
        valid_at=query.valid_at,
        viewer=viewer,
    )
    entity = reads.entity(reader, own, Name(fact.subject, key))
    names = [key, *map(normal_name, entity.aliases)] if entity is not None else [key]
    entities = lookup.find_named_entities(
        reader,
        names,
        namespaces=[fact.namespace],
        agent_id=None,
        viewer=viewer,
        as_of_commit=query.as_of_commit,
        limit=_MAX_AGENTS,
    )
    relation = Name(fact.relation, normal_name(fact.relation), RELATION)
    by_agent = {entity.scope: Name(entity.key, entity.key) for entity in entities}
    for scope, subject in sorted(by_agent.items(), key=lambda item: item[0]):
        if scope.agent_id != fact.agent_id:
            fact_query = FactQuery(
                scope=scope,
                subject=subject,
                relation=relation,
                as_of_commit=query.as_of_commit,
                valid_at=query.valid_at,
                viewer=viewer,
            )
            for belief in reads.facts(reader, fact_query):
                if _object_key(belief) != _object_key(fact):
                    yield belief


def _object_key(fact: Fact) -> object:
    return fact.object if isinstance(fact.object, Literal) else normal_name(fact.object)
