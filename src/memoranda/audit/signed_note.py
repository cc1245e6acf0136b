"""Signed notes: a text, a blank line, and who signed the text (C2SP signed-note).

    If you think cryptography is the answer to your problem,
    then you don't know what your problem is.

    — PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotp…

A signature line is an em dash, the key's name and base64( key id ‖ signature ). One note has one
spelling here: whatever could be written in two ways is refused, so a note can be compared and kept
as its bytes. Signatures of keys nobody asked about are let through unread, as the format wants:
witnesses sign with algorithms that this engine does not know.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from memoranda.audit import ed25519
from memoranda.audit.keys import ID_SIZE, PublicKey, exact_base64, is_name
from memoranda.errors import InvalidInput, NotProven
from memoranda.model.limits import shown

MOST_BYTES = 1_000_000
MOST_SIGNATURES = 100
_DASH = "— "
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")


class Signature(msgspec.Struct, frozen=True):
    """A signature, and the key that is said to have made it."""

    name: str
    key_id: bytes
    signature: bytes

    @property
    def line(self) -> str:
        """How it stands in a note."""
        return f"{_DASH}{self.name} {b64encode(self.key_id + self.signature).decode()}\n"


class Note(msgspec.Struct, frozen=True):
    """A text and its signatures, which nobody has checked yet. The text ends with a newline."""

    text: str
    signatures: tuple[Signature, ...]


class NoteSigner(Protocol):
    """Who can sign a text."""

    def sign(self, text: str) -> Signature:
        """Return a signature of the text."""
        ...


def sign(text: str, signers: Iterable[NoteSigner]) -> str:
    """Return a text as a note with these signatures."""
    return written(Note(text, tuple(signer.sign(text) for signer in signers)))


def written(note: Note) -> str:
    """Return a note as it is handed on."""
    message = note.text + "\n" + "".join(each.line for each in note.signatures)
    if parse(message) != note:
        raise InvalidInput("note", "would read differently: its text must end with a newline")
    return message


def parse(message: str | bytes) -> Note:
    """Return the note that a message says, its signatures unchecked."""
    whole = _decoded(message)
    text, blank, signatures = whole.rpartition("\n\n")
    if not blank:
        raise InvalidInput("note", "has no blank line between its text and its signatures")
    if not signatures.endswith("\n"):
        raise InvalidInput("note", "does not end with a signature and a newline")
    lines = signatures[:-1].split("\n")
    if len(lines) > MOST_SIGNATURES:
        raise InvalidInput("note", f"has {len(lines)} signatures, over {MOST_SIGNATURES}")
    found = tuple(_signature(line) for line in lines)
    if len({(each.name, each.key_id) for each in found}) < len(found):
        raise InvalidInput("note", "has two signatures of one key")
    return Note(f"{text}\n", found)


def verify(note: Note, keys: Sequence[PublicKey]) -> tuple[PublicKey, ...]:
    """Return which of the keys signed a note; `NotProven` if none did, or one of them wrongly."""
    known = {(key.name, key.id): key for key in keys}
    if len(known) < len(keys):
        raise InvalidInput("keys", "two of them have the same name and hash: give each once")
    signed = []
    for each in note.signatures:
        key = known.get((each.name, each.key_id))
        if key is None:
            continue
        if not ed25519.verify(key.key, note.text.encode(), each.signature):
            raise NotProven(
                f"the signature of {key.text} is not of this text: it was changed after it was "
                "signed, or somebody else signed it"
            )
        signed.append(key)
    if not signed:
        names = ", ".join(f"{each.name}+{each.key_id.hex()}" for each in note.signatures)
        raise NotProven(
            f"the note is signed by {names}, and none of these keys is "
            "trusted: get the public keys of the log anew (`memoranda signer export`)"
        )
    return tuple(signed)


def _decoded(message: str | bytes) -> str:
    try:
        data = message.encode() if isinstance(message, str) else message
        text = data.decode()
    except UnicodeError as error:
        raise InvalidInput("note", "is not UTF-8") from error
    if len(data) > MOST_BYTES:
        raise InvalidInput("note", f"has {len(data)} bytes, over {MOST_BYTES}")
    if found := _CONTROL.search(text):
        raise InvalidInput("note", f"has the control character {found.group()!r}")
    return text


def _signature(line: str) -> Signature:
    name, space, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not space or not is_name(name):
        raise InvalidInput("note", f"{shown(line)} is not like '— name base64'")
    data = exact_base64("note", encoded)
    if len(data) <= ID_SIZE:
        raise InvalidInput("note", f"{shown(line)} has no signature behind the key's hash")
    return Signature(name, data[:ID_SIZE], data[ID_SIZE:])
