"""Purging: what was erased is out of reach at once, and leaves the storage's bytes with this.

Which erasures still wait for it is kept in `meta`, from the transaction that erased on: a crash, or
a reader that is in the way, changes nothing about that.
"""

from __future__ import annotations

from memoranda.storage.port import Engine, Reader, Writer

_NAME = "purge"


def first_pending(reader: Reader) -> int | None:
    """Return the first erasure whose bytes may still be in the storage."""
    row = reader.row("meta_get", name=_NAME)
    return None if row is None else int(row[0].split("-")[0])


def note_pending(writer: Writer, erasure: int) -> None:
    """Note that what a commit erases has yet to leave the storage."""
    first = first_pending(writer)
    value = f"{erasure if first is None else first}-{erasure}"
    writer.run("meta_set", name=_NAME, value=value)


def purge(engine: Engine) -> bool:
    """Let what was erased leave the storage, and say whether all of it has."""
    with engine.reading() as reader:
        pending = reader.row("meta_get", name=_NAME)
    if pending is None:
        return True
    if not engine.purge():
        return False

    def done(writer: Writer) -> bool:
        if writer.row("meta_get", name=_NAME) != pending:
            return False  # something was erased meanwhile
        writer.run("meta_remove", name=_NAME)
        return True

    return engine.write(done)
