"""Events: one committed transaction each."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from recollect.errors import InvalidInput
from recollect.model.instant import to_datetime, to_rfc3339
from recollect.model.limits import shown
from recollect.model.operations import AnyOperation

UNSIGNED, SELF_SIGNED = "unsigned", "self-signed"


class Envelope(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Who asked for a transaction, and under which name."""

    txn_id: str
    actor: str
    request_hash: bytes
    signature: bytes | None = None


class ErasedEnvelope(msgspec.Struct, frozen=True, array_like=True, tag=0, gc=False):
    """What is left of an envelope whose actor was forgotten; it begins with a number, not a text.

    It has no txn_id any more.
    """

    leaf: bytes
    actor: str
    """The actor's pseudonym."""
    erasure: int
    """The commit that erased it."""

    @property
    def envelope(self) -> Envelope:
        """It, as one that says nothing but the pseudonym."""
        return Envelope("", self.actor, b"")


class Head(msgspec.Struct, frozen=True, gc=False):
    """The log's last commit; number 0 before the first."""

    commit_ts: int
    committed_at: int
    hash: bytes


class SealedEvent(msgspec.Struct, frozen=True, gc=False):
    """An event as it is stored: the exact bytes its hash covers.

    `salts` holds `SALT_SIZE` bytes for the request, the envelope and each operation, in this order.
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
