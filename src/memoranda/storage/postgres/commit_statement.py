"""The one statement that commits a batch: rows grouped by the query they are for, as arrays."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

import msgspec

from memoranda.storage import query_loader
from memoranda.storage.port import Row
from memoranda.storage.postgres.arrays import encode_array
from memoranda.storage.postgres.statements import Statement, number_parameters

_PACKAGE = "memoranda.storage.postgres"
_SET, _ADD, _SET_ID, _ADD_VERSION = "state_set", "state_add", 3, 3
"""A key's values are set by (version, commit_ts, value, id), and added behind (id, scope, key)."""
_COUNT = "kind_count_add"
"""Adds a number, the last value, to the sum that the values before it name."""
_ARRAY = re.compile(r"CAST\(:(\w+) AS (\w+)\[\]\)")


class LogCommit(msgspec.Struct, frozen=True):
    """The rows that commit a batch of one log, by query, and the swap of its store's stamp."""

    store_id: int
    stamp: int
    next_stamp: int
    groups: dict[str, list[Row]]


def group_rows(waiting: Sequence[tuple[str, Row]]) -> dict[str, list[Row]] | None:
    """Return the rows of each query; None if one has no form for many rows.

    The parts of a statement see the tables as they were before it, and a row can be changed once:
    so only the last values of a key are left, in the row that adds it if there is one, and
    what is added to one sum is added up.
    """
    forms = _parts()
    groups: dict[str, list[Row]] = {}
    counts: dict[Row, int] = {}
    added: dict[object, int] = {}
    last_set: dict[object, int] = {}
    for query, row in waiting:
        if query not in forms:
            return None
        if query == _COUNT:
            counts[row[:-1]] = counts.get(row[:-1], 0) + row[-1]
            continue
        rows = groups.setdefault(query, [])
        if query == _ADD:
            added[row[0]] = len(rows)
        elif query == _SET:
            key_id = row[_SET_ID]
            if key_id in added:
                keys, place = groups[_ADD], added[key_id]
                keys[place] = (*keys[place][:_ADD_VERSION], *row[:_SET_ID])
                continue
            if key_id in last_set:
                rows[last_set[key_id]] = row
                continue
            last_set[key_id] = len(rows)
        rows.append(row)
    groups[_COUNT] = [(*place, count) for place, count in counts.items()]
    return {query: rows for query, rows in groups.items() if rows}


class _Form(msgspec.Struct, frozen=True):
    """The one statement for batches with the same queries."""

    statement: Statement
    parameters: Mapping[str, tuple[str, ...]]
    """The parameters of each query's part, one for each value of its rows."""
    types: Mapping[str, str]
    """The types of the elements, for each parameter that is an array."""

    def arrays(self, columns: Mapping[str, Sequence[object]]) -> dict[str, object]:
        """Return columns as arrays, by the parameters."""
        return {name: encode_array(self.types[name], values) for name, values in columns.items()}

    def columns(self, groups: Mapping[str, Sequence[Row]]) -> dict[str, Sequence[object]]:
        """Return the values of each parameter."""
        return {
            name: column
            for query, rows in groups.items()
            for name, column in zip(self.parameters[query], zip(*rows, strict=True), strict=True)
        }


def compose_one(
    groups: dict[str, list[Row]], *, relaxed: bool
) -> tuple[Statement, dict[str, object]]:
    """Return the statement for these groups, and its arrays by the names of its parameters."""
    form = _form_of_one(tuple(sorted(groups)), relaxed=relaxed)
    return form.statement, form.arrays(form.columns(groups))


def compose_several(
    commits: Sequence[LogCommit], *, relaxed: bool
) -> tuple[Statement, dict[str, object]]:
    """Return the statement for the commits of several stores, and its arrays.

    The first array of each part has the stores of its rows.
    """
    groups: dict[str, list[Row]] = {}
    for commit in commits:
        for query, rows in commit.groups.items():
            groups.setdefault(query, []).extend((commit.store_id, *row) for row in rows)
    form = _form_of_several(tuple(sorted(groups)), relaxed=relaxed)
    swaps: dict[str, Sequence[object]] = {
        "stores": [commit.store_id for commit in commits],
        "stamps": [commit.stamp for commit in commits],
        "next_stamps": [commit.next_stamp for commit in commits],
    }
    return form.statement, form.arrays({**swaps, **form.columns(groups)})


@cache
def _form_of_one(queries: tuple[str, ...], *, relaxed: bool) -> _Form:
    texts = _parts()
    return _assemble(
        {"head": texts["head"]}, {name: texts[name] for name in queries}, relaxed=relaxed
    )


@cache
def _form_of_several(queries: tuple[str, ...], *, relaxed: bool) -> _Form:
    texts = _parts()
    heads = {"locked": texts["locked"], "head": texts["heads"]}
    return _assemble(heads, {name: _for_several(texts[name]) for name in queries}, relaxed=relaxed)


def _assemble(heads: Mapping[str, str], parts: Mapping[str, str], *, relaxed: bool) -> _Form:
    expressions = ", ".join(f"{name} AS ({text})" for name, text in {**heads, **parts}.items())
    text = f"WITH {expressions} {_parts()['relaxed' if relaxed else 'durable']}"
    parameters = {query: number_parameters(part).names for query, part in parts.items()}
    return _Form(number_parameters(text), parameters, dict(_ARRAY.findall(text)))


_STORE_COLUMN = re.compile(r"\) AS part(?: \()?")


def _for_several(text: str) -> str:
    """Return a part whose rows are of several stores, which its first array names."""
    (first, *_) = number_parameters(text).names
    stores = f"{first.rpartition('_')[0]}_0"
    text = text.replace("head.store_id, part.*", "part.*").replace(
        "= :store_id AND", "= part.store_id AND"
    )
    text = text.replace("UNNEST(", f"UNNEST(CAST(:{stores} AS BIGINT[]),")
    text = _STORE_COLUMN.sub(
        lambda match: ") AS part (store_id" + (", " if match[0].endswith("(") else ")"), text
    )
    text, conflict, rest = text.partition(" ON CONFLICT ")
    text = f"{text} {'AND' if 'WHERE' in text else 'WHERE'} part.store_id = head.store_id"
    return f"{text}{conflict}{rest}"


@cache
def _parts() -> dict[str, str]:
    return query_loader.parse(query_loader.read_sql(_PACKAGE, "commit_statement.sql"))
