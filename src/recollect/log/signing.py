"""An agent's own signature: what it covers, and how it stands in an envelope.

    signature = 0x01 ‖ public key ‖ Ed25519( 0x05 ‖ SHA-256( covered ) )
    covered   = commit_ts ‖ committed_at ‖ size ‖ bytes of the envelope without it ‖ leaves

Numbers are eight bytes, big-endian. The leaves are those of the operations but epochs, which are
the engine's and become others in a fork. The envelope has the salted hash of the request, the
txn_id and the actor. So nobody without the key can change, move, repeat or backdate what an agent
did, and as nothing but hashes is covered, the signature holds when content is erased.

The first byte says what is covered; the key is the one that the agent claims to sign with. Whether
it may is for the keys that the log trusts. No note begins with 0x05, so no checkpoint can pass for
a transaction of whoever signed it, nor the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from struct import Struct

import msgspec

from recollect.errors import Corruption, InvalidInput
from recollect.log import chain
from recollect.model import codec
from recollect.model.event import Envelope
from recollect.model.operations import AnyOperation, Epoch

_FORM = b"\1"
_KEY_SIZE, _SIGNATURE_SIZE = 32, 64
_SIZE = len(_FORM) + _KEY_SIZE + _SIGNATURE_SIZE
_MESSAGE = b"\5"
_NUMBERS = Struct(">qqq").pack


class Signing(msgspec.Struct, frozen=True):
    """Who signs a transaction."""

    key: bytes
    """The public key."""
    sign: Callable[[bytes], bytes]
    claim: msgspec.Struct
    """A request that is decided with the transaction's own: that the key may sign for the actor."""


class Attestation(msgspec.Struct, frozen=True, gc=False):
    """A signature that stands in an envelope, not checked yet."""

    key: bytes
    signature: bytes

    @classmethod
    def of(cls, envelope: Envelope) -> Attestation | None:
        """Return an envelope's, if it has one; one of another form is `Corruption`."""
        stored = envelope.signature
        if stored is None:
            return None
        if len(stored) != _SIZE or not stored.startswith(_FORM):
            raise Corruption("a signature is claimed, and what stands there is none")
        return cls(stored[1 : 1 + _KEY_SIZE], stored[-_SIGNATURE_SIZE:])


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
) -> Envelope:
    """Return an envelope with the agent's signature; `place` is the commit and its time."""
    leaves = chain.leaves_of(salts, operations)
    made = signing.sign(message(envelope, place, operations, leaves))
    return msgspec.structs.replace(envelope, signature=_FORM + signing.key + made)


def message(
    envelope: Envelope,
    place: tuple[int, int],
    operations: Sequence[AnyOperation],
    leaves: Sequence[bytes],
) -> bytes:
    """Return what an agent signs of a transaction."""
    bare = codec.encode(msgspec.structs.replace(envelope, signature=None))
    covered = [
        leaf
        for leaf, operation in zip(leaves, operations, strict=True)
        if not isinstance(operation, Epoch)
    ]
    parts = (_NUMBERS(*place, len(bare)), bare, *covered)
    return _MESSAGE + sha256(b"".join(parts)).digest()


def shown(envelope: Envelope) -> str | None:
    """Return what the key has made, in hexadecimal, as who lists it is shown it."""
    stored = envelope.signature
    return None if stored is None else stored[-_SIGNATURE_SIZE:].hex()
