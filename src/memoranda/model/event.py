"""Events: one committed transaction each."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, TypeAlias

import msgspec

from memoranda.errors import InvalidInput
from memoranda.model.clock import to_datetime, to_rfc3339
from memoranda.model.limits import short_repr
from memoranda.model.operations import AnyOperation
from memoranda.model.trace import TRACE_ID_SIZE

TOKEN_SIZE = 16
"""Bytes of the token that replaces an erased txn_id and actor."""
TraceId: TypeAlias = Annotated[
    bytes, msgspec.Meta(min_length=TRACE_ID_SIZE, max_length=TRACE_ID_SIZE)
]
UNSIGNED, SELF_SIGNED, REQUEST_SIGNED = "unsigned", "self-signed", "request-signed"


class Envelope(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The actor of a transaction, its id, and the hash of its request."""

    txn_id: str
    actor: str
    request_hash: bytes
    """The salted hash of the request, and its fingerprint where the txn_id is the caller's own."""
    signature: bytes | None = None
    trace_id: TraceId | None = None
    """The trace of the request, which neither the request's hash nor a signature covers."""

    @property
    def trace_hex(self) -> str | None:
        """The trace id in hexadecimal."""
        return None if self.trace_id is None else self.trace_id.hex()

    @property
    def retry_key(self) -> tuple[str, str] | None:
        """The key that finds a retry: txn_id and actor, or the token that replaced them."""
        if self.txn_id:
            return self.txn_id, self.actor
        return (self.request_hash[:TOKEN_SIZE].hex(), "") if self.request_hash else None


class ErasedEnvelope(msgspec.Struct, frozen=True, array_like=True, tag=0, gc=False):
    """The residue of an erased envelope; its bytes begin with a number, those of others with text.

    An envelope is erased with its actor, or when nothing is left of its transaction's operations.
    """

    leaf: bytes
    actor: str
    """The actor's pseudonym; empty if the actor itself was not erased."""
    erasure: int
    """The commit that erased it."""
    retry: bytes = b""
    """The token of txn_id and actor, by which a retry is found, and the request's fingerprint."""

    @property
    def envelope(self) -> Envelope:
        """An envelope with the pseudonym and the retry token only."""
        return Envelope("", self.actor, self.retry)


class Head(msgspec.Struct, frozen=True, gc=False):
    """The log's last commit; number 0 before the first."""

    commit_ts: int
    committed_at: int
    hash: bytes
    version: int = 1
    """The chain version of its event, if the log was read up to it."""


class SealedEvent(msgspec.Struct, frozen=True, gc=False):
    """An event as it is stored: the exact bytes its hash covers.

    `salts` also has the chain version of the event: see `memoranda.log.field_commitments`.
    """

    commit_ts: int
    committed_at: int
    hash: bytes
    salts: bytes
    envelope: bytes
    operations: bytes


class ResumeToken(msgspec.Struct, frozen=True):
    """A position in one history; it does not fit another log, nor a copy that has diverged."""

    log_id: str
    commit_ts: int
    hash: bytes

    def __str__(self) -> str:
        return f"{self.log_id}.{self.commit_ts}.{self.hash.hex()}"

    @classmethod
    def parse(cls, field: str, text: str) -> ResumeToken:
        """Parse a token, or raise `InvalidInput`."""
        try:
            log_id, commit_ts, event_hash = text.split(".")
            return cls(log_id, int(commit_ts), bytes.fromhex(event_hash))
        except ValueError as error:
            raise InvalidInput(
                field,
                f"{short_repr(text)} is neither a commit number nor a resume token (event.token)",
            ) from error


class StoredEvent(msgspec.Struct, frozen=True, gc=False):
    """A transaction as a reader sees it, in the bytes that are stored; nothing of it was erased."""

    commit_ts: int
    committed_micros: int
    hash: bytes
    envelope: bytes
    operations: bytes
    """The selected operations; the bytes of all operations if all are selected."""


class ReplayEvent(msgspec.Struct, frozen=True, gc=False):
    """A transaction as a reader sees it: its time, its actor and the selected operations."""

    commit_ts: int
    committed_micros: int
    txn_id: str
    actor: str
    operations: tuple[AnyOperation, ...]
    hash: bytes
    log_id: str
    summary: bool = False
    """Whether it summarises a compacted history: only the operations in force are left."""
    signature: str | None = None
    """The actor's own signature of the whole transaction, in hexadecimal; see `attest_level`."""
    unproven: bool = False
    """Whether an erasure left an operation that no commitment proves."""
    request_only: bool = False
    """Whether the signature covers the request alone, as that of a server's client does."""
    trace_id: str | None = None
    """The trace in which it was committed, in hexadecimal, as spans of OpenTelemetry have it."""

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
        """The attestation beside the chain: none, or what the actor has signed."""
        if self.signature is None:
            return UNSIGNED
        return REQUEST_SIGNED if self.request_only else SELF_SIGNED

    @property
    def token(self) -> str:
        """The resume token: give it as `after_commit` to continue after this event."""
        return str(ResumeToken(self.log_id, self.commit_ts, self.hash))

    def only(self, operations: Iterable[AnyOperation]) -> ReplayEvent:
        """Return this event with only these of its operations."""
        return msgspec.structs.replace(self, operations=tuple(operations))
