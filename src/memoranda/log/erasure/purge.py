"""Purging: remove erased bytes from the storage's files.

An erasure makes content unreadable at once; its bytes may remain in free pages until a purge. Which
erasures are pending is stored in `meta`, in the erasing transaction itself, so a crash or a reader
that blocks the purge does not lose it.
"""

from __future__ import annotations

from memoranda.errors import StoreBusy, StoreFull, Unavailable, UnsupportedFormat
from memoranda.storage.port import Engine, Progress, Reader, Writer

PURGE_AT_ONCE_BYTES = 16 * 1024 * 1024
"""The size of the files, in bytes, up to which an erasure is purged at once unless asked otherwise.

A purge writes the file again, and no other writer commits meanwhile: about a second for 100 MB, so
about a sixth of a second for this size. A larger store is purged when somebody asks for it.
"""
HOW_TO_PURGE = "call `store.purge()`, or run `memoranda purge`"
_NAME = "purge"


def first_pending(reader: Reader) -> int | None:
    """Return the first erasure whose bytes may still be in the storage."""
    row = reader.row("meta_get", name=_NAME)
    return None if row is None else int(row[0].split("-")[0])


def note_pending(writer: Writer, erasure: int) -> None:
    """Note that an erasure's bytes have to be purged."""
    first = first_pending(writer)
    value = f"{erasure if first is None else first}-{erasure}"
    writer.run("meta_set", name=_NAME, value=value)


def purge_or_defer(engine: Engine, *, at_once: bool | None) -> str | None:
    """Purge the storage, and return None; or return why that is left for later.

    With `at_once=None` the size of the store decides.
    """
    if at_once is None and engine.path is not None:
        footprint = engine.footprint()
        size = footprint.data + footprint.journal
        if size > PURGE_AT_ONCE_BYTES:
            limit = f"{PURGE_AT_ONCE_BYTES:,}"
            return f"the store has {size:,} bytes, and only up to {limit} are purged at once"
    elif at_once is False:
        return "purging was left for later"
    try:
        is_purged = purge(engine)
    except (StoreBusy, StoreFull, Unavailable, UnsupportedFormat) as error:
        return f"purging failed: {error}"
    return None if is_purged else "somebody still reads an older snapshot of the store"


def purge(engine: Engine, progress: Progress | None = None) -> bool:
    """Remove erased bytes from the storage, and return whether all of them are gone."""
    with engine.reading() as reader:
        pending = reader.row("meta_get", name=_NAME)
    if pending is None:
        return True
    if not engine.purge(progress):
        return False

    def done(writer: Writer) -> bool:
        if writer.row("meta_get", name=_NAME) != pending:
            return False  # something else was erased in the meantime
        writer.run("meta_remove", name=_NAME)
        return True

    return engine.write(done)
