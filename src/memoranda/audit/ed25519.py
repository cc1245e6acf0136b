"""Ed25519, by the package `cryptography`: the one place that imports it, and only when used.

It comes with the extra `audit`. Keeping, reading and verifying a log takes no signatures, so a
store works without it, and importing Memoranda never loads it.
"""

from __future__ import annotations

from collections.abc import Callable

from memoranda.errors import MemorandaError

KEY_SIZE = 32
SEED_SIZE = 32
SIGNATURE_SIZE = 64
_PRIME, _Y_BITS = 2**255 - 19, 2**255 - 1
_ORDER_8 = int.from_bytes(
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
)
_SMALL_ORDER = frozenset((0, 1, _PRIME - 1, _ORDER_8, _PRIME - _ORDER_8))
"""The second coordinates of the points whose order divides 8, whichever way they are spelled."""


def public_key(seed: bytes) -> bytes:
    """Return the public key of a private one, in the 32 bytes of RFC 8032."""
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError as error:
        raise _missing() from error
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def sign(seed: bytes, message: bytes) -> bytes:
    """Return the signature of a message."""
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError as error:
        raise _missing() from error
    return Ed25519PrivateKey.from_private_bytes(seed).sign(message)


def signing(seed: bytes) -> Callable[[bytes], bytes]:
    """Return what signs one message after the other: the key is read once."""
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError as error:
        raise _missing() from error
    return Ed25519PrivateKey.from_private_bytes(seed).sign


def is_weak(key: bytes) -> bool:
    """Tell whether a public key is a point of small order: signatures of anything fit it."""
    return (int.from_bytes(key, "little") & _Y_BITS) % _PRIME in _SMALL_ORDER


def verify(key: bytes, message: bytes, signature: bytes) -> bool:
    """Tell whether a signature of a message was made with the private half of this key."""
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
