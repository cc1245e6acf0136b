"""Checkpoints as a store keeps them: the notes that were signed for it, as they were signed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from memoranda.audit import checkpoints, notes, trust
from memoranda.audit.checkpoints import Checkpoint
from memoranda.audit.keys import PublicKey
from memoranda.errors import Corruption, InvalidInput, NotProven
from memoranda.model.instant import to_datetime
from memoranda.model.limits import shown
from memoranda.storage.port import Engine, Reader

ORIGIN = "recollect/"
"""What stands before a log's id in its checkpoints' first line."""
_PAGE = 256


class SignedCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """How long a log was and its root, signed: `note` is what is given to others.

    `committed_at` is the time of the last commit that it covers.
    """

    size: int
    root: str
    origin: str
    signed_by: tuple[str, ...]
    committed_at: datetime | None
    note: str


def origin_of(log_id: str) -> str:
    """Return how a log is called in its checkpoints."""
    return f"{ORIGIN}{log_id}"


def described(reader: Reader, note: str) -> SignedCheckpoint:
    """Return what a note of the store says; whether it is true is not looked at."""
    found = read(note)
    event = reader.row("event_time", commit_ts=found.size)
    return SignedCheckpoint(
        size=found.size,
        root=found.root.hex(),
        origin=found.origin,
        signed_by=tuple(
            f"{each.name}+{each.key_id.hex()}" for each in notes.parse(note).signatures
        ),
        committed_at=None if event is None else to_datetime(event[0]),
        note=note,
    )


def read(note: str) -> Checkpoint:
    """Return what a note says, or raise `NotProven` if it is not a checkpoint."""
    try:
        return checkpoints.parse(notes.parse(note).text)
    except InvalidInput as error:
        raise NotProven(f"what should be a checkpoint is none: {error.problem}") from error


def checked(note: str, keys: Sequence[PublicKey], origin: str) -> Checkpoint:
    """Return what a note says if one of the keys signed it and was for that, or `NotProven`."""
    found = read(note)
    if found.origin != origin:
        raise NotProven(
            f"the checkpoint is of the log {shown(found.origin)}, not of {shown(origin)}"
        )
    if not keys:
        raise NotProven(
            f"the checkpoint of {found.size} commits is signed, and there is no key that is trusted"
        )
    try:
        return checkpoints.verify(note, keys, origin=origin)
    except NotProven as error:
        raise NotProven(
            f"the checkpoint of {found.size} commits does not count: {error}"
        ) from error


def last(reader: Reader) -> tuple[int, str] | None:
    """Return the largest checkpoint: its size, and its note."""
    row = reader.row("checkpoint_last")
    return None if row is None else (int(row[0]), str(row[1]))


def of_size(reader: Reader, size: int, origin: str) -> str | None:
    """Return a note of a size that a key of the log has signed; None: there is none."""
    keys = trust.of_the_log(reader)
    found = [note for (note,) in reader.rows("checkpoints_of_size", size=size)]
    for note in found:
        checked(note, keys, origin)
    return found[0] if found else None


class Listing:
    """The checkpoints of a store, in order of their size, a page at a time."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._after: tuple[int, str] = (-1, "")

    def next_page(self) -> list[SignedCheckpoint]:
        """Return the next ones."""
        with self._engine.reading() as reader:
            rows = page(reader, self._after)
            if rows:
                self._after = rows[-1]
            return [described(reader, note) for _, note in rows]


def page(reader: Reader, after: tuple[int, str]) -> list[tuple[int, str]]:
    """Return the next sizes and notes behind one."""
    size, note = after
    rows = reader.rows("checkpoint_page", size=size, note=note, most=_PAGE)
    if any(type(size) is not int or type(note) is not str for size, note in rows):
        raise Corruption("a checkpoint that the store keeps is none: restore a backup")
    return [(size, note) for size, note in rows]


def every(engine: Engine) -> Iterator[tuple[int, str]]:
    """Yield the size and the note of each checkpoint, in order."""
    after = (-1, "")
    while True:
        with engine.reading() as reader:
            rows = page(reader, after)
        if not rows:
            return
        yield from rows
        after = rows[-1]
