"""Transactions before they are committed: their requests, reads and deadline."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping, Sequence

import msgspec

from memoranda.errors import (
    InvalidInput,
    MemorandaError,
    NotFound,
    TransactionClosed,
    TransactionExpired,
)
from memoranda.log.commit.transaction_signature import Signing
from memoranda.log.erasure.log_search import LogSearch
from memoranda.model import codec
from memoranda.model.clock import Clock
from memoranda.model.codec import unpacked_size
from memoranda.model.erasure import Forget
from memoranda.model.ids import IdSource, derive_id, derive_ordered_id
from memoranda.model.limits import Limits, renamed
from memoranda.model.trace import current_trace_id


class Refusal(msgspec.Struct, frozen=True):
    """The reason why a request was refused before it was staged, so that it can be recorded."""

    error: MemorandaError
    kind: str
    """Its audit event type."""
    about: tuple[str, ...]
    """Ids that say what was refused, without content."""


class Request(msgspec.Struct, frozen=True, gc=False):
    """A transaction as the committer gets it."""

    txn_id: str
    idempotent: bool
    """Whether the caller chose the txn_id: only then the log may have it already."""
    actor: str
    staged: Sequence[msgspec.Struct]
    encoded: bytes
    """The staged requests, encoded: what `request_hash` covers."""
    reads: frozenset[msgspec.Struct]
    base_commit: int
    """The commit its reads are as of."""
    deadline: float
    """Monotonic time in seconds after which it is refused."""
    blobs: Mapping[bytes, bytes] = {}
    """Long content, packed, by the hash of the unpacked content."""
    signing: Signing | None = None
    """Its signer or its signature; None: it is not signed."""
    era: int | None = None
    """The era its derived ids were made in; None if it derived none (see `idempotency.era`)."""
    may_be_logged: bool = False
    """Whether a leader was interrupted while it wrote this: the log may have it already."""
    search: LogSearch | None = None
    """What an erasure found in the log before it was queued."""
    records_no_change: bool = True
    """Whether an idempotent request that changes nothing is recorded: a retry, which may change
    something by then, is answered by it. A txn_id that the caller did not choose is not retried
    once it was answered."""
    refusal: Refusal | None = None
    """Why nothing is staged; None: that was the caller's choice."""
    trace_id: bytes | None = msgspec.field(default_factory=current_trace_id)
    """The trace that it belongs to. A retry may come with another one: it is the same request."""

    @property
    def erases(self) -> Forget | None:
        """The erasure, if it is one; an erasure has no other requests."""
        first = self.staged[0] if self.staged else None
        return first if isinstance(first, Forget) else None

    @property
    def is_recorded_unchanged(self) -> bool:
        """Whether it is recorded also if it changes nothing."""
        return self.idempotent and self.records_no_change

    @classmethod
    def of_one(
        cls,
        staged: msgspec.Struct,
        *,
        txn_id: str,
        idempotent: bool,
        actor: str,
        deadline: float,
        limits: Limits,
        signing: Signing | None = None,
        search: LogSearch | None = None,
        records_no_change: bool = True,
    ) -> Request:
        """Return the request of a transaction with one staged request and no reads."""
        encoded = codec.encode_all((staged,))
        _check_size(len(encoded) - 1, limits)  # the first byte is the array header
        return cls(
            txn_id,
            idempotent,
            actor,
            (staged,),
            encoded,
            frozenset(),
            0,
            deadline,
            signing=signing,
            search=search,
            records_no_change=records_no_change,
        )

    @classmethod
    def refused(cls, refusal: Refusal, *, txn_id: str, actor: str) -> Request:
        """Return a request that the committer refuses, and records as refused."""
        return cls(
            txn_id, False, actor, (), b"", frozenset(), 0, deadline=math.inf, refusal=refusal
        )

    @property
    def size(self) -> int:
        """Bytes it takes up in the queue."""
        size = len(self.encoded)
        return size + sum(map(len, self.blobs.values())) if self.blobs else size

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write and no txn_id to look up."""
        return not self.staged and not self.idempotent


class _Status(enum.Enum):
    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"


class Beginning(msgspec.Struct, frozen=True):
    """Where a transaction begins."""

    commit_ts: int
    """The commit that its reads are as of."""
    era: int = 0
    """The era in which its ids are derived (see `idempotency.era`)."""


class Draft:
    """A transaction that one caller is building; nothing of it is in the log."""

    def __init__(
        self,
        *,
        txn_id: str,
        idempotent: bool,
        actor: str,
        begin: Callable[[], Beginning],
        timeout: float,
        clock: Clock,
        limits: Limits,
        signing: Signing | None = None,
        records_no_change: bool = True,
    ) -> None:
        self.txn_id = txn_id
        self.records_no_change = records_no_change
        """Whether it is recorded also if it changes nothing (see `Request`)."""
        self.actor = actor
        self._begin = begin
        self._beginnings: list[Beginning] = []
        """Where it begins. Threads that read at a time may each add one; the first one counts."""
        self._idempotent = idempotent
        self._clock = clock
        self._deadline = clock.monotonic() + timeout
        self._limits = limits
        self._signing = signing
        self._staged: list[msgspec.Struct] = []
        self._encoded: list[bytes] = []
        self._size = 0
        self._blobs: dict[bytes, bytes] = {}
        self._ids_given = 0
        self._reads: set[msgspec.Struct] = set()
        self._status = _Status.OPEN
        self._arguments: list[Mapping[str, str] | None] = []
        """For each staged request: field -> the caller's argument, where they differ."""

    @property
    def is_open(self) -> bool:
        """Whether it is neither committed nor aborted."""
        return self._status is _Status.OPEN

    @property
    def has_begun(self) -> bool:
        """Whether it is known where it begins."""
        return bool(self._beginnings)

    @property
    def beginning(self) -> Beginning:
        """Where it begins: at its first use, unless it was asked for before."""
        if not self._beginnings:
            self._beginnings.append(self._begin())
        return self._beginnings[0]

    def begin(self) -> Beginning:
        """Begin now, and return where; raise if the log is not there yet."""
        return self.beginning

    @property
    def base_commit(self) -> int:
        """The commit that its reads are as of."""
        return self.beginning.commit_ts

    def check(self) -> None:
        """Raise if the transaction is closed or its deadline has passed."""
        if self._status is not _Status.OPEN:
            raise TransactionClosed(
                f"transaction {self.txn_id!r} is {self._status.value}: begin a new one"
            )
        if self._clock.monotonic() > self._deadline:
            raise TransactionExpired

    @property
    def seconds_left(self) -> float:
        """Seconds until its deadline."""
        return self._deadline - self._clock.monotonic()

    def now(self) -> int:
        """Return the time on its clock, in microseconds."""
        return self._clock.now()

    def new_id(self, ids: IdSource) -> str:
        """Return an id for a staged item; a retry under the same txn_id gets the same ids."""
        if not self._idempotent:
            return ids.unique()
        self._ids_given += 1
        if not self.records_no_change:
            return derive_ordered_id(self.txn_id, self._ids_given, "staged", self.actor)
        era = (str(self.beginning.era),) if self.beginning.era else ()
        return derive_id("staged", self.actor, self.txn_id, str(self._ids_given), *era)

    def blob(self, digest: bytes) -> bytes | None:
        """Return staged long content, packed."""
        return self._blobs.get(digest)

    def stage(
        self,
        *requests: msgspec.Struct,
        blobs: Mapping[bytes, bytes] | None = None,
        arguments: Mapping[str, str] | None = None,
    ) -> None:
        """Add requests and their long content: all of them, or none if a limit would be exceeded.

        Long content counts with its unpacked size, which is what reading it costs. `arguments` are
        the names by which the caller knows the fields of the requests, for errors.
        """
        encoded, limits = [*map(codec.encode, requests)], self._limits
        size = self._size + sum(map(len, encoded))
        if blobs:
            size += sum(map(unpacked_size, blobs.values()))
        if len(self._staged) + len(requests) > limits.transaction_operations:
            raise InvalidInput(
                "transaction",
                f"has over {limits.transaction_operations} operations, the limit",
            )
        _check_size(size, limits)
        self._arguments += [arguments] * len(requests)
        self._staged += requests
        self._encoded += encoded
        if blobs:
            self._blobs.update(blobs)
        self._size = size

    def named_by_caller(self, error: InvalidInput | NotFound) -> InvalidInput | NotFound:
        """Return an error of the commit under the name of the argument that the caller used."""
        position = error.position
        return error if position is None else renamed(error, self._arguments[position] or {})

    def track(self, read: msgspec.Struct) -> None:
        """Record a read: the commit fails if its answer changes before."""
        self.check()
        self._reads.add(read)

    @property
    def staged_count(self) -> int:
        """How many requests are staged."""
        return len(self._staged)

    @property
    def reads(self) -> frozenset[msgspec.Struct]:
        """The reads that were recorded."""
        return frozenset(self._reads)

    def close(self, *, committed: bool) -> None:
        """Close it: nothing more can be staged, read or committed."""
        self._status = _Status.COMMITTED if committed else _Status.ABORTED

    def request(self) -> Request:
        """Return the request to commit."""
        self.check()
        return Request(
            txn_id=self.txn_id,
            idempotent=self._idempotent,
            actor=self.actor,
            staged=tuple(self._staged),
            encoded=codec.join(self._encoded),
            reads=frozenset(self._reads),
            base_commit=self.base_commit if self._reads or self.has_begun else 0,
            deadline=self._deadline,
            blobs=self._blobs,
            signing=self._signing,
            era=self.beginning.era if self._ids_given else None,
            records_no_change=self.records_no_change,
        )


def _check_size(size: int, limits: Limits) -> None:
    if size > limits.transaction_bytes:
        raise InvalidInput(
            "transaction", f"has {size} bytes; the limit is {limits.transaction_bytes}"
        )
