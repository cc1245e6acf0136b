"""The agent's signature of a transaction: what it covers, and how the envelope stores it.

    signature = 0x02 ‖ public key ‖ Ed25519( 0x05 ‖ SHA-256( covered ) )
    covered   = size ‖ log id ‖ hash of the previous event ‖
                commit_ts ‖ committed_at ‖ size ‖ bytes of the envelope without it ‖ leaves

Numbers are eight bytes, big-endian; a size is that of the following bytes. The leaves are those of
the operations except epochs, which belong to the engine and differ in a fork. The envelope has the
salted hash of the request, the txn_id and the actor. So nobody without the key can change, move,
repeat or backdate what an agent did, nor copy it into another log. Only hashes are covered, so the
signature stays valid when content is erased. In a fork it names the log that the event was written
in, which the fork's lineage records (lineage.py).

A signature that begins with 0x01 was made by an older release. It covers neither the log id nor
the previous event.

The first byte says what is covered; the key is the one that the agent claims to sign with. Whether
it may is decided by the keys that the log trusts. No signed note begins with 0x05, so a checkpoint
cannot pass for a transaction of its signer, nor the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from struct import Struct

import msgspec

from memoranda.errors import Corruption, InvalidInput
from memoranda.log import chain
from memoranda.model import codec
from memoranda.model.event import Envelope
from memoranda.model.operations import AnyOperation, Epoch

FIRST_FORM, SECOND_FORM = b"\1", b"\2"
_KEY_SIZE, _SIGNATURE_SIZE = 32, 64
_SIZE = len(SECOND_FORM) + _KEY_SIZE + _SIGNATURE_SIZE
_MESSAGE_DOMAIN = b"\5"
_NUMBER, _NUMBERS = Struct(">q").pack, Struct(">qqq").pack


class TransactionSigner(msgspec.Struct, frozen=True):
    """The key that signs a transaction."""

    key: bytes
    """The public key, 32 bytes."""
    sign: Callable[[bytes], bytes]
    claim: msgspec.Struct
    """A request that is decided with the transaction: the log must trust the key for the actor."""


class AgentSignature(msgspec.Struct, frozen=True, gc=False):
    """The signature of an envelope, parsed and not verified."""

    form: bytes
    key: bytes
    signature: bytes

    @classmethod
    def of(cls, envelope: Envelope) -> AgentSignature | None:
        """Return an envelope's signature, if it has one; raise `Corruption` for an unknown form."""
        encoded = envelope.signature
        if encoded is None:
            return None
        if len(encoded) != _SIZE or not encoded.startswith((FIRST_FORM, SECOND_FORM)):
            raise Corruption("the stored signature is not in a known form")
        return cls(encoded[:1], encoded[1 : 1 + _KEY_SIZE], encoded[-_SIGNATURE_SIZE:])


class SigningContext(msgspec.Struct, frozen=True, gc=False):
    """Where an event is signed: in which log, and after which event."""

    log_id: str
    previous: bytes

    def covered(self) -> bytes:
        """Return the bytes that a signature covers."""
        log_id = self.log_id.encode()
        return _NUMBER(len(log_id)) + log_id + self.previous


def remove_repeated_claims(
    claims: Sequence[AnyOperation], operations: Sequence[AnyOperation]
) -> list[AnyOperation]:
    """Return the claims that the transaction does not make; raise if it contradicts one."""
    by_key = (
        {(operation.type, operation.key): operation for operation in operations} if claims else {}
    )
    for operation in claims:
        if by_key.get((operation.type, operation.key), operation) != operation:
            raise InvalidInput(
                "signer", f"{operation.key} is given to another agent by the transaction it signs"
            )
    return [operation for operation in claims if (operation.type, operation.key) not in by_key]


def sign_envelope(
    envelope: Envelope,
    place: tuple[int, int],
    salts: bytes,
    operations: Sequence[AnyOperation],
    signing: TransactionSigner,
    context: SigningContext,
) -> Envelope:
    """Return the envelope with the agent's signature; `place` is the commit and its time."""
    leaves = chain.leaves_of(salts, operations)
    signature = signing.sign(message(envelope, place, operations, leaves, context))
    return msgspec.structs.replace(envelope, signature=SECOND_FORM + signing.key + signature)


def message(
    envelope: Envelope,
    place: tuple[int, int],
    operations: Sequence[AnyOperation],
    leaves: Sequence[bytes],
    context: SigningContext | None,
) -> bytes:
    """Return the bytes that an agent signs; without a context, in the form of older releases."""
    bare = codec.encode(msgspec.structs.replace(envelope, signature=None))
    covered = [
        leaf
        for leaf, operation in zip(leaves, operations, strict=True)
        if not isinstance(operation, Epoch)
    ]
    where = b"" if context is None else context.covered()
    parts = (where, _NUMBERS(*place, len(bare)), bare, *covered)
    return _MESSAGE_DOMAIN + sha256(b"".join(parts)).digest()


def signature_hex(envelope: Envelope) -> str | None:
    """Return the Ed25519 signature of an envelope in hexadecimal, as listings show it."""
    encoded = envelope.signature
    return None if encoded is None else encoded[-_SIGNATURE_SIZE:].hex()
