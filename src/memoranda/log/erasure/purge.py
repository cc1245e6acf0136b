"""Purging: remove erased bytes from the storage's files.

An erasure makes content unreadable at once; its bytes may remain in free pages until a purge. Which
erasures are pending is stored in `meta`, in the erasing transaction itself, so a crash or a reader
that blocks the purge does not lose it.
"""

from __future__ import annotations

from memoranda.storage.port import Engine, Reader, Writer

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


def purge(engine: Engine) -> bool:
    """Remove erased bytes from the storage, and return whether all of them are gone."""
    with engine.reading() as reader:
        pending = reader.row("meta_get", name=_NAME)
    if pending is None:
        return True
    if not engine.purge():
        return False

    def done(writer: Writer) -> bool:
        if writer.row("meta_get", name=_NAME) != pending:
            return False  # something else was erased in the meantime
        writer.run("meta_remove", name=_NAME)
        return True

    return engine.write(done)
