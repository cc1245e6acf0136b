"""The one seam where PostgreSQL's errors become ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import psycopg

from memoranda import errors


class Undone(errors.StoreBusy):
    """Another transaction was in the way, and the database has undone this one. Try again."""


_ERRORS: Mapping[type[psycopg.Error], type[errors.MemorandaError]] = {
    psycopg.errors.LockNotAvailable: errors.StoreBusy,
    psycopg.errors.DeadlockDetected: Undone,
    psycopg.errors.SerializationFailure: Undone,
    psycopg.errors.TooManyConnections: errors.StoreBusy,
    psycopg.errors.DiskFull: errors.StoreFull,
    psycopg.errors.ReadOnlySqlTransaction: errors.StoreReadOnly,
    psycopg.errors.DataCorrupted: errors.Corruption,
    psycopg.errors.IndexCorrupted: errors.Corruption,
    psycopg.errors.InsufficientPrivilege: errors.Unavailable,
    psycopg.errors.InvalidSqlStatementName: errors.Unavailable,
    psycopg.IntegrityError: errors.Corruption,
    psycopg.OperationalError: errors.Unavailable,
    psycopg.InterfaceError: errors.Unavailable,
}


def translate(error: psycopg.Error) -> errors.MemorandaError:
    """Return our error for PostgreSQL's; raise the original if it has none: that is our bug."""
    for foreign, ours in _ERRORS.items():
        if isinstance(error, foreign):
            return ours(f"{ours.__doc__} (PostgreSQL: {str(error).strip()})")
    raise error


def is_outdated(error: BaseException) -> bool:
    """Say whether an error means that another connection has written since the last commit."""
    return isinstance(error, psycopg.errors.DivisionByZero)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Translate the errors that PostgreSQL raises in the block."""
    try:
        yield
    except psycopg.Error as error:
        raise translate(error) from error
