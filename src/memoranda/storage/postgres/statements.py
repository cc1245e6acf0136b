"""The queries of a store on PostgreSQL, with their parameters numbered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

import msgspec

from memoranda.storage import query_loader
from memoranda.storage.coverage import uncovered_name

_PACKAGE = "memoranda.storage.postgres"
_PARAMETER = re.compile(r"'[^']*'|:(\w+)")
_STORE_ID = "store_id"
_TABLE = re.compile(r"\bmemoranda\.(\w+)")
_COVERED_TABLE = re.compile(r"(?<=\b(?:FROM|JOIN) )\w+\b(?! ?[(.])")
_WITH = re.compile(r"^(WITH RECURSIVE |WITH )?")
_PARAMETERS = (
    "covered (namespaces, agents) AS (SELECT CAST(:covered_namespaces AS TEXT), "
    "CAST(:covered_agents AS TEXT))"
)
"""The values of all policies, so that they are the first ones, where values have no names."""


class Statement(msgspec.Struct, frozen=True):
    """A query with numbered parameters."""

    text: str
    names: tuple[str, ...]
    """The names of the parameters in their order, without the id of the store."""
    is_of_store: bool
    """Whether the last parameter is the id of the store."""
    tables: frozenset[str]
    """The tables that the query names."""

    def bind(self, values: Iterable[object], store_id: int) -> list[object]:
        """Return the values of all parameters, lists as JSON arrays."""
        bound = [
            msgspec.json.encode(value).decode() if isinstance(value, (list, tuple)) else value
            for value in values
        ]
        if self.is_of_store:
            bound.append(store_id)
        return bound

    def bind_names(self, values: Mapping[str, object], store_id: int) -> list[object]:
        """As `bind`, with values by name."""
        return self.bind([values[name] for name in self.names], store_id)


class Statements(dict[str, Statement | None]):
    """The statements of a store by the names of their queries, made when they are first used.

    A query of the side file has None.
    """

    def __init__(self, side_queries: frozenset[str]) -> None:
        super().__init__()
        self._side_queries = side_queries

    def __missing__(self, name: str) -> Statement | None:
        is_of_side = (uncovered_name(name) or name) in self._side_queries
        self[name] = None if is_of_side else number_parameters(query_text(name))
        return self[name]

    def own(self, name: str) -> Statement:
        """Return the statement of a query that is not of the side file."""
        statement = self[name]
        assert statement is not None, f"{name} is a query of the side file"
        return statement


def query_text(name: str) -> str:
    """Return the text of a query, or raise `KeyError`."""
    plain_name = uncovered_name(name)
    if plain_name is None:
        return queries()[name]
    text = _covered_queries().get(plain_name)
    if text is not None:
        tables = set(_COVERED_TABLE.findall(text))
    else:
        text = queries()[plain_name]
        tables = set(_TABLE.findall(text))
    return _with_policies(text, sorted(tables & _policies().keys()))


def _with_policies(text: str, tables: list[str]) -> str:
    """Return a query that finds the covered rows of some tables in place of the tables."""
    if not tables:
        return text
    expressions = ", ".join(
        (_PARAMETERS, *(f"{table} AS NOT MATERIALIZED ({_policies()[table]})" for table in tables))
    )
    body = re.sub(rf"\bmemoranda\.({'|'.join(tables)})\b", r"\1", text)
    match = _WITH.match(body)
    assert match is not None, "the pattern matches every text"
    if match[1] is None:
        return f"WITH {expressions} {body}"
    return f"{match[1]}{expressions}, {body[match.end() :]}"


def number_parameters(text: str) -> Statement:
    """Return a query whose parameters are numbered in the order of their first places."""
    all_names = [*dict.fromkeys(name for name in _PARAMETER.findall(text) if name)]
    names = [name for name in all_names if name != _STORE_ID]
    numbers = {name: number for number, name in enumerate([*names, _STORE_ID], start=1)}
    numbered = _PARAMETER.sub(lambda match: f"${numbers[match[1]]}" if match[1] else match[0], text)
    tables = frozenset(_TABLE.findall(text))
    return Statement(numbered, tuple(names), _STORE_ID in all_names, tables)


@cache
def queries() -> Mapping[str, str]:
    """Return the texts of all queries; those of this engine override the derived ones."""
    return {**_parse("generated_queries.sql"), **_parse("queries.sql")}


@cache
def _policies() -> Mapping[str, str]:
    return _parse("generated_policies.sql")


@cache
def _covered_queries() -> Mapping[str, str]:
    return _parse("generated_covered_queries.sql")


def _parse(file: str) -> dict[str, str]:
    return query_loader.parse(query_loader.read_sql(_PACKAGE, file))
