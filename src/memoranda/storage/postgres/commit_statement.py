"""The one statement that commits a batch: rows grouped by the query they are for, as arrays."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

import msgspec

from memoranda.storage import query_loader
from memoranda.storage.port import Row
from memoranda.storage.postgres.statements import Statement, number_parameters

_PACKAGE = "memoranda.storage.postgres"
_SET, _ADD, _SET_ID, _ADD_VERSION = "state_set", "state_add", 3, 3
"""A key's values are set by (version, commit_ts, value, id), and added behind (id, scope, key)."""


class LogCommit(msgspec.Struct, frozen=True):
    """The rows that commit a batch of one log, by query, and the swap of its store's stamp."""

    store_id: int
    stamp: int
    next_stamp: int
    groups: dict[str, list[Row]]


def group_rows(waiting: Sequence[tuple[str, Row]]) -> dict[str, list[Row]] | None:
    """Return the rows of each query; None if one has no form for many rows.

    The parts of a statement see the tables as they were before it, and a row can be changed once:
    so only the last values of a key are left, in the row that adds it if there is one.
    """
    forms = _parts()
    groups: dict[str, list[Row]] = {}
    added: dict[object, int] = {}
    last_set: dict[object, int] = {}
    for query, row in waiting:
        if query not in forms:
            return None
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
    return {query: rows for query, rows in groups.items() if rows}


def compose_one(
    groups: dict[str, list[Row]], *, relaxed: bool
) -> tuple[Statement, dict[str, list[object]]]:
    """Return the statement for these groups, and its arrays by the names of its parameters."""
    statement, names = _statement_of(tuple(sorted(groups)), relaxed=relaxed)
    return statement, _arrays(groups, names)


def compose_several(
    commits: Sequence[LogCommit], *, relaxed: bool
) -> tuple[Statement, dict[str, list[object]]]:
    """Return the statement for the commits of several stores, and its arrays.

    The first array of each part has the stores of its rows.
    """
    groups: dict[str, list[Row]] = {}
    for commit in commits:
        for query, rows in commit.groups.items():
            groups.setdefault(query, []).extend((commit.store_id, *row) for row in rows)
    statement, names = _statement_of_several(tuple(sorted(groups)), relaxed=relaxed)
    swaps: dict[str, list[object]] = {
        "stores": [commit.store_id for commit in commits],
        "stamps": [commit.stamp for commit in commits],
        "next_stamps": [commit.next_stamp for commit in commits],
    }
    return statement, swaps | _arrays(groups, names)


def _arrays(
    groups: Mapping[str, Sequence[Row]], names: Mapping[str, tuple[str, ...]]
) -> dict[str, list[object]]:
    return {
        name: [*column]
        for query, rows in groups.items()
        for name, column in zip(names[query], zip(*rows, strict=True), strict=True)
    }


@cache
def _statement_of(
    queries: tuple[str, ...], *, relaxed: bool
) -> tuple[Statement, dict[str, tuple[str, ...]]]:
    """Return the statement with some parts, and the parameters of each part."""
    texts = _parts()
    return _assemble(
        {"head": texts["head"]}, {name: texts[name] for name in queries}, relaxed=relaxed
    )


@cache
def _statement_of_several(
    queries: tuple[str, ...], *, relaxed: bool
) -> tuple[Statement, dict[str, tuple[str, ...]]]:
    texts = _parts()
    heads = {"locked": texts["locked"], "head": texts["heads"]}
    return _assemble(heads, {name: _for_several(texts[name]) for name in queries}, relaxed=relaxed)


def _assemble(
    heads: Mapping[str, str], parts: Mapping[str, str], *, relaxed: bool
) -> tuple[Statement, dict[str, tuple[str, ...]]]:
    expressions = ", ".join(f"{name} AS ({text})" for name, text in {**heads, **parts}.items())
    text = f"WITH {expressions} {_parts()['relaxed' if relaxed else 'durable']}"
    return number_parameters(text), {
        query: number_parameters(part).names for query, part in parts.items()
    }


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
    return f"{text} {'AND' if 'WHERE' in text else 'WHERE'} part.store_id = head.store_id"


@cache
def _parts() -> dict[str, str]:
    return query_loader.parse(query_loader.read_sql(_PACKAGE, "commit_statement.sql"))
