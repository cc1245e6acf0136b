"""Cursors: named positions in the log, stored beside it and sealed against tampering.

Moving a cursor is not an event. Its note is a position, followed by a space and the agent if the
cursor belongs to one: it is dropped when that agent is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from hashlib import sha256

from memoranda.errors import (
    ChainBroken,
    Corruption,
    InvalidInput,
    LogForked,
    Unavailable,
)
from memoranda.log import pages
from memoranda.log.erasure.purge import note_pending, purge_or_defer
from memoranda.log.read import as_of
from memoranda.model.event import ResumeToken
from memoranda.model.limits import check_text, plain_text
from memoranda.storage.port import Engine, OutcomeUnknown, Reader, Row, Writer

# The seal: detects cursors that were added, removed or changed outside the engine.
#
# It is the exclusive or of a hash of each cursor's name and note, stored beside them and updated
# with them. It has no key, so it detects only changes by a program that does not update it.

PREFIX = "cursor:"
END = "cursor;"
"""Sorts after every name with the prefix, and before all other names."""
_SEAL = "cursors"
_DIGITS = 64
"""Hexadecimal digits of a seal: those of a SHA-256."""
_UNSEALED = "unsealed"
"""Seal that a migration sets for cursors of an older version; the next change seals them."""


def change_seal(writer: Writer, name: str, note: str | None) -> None:
    """Set or remove a cursor's note, and update the seal; `name` is that of the row."""
    before = writer.row("meta_get", name=name)
    if note is None:
        writer.run("meta_remove", name=name)
    else:
        writer.run("meta_set", name=name, value=note)
    if note is None and not _rows(writer):  # dropping all cursors always resets the seal
        writer.run("meta_remove", name=_SEAL)
        return
    row = writer.row("meta_get", name=_SEAL)
    seal = None if row is None else _number(row[0])
    if seal is None:
        total = _sum(_rows(writer))
    else:
        old = 0 if before is None else _hash(name, before[0])
        total = seal ^ old ^ (0 if note is None else _hash(name, note))
    writer.run("meta_set", name=_SEAL, value=f"{total:0{_DIGITS}x}")


def check_seal(reader: Reader) -> None:
    """Raise `Corruption` if the cursors do not match their seal."""
    rows = _rows(reader)
    seal = reader.row("meta_get", name=_SEAL)
    if seal is not None and seal[0] == _UNSEALED:
        return
    if seal is None and not rows:
        return
    if seal is None or _number(seal[0]) != _sum(rows):
        names = ", ".join(repr(str(name).removeprefix(PREFIX)) for name, _ in rows) or "none"
        raise Corruption(
            f"the cursors ({names}) do not match their seal: one was added, removed or changed "
            "outside the store; drop all of them, and let readers start again"
        )


def _rows(reader: Reader) -> list[Row]:
    return reader.rows("meta_range", first=PREFIX, end=END)


def _sum(rows: list[Row]) -> int:
    total = 0
    for name, note in rows:
        total ^= _hash(name, note)
    return total


def _hash(name: object, note: object) -> int:
    if not isinstance(name, str) or not isinstance(note, str):
        raise Corruption(f"the note of cursor {name!r} is not text: drop it to start again")
    return int.from_bytes(sha256(f"{name}\0{note}".encode()).digest(), "big")


def _number(seal: object) -> int | None:
    """Return the number of a seal; None if it is not spelled as it was written."""
    try:
        number = int(seal, 16) if isinstance(seal, str) else -1
    except ValueError:
        return None
    return number if seal == f"{number:0{_DIGITS}x}" else None


# Cursors: named positions in the log after which readers resume.

MOST_NAME_BYTES = 512
"""Bytes of a cursor's name."""


