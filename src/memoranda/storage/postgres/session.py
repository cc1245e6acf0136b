"""Statements about a database as a whole, which are not of one store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import psycopg

from memoranda.errors import Unavailable
from memoranda.storage.port import Row
from memoranda.storage.postgres.connection import Connection, connect
from memoranda.storage.postgres.error_translation import translate_errors
from memoranda.storage.postgres.statements import Statements

_NO_STORE = 0
"""The store id for statements that name no store."""


class Session:
    """A connection that runs named queries, for one store or for none."""

    def __init__(self, database: psycopg.Connection[Row], statements: Statements) -> None:
        self.database = database
        self._statements = statements

    def find(
        self, query: str, *values: object, store_id: int = _NO_STORE, table: str = ""
    ) -> Row | None:
        """Run a statement, and return its first row if it has any.

        `table` is the name of a table of ours, in a statement that is a template.
        """
        rows = self.rows(query, *values, store_id=store_id, table=table)
        return rows[0] if rows else None

    def rows(
        self, query: str, *values: object, store_id: int = _NO_STORE, table: str = ""
    ) -> list[Row]:
        """Run a statement, and return its rows."""
        statement = self._statements.own(query)
        text = statement.text.replace("TABLE_NAME", table)
        with translate_errors():
            cursor = self.database.execute(text, statement.bind(values, store_id))
            return cursor.fetchall() if cursor.description else []

    def run_script(self, text: str) -> None:
        """Run several statements without parameters."""
        with translate_errors():
            self.database.execute(text)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all changes of the block, or none."""
        with translate_errors(), self.database.transaction():
            yield

    def server_time(self) -> int:
        """Return the time of the server, in microseconds since 1970."""
        row = self.find("server_time")
        assert row is not None, "a server has a clock"
        return int(row[0])

    def reader(self, store_id: int) -> Connection:
        """Return a reader of one store, without its index."""
        return Connection(self.database, self._refuse, self._statements, store_id, None)

    def _refuse(self) -> NoReturn:
        raise Unavailable("the connection to the database was lost: try again")

    def listen(self, channel: str) -> None:
        """Let announcements on a channel arrive here from now on."""
        self.run_script(self._statements.own("listen").text.replace("CHANNEL_NAME", channel))

    def announcements(self, seconds: float) -> list[tuple[str, str]]:
        """Wait for announcements; return the channels and payloads of those that arrive."""
        with translate_errors():
            arrived = self.database.notifies(timeout=seconds, stop_after=1)
            return [(announcement.channel, announcement.payload) for announcement in arrived]

    def close(self) -> None:
        """Close the connection."""
        self.database.close()


def open_session(conninfo: str) -> Session:
    """Connect to a database, apart from any store of it."""
    return Session(connect(conninfo), Statements(frozenset()))
