"""Attacks: what can be done to a store's file, each drawn from a source of chance.

An attack is raw SQL. It returns what it did, or None where it would have changed nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import apsw

from tests.tamper.tables import (
    Row,
    Table,
    Value,
    delete,
    insert,
    rows_of,
    update,
    without_types,
)

LOG = frozenset({"event", "blob", "erased"})
"""The truth: where one of its rows is altered, its commit is to be named."""
_OTHERWISE: dict[str, tuple[Value, ...]] = {
    "INTEGER": ("seven", b"\x07", 7.5, None),
    "TEXT": (7, b"seven", 7.5, None),
    "BLOB": ("seven", 7, 7.5, None),
    "REAL": ("seven", b"\x07", None),
}


@dataclass(frozen=True)
class Deed:
    """What was done: to which rows of a table, as they were, and which columns they have now."""

    attack: str
    table: str
    before: tuple[Row, ...]
    after: tuple[Row, ...]
    columns: tuple[str, ...] = ()

    def commits(self) -> set[int]:
        """Return the commits that may rightly be named for it."""
        return {
            row["commit_ts"]
            for row in (*self.before, *self.after)
            if isinstance(row.get("commit_ts"), int)
        }

    def __str__(self) -> str:
        old, new = ([{name: row.get(name) for name in self.columns} for row in rows]
                    for rows in (self.before, self.after))  # fmt: skip
        return f"{self.attack} {self.table}{list(self.columns)} of {self._keys()}: {old} -> {new}"

    def _keys(self) -> list[str]:
        return [str(dict([*row.items()][:5]))[:160] for row in self.before]


Attack = Callable[[apsw.Connection, Table, Random], Deed | None]


def flip(database: apsw.Connection, table: Table, random: Random, column: str = "") -> Deed | None:
    """Flip one bit of one column of one row."""
    row = random.choice(rows_of(database, table))
    column = column or random.choice([*table.columns])
    changed = _flipped(row[column], table.columns[column], random)
    update(database, table, row, {column: changed})
    return _changed("flip", table, row, {column: changed})


def retype(database: apsw.Connection, table: Table, random: Random) -> Deed | None:
    """Put a value of another type where the table would not take it."""
    column = random.choice([*table.columns])
    row = random.choice(rows_of(database, table))
    value = random.choice(_OTHERWISE[table.columns[column]])
    if table.key == (column,) and table.columns[column] == "INTEGER":
        return None  # the number of a row is a number, whatever the schema says
    if value is None and column in table.optional and row[column] is None:
        return None
    with without_types(database, table):
        names = table.key
        which = " AND ".join(f"{name} IS ?" for name in names)
        query = f"UPDATE {table.name} SET {column} = ? WHERE {which}"
        database.execute(query, [value, *(row[name] for name in names)])
    return _changed("retype", table, row, {column: value})


def remove(database: apsw.Connection, table: Table, random: Random) -> Deed | None:
    """Delete a row."""
    row = random.choice(rows_of(database, table))
    delete(database, table, row)
    return Deed("remove", table.name, (row,), ())


def duplicate(database: apsw.Connection, table: Table, random: Random) -> Deed | None:
    """Add a row that is like another one but for a column or two."""
    row = random.choice(rows_of(database, table))
    changes = {
        column: _flipped(row[column], table.columns[column], random)
        for column in random.sample([*table.columns], k=min(2, len(table.columns)))
    }
    insert(database, table, row | changes)
    return Deed("duplicate", table.name, (), (row | changes,), tuple(changes))


def append(database: apsw.Connection, table: Table, random: Random) -> Deed | None:
    """Add a row again behind the last one, under the next number."""
    rows = rows_of(database, table)
    number = table.key[0]
    if not isinstance(rows[-1][number], int) or number not in table.columns:
        return None
    row = random.choice(rows) | {number: rows[-1][number] + 1}
    insert(database, table, row)
    return Deed("append", table.name, (), (row,), (number,))


def swap(database: apsw.Connection, table: Table, random: Random) -> Deed | None:
    """Let two rows have each other's values, in one column or in all but their key."""
    rows = rows_of(database, table)
    if len(rows) < 2:
        return None
    one, other = random.sample(rows, k=2)
    free = [name for name in table.columns if name not in table.key]
    names = free if random.random() < 0.5 else random.sample([*table.columns], k=1)
    if not names or all(one[name] == other[name] for name in names):
        return None
    if set(names) & set(table.key):
        return _exchange(database, table, one, other)
    for row, source in ((one, other), (other, one)):
        update(database, table, row, {name: source[name] for name in names})
    after = tuple({**row, **{name: source[name] for name in names}}
                  for row, source in ((one, other), (other, one)))  # fmt: skip
    return Deed("swap", table.name, (one, other), after, tuple(names))


