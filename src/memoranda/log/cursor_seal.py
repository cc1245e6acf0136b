"""The seal of the cursors: what shows that one was added, removed or changed behind our back.

It is the exclusive or of a hash of each cursor's name and note, kept beside them and changed with
them. It has no key: it shows what was changed by somebody who does not know of it.
"""

from __future__ import annotations

from hashlib import sha256

from memoranda.errors import Corruption
from memoranda.storage.port import Reader, Row, Writer

PREFIX = "cursor:"
BEYOND = "cursor;"  # sorts behind every name with the prefix, and before all others
_SEAL = "cursors"
_DIGITS = 64
_UNSEALED = "unsealed"
"""What a migration notes where an older version has left cursors: the next change seals them."""


def change(writer: Writer, name: str, note: str | None) -> None:
    """Set a cursor's note, or remove it, and seal that; `name` is that of the row."""
    before = writer.row("meta_get", name=name)
    if note is None:
        writer.run("meta_remove", name=name)
    else:
        writer.run("meta_set", name=name, value=note)
    if note is None and not _rows(writer):  # so dropping all of them always begins anew
        writer.run("meta_remove", name=_SEAL)
        return
    known = writer.row("meta_get", name=_SEAL)
    seal = None if known is None else _number(known[0])
    if seal is None:
        total = _sum(_rows(writer))
    else:
        old = 0 if before is None else _hash(name, before[0])
        total = seal ^ old ^ (0 if note is None else _hash(name, note))
    writer.run("meta_set", name=_SEAL, value=f"{total:0{_DIGITS}x}")


def check(reader: Reader) -> None:
    """Raise `Corruption` if the cursors are not those that were sealed."""
    rows = _rows(reader)
    seal = reader.row("meta_get", name=_SEAL)
    if seal is not None and seal[0] == _UNSEALED:
        return
    if seal is None and not rows:
        return
    if seal is None or _number(seal[0]) != _sum(rows):
        names = ", ".join(repr(str(name).removeprefix(PREFIX)) for name, _ in rows) or "none"
        raise Corruption(
            f"the cursors ({names}) are not those that were noted: one was added, removed or "
            "changed behind the store's back; drop all of them, and let readers begin anew"
        )


def _rows(reader: Reader) -> list[Row]:
    return reader.rows("meta_range", first=PREFIX, beyond=BEYOND)


def _sum(rows: list[Row]) -> int:
    total = 0
    for name, note in rows:
        total ^= _hash(name, note)
    return total


def _hash(name: object, note: object) -> int:
    if not isinstance(name, str) or not isinstance(note, str):
        raise Corruption(f"the note of cursor {name!r} is no text: drop it to start anew")
    return int.from_bytes(sha256(f"{name}\0{note}".encode()).digest(), "big")


def _number(seal: object) -> int | None:
    """Return what a seal says; None: it is none, and fits nothing."""
    try:
        return int(seal, 16) if isinstance(seal, str) and len(seal) == _DIGITS else None
    except ValueError:
        return None
