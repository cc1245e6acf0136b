"""Transactions that the server keeps for clients of Statehouse, until they are over.

A transaction is what a client has staged, in the form that is committed, and a deadline. Nothing of
it is in the store before it is committed, and nothing of it outlives the server. All are bounded:
by age, and for each caller and in all by number and bytes. So a client that abandons transactions
cannot make the server grow.

Everything here runs in the server's event loop, and never waits.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from memoranda.calls.call import WriteCall
from memoranda.calls.key_writes import Delete, Write
from memoranda.errors import (
    InvalidInput,
    MemorandaError,
    NotFound,
    TooManyRequests,
    TransactionClosed,
    TransactionExpired,
)
from memoranda.model import document
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.limits import Limits, short_repr
from memoranda.state.requests import DeleteKey, KeyRequest, WriteKey

_MIB = 1024 * 1024
_REQUEST_BYTES = 512
"""Bytes of a staged request besides its key and its value."""
_DEFAULT_TIMEOUT = 30_000
"""Milliseconds: the timeout of a transaction that names none."""
_MAX_TIMEOUT = 3_600_000
"""Milliseconds: the longest timeout of a transaction."""


class TransactionBounds(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds on the transactions that are kept; a caller is a token, or else a host."""

    of_caller: int = 10_000
    bytes_of_caller: int = 128 * _MIB
    """Twice what one transaction may have."""
    in_all: int = 50_000
    bytes_in_all: int = 512 * _MIB
    ends: int = 10_000
    end_seconds: float = 60.0
    """Transactions that are over are remembered so long, and so many, to say how they ended."""


class ServerTransaction:
    """A transaction of a client: its staged requests."""

    def __init__(self, txn_id: str, owner: str, limits: Limits, deadline: float) -> None:
        self.txn_id = txn_id
        self.owner = owner
        self.limits = limits
        self.deadline = deadline
        """Monotonic seconds."""
        self.requests: list[KeyRequest] = []
        self.size = 0
        """Bytes of its requests."""
        self.is_committing = False

    def calls(self) -> tuple[WriteCall[object], ...]:
        """Return the calls that stage it again, for its commit."""
        return tuple(_call(request) for request in self.requests)


class _End(msgspec.Struct, frozen=True):
    """How a transaction ended."""

    owner: str
    error: type[MemorandaError]
    message: str
    """The error for further calls on it."""
    until: float
    """Monotonic seconds, until which it is remembered."""
    is_abort: bool = False


