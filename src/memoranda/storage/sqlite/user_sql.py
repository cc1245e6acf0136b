"""SQL of a user's own, over the documented views: whatever it says, it can only read them.

A statement is first compiled against stand-ins: tables without rows, named like the views, in a
database that has nothing else. What compiles there names nothing but the views. Then it runs on a
connection that has them, and that may do nothing but read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from importlib.resources import files
from typing import Any

import apsw

from memoranda.errors import InvalidInput
from memoranda.model.limits import shown
from memoranda.storage import queries
from memoranda.storage.port import Parameters, Row
from memoranda.storage.sqlite.connection import translate
from memoranda.storage.sqlite.functions import FUNCTIONS
from memoranda.storage.sqlite.parameters import check_parameters

_PAGE_ROWS = 256
_PAGE_BYTES = 1024 * 1024
_MOST_BYTES = 256 * 1024 * 1024
"""The longest text or blob that a statement can make."""
_BETWEEN_INTERRUPTS = 20_000
"""How many of SQLite's steps are taken before an interrupt is noticed."""
_ALLOWED = (apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_FUNCTION, apsw.SQLITE_RECURSIVE)
_DENIED_FUNCTIONS = ("load_extension", "fts3_tokenizer")
_TABLE_FUNCTIONS = ("json_each", "json_tree")
_OF_THE_STATEMENT = (
    apsw.SQLError,
    apsw.AuthError,
    apsw.TooBigError,
    apsw.MismatchError,
    apsw.RangeError,
)
"""What is the statement's fault, and not the storage's."""


class SqlAnswer:
    """The rows of one statement, read from one snapshot, a page at a time.

    It owns its connection, which is closed when the last row has been read, or with the answer.
    """

    def __init__(self, database: apsw.Connection, statement: str, parameters: Parameters) -> None:
        self._database = database
        with ExitStack() as on_failure:
            on_failure.callback(database.close)
            parameters = check_parameters(parameters)
            views = _make_views(database)
            first, self._columns = _compile(views, statement, parameters)
            _restrict(database)
            on_failure.pop_all()
        self._rows: Iterator[Row] | None = self._run(first, parameters)

    def next_page(self) -> list[dict[str, Any]]:
        """Return the next rows."""
        page: list[dict[str, Any]] = []
        if self._rows is None:
            return page
        size = 0
        with _blamed_on_the_statement():
            for row in self._rows:
                page.append(dict(zip(self._columns, row, strict=True)))
                size += sum(len(cell) for cell in row if isinstance(cell, (str, bytes)))
                if len(page) >= _PAGE_ROWS or size >= _PAGE_BYTES:
                    return page
        self._rows = None
        self._database.close()
        return page

    def _run(self, statement: str, parameters: Parameters) -> Iterator[Row]:
        """Yield the rows; nothing runs before the first is asked for."""
        yield from self._database.execute(statement, parameters)


def _make_views(database: apsw.Connection) -> dict[str, str]:
    """Make the views, and return their names and columns."""
    for name, function in FUNCTIONS.items():
        database.create_scalar_function(name, function, deterministic=True)
    database.execute((files(__package__) / "views.sql").read_text("utf-8"))
    rows = database.execute(queries.load(__package__)["sql_views"])
    return {str(name): str(columns) for name, columns in rows}


def _compile(
    views: Mapping[str, str], statement: str, parameters: Parameters
) -> tuple[str, tuple[str, ...]]:
    """Return a statement that names only these views, and its columns, or say what is wrong."""
    create = queries.load(__package__)["sql_stand_in"]
    with closing(apsw.Connection(":memory:")) as stand_ins:
        for name, columns in views.items():
            stand_ins.execute(create.format(name=name, columns=columns))
        _restrict(stand_ins, (*views, *_TABLE_FUNCTIONS))
        first, names = _compile_first(stand_ins.cursor(), statement, parameters)
    if following := statement[len(first) :].strip():
        raise InvalidInput("query", f"one statement at a time: leave out {shown(following)}")
    if not names:
        raise InvalidInput("query", "gives no rows: give a SELECT")
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput("query", f"two columns are called {name!r}: tell them apart with AS")
    return first, names


def _compile_first(
    cursor: apsw.Cursor, statement: str, parameters: Parameters
) -> tuple[str, tuple[str, ...]]:
    """Return the first statement there is and its columns, without running it."""
    compiled: list[tuple[str, tuple[str, ...]]] = []

    def stop(cursor: apsw.Cursor, first: str, _: object) -> bool:
        compiled.append((first, tuple(column[0] for column in cursor.get_description())))
        return False

    cursor.exec_trace = stop
    with _blamed_on_the_statement(), suppress(apsw.ExecTraceAbort):
        try:
            cursor.execute(statement, parameters)
        except KeyError as error:
            raise InvalidInput("parameters", f"there is none called {error}: give it") from error
        except (apsw.BindingsError, TypeError) as error:
            raise InvalidInput("parameters", str(error)) from error
    return compiled[0]


@contextmanager
def _blamed_on_the_statement() -> Iterator[None]:
    try:
        yield
    except _OF_THE_STATEMENT as error:
        raise InvalidInput("query", str(error)) from error
    except UnicodeDecodeError as error:
        raise InvalidInput("query", "gives text that is not UTF-8: CAST it AS BLOB") from error
    except apsw.Error as error:
        raise translate(error) from error


def _restrict(database: apsw.Connection, tables: Sequence[str] | None = None) -> None:
    """Let statements do nothing but read; with `tables`, nothing but these by their columns."""

    def judge(
        action: int, first: str | None, second: str | None, _: str | None, __: str | None
    ) -> int:
        allowed = action in _ALLOWED
        if action == apsw.SQLITE_FUNCTION:
            allowed = second not in _DENIED_FUNCTIONS
        if action == apsw.SQLITE_READ and tables is not None:
            # without a column it may be a common table expression that is only counted
            allowed = first in tables if second else not str(first).startswith("sqlite_")
        return apsw.SQLITE_OK if allowed else apsw.SQLITE_DENY

    database.pragma("query_only", True)
    database.limit(apsw.SQLITE_LIMIT_LENGTH, _MOST_BYTES)
    database.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)
    database.set_progress_handler(_notice_interrupts, _BETWEEN_INTERRUPTS)
    database.authorizer = judge


def _notice_interrupts() -> bool:
    """Do nothing, in Python: that is when the interpreter acts on Ctrl-C."""
    return False
