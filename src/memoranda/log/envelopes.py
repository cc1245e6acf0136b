"""Envelopes: what stays of one, when something of its transaction is erased.

A txn_id and an actor can say who something was about. So an envelope goes with its actor, and as
soon as nothing is left of what its transaction did. A retry under the caller's own txn_id must
still be known, or it would do again what was forgotten: a token is left, a hash of both. One that
somebody signed stays, as the signature is worth nothing without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

from memoranda.model import codec
from memoranda.model.event import TOKEN_SIZE, Envelope, SealedEvent
from memoranda.model.operations import (
    AnyOperation,
    Epoch,
    Erased,
    MemoryStub,
    Redacted,
    TranscriptStub,
)

HASH_SIZE = 32
"""How many bytes of `request_hash` are the salted hash; what follows is the fingerprint."""
_DOMAIN = b"recollect retry token\0"
_NOTHING = (Erased, Redacted, Epoch, MemoryStub, TranscriptStub)
"""What counts as nothing left: ids alone, and what the engine itself noted."""


def token(txn_id: str, actor: str) -> bytes:
    """Return what stands for a txn_id and an actor that are gone."""
    parts = (part.encode() for part in (actor, txn_id))
    return sha256(_DOMAIN + b"\0".join(parts)).digest()[:TOKEN_SIZE]


def left_of_actor(event: SealedEvent, actor: tuple[str, str] | None) -> str | None:
    """Return the pseudonym that stays of an envelope whose actor is forgotten."""
    if actor is None or codec.decode_envelope(event.envelope).actor != actor[0]:
        return None
    return actor[1]


def left_of_nothing(
    event: SealedEvent, left: Mapping[int, AnyOperation | None], actor: tuple[str, str] | None
) -> tuple[str, bytes] | None:
    """Return the pseudonym and the retry token that stay of an envelope; None: it stays as it is.

    `left` has what stays of the operations that change. An agent that is forgotten takes the tokens
    of what it had done along: under its name it is a new one.
    """
    operations: Sequence[AnyOperation] = codec.decode_standing(event.operations)
    stays = (left.get(position, each) for position, each in enumerate(operations))
    if not all(each is None or isinstance(each, _NOTHING) for each in stays):
        return None
    known = codec.decode_erased_envelope(event.envelope)
    if known is not None:
        return (known.actor, b"") if actor is not None and known.retry else None
    envelope = codec.decode_envelope(event.envelope)
    return None if envelope.signature is not None else ("", _retry(envelope))


def _retry(envelope: Envelope) -> bytes:
    fingerprint = envelope.request_hash[HASH_SIZE:]
    if not fingerprint and _is_given(envelope.txn_id):
        return b""
    return token(envelope.txn_id, envelope.actor) + fingerprint


def _is_given(txn_id: str) -> bool:
    """Say whether the engine gave a txn_id itself: nobody else knows it to try it again."""
    return len(txn_id) == 36 and txn_id[14] == "7"
