"""The agent's signature of a commit: what it covers, and how the envelope stores it.

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
the previous event. One that begins with 0x03 was made by a client that does not see the commit, and
covers its request (request_signature.py).

The first byte says what is covered; the key is the one that the agent claims to sign with. Whether
it may is decided by the keys that the log trusts. No signed note begins with 0x05, so a checkpoint
cannot pass for a transaction of its signer, nor the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from struct import Struct
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from memoranda.errors import Corruption, InvalidInput
from memoranda.log import chain
from memoranda.log.commit.request_signature import (
    DIGEST_SIZE,
    KEY_SIZE,
    SIGNATURE_SIZE,
    STORED_SIZE,
    THIRD_FORM,
    SignedRequest,
)
from memoranda.model import codec
from memoranda.model.event import REQUEST_SIGNED, SELF_SIGNED, UNSIGNED, Envelope
from memoranda.model.operations import AnyOperation, Epoch

FIRST_FORM, SECOND_FORM = b"\1", b"\2"
_SIZE = len(SECOND_FORM) + KEY_SIZE + SIGNATURE_SIZE
_SIZES = {FIRST_FORM: _SIZE, SECOND_FORM: _SIZE, THIRD_FORM: STORED_SIZE}
"""The bytes that a signature takes up in each form."""
_MESSAGE_DOMAIN = b"\5"
_NUMBER, _NUMBERS = Struct(">q").pack, Struct(">qqq").pack


class TransactionSigner(msgspec.Struct, frozen=True):
    """The key that signs a transaction."""

    key: bytes
    """The public key, 32 bytes."""
    sign: Callable[[bytes], bytes]
    claim: msgspec.Struct
    """A request that is decided with the transaction: the log must trust the key for the actor."""


Signing: TypeAlias = TransactionSigner | SignedRequest
"""How a transaction is signed: at its commit, or by the client that has sent it."""


class AgentSignature(msgspec.Struct, frozen=True, gc=False):
    """The signature of an envelope, parsed and not verified."""

    form: bytes
    key: bytes
    signature: bytes
    digest: bytes = b""
    """The salted hash of the request, if that is all it covers."""

    @classmethod
    def of(cls, envelope: Envelope) -> AgentSignature | None:
        """Return an envelope's signature, if it has one; raise `Corruption` for an unknown form."""
        encoded = envelope.signature
        if encoded is None:
            return None
        form, key, signature = encoded[:1], encoded[1 : 1 + KEY_SIZE], encoded[-SIGNATURE_SIZE:]
        if len(encoded) != _SIZES.get(form):
            raise Corruption("the stored signature is not in a known form")
        digest = encoded[:-SIGNATURE_SIZE][-DIGEST_SIZE:] if form == THIRD_FORM else b""
        return cls(form, key, signature, digest)


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
    return replace(envelope, signature=SECOND_FORM + signing.key + signature)


def message(
    envelope: Envelope,
    place: tuple[int, int],
    operations: Sequence[AnyOperation],
    leaves: Sequence[bytes],
    context: SigningContext | None,
) -> bytes:
    """Return the bytes that an agent signs; without a context, in the form of older releases."""
    bare = codec.encode_envelope(replace(envelope, signature=None, trace_id=None))
    covered = [
        leaf
        for leaf, operation in zip(leaves, operations, strict=True)
        if not isinstance(operation, Epoch)
    ]
    signed_place = b"" if context is None else context.covered()
    parts = (signed_place, _NUMBERS(*place, len(bare)), bare, *covered)
    return _MESSAGE_DOMAIN + sha256(b"".join(parts)).digest()


def signature_hex(envelope: Envelope) -> str | None:
    """Return the Ed25519 signature of an envelope in hexadecimal, as listings show it."""
    encoded = envelope.signature
    return None if encoded is None else encoded[-SIGNATURE_SIZE:].hex()


def is_request_only(envelope: Envelope) -> bool:
    """Say whether an envelope's signature covers the request, and not what was decided."""
    return envelope.signature is not None and envelope.signature.startswith(THIRD_FORM)


def attest_level(envelope: Envelope) -> str:
    """Return what an envelope's signature claims to attest."""
    if envelope.signature is None:
        return UNSIGNED
    return REQUEST_SIGNED if is_request_only(envelope) else SELF_SIGNED
