"""The tables of all stores in a database: creating them, and refusing those of another version."""

from __future__ import annotations

import psycopg

from memoranda.errors import NotFound, UnsupportedFormat
from memoranda.storage import query_loader
from memoranda.storage.port import Row
from memoranda.storage.postgres.connection import translate_errors
from memoranda.storage.postgres.statements import Statements
from memoranda.storage.sqlite.schema import FORMAT

_PACKAGE = "memoranda.storage.postgres"


class Catalog:
    """The format of a database, and the stores in it."""

    def __init__(self, database: psycopg.Connection[Row], statements: Statements) -> None:
        self._database = database
        self._statements = statements

    def prepare(self, *, create: bool) -> None:
        """Create the tables if there are none; raise `UnsupportedFormat` for another format."""
        if self._row("table_there", "format") is None:
            if not create:
                raise NotFound("the database has no Memoranda stores: open one with create=True")
            self._create()
        row = self._row("format_read")
        number = None if row is None else row[0]
        if number != FORMAT:
            raise UnsupportedFormat(
                f"the database has format {number}, and this version reads {FORMAT}: upgrade "
                "Memoranda to open it"
                if number is None or number > FORMAT
                else f"the database has format {number}, and this version writes {FORMAT}: migrate "
                "it"
            )

    def find(self, name: str, token: str, *, create: bool) -> tuple[int, str]:
        """Return the id and the token of a store; a new one gets the given token."""
        while (row := self._row("store_find", name)) is None:
            if not create:
                raise NotFound(f"there is no store {name!r} in the database")
            self._row("store_add", name, token)
        return int(row[0]), str(row[1])

    def _create(self) -> None:
        """Create the tables in one transaction, unless another process is first."""
        with translate_errors(), self._database.transaction():
            self._row("schema_lock")
            if self._row("table_there", "format") is None:
                self._row("schema_create")
                self._run(query_loader.read_sql(_PACKAGE, "schema.sql"))
                self._row("format_add", FORMAT)

    def _row(self, query: str, *values: object) -> Row | None:
        statement = self._statements.own(query)
        with translate_errors():
            cursor = self._database.execute(statement.text, statement.bind(values, 0))
            return cursor.fetchone() if cursor.description else None

    def _run(self, script: str) -> None:
        with translate_errors():
            self._database.execute(script)
