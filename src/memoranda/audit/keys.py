"""Ed25519 keys: signing, checking signatures, and public keys as text.

    name+hash+base64( 0x01 ‖ key )                    the verifier key of C2SP signed notes
    name+hash+base64( 0x01 ‖ key ) from=100 until=199 the same, for some commits only

    hash = SHA-256( name ‖ 0x0A ‖ 0x01 ‖ key ), its first four bytes in hexadecimal

The hash identifies the key; four bytes are too short to authenticate it. A verifier needs the whole
key from a source it trusts.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from hashlib import sha256

import msgspec

from memoranda.errors import InvalidInput, MemorandaError
from memoranda.model.limits import check_printable, check_text, short_repr

# Ed25519, by the package `cryptography`. Only these functions import it, when they are called.
#
# It comes with the extra `audit`. A store without signatures works without it, and importing
# Memoranda never loads it.

KEY_SIZE = 32
"""Bytes of a public key of Ed25519 (RFC 8032)."""
SEED_SIZE = 32
"""Bytes of the seed that a private key is derived from."""
SIGNATURE_SIZE = 64
"""Bytes of a signature."""
_PRIME, _Y_BITS = 2**255 - 19, 2**255 - 1
"""The prime of the field of Ed25519, and the bits of a key that hold the y coordinate."""
_ORDER_8 = int.from_bytes(
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
)
_SMALL_ORDER = frozenset((0, 1, _PRIME - 1, _ORDER_8, _PRIME - _ORDER_8))
"""The y coordinates of the points whose order divides 8, reduced modulo the field's prime, so that
non-canonical encodings are covered too."""


def public_key(seed: bytes) -> bytes:
    """Return the public key of a private key's seed, as the 32 bytes of RFC 8032."""
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError as error:
        raise _missing() from error
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def sign(seed: bytes, message: bytes) -> bytes:
    """Sign one message."""
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError as error:
        raise _missing() from error
    return Ed25519PrivateKey.from_private_bytes(seed).sign(message)


def message_signer(seed: bytes) -> Callable[[bytes], bytes]:
    """Return a function that signs messages; it parses the key once."""
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError as error:
        raise _missing() from error
    return Ed25519PrivateKey.from_private_bytes(seed).sign


def is_weak(key: bytes) -> bool:
    """Return whether a public key is a point of small order, which verifies any message."""
    return (int.from_bytes(key, "little") & _Y_BITS) % _PRIME in _SMALL_ORDER


