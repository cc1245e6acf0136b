"""Row policies: the queries of a store, and the covered queries that are derived from them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from memoranda.storage import query_loader
from memoranda.storage.coverage import uncovered_name

_PACKAGE = "memoranda.storage.sqlite"
_TABLE = re.compile(r"(?<=\b(?:FROM|JOIN) )\w+\b(?! ?[(.])")
_INDEX_HINT = re.compile(r" INDEXED BY \w+")
_WITH = re.compile(r"^(WITH RECURSIVE |WITH )?")
_CONDITIONS = ("covered_namespace", "covered_agent")
_PARAMETERS = "covered (namespaces, agents) AS (VALUES (:covered_namespaces, :covered_agents))"
"""The values of all policies, so that they are the first ones, where values have no names."""


class Queries(dict[str, str]):
    """The queries of a store by name; the covered ones are made when they are first asked for."""

    def __missing__(self, name: str) -> str:
        plain_name = uncovered_name(name)
        if plain_name is None:
            raise KeyError(name)
        text = covered_queries().get(plain_name)
        self[name] = with_policies(self[plain_name] if text is None else text)
        return self[name]


def with_policies(query: str) -> str:
    """Return a query that reads tables through their policies.

    A policy is a common table expression with the name of its table, which hides the table. An
    index cannot be prescribed for it, so such hints go.
    """
    texts = policies()
    tables = sorted({name for name in _TABLE.findall(query) if name in texts})
    if not tables:
        return query
    expressions = ", ".join(
        (
            _PARAMETERS,
            *(f"{table} AS NOT MATERIALIZED ({texts[table]})" for table in tables),
        )
    )
    body = _INDEX_HINT.sub("", query)
    match = _WITH.match(body)
    assert match is not None, "the pattern matches every text"
    if match[1] is None:
        return f"WITH {expressions} {body}"
    return f"{match[1]}{expressions}, {body[match.end() :]}"


@cache
def _conditions() -> Mapping[str, str]:
    return {name: text for name, text in _parse("row_policies.sql").items() if name in _CONDITIONS}


@cache
def policies() -> Mapping[str, str]:
    """Return the policy of each table that has one."""
    return _load("row_policies.sql")


@cache
def covered_queries() -> Mapping[str, str]:
    """Return the covered queries that differ by more than the policies."""
    return _load("covered_queries.sql")


def _load(file: str) -> dict[str, str]:
    """Return the texts of a file, with the conditions in the places of their names."""
    texts = {name: text for name, text in _parse(file).items() if name not in _CONDITIONS}
    for condition, meaning in _conditions().items():
        texts = {name: text.replace(condition.upper(), meaning) for name, text in texts.items()}
    return texts


def _parse(file: str) -> dict[str, str]:
    return query_loader.parse(query_loader.read_sql(_PACKAGE, file))
