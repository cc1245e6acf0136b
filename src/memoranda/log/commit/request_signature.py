"""The agent's signature of a request, for a client that does not see the commit.

    signature   = 0x03 ‖ public key ‖ masked salt ‖ digest ‖ Ed25519( 0x0D ‖ SHA-256( covered ) )
    covered     = size ‖ log id ‖ size ‖ txn_id ‖ size ‖ actor ‖ digest
    digest      = SHA-256( 0x0E ‖ salt ‖ size ‖ name of the key ‖ request )
    masked salt = salt XOR the beginning of SHA-256( 0x0F ‖ salt of the request in the log )

A size is eight bytes, big-endian, and that of the following bytes. The request is the call as the
client sends it, encoded. So a signed request cannot be moved to another log, agent or txn_id, and
sent again it has no second effect, since the log has its txn_id.

The log holds what was decided, not the request. So this form proves less than a signature of the
commit (transaction_signature.py). It proves that the agent has signed one request with this digest,
and nobody else can add one. The resulting operations and their time are attested by the store that
checked the signature, and by the checkpoints of its log.

The salt is the client's. The log keeps it under a mask that is derived from the salts of the
operations. With the request, one can show that it is the signed one, until a part of it is erased.
Then the mask is lost with one of these salts, the signature stays valid, and nobody can confirm a
guess of the request.
"""

from __future__ import annotations

from hashlib import sha256
from struct import Struct

import msgspec

from memoranda.log.field_commitments import SALT_SIZE

THIRD_FORM = b"\3"
KEY_SIZE, SIGNATURE_SIZE, DIGEST_SIZE = 32, 64, 32
"""Bytes of a key and a signature of Ed25519, and of a SHA-256."""
STORED_SIZE = len(THIRD_FORM) + KEY_SIZE + SALT_SIZE + DIGEST_SIZE + SIGNATURE_SIZE
_MESSAGE_DOMAIN, _DIGEST_DOMAIN, _MASK_DOMAIN = b"\x0d", b"\x0e", b"\x0f"
_NUMBER = Struct(">q").pack


class RequestSignature(msgspec.Struct, frozen=True):
    """An agent's signature of a request, as its client sends it."""

    key: str
    """The public key as its line of text."""
    log_id: str
    """The log that the request is for."""
    salt: bytes
    """Random bytes of the client's, used once."""
    signature: bytes


class SignedRequest(msgspec.Struct, frozen=True):
    """A request's signature that was checked; what the committer stores of it."""

    key: bytes
    """The public key, 32 bytes."""
    salt: bytes
    digest: bytes
    signature: bytes
    claim: msgspec.Struct
    """A request that is decided with the transaction: the log must trust the key for the actor."""

    def stored(self, request_salt: bytes) -> bytes:
        """Return the signature as an envelope stores it, with the salt under its mask."""
        masked_salt = mask(self.salt, request_salt)
        return THIRD_FORM + self.key + masked_salt + self.digest + self.signature


def digest_of(salt: bytes, key_name: str, request: bytes) -> bytes:
    """Return the salted hash of an encoded request and the name of the key that signs it."""
    return sha256(_DIGEST_DOMAIN + salt + _sized(key_name) + request).digest()


def message(log_id: str, txn_id: str, actor: str, digest: bytes) -> bytes:
    """Return the bytes that an agent signs."""
    covered = _sized(log_id) + _sized(txn_id) + _sized(actor) + digest
    return _MESSAGE_DOMAIN + sha256(covered).digest()


def mask(salt: bytes, request_salt: bytes) -> bytes:
    """Return a client's salt under the mask of the request's salt in the log, or without it."""
    own_mask = sha256(_MASK_DOMAIN + request_salt).digest()
    return bytes(first ^ second for first, second in zip(salt, own_mask, strict=False))


def _sized(text: str) -> bytes:
    data = text.encode()
    return _NUMBER(len(data)) + data
