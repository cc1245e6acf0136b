"""Cursors: named places in the log, kept in the store, behind which readers resume.

They are notes of the engine beside the log: moving one is no event. A note is the place, and behind
a space the agent whose cursor it is, if it is one's: it goes when that is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from memoranda.errors import (
    ChainBroken,
    Corruption,
    InvalidInput,
    LogForked,
    StoreBusy,
    StoreFull,
    Unavailable,
)
from memoranda.log import cursor_seal, moments, pages
from memoranda.log.cursor_seal import BEYOND, PREFIX
from memoranda.log.purging import note_pending
from memoranda.log.purging import purge as purge_storage
from memoranda.model.event import ReplayEvent, ResumeToken
from memoranda.model.limits import check_text, shown
from memoranda.storage.port import Engine, OutcomeUnknown, Reader, Writer

MOST_NAME_BYTES = 512


class Cursor:
    """A place in the log, under a name. It only ever moves forward."""

    def __init__(self, engine: Engine, log_id: str, name: str, owner: str | None = None) -> None:
        self._engine = engine
        self._log_id = log_id
        self._name = check_text("cursor", name, most_bytes=MOST_NAME_BYTES)
        self._row = PREFIX + self._name
        self._owner = owner

    def find(self, reader: Reader) -> int | None:
        """Return the commit it stands at, once it is sure to be one of this log's; None: new."""
        row = reader.row("meta_get", name=self._row)
        if row is None:
            return None
        try:
            return moments.commit_of_token(reader, "cursor", self._log_id, _token_of(row[0]))
        except LogForked as error:
            raise LogForked(
                f"cursor {self._name!r} stands at a commit that this log ({self._log_id}) does not "
                "have: take another name, drop the cursor to start anew, or open the store it "
                "was kept in"
            ) from error

    def begin(self, commit_ts: int) -> None:
        """Put a new cursor behind a commit: it resumes there if nothing is ever acknowledged."""

        def keep(writer: Writer) -> None:
            row = writer.row("event_hash", commit_ts=commit_ts)
            token = str(ResumeToken(self._log_id, commit_ts, row[0]) if row else commit_ts)
            if writer.row("meta_get", name=self._row) is None:  # who comes second keeps it
                cursor_seal.change(writer, self._row, _noted(token, self._owner))

        self._write(keep)

    def advance(self, event: ReplayEvent) -> None:
        """Move it behind an event, unless it is there or farther."""
        if not isinstance(event, ReplayEvent):
            raise InvalidInput("event", f"{shown(event)} is no event: give one that was received")

        def move(writer: Writer) -> None:
            commit_ts = moments.commit_of_token(writer, "event", self._log_id, event.token)
            row = writer.row("meta_get", name=self._row)
            if row is None or _commit_of(row[0]) < commit_ts:
                owner = self._owner if row is None else _owner_of(row[0])
                cursor_seal.change(writer, self._row, _noted(event.token, owner))

        self._write(move)

    def drop(self, *, purge: bool = False) -> None:
        """Forget it, and let its name leave the files if that is asked for. None there is fine."""

        def remove(writer: Writer) -> None:
            cursor_seal.change(writer, self._row, None)
            if purge:
                note_pending(writer, pages.head_commit(writer) + 1)

        self._write(remove)
        if purge:
            with suppress(StoreBusy, StoreFull, Unavailable):  # it is gone, and stays pending
                purge_storage(self._engine)

    def _write(self, change: Callable[[Writer], None]) -> None:
        try:
            self._engine.write(change)
        except OutcomeUnknown as error:
            raise Unavailable(
                f"the storage failed while cursor {self._name!r} was being moved: it may have "
                "moved or not, and doing it again is safe"
            ) from error


def list_cursors(engine: Engine) -> list[tuple[str, int]]:
    """Return the cursors in order of their names, and the commits they stand at."""
    with engine.reading() as reader:
        rows = reader.rows("meta_range", first=PREFIX, beyond=BEYOND)
    return [(name.removeprefix(PREFIX), _commit_of(token)) for name, token in rows]


def cursor_names(reader: Reader) -> list[str]:
    """Return the names of all cursors."""
    rows = reader.rows("meta_range", first=PREFIX, beyond=BEYOND)
    return [name.removeprefix(PREFIX) for name, _ in rows]


def cursors_of(reader: Reader, agent_id: str | None) -> list[str]:
    """Return the names of an agent's own cursors."""
    rows = reader.rows("meta_range", first=PREFIX, beyond=BEYOND)
    return [
        name.removeprefix(PREFIX)
        for name, note in rows
        if agent_id is not None and _owner_of(note) == agent_id
    ]


def drop_cursors_of(writer: Writer, agent_id: str) -> None:
    """Forget the cursors of an agent that is forgotten."""
    for name in cursors_of(writer, agent_id):
        cursor_seal.change(writer, PREFIX + name, None)


def check_all(reader: Reader, log_id: str) -> None:
    """Raise `ChainBroken` where a cursor remembers what the log does not have.

    It keeps the hash of an event that was once read, so it is a witness of the log; one that was
    put at a bare number is none, and may well be beyond the end. All of them are sealed.
    """
    for row, note in reader.rows("meta_range", first=PREFIX, beyond=BEYOND):
        name, token = row.removeprefix(PREFIX), _token_of(str(note))
        try:
            moments.commit_of_token(reader, "cursor", log_id, token)
        except LogForked as error:
            commit_ts, end = _commit_of(token), pages.head_commit(reader)
            problem = f"cursor {name!r} remembers another event there"
            if commit_ts > end:
                problem = (
                    f"it is missing, although cursor {name!r} stands behind commit {commit_ts}"
                )
            raise ChainBroken(max(1, min(commit_ts, end + 1)), problem) from error
        except InvalidInput as error:
            raise Corruption(f"cursor {name!r} cannot be read: drop it to start anew") from error
    cursor_seal.check(reader)  # behind what says more: which commit is not the one it was


def _noted(token: str, owner: str | None) -> str:
    return token if owner is None else f"{token} {owner}"


def _token_of(note: str) -> str:
    return note.partition(" ")[0]


def _owner_of(note: str) -> str | None:
    return note.partition(" ")[2] or None


def _commit_of(note: str) -> int:
    token = _token_of(note)
    return int(token) if token.isdecimal() else ResumeToken.parse("cursor", token).commit_ts
