"""Transactions before they are committed: what is staged, what was read, and until when."""

from __future__ import annotations

import enum
from collections.abc import Sequence

import msgspec

from recollect.errors import InvalidInput, TransactionClosed, TransactionExpired
from recollect.model import codec
from recollect.model.clock import Clock
from recollect.model.limits import Limits


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
    ) -> None:
        self.txn_id = txn_id
        self.since = since
        self._named = named
        self._actor = actor
        self._clock = clock
        self._deadline = clock.monotonic() + timeout
        self._limits = limits
        self._staged: list[msgspec.Struct] = []
        self._encoded: list[bytes] = []
        self._size = 0
        self._reads: set[msgspec.Struct] = set()
        self._status = _Status.OPEN

    @property
    def is_open(self) -> bool:
        """Whether it has been neither committed nor aborted."""
        return self._status is _Status.OPEN

    def check(self) -> None:
        """Raise if nothing more can be done in this transaction."""
        if not self.is_open:
            raise TransactionClosed(
                f"transaction {self.txn_id!r} is {self._status.value}: begin a new one"
            )
        if self._clock.monotonic() > self._deadline:
            raise TransactionExpired

    def stage(self, request: msgspec.Struct) -> None:
        """Add a request, unless the transaction would grow past its limits."""
        encoded = codec.encode(request)
        count, size = len(self._staged) + 1, self._size + len(encoded)
        if count > self._limits.transaction_operations:
            raise InvalidInput(
                "transaction",
                f"has over {self._limits.transaction_operations} operations, the limit",
            )
        if size > self._limits.transaction_bytes:
            raise InvalidInput(
                "transaction", f"has {size} bytes; the limit is {self._limits.transaction_bytes}"
            )
        self._staged.append(request)
        self._encoded.append(encoded)
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
        )