class ServerTransactions:
    """All transactions of a server."""

    def __init__(self, bounds: TransactionBounds | None = None, clock: Clock | None = None) -> None:
        self._bounds = bounds or TransactionBounds()
        self._clock = clock or SystemClock()
        self._open: dict[str, ServerTransaction] = {}
        self._ends: dict[str, _End] = {}
        """How the last ones ended, in that order."""
        self._counts: Counter[str] = Counter()
        self._sizes: Counter[str] = Counter()
        """Open transactions and their bytes by owner; an owner without any has no entry."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing that a sweep could ever drop."""
        return not self._open and not self._ends

    @property
    def count(self) -> int:
        """The number of open transactions."""
        return len(self._open)

    @property
    def size(self) -> int:
        """The bytes that they have staged."""
        return self._sizes.total()

    def check_room(self, owner: str) -> None:
        """Raise `TooManyRequests` if the owner, or all owners together, have too many."""
        if self._is_full(owner):
            self.sweep()
        if self._is_full(owner):
            raise TooManyRequests(
                f"{self._counts[owner]} transactions of this caller are open, and "
                f"{len(self._open)} in all: commit or abort some, or wait until they expire"
            )

    def _is_full(self, owner: str) -> bool:
        bounds = self._bounds
        return self._counts[owner] >= bounds.of_caller or len(self._open) >= bounds.in_all

    def add(self, txn_id: str, owner: str, limits: Limits, timeout: float) -> None:
        """Keep a new transaction for so many seconds."""
        deadline = self._clock.monotonic() + timeout
        self._open[txn_id] = ServerTransaction(txn_id, owner, limits, deadline)
        self._counts[owner] += 1

    def find(self, txn_id: str, owner: str) -> ServerTransaction:
        """Return an open transaction of the owner; raise if there is none, or it is over."""
        transaction = self._open.get(txn_id)
        if transaction is not None and transaction.owner == owner:
            if transaction.is_committing:
                raise TransactionClosed(f"transaction {txn_id!r} is being committed: wait for it")
            if self._clock.monotonic() <= transaction.deadline:
                return transaction
            self._expire(transaction)
        end = self._ends.get(txn_id)
        if end is not None and end.owner == owner:
            raise end.error(end.message)
        raise NotFound(
            f"there is no transaction {short_repr(txn_id)}: it was never begun, or the server has "
            "been started again since; begin a new one",
            field="txn_id",
        )

    def seconds_left(self, transaction: ServerTransaction) -> float:
        """Return the time until a transaction expires."""
        return transaction.deadline - self._clock.monotonic()

    def stage(self, transaction: ServerTransaction, request: KeyRequest) -> None:
        """Add a checked request to a transaction."""
        encoded = request.encoded if isinstance(request, WriteKey) else b""
        size = _REQUEST_BYTES + len(request.key) + len(encoded)
        self._check_size(transaction, size)
        transaction.requests.append(request)
        transaction.size += size
        self._sizes[transaction.owner] += size

    def _check_size(self, transaction: ServerTransaction, size: int) -> None:
        limits, bounds = transaction.limits, self._bounds
        if len(transaction.requests) >= limits.transaction_operations:
            raise InvalidInput(
                "txn_id",
                f"the transaction has {limits.transaction_operations} operations already, which is "
                "the limit: commit them in several transactions",
            )
        if transaction.size + size > limits.transaction_bytes:
            raise InvalidInput(
                "txn_id",
                f"the transaction would have {transaction.size + size} bytes, and the limit is "
                f"{limits.transaction_bytes}: commit it in several transactions",
            )
        of_caller = self._sizes[transaction.owner] + size
        if of_caller > bounds.bytes_of_caller or self.size + size > bounds.bytes_in_all:
            raise TooManyRequests(
                f"{of_caller} bytes are staged in open transactions of this caller: commit or "
                "abort some, or wait until they expire"
            )

    # Ends.

    def commit(self, transaction: ServerTransaction, commit_ts: int) -> None:
        """End a transaction that is committed."""
        txn_id = transaction.txn_id
        problem = f"transaction {txn_id!r} is committed already, as commit {commit_ts}"
        self._end(transaction, TransactionClosed, f"{problem}: begin a new one")

    def abort(self, txn_id: str, owner: str) -> None:
        """End a transaction without a commit; a second time has no effect."""
        end = self._ends.get(txn_id)
        if end is not None and end.is_abort and end.owner == owner:
            return
        transaction = self.find(txn_id, owner)
        message = f"transaction {txn_id!r} is aborted: begin a new one"
        self._end(transaction, TransactionClosed, message, is_abort=True)

    def sweep(self) -> None:
        """Drop expired transactions, and old records of ended ones."""
        now = self._clock.monotonic()
        for transaction in [item for item in self._open.values() if item.deadline < now]:
            if not transaction.is_committing:  # its commit ends it
                self._expire(transaction)
        while self._ends:
            txn_id, end = next(iter(self._ends.items()))
            if end.until > now:
                break
            del self._ends[txn_id]

    def _expire(self, transaction: ServerTransaction) -> None:
        problem = f"transaction {transaction.txn_id!r} has expired, and nothing was written"
        remedy = "begin a new one, with a longer timeout if it needs one"
        self._end(transaction, TransactionExpired, f"{problem}: {remedy}")

    def _end(
        self,
        transaction: ServerTransaction,
        error: type[MemorandaError],
        message: str,
        *,
        is_abort: bool = False,
    ) -> None:
        owner, bounds = transaction.owner, self._bounds
        del self._open[transaction.txn_id]
        self._counts[owner] -= 1
        self._sizes[owner] -= transaction.size
        if not self._counts[owner]:
            del self._counts[owner], self._sizes[owner]
        until = self._clock.monotonic() + bounds.end_seconds
        self._ends[transaction.txn_id] = _End(owner, error, message, until, is_abort)
        if len(self._ends) > bounds.ends:
            del self._ends[next(iter(self._ends))]


def check_timeout(timeout_ms: int | None) -> float:
    """Return the seconds of a transaction's timeout, which is given in milliseconds."""
    if timeout_ms is None:
        return _DEFAULT_TIMEOUT / 1000
    if not 0 < timeout_ms <= _MAX_TIMEOUT:
        raise InvalidInput(
            "timeout_ms",
            f"{timeout_ms} is not a number of milliseconds from 1 to {_MAX_TIMEOUT}, an hour",
        )
    return timeout_ms / 1000


def _call(request: KeyRequest) -> WriteCall[object]:
    scope = request.scope
    if isinstance(request, DeleteKey):
        return Delete(scope.agent_id, scope.namespace, request.key)
    value = document.decode(request.encoded)
    return Write(scope.agent_id, scope.namespace, request.key, value)
