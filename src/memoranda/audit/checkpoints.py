"""Checkpoints: a log's size and Merkle root as a signed note, and the table that stores them.

    example.com/behind-the-sofa                        origin: the log's name
    20852163                                           size: the number of events
    CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=       root of the Merkle tree over them

Anyone who holds a checkpoint can tell later whether a log still begins with the signed history.
Further lines are extensions (C2SP tlog-checkpoint): they are signed and stored, and not
interpreted.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import msgspec

from memoranda.audit import merkle, signed_note, trusted_keys
from memoranda.audit.keys import PublicKey, exact_base64
from memoranda.errors import Corruption, InvalidInput, NotProven
from memoranda.log.pages import Position, ResumablePages
from memoranda.model.clock import to_datetime
from memoranda.model.limits import short_repr
from memoranda.storage.port import Engine, Reader

_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")
_CONTROL = re.compile(r"[\x00-\x1f]")


class Checkpoint(msgspec.Struct, frozen=True):
    """The origin, size and Merkle root of a log at one moment."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for line in (self.origin, *self.extensions):
            if not line or _CONTROL.search(line):
                raise InvalidInput("checkpoint", f"{short_repr(line)} is not one line of text")
        if not 0 <= self.size <= merkle.MAX_LEAVES:
            raise InvalidInput("checkpoint", f"{short_repr(self.size)} is not a size")
        if len(self.root) != merkle.HASH_SIZE:
            raise InvalidInput("checkpoint", f"its root has {len(self.root)} bytes, not 32")
        if self.size == 0 and self.root != merkle.EMPTY_ROOT:
            raise InvalidInput("checkpoint", "a log without events has another root")

    @property
    def text(self) -> str:
        """The text that is signed."""
        lines = (self.origin, str(self.size), b64encode(self.root).decode(), *self.extensions)
        return "".join(f"{line}\n" for line in lines)


def parse(text: str) -> Checkpoint:
    """Parse the text of a note as a checkpoint."""
    lines = text.split("\n")
    if len(lines) < 4 or lines.pop():
        raise InvalidInput("checkpoint", "is not an origin, a size and a root, a line each")
    origin, size, root, *extensions = lines
    if not _SIZE.fullmatch(size):
        raise InvalidInput("checkpoint", f"{short_repr(size)} is not a size in plain digits")
    return Checkpoint(origin, int(size), exact_base64("checkpoint", root), tuple(extensions))


def sign(checkpoint: Checkpoint, signers: Iterable[signed_note.NoteSigner]) -> str:
    """Return the checkpoint as a note signed by these signers."""
    return signed_note.sign(checkpoint.text, signers)


def verify(
    message: str | bytes, keys: Sequence[PublicKey], *, origin: str | None = None
) -> Checkpoint:
    """Return the checkpoint of a note signed by one of the keys within its validity.

    A key may sign for many logs: pass `origin` to refuse another log's checkpoint.
    """
    note = signed_note.parse(message)
    signed = signed_note.verify(note, keys)
    checkpoint = parse(note.text)
    if not any(key.may_sign(checkpoint.size) for key in signed):
        lines = " and ".join(key.line for key in signed)
        raise NotProven(f"the checkpoint of size {checkpoint.size} is signed by {lines} only")
    if origin is not None and checkpoint.origin != origin:
        raise NotProven(
            f"the checkpoint is of the log {short_repr(checkpoint.origin)}, not of "
            f"{short_repr(origin)}"
        )
    return checkpoint


# The store's table of checkpoints: each note exactly as it was signed.

# Signed text keeps the project's first name: changing it would invalidate every checkpoint.
ORIGIN = "recollect/"
"""The prefix of the log id in a checkpoint's origin line."""
_PAGE_ROWS = 256
"""Checkpoints that are read in one snapshot: each is a note of a few hundred bytes."""
_BEFORE_FIRST = (-(2**63), "")
"""The key before the first row: impossible (negative) sizes are read too, so that verification
finds them."""


class SignedCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint and its signed note; `note` is the text to keep outside the store.

    `committed_at` is the time of the last commit that the checkpoint covers.
    """

    size: int
    root: str
    origin: str
    signed_by: tuple[str, ...]
    committed_at: datetime | None
    note: str


def origin_of(log_id: str) -> str:
    """Return the origin line of a log's checkpoints."""
    return f"{ORIGIN}{log_id}"


def describe(reader: Reader, note: str) -> SignedCheckpoint:
    """Return a stored note with its parsed fields. Its signature is not verified."""
    checkpoint = parse_note(note)
    event = reader.row("event_time", commit_ts=checkpoint.size)
    return SignedCheckpoint(
        size=checkpoint.size,
        root=checkpoint.root.hex(),
        origin=checkpoint.origin,
        signed_by=tuple(
            f"{signature.name}+{signature.key_id.hex()}"
            for signature in signed_note.parse(note).signatures
        ),
        committed_at=None if event is None else to_datetime(event[0]),
        note=note,
    )


def parse_note(note: str) -> Checkpoint:
    """Parse a signed note as a checkpoint without verifying it, or raise `NotProven`."""
    try:
        return parse(signed_note.parse(note).text)
    except InvalidInput as error:
        raise NotProven(f"the note is not a checkpoint: {error.problem}") from error


def verify_for_log(note: str, keys: Sequence[PublicKey], origin: str) -> Checkpoint:
    """Verify a note of one log with the log's keys; `NotProven` names the checkpoint's size."""
    checkpoint = parse_note(note)
    if checkpoint.origin != origin:
        raise NotProven(
            f"the checkpoint is of the log {short_repr(checkpoint.origin)}, "
            f"not of {short_repr(origin)}"
        )
    if not keys:
        raise NotProven(
            f"the checkpoint of {checkpoint.size} commits is signed, but no key is trusted"
        )
    try:
        return verify(note, keys, origin=origin)
    except NotProven as error:
        raise NotProven(
            f"the checkpoint of {checkpoint.size} commits is not valid: {error}"
        ) from error


def latest(reader: Reader) -> tuple[int, str] | None:
    """Return the size and the note of the largest checkpoint."""
    row = reader.row("checkpoint_last")
    return None if row is None else (int(row[0]), str(row[1]))


def note_of_size(reader: Reader, size: int, origin: str) -> str | None:
    """Return a stored note of this size, or None. All notes of the size are verified."""
    keys = trusted_keys.log_keys(reader)
    notes = [note for (note,) in reader.rows("checkpoints_of_size", size=size)]
    for note in notes:
        verify_for_log(note, keys, origin)
    return notes[0] if notes else None


class CheckpointPages(ResumablePages[SignedCheckpoint]):
    """Reads the checkpoints of a store page by page, ordered by size."""

    rows = _PAGE_ROWS

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._after = _BEFORE_FIRST

    @property
    def position(self) -> Position:
        """The size and the note of the last checkpoint."""
        return [*self._after]

    @position.setter
    def position(self, position: Position) -> None:
        size, note = position
        self._after = (size, note)

    def next_page(self) -> list[SignedCheckpoint]:
        """Return the next page; empty at the end."""
        with self._engine.reading() as reader:
            rows = read_page(reader, self._after, self.rows)
            if rows:
                self._after = rows[-1]
            return [describe(reader, note) for _, note in rows]


def read_page(
    reader: Reader, after: tuple[int, str], limit: int = _PAGE_ROWS
) -> list[tuple[int, str]]:
    """Return the (size, note) rows after the given one."""
    size, note = after
    rows = reader.rows("checkpoint_page", size=size, note=note, limit=limit)
    if any(type(size) is not int or type(note) is not str for size, note in rows):
        raise Corruption("a row of the checkpoint table is not a size and a note: restore a backup")
    return [(size, note) for size, note in rows]


def iterate(engine: Engine) -> Iterator[tuple[int, str]]:
    """Yield the size and the note of every checkpoint, ordered by size."""
    after = _BEFORE_FIRST
    while True:
        with engine.reading() as reader:
            rows = read_page(reader, after)
        if not rows:
            return
        yield from rows
        after = rows[-1]
