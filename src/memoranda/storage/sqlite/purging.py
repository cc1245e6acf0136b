"""Purging: letting deleted bytes leave the files.

`secure_delete` zeroes a cell when it is deleted, but not the copies that splitting a page leaves in
the free space of the old one: measured, about one in a thousand. So the file is written anew, from
what is in it, and the write-ahead log is emptied into it. Before that, the index of words is made
anew: it keeps beginnings of deleted words, by which it tells its pages apart.
"""

from __future__ import annotations

import apsw

from memoranda.errors import StoreBusy
from memoranda.storage.sqlite.connection import Connection, translate

_READERS_WAIT_MS = 250
_BETWEEN_INTERRUPTS = 20_000


def purge(writer: Connection, lock_wait_ms: int) -> bool:
    """Write the file anew, and say whether that is done: a reader can be in the way.

    Who reads holds what was there before, so nothing is written before it is known that nobody
    does. An interrupt leaves everything as it was.
    """
    database = writer.database
    try:
        database.set_busy_timeout(_READERS_WAIT_MS)
        _write_anew(writer)
    except (apsw.BusyError, StoreBusy):
        return False
    except apsw.Error as error:
        raise translate(error) from error
    finally:
        database.set_busy_timeout(lock_wait_ms)
    return True


def _write_anew(writer: Connection) -> None:
    database = writer.database
    try:
        database.set_progress_handler(_notice, _BETWEEN_INTERRUPTS)
        _empty_journal(database)
        writer.run("words_rebuild")
        writer.run("vacuum")
        _empty_journal(database)
    finally:
        database.set_progress_handler(None)


def _notice() -> bool:
    """Do nothing, in Python: that is when the interpreter acts on Ctrl-C."""
    return False


def _empty_journal(database: apsw.Connection) -> None:
    database.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
