"""Read-only SQL of the user over the documented views.

A statement is compiled twice. First against stand-ins: empty tables with the names and columns of
the views, in a database that has nothing else. A statement that compiles there can name only the
views. Then it runs on a connection that has the views, with an authorizer that allows reads only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Any

import apsw
import msgspec

from memoranda.errors import InvalidInput
from memoranda.model import codec
from memoranda.model.clock import to_rfc3339
from memoranda.model.limits import plain_text, short_repr
from memoranda.model.operations import AnyOperation, Write
from memoranda.storage import query_loader
from memoranda.storage.port import Parameters, Row, SqlView
from memoranda.storage.sqlite import schema
from memoranda.storage.sqlite.connection import translate

# SQL functions of the views, which decode the log's stored bytes.


def _txn_id(envelope: bytes) -> str:
    return codec.decode_envelope(envelope).txn_id


def _actor(envelope: bytes) -> str:
    return codec.decode_envelope(envelope).actor


def _trace_id(envelope: bytes) -> str | None:
    return codec.decode_envelope(envelope).trace_hex


def _count(operations: bytes) -> int:
    return len(codec.split(operations))


def _all(operations: bytes) -> str:
    """Return the operations as a JSON array; their JSON values are text in it, byte for byte."""
    return _json([_shape(operation) for operation in codec.decode_effective(operations)])


def _value(operations: bytes, position: int) -> str | None:
    """Return one operation's value; only this one of perhaps thousands is decoded."""
    part = codec.split(operations)[position]
    (operation,) = codec.decode_effective(codec.join([part]))
    return _value_text(operation)


def _shape(operation: AnyOperation) -> dict[str, Any]:
    return {
        "type": operation.type.value,
        "namespace": operation.namespace,
        "agent_id": operation.agent_id,
        "key": operation.key,
        "version": operation.version,
        "value": _value_text(operation),
        "because": _because_text(operation),
    }


def _value_text(operation: AnyOperation) -> str | None:
    if isinstance(operation, Write):
        return operation.encoded.decode()
    value = operation.value
    return None if value is None else _json(value)


def _because_text(operation: AnyOperation) -> str | None:
    if not isinstance(operation, Write) or not operation.because:
        return None
    return _json([msgspec.structs.asdict(ref) for ref in operation.because])


def _details(encoded: bytes) -> str:
    """Return a memory's details as JSON, with times as RFC 3339 text."""
    details = codec.decode_details(encoded)
    return _json(details.to_document() | {"event_time": _instant(details.event_time)})


def _instant(micros: int | None) -> str | None:
    """Return a time as RFC 3339 text; SQLite's division rounds times before 1970 the wrong way."""
    return None if micros is None else to_rfc3339(micros)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


FUNCTIONS: Mapping[str, Callable[..., str | int | None]] = {
    "envelope_txn_id": _txn_id,
    "envelope_trace_id": _trace_id,
    "envelope_actor": _actor,
    "operation_count": _count,
    "operations_json": _all,
    "operation_value": _value,
    "details_json": _details,
    "instant_text": _instant,
}
"""The functions that `views.sql` calls, by their names there."""


# Parameters of a user's SQL.

_FIELD = "parameters"
_MAX_PARAMETERS = 32_766
"""The number of placeholders that SQLite takes in one statement."""
_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**63 - 1
"""The bounds of integers that SQLite stores."""


def check_parameters(parameters: object) -> Parameters:
    """Return parameters that SQLite can bind, by position or by name, or raise `InvalidInput`."""
    if isinstance(parameters, Mapping):
        _check_count(len(parameters))
        return {plain_text(_FIELD, name): _check(value) for name, value in parameters.items()}
    if not isinstance(parameters, Sequence) or isinstance(
        parameters, (str, bytes, bytearray, memoryview)
    ):
        problem = (
            f"{short_repr(parameters)} is neither a list of values nor a mapping of names to values"
        )
        raise InvalidInput(_FIELD, problem)
    _check_count(len(parameters))
    return tuple(map(_check, parameters))


def _check_count(count: int) -> None:
    if count > _MAX_PARAMETERS:
        raise InvalidInput(_FIELD, f"are {count}, and the limit is {_MAX_PARAMETERS}")


def _check(value: object) -> Any:
    if value is None or isinstance(value, (bytes, bytearray, memoryview)):
        return value
    if isinstance(value, str):
        return _check_text(value)
    if isinstance(value, int) and _MIN_INTEGER <= value <= _MAX_INTEGER:
        return int(value)
    if isinstance(value, float) and value == value:
        return float(value)
    raise InvalidInput(
        _FIELD, f"{short_repr(value)} is not text, bytes, None, a 64-bit integer or a finite number"
    )


def _check_text(value: str) -> str:
    """Return text that can be encoded as UTF-8; unlike stored text, it may hold U+0000."""
    exact = str.__str__(value)
    try:
        exact.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(_FIELD, f"{short_repr(exact)} has a lone surrogate") from error
    return exact


# Running a user's statement, which can only read the views.

