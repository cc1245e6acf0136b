"""Events: one committed transaction each."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from memoranda.errors import InvalidInput
from memoranda.model.instant import to_datetime, to_rfc3339
from memoranda.model.limits import shown
from memoranda.model.operations import AnyOperation

TOKEN_SIZE = 16
"""How many bytes stand for a txn_id and an actor that are gone."""
UNSIGNED, SELF_SIGNED = "unsigned", "self-signed"


class Envelope(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Who asked for a transaction, and under which name."""

    txn_id: str
    actor: str
    request_hash: bytes
    """The salted hash of the request, and its fingerprint where the txn_id is the caller's own."""
    signature: bytes | None = None

    @property
    def indexed(self) -> tuple[str, str] | None:
        """What a retry is looked up by: txn_id and actor, or the token that is left of both."""
        if self.txn_id:
            return self.txn_id, self.actor
        return (self.request_hash[:TOKEN_SIZE].hex(), "") if self.request_hash else None


class ErasedEnvelope(msgspec.Struct, frozen=True, array_like=True, tag=0, gc=False):
    """What is left of an envelope; it begins with a number, not a text.

    It goes when its actor is forgotten, or when nothing is left of what its transaction did. It has
    no txn_id any more.
    """

    leaf: bytes
    actor: str
    """The actor's pseudonym; empty: the actor is not forgotten, and not named here any more."""
    erasure: int
    """The commit that erased it."""
    retry: bytes = b""
    """A token of txn_id and actor, by which a retry is known, and the request's fingerprint."""

    @property
    def envelope(self) -> Envelope:
        """It, as one that says nothing but the pseudonym."""
        return Envelope("", self.actor, self.retry)


class Head(msgspec.Struct, frozen=True, gc=False):
    """The log's last commit; number 0 before the first."""

    commit_ts: int
    committed_at: int
    hash: bytes
    version: int = 1
    """The chain version of its event, where the log was followed to here."""


class SealedEvent(msgspec.Struct, frozen=True, gc=False):
    """An event as it is stored: the exact bytes its hash covers.

    `salts` also tell the chain version of the event: see `memoranda.log.salting`.
    """

    commit_ts: int
    committed_at: int
    hash: bytes
    salts: bytes
    envelope: bytes
    operations: bytes


class ResumeToken(msgspec.Struct, frozen=True):
    """A place in one history: it fits no other log, nor a copy that went another way."""

    log_id: str
    commit_ts: int
    hash: bytes

    def __str__(self) -> str:
        return f"{self.log_id}.{self.commit_ts}.{self.hash.hex()}"

    @classmethod
    def parse(cls, field: str, text: str) -> ResumeToken:
        """Return the token that `text` spells, or raise `InvalidInput`."""
        try:
            log_id, commit_ts, event_hash = text.split(".")
            return cls(log_id, int(commit_ts), bytes.fromhex(event_hash))
        except ValueError as error:
            raise InvalidInput(
                field, f"{shown(text)} is neither a commit number nor a resume token (event.token)"
            ) from error


class ReplayEvent(msgspec.Struct, frozen=True, gc=False):
    """A transaction as a reader sees it: when, by whom, and the operations asked for."""

    commit_ts: int
    committed_micros: int
    txn_id: str
    actor: str
    operations: tuple[AnyOperation, ...]
    hash: bytes
    log_id: str
    summary: bool = False
    """Whether it stands for all that was done up to here; of that only what holds is left."""
    signature: str | None = None
    """The actor's own signature of the whole transaction, in hexadecimal."""
    unproven: bool = False
    """Whether an erasure left something of it that nothing proves to be what was said."""

    @property
    def committed_at(self) -> datetime:
        """The commit's time."""
        return to_datetime(self.committed_micros)

    @property
    def timestamp(self) -> str:
        """The commit's time as RFC 3339 text."""
        return to_rfc3339(self.committed_micros)

    @property
    def attest_level(self) -> str:
        """What vouches for the transaction beside the chain: nothing, or its actor."""
        return UNSIGNED if self.signature is None else SELF_SIGNED

    @property
    def token(self) -> str:
        """Where to resume: give it as `after_commit` to continue behind this event."""
        return str(ResumeToken(self.log_id, self.commit_ts, self.hash))

    def only(self, operations: Iterable[AnyOperation]) -> ReplayEvent:
        """Return this event with only these of its operations."""
        return msgspec.structs.replace(self, operations=tuple(operations))
