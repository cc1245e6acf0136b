"""Distributing the tables over the nodes of Citus, by the store.

All rows of a store are on one node, so that every statement of a store runs there as it would in
one server. The tables without a store, which are small, are on every node.
"""

from __future__ import annotations

import msgspec

from memoranda.errors import NotFound
from memoranda.storage.postgres.session import Session

_COPIED = ("format", "server", "store")
"""Tables that every node has; names of stores are unique in the whole database."""
_FIRST = "head"
"""The table that all others are placed with."""


class Distribution(msgspec.Struct, frozen=True):
    """The result of a distribution."""

    distributed: tuple[str, ...]
    copied: tuple[str, ...]
    """Tables that are on every node."""
    unchanged: tuple[str, ...]
    """Tables that were distributed before."""


def distribute(session: Session) -> Distribution:
    """Distribute the tables that are not yet; raise `NotFound` if the database has no Citus."""
    if session.find("citus_there") is None:
        raise NotFound(
            "the database has no Citus, which distributes tables: install it on every node, make "
            "its extension by CREATE EXTENSION citus, and add the nodes by citus_add_node"
        )
    with session.transaction():
        session.find("schema_lock")
        session.find("citus_in_sequence")
        done = {str(row[0]) for row in session.rows("citus_tables")}
        tables = [str(row[0]) for row in session.rows("store_tables")]
        tables = [_FIRST, *(table for table in tables if table not in (*_COPIED, _FIRST))]
        new = [table for table in tables if table not in done]
        copied = [table for table in _COPIED if table not in done]
        for table in copied:
            session.find("citus_copy", f"memoranda.{table}")
        for table in new:
            place = "default" if table == _FIRST else f"memoranda.{_FIRST}"
            session.find("citus_distribute", f"memoranda.{table}", place)
        session.find("format_distribute")
    unchanged = tuple(table for table in (*_COPIED, *tables) if table in done)
    return Distribution(tuple(new), tuple(copied), unchanged)