class Cursor:
    """A named position in the log, which only moves forward."""

    def __init__(self, engine: Engine, log_id: str, name: str, owner: str | None = None) -> None:
        self._engine = engine
        self._log_id = log_id
        self._name = check_text("cursor", name, max_bytes=MOST_NAME_BYTES)
        self._row = PREFIX + self._name
        self._owner = owner

    def find(self, reader: Reader) -> int | None:
        """Return the commit it is at, or None if it is new; raise `LogForked` for another log's."""
        row = reader.row("meta_get", name=self._row)
        if row is None:
            return None
        try:
            return as_of.commit_of_token(reader, "cursor", self._log_id, _token_of(row[0]))
        except LogForked as error:
            raise LogForked(
                f"cursor {self._name!r} stands at a commit that this log ({self._log_id}) does not "
                "have: use another name, drop the cursor to start again, or open the store it "
                "was kept in"
            ) from error

    def begin(self, commit_ts: int) -> None:
        """Store a new cursor at a commit, where a reader resumes if it acknowledges nothing."""

        def keep(writer: Writer) -> None:
            row = writer.row("event_hash", commit_ts=commit_ts)
            token = str(ResumeToken(self._log_id, commit_ts, row[0]) if row else commit_ts)
            if (
                writer.row("meta_get", name=self._row) is None
            ):  # another process may have been first
                change_seal(writer, self._row, _noted(token, self._owner))

        self._write(keep)

    def advance(self, token: str) -> None:
        """Move it to the event that has this token, unless it is there or farther."""
        text = str(ResumeToken.parse("token", plain_text("token", token)))

        def move(writer: Writer) -> None:
            commit_ts = as_of.commit_of_token(writer, "token", self._log_id, text)
            row = writer.row("meta_get", name=self._row)
            if row is None or _commit_of(row[0]) < commit_ts:
                owner = self._owner if row is None else _owner_of(row[0])
                change_seal(writer, self._row, _noted(text, owner))

        self._write(move)

    def drop(self, *, purge: bool = False) -> None:
        """Remove it, if it exists; with `purge`, also remove its name from the files."""

        def remove(writer: Writer) -> None:
            change_seal(writer, self._row, None)
            if purge:
                note_pending(writer, pages.head_commit(writer) + 1)

        self._write(remove)
        if purge:
            purge_or_defer(self._engine, at_once=True)

    def _write(self, change: Callable[[Writer], None]) -> None:
        try:
            self._engine.write(change)
        except OutcomeUnknown as error:
            raise Unavailable(
                f"the storage failed while cursor {self._name!r} was being moved: it may have "
                "moved or not, and doing it again is safe"
            ) from error


def list_cursors(engine: Engine, agents: Collection[str] | None = None) -> list[tuple[str, int]]:
    """Return the cursors by name, with the commits they are at; only those of some agents."""
    with engine.reading() as reader:
        rows = reader.rows("meta_range", first=PREFIX, end=END)
    return [
        (name.removeprefix(PREFIX), _commit_of(note))
        for name, note in rows
        if agents is None or _owner_of(note) in agents
    ]


def cursor_names(reader: Reader) -> list[str]:
    """Return the names of all cursors."""
    rows = reader.rows("meta_range", first=PREFIX, end=END)
    return [name.removeprefix(PREFIX) for name, _ in rows]


def cursors_of(reader: Reader, agent_id: str | None) -> list[str]:
    """Return the names of an agent's own cursors."""
    rows = reader.rows("meta_range", first=PREFIX, end=END)
    return [
        name.removeprefix(PREFIX)
        for name, note in rows
        if agent_id is not None and _owner_of(note) == agent_id
    ]


def drop_cursors_of(writer: Writer, agent_id: str) -> None:
    """Remove the cursors of a forgotten agent."""
    for name in cursors_of(writer, agent_id):
        change_seal(writer, PREFIX + name, None)


def copy_cursors(reader: Reader, writer: Writer) -> None:
    """Give a copy of a log the cursors of the original, and no others."""
    check_seal(reader)
    rows: dict[str, str] = dict(_rows(reader))
    old: dict[str, str] = dict(_rows(writer))
    for name in old.keys() - rows.keys():
        change_seal(writer, name, None)
    for name, note in rows.items():
        if old.get(name) != note:
            change_seal(writer, name, note)


def check_all(reader: Reader, log_id: str) -> None:
    """Raise `ChainBroken` if a cursor has the hash of an event that the log does not have.

    A cursor that was set to a bare number has no hash, and may be beyond the log's end.
    """
    for row, note in reader.rows("meta_range", first=PREFIX, end=END):
        name, token = row.removeprefix(PREFIX), _token_of(str(note))
        try:
            as_of.commit_of_token(reader, "cursor", log_id, token)
        except LogForked as error:
            commit_ts, end = _commit_of(token), pages.head_commit(reader)
            problem = f"cursor {name!r} remembers another event there"
            if commit_ts > end:
                problem = (
                    f"it is missing, although cursor {name!r} stands behind commit {commit_ts}"
                )
            raise ChainBroken(max(1, min(commit_ts, end + 1)), problem) from error
        except InvalidInput as error:
            raise Corruption(f"cursor {name!r} cannot be read: drop it to start again") from error
    check_seal(reader)  # last, as the errors above say more


def _noted(token: str, owner: str | None) -> str:
    return token if owner is None else f"{token} {owner}"


def _token_of(note: str) -> str:
    return note.partition(" ")[0]


def _owner_of(note: str) -> str | None:
    return note.partition(" ")[2] or None


def _commit_of(note: str) -> int:
    token = _token_of(note)
    return int(token) if token.isdecimal() else ResumeToken.parse("cursor", token).commit_ts
