"""Transactions before they are committed: what is staged, what was read, and until when."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence

import msgspec

from memoranda.errors import InvalidInput, TransactionClosed, TransactionExpired
from memoranda.log.signing import Signing
from memoranda.model import codec
from memoranda.model.clock import Clock
from memoranda.model.erasure import Forget
from memoranda.model.ids import IdSource, derived
from memoranda.model.limits import Limits
from memoranda.model.packing import unpacked_size


class Request(msgspec.Struct, frozen=True, gc=False):
    """What a transaction asks the committer for."""

    txn_id: str
    named: bool
    """Whether the caller chose the txn_id: only then can the log have it already."""
    actor: str
    staged: Sequence[msgspec.Struct]
    encoded: bytes
    reads: frozenset[msgspec.Struct]
    since: int
    deadline: float
    blobs: Mapping[bytes, bytes] = {}
    """Long content, packed, by the hash of what it unpacks to."""
    signing: Signing | None = None
    """Who signs it; nobody, if the handle has no signer."""
    era: int | None = None
    """What the ids it gave out were derived in, if any were."""
    again: bool = False
    """Whether somebody was interrupted while writing it: the log may have it already."""

    @property
    def erases(self) -> Forget | None:
        """What is to be erased, if that is what it asks for: it asks for nothing else then."""
        first = self.staged[0] if self.staged else None
        return first if isinstance(first, Forget) else None

    @classmethod
    def of_one(
        cls,
        staged: msgspec.Struct,
        *,
        txn_id: str,
        named: bool,
        actor: str,
        deadline: float,
        limits: Limits,
        signing: Signing | None = None,
    ) -> Request:
        """Return what a transaction asks for that stages one thing and reads nothing."""
        encoded = codec.encode_all((staged,))
        _check_size(len(encoded) - 1, limits)  # the first byte only says that it is one
        return cls(
            txn_id, named, actor, (staged,), encoded, frozenset(), 0, deadline, signing=signing
        )

    @property
    def size(self) -> int:
        """How many bytes it takes up while it waits."""
        size = len(self.encoded)
        return size + sum(map(len, self.blobs.values())) if self.blobs else size

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write and nothing to look up."""
        return not self.staged and not self.named


class _Status(enum.Enum):
    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"


class Draft:
    """A transaction that is being put together, by one caller and not yet in the log."""

    def __init__(
        self,
        *,
        txn_id: str,
        named: bool,
        actor: str,
        since: int,
        timeout: float,
        clock: Clock,
        limits: Limits,
        signing: Signing | None = None,
        era: int = 0,
    ) -> None:
        self.txn_id = txn_id
        self.since = since
        self._named = named
        self._actor = actor
        self._clock = clock
        self._deadline = clock.monotonic() + timeout
        self._limits = limits
        self._signing = signing
        self._era = era
        self._staged: list[msgspec.Struct] = []
        self._encoded: list[bytes] = []
        self._size = 0
        self._blobs: dict[bytes, bytes] = {}
        self._ids_given = 0
        self._reads: set[msgspec.Struct] = set()
        self._status = _Status.OPEN

    @property
    def is_open(self) -> bool:
        """Whether it has been neither committed nor aborted."""
        return self._status is _Status.OPEN

    def check(self) -> None:
        """Raise if nothing more can be done in this transaction."""
        if self._status is not _Status.OPEN:
            raise TransactionClosed(
                f"transaction {self.txn_id!r} is {self._status.value}: begin a new one"
            )
        if self._clock.monotonic() > self._deadline:
            raise TransactionExpired

    def new_id(self, ids: IdSource) -> str:
        """Return an id for something staged; a retry under the caller's txn_id gives it again."""
        if not self._named:
            return ids.unique()
        self._ids_given += 1
        era = (str(self._era),) if self._era else ()
        return derived("staged", self._actor, self.txn_id, str(self._ids_given), *era)

    def blob(self, digest: bytes) -> bytes | None:
        """Return long content that was staged, packed."""
        return self._blobs.get(digest)

    def stage(self, *requests: msgspec.Struct, blobs: Mapping[bytes, bytes] | None = None) -> None:
        """Add requests and their long content: all, or none if the limits would be passed.

        Long content counts as what it unpacks to, which is what reading it costs.
        """
        encoded, limits = [*map(codec.encode, requests)], self._limits
        size = self._size
        for each in encoded:
            size += len(each)
        if blobs:
            size += sum(map(unpacked_size, blobs.values()))
        if len(self._staged) + len(requests) > limits.transaction_operations:
            raise InvalidInput(
                "transaction",
                f"has over {limits.transaction_operations} operations, the limit",
            )
        _check_size(size, limits)
        self._staged += requests
        self._encoded += encoded
        if blobs:
            self._blobs.update(blobs)
        self._size = size

    def track(self, read: msgspec.Struct) -> None:
        """Remember a read: if its answer changes before the commit, the commit fails."""
        self.check()
        self._reads.add(read)

    def close(self, *, committed: bool) -> None:
        """Finish: nothing more can be staged, read or committed."""
        self._status = _Status.COMMITTED if committed else _Status.ABORTED

    def request(self) -> Request:
        """Return what to commit."""
        self.check()
        return Request(
            txn_id=self.txn_id,
            named=self._named,
            actor=self._actor,
            staged=tuple(self._staged),
            encoded=codec.join(self._encoded),
            reads=frozenset(self._reads),
            since=self.since,
            deadline=self._deadline,
            blobs=self._blobs,
            signing=self._signing,
            era=self._era if self._ids_given else None,
        )


def _check_size(size: int, limits: Limits) -> None:
    if size > limits.transaction_bytes:
        raise InvalidInput(
            "transaction", f"has {size} bytes; the limit is {limits.transaction_bytes}"
        )
