"""Checkpoints: how long a log is and its Merkle root, as a signed note (C2SP tlog-checkpoint).

    example.com/behind-the-sofa                        origin: which log
    20852163                                           size: how many events
    CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=       root of the tree over them

Whoever holds one can tell later whether a log still begins with what was signed. Lines behind these
three belong to whoever wrote them: they are signed and kept, and mean nothing here.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence

import msgspec

from memoranda.audit import merkle, notes
from memoranda.audit.keys import PublicKey, exact_base64
from memoranda.errors import InvalidInput, NotProven
from memoranda.model.limits import shown

_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")
_CONTROL = re.compile(r"[\x00-\x1f]")


class Checkpoint(msgspec.Struct, frozen=True):
    """What a log was at some size."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for line in (self.origin, *self.extensions):
            if not line or _CONTROL.search(line):
                raise InvalidInput("checkpoint", f"{shown(line)} is not a line of its own")
        if not 0 <= self.size <= merkle.MOST_LEAVES:
            raise InvalidInput("checkpoint", f"{shown(self.size)} is not a size")
        if len(self.root) != merkle.HASH_SIZE:
            raise InvalidInput("checkpoint", f"its root has {len(self.root)} bytes, not 32")
        if self.size == 0 and self.root != merkle.EMPTY_ROOT:
            raise InvalidInput("checkpoint", "a log without events has another root")

    @property
    def text(self) -> str:
        """What is signed."""
        lines = (self.origin, str(self.size), b64encode(self.root).decode(), *self.extensions)
        return "".join(f"{line}\n" for line in lines)


def parse(text: str) -> Checkpoint:
    """Return the checkpoint that a note's text says."""
    lines = text.split("\n")
    if len(lines) < 4 or lines.pop():
        raise InvalidInput("checkpoint", "is not an origin, a size and a root, a line each")
    origin, size, root, *extensions = lines
    if not _SIZE.fullmatch(size):
        raise InvalidInput("checkpoint", f"{shown(size)} is not a size in plain digits")
    return Checkpoint(origin, int(size), exact_base64("checkpoint", root), tuple(extensions))


def sign(checkpoint: Checkpoint, signers: Iterable[notes.NoteSigner]) -> str:
    """Return a checkpoint as a note with these signatures."""
    return notes.sign(checkpoint.text, signers)


def verify(
    message: str | bytes, keys: Sequence[PublicKey], *, origin: str | None = None
) -> Checkpoint:
    """Return the checkpoint of a note that one of the keys signed and was allowed to.

    One key may sign for many logs: give the `origin` to take no other log's checkpoint.
    """
    note = notes.parse(message)
    signed = notes.verify(note, keys)
    checkpoint = parse(note.text)
    if not any(key.may_sign(checkpoint.size) for key in signed):
        told = " and ".join(key.line for key in signed)
        raise NotProven(f"the checkpoint of size {checkpoint.size} is signed by {told} only")
    if origin is not None and checkpoint.origin != origin:
        raise NotProven(
            f"the checkpoint is of the log {shown(checkpoint.origin)}, not of {shown(origin)}"
        )
    return checkpoint