_VIEW = re.compile(r"((?:^--.*\n)+)CREATE TEMP VIEW (\w+)", re.MULTILINE)
"""The comment above a view, and the view's name."""
_PAGE_ROWS = 256
"""Rows of a page."""
_PAGE_BYTES = 1024 * 1024
"""Bytes of values after which a page ends."""
_MAX_VALUE_BYTES = 256 * 1024 * 1024
"""The longest text or blob that a statement can build: bounds the memory it can take."""
_STEPS_BETWEEN_INTERRUPTS = 20_000
"""SQLite's virtual machine steps between two checks for Ctrl-C: about a millisecond."""
_ALLOWED = (apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_FUNCTION, apsw.SQLITE_RECURSIVE)
_DENIED_FUNCTIONS = ("load_extension", "fts3_tokenizer")
_TABLE_FUNCTIONS = ("json_each", "json_tree")
_STATEMENT_ERRORS = (
    apsw.SQLError,
    apsw.AuthError,
    apsw.TooBigError,
    apsw.MismatchError,
    apsw.RangeError,
)
"""Errors that the statement causes, not the storage."""


class SqlResult:
    """The rows of one statement, read from one snapshot, a page at a time.

    It owns its connection, and closes it after the last row or when it is garbage collected.
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
        with _translate_statement_errors():
            for row in self._rows:
                page.append(dict(zip(self._columns, row, strict=True)))
                size += sum(len(cell) for cell in row if isinstance(cell, (str, bytes)))
                if len(page) >= _PAGE_ROWS or size >= _PAGE_BYTES:
                    return page
        self._rows = None
        self._database.close()
        return page

    def _run(self, statement: str, parameters: Parameters) -> Iterator[Row]:
        """Yield the rows; the statement starts with the first `next`."""
        yield from self._database.execute(statement, parameters)


def _make_views(database: apsw.Connection) -> dict[str, str]:
    """Create the views, and return their columns by their names."""
    for name, function in FUNCTIONS.items():
        database.create_scalar_function(name, function, deterministic=True)
    database.execute(query_loader.read_sql(__package__, "views.sql"))
    rows = database.execute(query_loader.load(__package__)["sql_views"])
    return {str(name): str(columns) for name, columns in rows}


def documented_views() -> list[SqlView]:
    """Return the views, each with its columns and the comment above its definition."""
    text = query_loader.read_sql(__package__, "views.sql")
    comments = {name: comment for comment, name in _VIEW.findall(text)}
    with closing(apsw.Connection(":memory:")) as database:
        schema.create(database)
        columns = _make_views(database)
    return [
        SqlView(name, _first_sentence(comment), tuple(columns[name].split(", ")))
        for name, comment in comments.items()
    ]


def _first_sentence(comment: str) -> str:
    text = " ".join(comment.replace("--", "").split())
    return text.partition(". ")[0].removesuffix(".") + "."


def _compile(
    views: Mapping[str, str], statement: str, parameters: Parameters
) -> tuple[str, tuple[str, ...]]:
    """Compile a statement against stand-ins of the views; return it and its column names."""
    create = query_loader.load(__package__)["sql_stand_in"]
    with closing(apsw.Connection(":memory:")) as stand_ins:
        for name, columns in views.items():
            stand_ins.execute(create.format(name=name, columns=columns))
        _restrict(stand_ins, (*views, *_TABLE_FUNCTIONS))
        first, names = _compile_first(stand_ins.cursor(), statement, parameters)
    if following := statement[len(first) :].strip():
        raise InvalidInput(
            "query", f"has more than one statement: leave out {short_repr(following)}"
        )
    if not names:
        raise InvalidInput("query", "gives no rows: give a SELECT")
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput("query", f"two columns are called {name!r}: tell them apart with AS")
    return first, names


def _compile_first(
    cursor: apsw.Cursor, statement: str, parameters: Parameters
) -> tuple[str, tuple[str, ...]]:
    """Return the first statement of the text and its column names, without running it."""
    compiled: list[tuple[str, tuple[str, ...]]] = []

    def stop(cursor: apsw.Cursor, first: str, _: object) -> bool:
        compiled.append((first, tuple(column[0] for column in cursor.get_description())))
        return False

    cursor.exec_trace = stop
    with _translate_statement_errors(), suppress(apsw.ExecTraceAbort):
        try:
            cursor.execute(statement, parameters)
        except KeyError as error:
            raise InvalidInput("parameters", f"there is none called {error}: give it") from error
        except (apsw.BindingsError, TypeError) as error:
            raise InvalidInput("parameters", str(error)) from error
    return compiled[0]


@contextmanager
def _translate_statement_errors() -> Iterator[None]:
    try:
        yield
    except _STATEMENT_ERRORS as error:
        raise InvalidInput("query", str(error)) from error
    except UnicodeDecodeError as error:
        raise InvalidInput("query", "gives text that is not UTF-8: CAST it AS BLOB") from error
    except apsw.Error as error:
        raise translate(error) from error


def _restrict(database: apsw.Connection, tables: Sequence[str] | None = None) -> None:
    """Allow statements only to read; with `tables`, only the columns of these tables."""

    def authorize(
        action: int, first: str | None, second: str | None, _: str | None, __: str | None
    ) -> int:
        allowed = action in _ALLOWED
        if action == apsw.SQLITE_FUNCTION:
            allowed = second not in _DENIED_FUNCTIONS
        if action == apsw.SQLITE_READ and tables is not None:
            # A read without a column may be of a common table expression, as in COUNT(*).
            allowed = first in tables if second else not str(first).startswith("sqlite_")
        return apsw.SQLITE_OK if allowed else apsw.SQLITE_DENY

    database.pragma("query_only", True)
    database.limit(apsw.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    database.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)
    database.set_progress_handler(_check_interrupts, _STEPS_BETWEEN_INTERRUPTS)
    database.authorizer = authorize


def _check_interrupts() -> bool:
    """Do nothing: the interpreter raises KeyboardInterrupt when it enters Python code."""
    return False
