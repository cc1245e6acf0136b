"""Public keys: who may sign, for which commits, and the text in which a key is handed on.

    name+hash+base64( 0x01 ‖ key )                    the verifier key of C2SP signed notes
    name+hash+base64( 0x01 ‖ key ) from=100 until=199 the same, for some commits only

    hash = SHA-256( name ‖ 0x0A ‖ 0x01 ‖ key ), its first four bytes in hexadecimal

The hash only names the key. It is far too short to vouch for it: whoever verifies has to have the
whole key from somewhere they trust.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from hashlib import sha256

import msgspec

from memoranda.audit import ed25519
from memoranda.errors import InvalidInput
from memoranda.model.limits import check_name, check_text, shown

ED25519 = b"\1"
"""The algorithm's number in C2SP signed notes. There are others; this engine knows this one."""
ID_SIZE = 4
MOST_NAME_BYTES = 256
_NOT_IN_NAMES = re.compile(r"[\x00-\x1f\s+\ud800-\udfff]")
_HEX = re.compile(r"[0-9a-f]{8}")
_VALIDITY = re.compile(r"(?: from=(0|[1-9][0-9]{0,18}))?(?: until=(0|[1-9][0-9]{0,18}))?")


class PublicKey(msgspec.Struct, frozen=True):
    """The public half of a signer, and the first and last commit whose checkpoint it may sign."""

    name: str
    key: bytes
    valid_from_commit: int = 0
    valid_until_commit: int | None = None

    def __post_init__(self) -> None:
        if not is_name(self.name):
            raise InvalidInput("name", f"{shown(self.name)} {NAME_RULE}")
        if len(self.key) != ed25519.KEY_SIZE:
            size = len(self.key)
            raise InvalidInput("key", f"has {size} bytes, and an Ed25519 key has 32")
        first, last = self.valid_from_commit, self.valid_until_commit
        if first < 0 or (last is not None and last < first):
            raise InvalidInput("valid_until_commit", f"{shown(last)} is before {first}")

    @property
    def id(self) -> bytes:
        """The four bytes that a signature names this key with, beside its name."""
        return key_id(self.name, self.key)

    @property
    def text(self) -> str:
        """The verifier key, as other tools for signed notes take it."""
        return f"{self.name}+{self.id.hex()}+{b64encode(ED25519 + self.key).decode()}"

    @property
    def line(self) -> str:
        """The verifier key and the commits it is for."""
        first = f" from={self.valid_from_commit}" if self.valid_from_commit else ""
        last = "" if self.valid_until_commit is None else f" until={self.valid_until_commit}"
        return f"{self.text}{first}{last}"

    def may_sign(self, commit_ts: int) -> bool:
        """Tell whether this key is for the checkpoint that ends with a commit."""
        last = self.valid_until_commit
        return self.valid_from_commit <= commit_ts and (last is None or commit_ts <= last)


def parse(line: str) -> PublicKey:
    """Return the key that a line says."""
    text, space, rest = line.partition(" ")
    name, hashed, encoded = _parts(text)
    found = _VALIDITY.fullmatch(space + rest)
    if found is None:
        raise InvalidInput("key", f"{shown(rest)} is not like 'from=100 until=199'")
    key = algorithm_key("key", encoded)
    check_strong("key", key)
    if key_id(name, key).hex() != hashed:
        raise InvalidInput("key", f"{shown(text)} does not have the hash it says: copy it again")
    first, last = found.groups()
    return PublicKey(name, key, int(first or 0), None if last is None else int(last))


def check_strong(field: str, key: bytes) -> None:
    """Refuse a key that signatures of anything fit: nobody has its private half, or everybody."""
    if ed25519.is_weak(key):
        raise InvalidInput(
            field, "is a point of small order, which proves nothing: create a signer"
        )


def rotated(old: PublicKey, new: PublicKey, *, at: int) -> tuple[PublicKey, PublicKey]:
    """Return both keys with the commits they are for: the new one's begin with `at`."""
    if old.key == new.key:
        raise InvalidInput("new", "is the old key: create a new signer")
    if not old.may_sign(at - 1):
        raise InvalidInput("at", f"{at - 1}, the last commit of the old key, is not one of its own")
    return (
        msgspec.structs.replace(old, valid_until_commit=at - 1),
        msgspec.structs.replace(new, valid_from_commit=at),
    )


def key_id(name: str, key: bytes) -> bytes:
    """Return the four bytes that name a key beside its name."""
    return sha256(name.encode() + b"\n" + ED25519 + key).digest()[:ID_SIZE]


NAME_RULE = "is not a key's name: one or more characters, no space and no '+'"


def is_name(name: str) -> bool:
    """Tell whether signed notes allow a key's name."""
    return bool(name) and not _NOT_IN_NAMES.search(name)


def check_new_name(name: object) -> str:
    """Return the name for a new key, for which we ask a little more than signed notes do."""
    text = check_text("name", name, most_bytes=MOST_NAME_BYTES)
    check_name("name", text)
    if not is_name(text):
        raise InvalidInput("name", f"{shown(text)} {NAME_RULE}; 'example.com/agents' is usual")
    return text


def algorithm_key(field: str, encoded: str) -> bytes:
    """Return the 32 bytes behind an algorithm's number."""
    data = exact_base64(field, encoded)
    if data[:1] != ED25519:
        raise InvalidInput(field, f"has the unknown algorithm {data[:1].hex() or 'none'}")
    if len(data) != 1 + ed25519.KEY_SIZE:
        raise InvalidInput(field, f"has {len(data) - 1} bytes, and an Ed25519 key has 32")
    return data[1:]


def exact_base64(field: str, text: str) -> bytes:
    """Return what a text encodes, if it is the only text that does.

    Decoders overlook stray bits and missing padding: two texts would stand for one signature.
    """
    try:
        data = b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise InvalidInput(field, f"{shown(text)} is not base64") from error
    if b64encode(data).decode() != text:
        raise InvalidInput(field, f"{shown(text)} is not base64 as it is written")
    return data


def _parts(text: str) -> tuple[str, str, str]:
    name, _, rest = text.partition("+")
    hashed, _, encoded = rest.partition("+")
    if not is_name(name) or not _HEX.fullmatch(hashed):
        raise InvalidInput("key", f"{shown(text)} is not like 'name+1a2b3c4d+AQ…'")
    return name, hashed, encoded
