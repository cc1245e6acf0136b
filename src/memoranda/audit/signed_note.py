"""Signed notes (C2SP signed-note): a text, a blank line, and signature lines.

    If you think cryptography is the answer to your problem,
    then you don't know what your problem is.

    — PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotp…

A signature line is an em dash, the key's name and base64( key id ‖ signature ). Only the canonical
encoding is accepted, so notes can be stored and compared as bytes. Signatures by unknown keys are
ignored, as the format requires: witnesses may cosign with algorithms that are not supported here.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from memoranda.audit import keys as audit_keys
from memoranda.audit.keys import ID_SIZE, PublicKey, exact_base64, is_name
from memoranda.errors import InvalidInput, NotProven
from memoranda.model.limits import short_repr

MAX_BYTES = 1_000_000
"""Bytes of a note: a larger one is refused before it is parsed."""
MAX_SIGNATURES = 100
"""Signature lines of a note: each costs a check of a signature."""
_DASH = "— "
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")


class Signature(msgspec.Struct, frozen=True):
    """A signature, with the name and id of the key that claims it."""

    name: str
    key_id: bytes
    signature: bytes

    @property
    def line(self) -> str:
        """The signature line of a note."""
        return f"{_DASH}{self.name} {b64encode(self.key_id + self.signature).decode()}\n"


class Note(msgspec.Struct, frozen=True):
    """A text, which ends with a newline, and its signatures, not verified yet."""

    text: str
    signatures: tuple[Signature, ...]


class NoteSigner(Protocol):
    """Signs the text of notes."""

    def sign(self, text: str) -> Signature:
        """Sign the text."""
        ...


def sign(text: str, signers: Iterable[NoteSigner]) -> str:
    """Return the text as a note signed by these signers."""
    return serialize(Note(text, tuple(signer.sign(text) for signer in signers)))


def serialize(note: Note) -> str:
    """Return the text form of a note, or raise if it would parse differently."""
    message = note.text + "\n" + "".join(signature.line for signature in note.signatures)
    if parse(message) != note:
        raise InvalidInput("note", "would read differently: its text must end with a newline")
    return message


def parse(message: str | bytes) -> Note:
    """Parse a note without verifying its signatures."""
    content = _decode(message)
    text, blank, signature_lines = content.rpartition("\n\n")
    if not blank:
        raise InvalidInput("note", "has no blank line between its text and its signatures")
    if not signature_lines.endswith("\n"):
        raise InvalidInput("note", "does not end with a signature and a newline")
    lines = signature_lines[:-1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise InvalidInput("note", f"has {len(lines)} signatures, over {MAX_SIGNATURES}")
    signatures = tuple(_parse_signature(line) for line in lines)
    if len({(signature.name, signature.key_id) for signature in signatures}) < len(signatures):
        raise InvalidInput("note", "has two signatures of one key")
    return Note(f"{text}\n", signatures)


def verify(note: Note, keys: Sequence[PublicKey]) -> tuple[PublicKey, ...]:
    """Return the keys that signed a note; raise if none did or one of their signatures fails."""
    keys_by_id = {(key.name, key.id): key for key in keys}
    if len(keys_by_id) < len(keys):
        raise InvalidInput("keys", "two of them have the same name and hash: give each once")
    signed = []
    for signature in note.signatures:
        key = keys_by_id.get((signature.name, signature.key_id))
        if key is None:
            continue
        if not audit_keys.verify(key.key, note.text.encode(), signature.signature):
            raise NotProven(
                f"the signature of {key.text} does not match the text: the text was changed after "
                "it was signed, or another key signed it"
            )
        signed.append(key)
    if not signed:
        names = ", ".join(
            f"{signature.name}+{signature.key_id.hex()}" for signature in note.signatures
        )
        raise NotProven(
            f"the note is signed by {names}, and none of these keys is "
            "trusted: get the log's current public keys (`memoranda signer export`)"
        )
    return tuple(signed)


def _decode(message: str | bytes) -> str:
    try:
        data = message.encode() if isinstance(message, str) else message
        text = data.decode()
    except UnicodeError as error:
        raise InvalidInput("note", "is not UTF-8") from error
    if len(data) > MAX_BYTES:
        raise InvalidInput("note", f"has {len(data)} bytes, over {MAX_BYTES}")
    if match := _CONTROL.search(text):
        raise InvalidInput("note", f"has the control character {match.group()!r}")
    return text


def _parse_signature(line: str) -> Signature:
    name, space, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not space or not is_name(name):
        raise InvalidInput("note", f"{short_repr(line)} is not like '— name base64'")
    data = exact_base64("note", encoded)
    if len(data) <= ID_SIZE:
        raise InvalidInput("note", f"{short_repr(line)} has no signature after the key id")
    return Signature(name, data[:ID_SIZE], data[ID_SIZE:])