def _exchange(database: apsw.Connection, table: Table, one: Row, other: Row) -> Deed | None:
    """Let two rows have each other's key."""
    if "rowid" in table.key:
        return None
    keys = [{name: row[name] for name in table.key} for row in (one, other)]
    swapped = (one | keys[1], other | keys[0])
    if other in swapped:
        return None
    delete(database, table, one)
    delete(database, table, other)
    for row in swapped:
        insert(database, table, row)
    return Deed("exchange", table.name, (one, other), swapped, table.key)


def replace(database: apsw.Connection, table: Table, random: Random) -> Deed | None:
    """Let a row say what another one says."""
    rows = rows_of(database, table)
    if len(rows) < 2:
        return None
    one, other = random.sample(rows, k=2)
    changes = {name: other[name] for name in table.columns if name not in table.key}
    if not changes:
        return None
    update(database, table, one, changes)
    return _changed("replace", table, one, changes)


def shuffle(database: apsw.Connection, table: Table, random: Random) -> Deed | None:
    """Put some neighbouring rows in another order, as their numbers tell it."""
    rows = rows_of(database, table)
    if table.key != ("commit_ts",) or len(rows) < 5:
        return None
    first = random.randrange(len(rows) - 4)
    part = rows[first : first + random.randint(3, 4)]
    order = random.sample(part, k=len(part))
    if order == part:
        return None
    for row in part:
        delete(database, table, row)
    moved = tuple(
        {**row, "commit_ts": place["commit_ts"]} for row, place in zip(order, part, strict=True)
    )
    for row in moved:
        insert(database, table, row)
    bad = [(old, new) for old, new in zip(part, moved, strict=True) if old != new]
    return Deed("shuffle", table.name, (bad[0][0],), (bad[0][1],), ("commit_ts",))


ATTACKS: tuple[Attack, ...] = (
    flip, flip, flip, retype, remove, duplicate, append, swap, replace, shuffle,
)  # fmt: skip


def _changed(attack: str, table: Table, row: Row, changes: Row) -> Deed | None:
    output = {name: _as_text(value, table.columns[name]) for name, value in changes.items()}
    if all(row[name] == value and type(row[name]) is type(value) for name, value in output.items()):
        return None
    return Deed(attack, table.name, (row,), ({**row, **output},), tuple(changes))


def _as_text(value: Value, kind: str) -> Value:
    """Return text as text, if it is any."""
    if kind != "TEXT" or not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _signed(number: int) -> int:
    """Return a number of 64 bits as SQLite has it."""
    return number - 2**64 if number >= 2**63 else number


def _flipped(value: Value, kind: str, random: Random) -> Value:
    """Return a value of the same type with one bit changed; where there is none, any one.

    A number may be that of a row, of the first one most often, or of no row at all.
    """
    if value is None and kind == "INTEGER":
        return _signed(1 << random.choice((0, 0, random.randrange(64))))
    if value is None:
        return 1.0 if kind == "REAL" else b"x"
    if isinstance(value, float):
        (number,) = struct.unpack(">q", struct.pack(">d", value))
        (changed,) = struct.unpack(">d", struct.pack(">q", number ^ 1 << random.randrange(52)))
        return changed
    if isinstance(value, int):
        return _signed(value % 2**64 ^ 1 << random.randrange(64))
    content = bytearray(value.encode() if isinstance(value, str) else value)
    if not content:
        return b"x"
    content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    return bytes(content)
