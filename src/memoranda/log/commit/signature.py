"""An agent's own signature: what it covers, and how it stands in an envelope.

    signature = 0x02 ‖ public key ‖ Ed25519( 0x05 ‖ SHA-256( covered ) )
    covered   = size ‖ log id ‖ hash of the event before it ‖
                commit_ts ‖ committed_at ‖ size ‖ bytes of the envelope without it ‖ leaves

Numbers are eight bytes, big-endian; a size is that of what follows it. The leaves are those of the
operations but epochs, which are the engine's and become others in a fork. The envelope has the
salted hash of the request, the txn_id and the actor. So nobody without the key can change, move,
repeat or backdate what an agent did, not into another log either, and as nothing but hashes is
covered, the signature holds when content is erased. In a fork it is of the log that the event was
written in, which the fork's lineage names (lineage.py).

A signature that begins with 0x01 is of an older release, and covers neither the log nor what was
before.

The first byte says what is covered; the key is the one that the agent claims to sign with. Whether
it may is for the keys that the log trusts. No note begins with 0x05, so no checkpoint can pass for
a transaction of whoever signed it, nor the other way round.
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
_MESSAGE = b"\5"
_NUMBER, _NUMBERS = Struct(">q").pack, Struct(">qqq").pack


class Signing(msgspec.Struct, frozen=True):
    """Who signs a transaction."""

    key: bytes
    """The public key."""
    sign: Callable[[bytes], bytes]
    claim: msgspec.Struct
    """A request that is decided with the transaction's own: that the key may sign for the actor."""


class Attestation(msgspec.Struct, frozen=True, gc=False):
    """A signature that stands in an envelope, not checked yet."""

    form: bytes
    key: bytes
    signature: bytes

    @classmethod
    def of(cls, envelope: Envelope) -> Attestation | None:
        """Return an envelope's, if it has one; one of another form is `Corruption`."""
        stored = envelope.signature
        if stored is None:
            return None
        if len(stored) != _SIZE or not stored.startswith((FIRST_FORM, SECOND_FORM)):
            raise Corruption("a signature is claimed, and what stands there is none")
        return cls(stored[:1], stored[1 : 1 + _KEY_SIZE], stored[-_SIGNATURE_SIZE:])


class Within(msgspec.Struct, frozen=True, gc=False):
    """Where an event is signed: in which log, and behind which event."""

    log_id: str
    previous: bytes

    def covered(self) -> bytes:
        """Return what a signature covers of it."""
        name = self.log_id.encode()
        return _NUMBER(len(name)) + name + self.previous


def without_repeats(
    claimed: Sequence[AnyOperation], operations: Sequence[AnyOperation]
) -> list[AnyOperation]:
    """Return what a claim comes to but for what the transaction does itself, and no otherwise."""
    done = {(each.type, each.key): each for each in operations} if claimed else {}
    for each in claimed:
        if done.get((each.type, each.key), each) != each:
            raise InvalidInput("signer", f"{each.key} is given to another one in what it signs")
    return [each for each in claimed if (each.type, each.key) not in done]


def signed(
    envelope: Envelope,
    place: tuple[int, int],
    salts: bytes,
    operations: Sequence[AnyOperation],
    signing: Signing,
    within: Within,
) -> Envelope:
    """Return an envelope with the agent's signature; `place` is the commit and its time."""
    leaves = chain.leaves_of(salts, operations)
    made = signing.sign(message(envelope, place, operations, leaves, within))
    return msgspec.structs.replace(envelope, signature=SECOND_FORM + signing.key + made)


def message(
    envelope: Envelope,
    place: tuple[int, int],
    operations: Sequence[AnyOperation],
    leaves: Sequence[bytes],
    within: Within | None,
) -> bytes:
    """Return what an agent signs of a transaction; within no log: as older releases did."""
    bare = codec.encode(msgspec.structs.replace(envelope, signature=None))
    covered = [
        leaf
        for leaf, operation in zip(leaves, operations, strict=True)
        if not isinstance(operation, Epoch)
    ]
    where = b"" if within is None else within.covered()
    parts = (where, _NUMBERS(*place, len(bare)), bare, *covered)
    return _MESSAGE + sha256(b"".join(parts)).digest()


def shown(envelope: Envelope) -> str | None:
    """Return what the key has made, in hexadecimal, as who lists it is shown it."""
    stored = envelope.signature
    return None if stored is None else stored[-_SIGNATURE_SIZE:].hex()
