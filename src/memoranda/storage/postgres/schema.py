"""The tables of all stores in a database: creating them, migrating them, refusing newer ones.

`schema.sql` is the first format that PostgreSQL had, and each file of `migrations` leads from one
format to the next; a new database runs them all. Formats have the numbers of SQLite's: a new one is
a file in both folders. Many programs share a database, so opening a store migrates nothing: an
operator does (`memoranda migrate`), after the programs were upgraded.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files

import msgspec

from memoranda.errors import NotFound, UnsupportedFormat
from memoranda.storage import query_loader
from memoranda.storage.postgres.head import draw_number
from memoranda.storage.postgres.session import Session
from memoranda.storage.sqlite.schema import FORMAT

_PACKAGE = "memoranda.storage.postgres"
FIRST_FORMAT = 9
"""The format of `schema.sql`; older ones are of files only."""


class Step(msgspec.Struct, frozen=True):
    """One migration: the format it leads to, and its statements."""

    number: int
    script: str


def stored_steps(from_format: int) -> list[Step]:
    """Return the migrations from a format to the present one."""
    folder = files(_PACKAGE) / "migrations"
    return [
        Step(number, (folder / f"{number}.sql").read_text("utf-8"))
        for number in range(max(from_format, FIRST_FORMAT) + 1, FORMAT + 1)
    ]


class Schema:
    """The tables of a database, and their format."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._is_distributed = False

    def prepare(self, *, create: bool) -> None:
        """Create the tables if there are none; raise `UnsupportedFormat` for another format."""
        number = self.read_format()
        if number is None:
            if not create:
                raise NotFound("the database has no Memoranda stores: open one with create=True")
            self._create()
            number = self.read_format()
        if number != FORMAT:
            raise _outdated(number) if number and number < FORMAT else _newer(number)

    @property
    def is_distributed(self) -> bool:
        """Whether the tables are on several nodes; known once the format was read."""
        return self._is_distributed

    def read_format(self) -> int | None:
        """Return the format of the tables; None if there are none."""
        if self._session.find("table_there", "format") is None:
            return None
        row = self._session.find("format_read")
        if row is None:
            return None
        self._is_distributed = bool(row[1])
        return int(row[0])

    def migrate(self, steps: Callable[[int], list[Step]] = stored_steps) -> None:
        """Run the migrations from the stored format on, in one transaction.

        Another process that does the same waits, and finds nothing left to do. Each store's row is
        changed first: that waits for writers who have locked it, and keeps others out until the
        end. Then its number tells programs of older versions, at their next write.
        """
        with self._session.transaction():
            self._session.find("schema_lock")
            number = self.read_format()
            if number is None:
                raise NotFound("the database has no Memoranda stores: open one with create=True")
            check_not_newer(number)
            pending = steps(number)
            if pending:
                self._session.find("heads_set_format", pending[-1].number, draw_number())
            for step in pending:
                self._session.run_script(step.script)
                self._session.find("format_set", step.number)

    def hold(self) -> None:
        """Keep migrations away until the transaction ends; raise if there was one meanwhile."""
        self._session.find("schema_lock")
        self.prepare(create=False)

    def _create(self) -> None:
        """Create the tables in one transaction, unless another process is first."""
        with self._session.transaction():
            self._session.find("schema_lock")
            if self._session.find("table_there", "format") is None:
                self._session.find("schema_create")
                self._session.run_script(query_loader.read_sql(_PACKAGE, "schema.sql"))
                for step in stored_steps(FIRST_FORMAT):
                    self._session.run_script(step.script)
                self._session.find("format_add", FORMAT)


def check_not_newer(number: int) -> None:
    """Raise if a format is newer than those this version knows."""
    if number > FORMAT:
        raise _newer(number)


def _newer(number: int | None) -> UnsupportedFormat:
    return UnsupportedFormat(
        f"the database has format {number}, and this version reads {FORMAT}: upgrade Memoranda to "
        "open it"
    )


def _outdated(number: int) -> UnsupportedFormat:
    return UnsupportedFormat(
        f"the database has format {number}, and this version writes {FORMAT}: upgrade all programs "
        "that use it, then run `memoranda migrate`"
    )