def verify(key: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether a signature of a message is valid under a public key."""
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError as error:
        raise _missing() from error
    if is_weak(key):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def _missing() -> MemorandaError:
    return MemorandaError(
        "signatures need the package cryptography: pip install 'memoranda[audit]'"
    )


# Public keys: their names, the commits they are valid for, and their text form.

ED25519 = b"\1"
"""The algorithm byte of Ed25519 in C2SP signed notes, the only algorithm supported here."""
ID_SIZE = 4
"""Bytes of a key id in C2SP signed notes."""
MAX_NAME_BYTES = 256
"""Bytes of a key's name, which stands in every note that the key signs."""
_NOT_IN_NAMES = re.compile(r"[\x00-\x1f\s+\ud800-\udfff]")
_HEX = re.compile(r"[0-9a-f]{8}")
_VALIDITY = re.compile(r"(?: from=(0|[1-9][0-9]{0,18}))?(?: until=(0|[1-9][0-9]{0,18}))?")


class PublicKey(msgspec.Struct, frozen=True):
    """The public key of a signer, and the first and last commit whose checkpoint it may sign."""

    name: str
    key: bytes
    valid_from_commit: int = 0
    valid_until_commit: int | None = None

    def __post_init__(self) -> None:
        if not is_name(self.name):
            raise InvalidInput("name", f"{short_repr(self.name)} {NAME_RULE}")
        if len(self.key) != KEY_SIZE:
            size = len(self.key)
            raise InvalidInput("key", f"has {size} bytes, and an Ed25519 key has 32")
        first, last = self.valid_from_commit, self.valid_until_commit
        if first < 0 or (last is not None and last < first):
            raise InvalidInput("valid_until_commit", f"{short_repr(last)} is before {first}")

    @property
    def id(self) -> bytes:
        """The key id: four bytes that a signature line holds beside the key's name."""
        return key_id(self.name, self.key)

    @property
    def text(self) -> str:
        """The verifier key in the form of C2SP signed notes."""
        return f"{self.name}+{self.id.hex()}+{b64encode(ED25519 + self.key).decode()}"

    @property
    def line(self) -> str:
        """The verifier key, followed by the commits it is valid for."""
        first = f" from={self.valid_from_commit}" if self.valid_from_commit else ""
        last = "" if self.valid_until_commit is None else f" until={self.valid_until_commit}"
        return f"{self.text}{first}{last}"

    def may_sign(self, commit_ts: int) -> bool:
        """Return whether this key may sign the checkpoint that ends with a commit."""
        last = self.valid_until_commit
        return self.valid_from_commit <= commit_ts and (last is None or commit_ts <= last)


def parse(line: str) -> PublicKey:
    """Parse a line of a key file."""
    text, space, suffix = line.partition(" ")
    name, hashed, encoded = _parts(text)
    validity = _VALIDITY.fullmatch(space + suffix)
    if validity is None:
        raise InvalidInput("key", f"{short_repr(suffix)} is not like 'from=100 until=199'")
    key = algorithm_key("key", encoded)
    check_strong("key", key)
    if key_id(name, key).hex() != hashed:
        raise InvalidInput(
            "key", f"{short_repr(text)} does not have the hash it says: copy it again"
        )
    first, last = validity.groups()
    return PublicKey(name, key, int(first or 0), None if last is None else int(last))


def check_strong(field: str, key: bytes) -> None:
    """Refuse a point of small order: anyone can forge signatures that it verifies."""
    if is_weak(key):
        raise InvalidInput(
            field, "is a point of small order, which proves nothing: create a signer"
        )


def rotate(old: PublicKey, new: PublicKey, *, at: int) -> tuple[PublicKey, PublicKey]:
    """Return both keys with their validity: the new key takes over at commit `at`."""
    if old.key == new.key:
        raise InvalidInput("new", "is the old key: create a new signer")
    if not old.may_sign(at - 1):
        raise InvalidInput("at", f"{at - 1}, the last commit of the old key, is not one of its own")
    return (
        msgspec.structs.replace(old, valid_until_commit=at - 1),
        msgspec.structs.replace(new, valid_from_commit=at),
    )


def key_id(name: str, key: bytes) -> bytes:
    """Return the key id of C2SP signed notes: four bytes of a hash of name and key."""
    return sha256(name.encode() + b"\n" + ED25519 + key).digest()[:ID_SIZE]


NAME_RULE = "is not a key's name: one or more characters, no space and no '+'"


def is_name(name: str) -> bool:
    """Return whether C2SP signed notes allow a key name."""
    return bool(name) and not _NOT_IN_NAMES.search(name)


def check_new_name(name: object) -> str:
    """Check the name of a new key, more strictly than C2SP signed notes do."""
    text = check_text("name", name, max_bytes=MAX_NAME_BYTES)
    check_printable("name", text)
    if not is_name(text):
        raise InvalidInput("name", f"{short_repr(text)} {NAME_RULE}; 'example.com/agents' is usual")
    return text


def algorithm_key(field: str, encoded: str) -> bytes:
    """Return the 32 key bytes that follow the algorithm byte."""
    data = exact_base64(field, encoded)
    if data[:1] != ED25519:
        raise InvalidInput(field, f"has the unknown algorithm {data[:1].hex() or 'none'}")
    if len(data) != 1 + KEY_SIZE:
        raise InvalidInput(field, f"has {len(data) - 1} bytes, and an Ed25519 key has 32")
    return data[1:]


def exact_base64(field: str, text: str) -> bytes:
    """Decode canonical base64.

    Lenient decoders accept stray bits and missing padding, which would give one signature several
    text forms.
    """
    try:
        data = b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise InvalidInput(field, f"{short_repr(text)} is not base64") from error
    if b64encode(data).decode() != text:
        raise InvalidInput(field, f"{short_repr(text)} is not base64 in its canonical form")
    return data


def _parts(text: str) -> tuple[str, str, str]:
    name, _, remainder = text.partition("+")
    hashed, _, encoded = remainder.partition("+")
    if not is_name(name) or not _HEX.fullmatch(hashed):
        raise InvalidInput("key", f"{short_repr(text)} is not like 'name+1a2b3c4d+AQ…'")
    return name, hashed, encoded
