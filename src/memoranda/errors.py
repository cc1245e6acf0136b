"""Every error Memoranda raises on purpose.

    MemorandaError
    ├── InvalidInput             a value is not accepted; names the field
    ├── NotFound                 the named thing does not exist
    │   └── Compacted              it existed, before a compaction removed the history
    ├── Conflict                 another writer was first; read again and retry
    │   ├── TransactionConflict    something the transaction read has changed
    │   ├── VersionMismatch        a compare-and-set met another version
    │   ├── TitleTaken             another memory has this title
    │   └── IdempotencyMismatch    a txn_id was reused for something else
    ├── TransactionClosed        the transaction is already committed or aborted
    ├── TransactionExpired       its timeout passed before it was decided
    ├── CommitUnknown            durable or not: committing again by txn_id tells
    ├── LinkCycle                a link would lead back to where it starts
    ├── ReflectionTooDeep        reflections on reflections, deeper than allowed
    ├── EdgeError                the edge catalog cannot be read
    ├── LogForked                a resume token belongs to another history
    ├── NotProven                a proof, a checkpoint or its signature does not hold
    ├── StoreBusy                another process holds the write lock
    │   └── TooManyRequests        a token has reached one of its limits
    ├── StoreFull                no space left where the store lives
    ├── StoreReadOnly            the store cannot be written to
    ├── StoreClosed              the handle was closed
    ├── UnsupportedFormat        the store was written by a newer Memoranda
    ├── Corruption               stored bytes are not what was written
    │   ├── ChainBroken            the hash chain breaks at a commit
    │   └── ViewsDiffer            a view differs from the log
    ├── Unauthenticated          nothing valid says who is calling
    ├── PermissionDenied         the caller may not do this
    └── Unavailable              the storage does not answer
        └── ReplicaBehind          a replica lacks a commit that must be seen

An error without a message has its docstring as its message, which names the remedy. Foreign errors
are translated where they enter (`storage/<engine>`); the original is the cause.

`ERROR_TABLE` says how each error is reported outside Python. The annotated attributes of a class
are those that another process gets (`model/error_codec.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from copy import copy
from types import MappingProxyType
from typing import NamedTuple, Self


class MemorandaError(Exception):
    """Something went wrong in Memoranda."""

    retryable: bool = False
    """Whether the same call may succeed later."""
    position: int | None = None
    """Which of a transaction's requests was refused, if one was."""
    # Whether a client has tried again for as long as it may. It is not annotated: this is no
    # business of other processes.
    gave_up = False

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or inspect.cleandoc(type(self).__doc__ or ""))

    def __reduce__(self) -> tuple[object, ...]:
        """Support copying and pickling, whatever the constructor takes."""
        return _rebuild_error, (type(self), self.args, self.__dict__)


def _rebuild_error(
    kind: type[MemorandaError], args: tuple[object, ...], fields: dict[str, object]
) -> MemorandaError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


class InvalidInput(MemorandaError):
    """A value is not accepted."""

    field: str
    problem: str

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class NotFound(MemorandaError):
    """The named thing does not exist."""

    field: str | None
    """The argument that names it, where one does."""
    problem: str

    def __init__(self, problem: str | None = None, *, field: str | None = None) -> None:
        super().__init__(problem if field is None else f"{field}: {problem}")
        self.field = field
        self.problem = problem or str(self)

    def in_argument(self, field: str) -> Self:
        """Return the same error about the value of an argument."""
        error = copy(self)
        error.args = (f"{field}: {self.problem}",)
        error.field = field
        return error


class Conflict(MemorandaError):
    """Another writer was first. Read again and decide again."""


class TransactionConflict(Conflict):
    """Something this transaction read has changed since. Run it again: `store.transact` does."""

    retryable = True
    reads: tuple[object, ...] = ()
    """The reads that have changed, as far as they are known."""


class VersionMismatch(Conflict):
    """The key has another version than expected. Read it again and decide again."""

    key: str
    expected: int
    actual: int

    def __init__(self, *, key: str, expected: int, actual: int) -> None:
        super().__init__(
            f"key {key!r} was expected at version {expected} and is at {actual}: "
            "read it again and decide again (0 means it has no value)"
        )
        self.key = key
        self.expected = expected
        self.actual = actual


class TitleTaken(Conflict):
    """Another memory has this title. Choose another one, or remember with on_conflict='update'."""


class IdempotencyMismatch(Conflict):
    """This txn_id was committed before with other operations.

    If this is a retry, its work is done. If it is something else, use a new txn_id.
    """

    commit_ts: int | None
    """The commit that has this txn_id."""

    def __init__(self, message: str | None = None, *, commit_ts: int | None = None) -> None:
        super().__init__(message)
        self.commit_ts = commit_ts


class TransactionClosed(MemorandaError):
    """This transaction has been committed or aborted. Begin a new one."""


class TransactionExpired(MemorandaError):
    """This transaction's timeout has passed and nothing was written. Begin a new one."""


class CommitUnknown(MemorandaError):
    """The storage failed while committing. Commit again with the same txn_id to find out."""

    txn_id: str

    def __init__(self, txn_id: str, problem: str = "the storage failed") -> None:
        super().__init__(
            f"{problem} while transaction {txn_id!r} was being committed: commit the same "
            "operations again with this txn_id to learn whether it is in the log"
        )
        self.txn_id = txn_id


class LinkCycle(MemorandaError):
    """This link would lead back to where it starts. Leave it out, or unlink one on the way."""

    relation: str
    path: tuple[str | None, ...]
    """The memories of the cycle; None for one that the caller may not see."""

    def __init__(self, relation: str, path: tuple[str | None, ...]) -> None:
        way = " → ".join("(not yours to see)" if step is None else step for step in path)
        super().__init__(
            f"a {relation} link would close the cycle {way}: leave it out, or unlink one on the way"
        )
        self.relation = relation
        self.path = path


class ReflectionTooDeep(MemorandaError):
    """Reflections would rest on reflections past what the namespace allows.

    Reflect on what lies below, or allow more with `configure(max_reflection_depth=…)`.
    """

    namespace: str | None
    """None for one that the caller may not see; then neither the depth nor the limit is known."""
    depth: int | None
    limit: int | None
    memory_ids: tuple[str, ...]
    """The memories of the chain of reflections, as far as they have ids."""

    def __init__(
        self,
        namespace: str | None,
        depth: int | None,
        limit: int | None,
        memory_ids: tuple[str, ...] = (),
    ) -> None:
        problem = (
            f"a reflection in {namespace!r} would have depth {depth}, and the limit is {limit}"
        )
        if namespace is None:
            problem = "a reflection (not yours to see) would be deeper than its namespace allows"
        super().__init__(
            f"{problem}: reflect on what lies below, or allow more with "
            "configure(max_reflection_depth=…)"
        )
        self.namespace = namespace
        self.depth = depth
        self.limit = limit
        self.memory_ids = memory_ids


class EdgeError(MemorandaError):
    """The edge catalog cannot be read. Its own error is the cause; decide again once it answers."""

    def __init__(self, message: str | None = None, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class LogForked(MemorandaError):
    """The resume token comes from another log, or from a history this log does not share.

    Start again from the beginning, or open the store the token came from.
    """


class NotProven(MemorandaError):
    """What was given does not prove what it claims. Do not rely on it; ask its sender again."""

    commit_ts: int | None
    """The commit whose signature does not hold, if the error is about one."""

    def __init__(self, message: str | None = None, *, commit_ts: int | None = None) -> None:
        super().__init__(message)
        self.commit_ts = commit_ts


class StoreBusy(MemorandaError):
    """Another process holds the store's write lock, or too many calls wait. Try again shortly."""

    retryable = True
    retry_after: float | None = None
    """Seconds after which the same call may be accepted; None: that is not known."""


class TooManyRequests(StoreBusy):
    """The token of this caller has reached a limit of the server. Try again after a while."""

    retry_after: float
    """Seconds after which the same call may be accepted."""

    def __init__(self, message: str | None = None, *, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class StoreFull(MemorandaError):
    """There is no space left where the store lives. Free some; nothing was lost."""


class StoreReadOnly(MemorandaError):
    """The store cannot be written to. Check the permissions of the file and of its folder."""


class StoreClosed(MemorandaError):
    """This store handle is closed. Open the store again."""


class UnsupportedFormat(MemorandaError):
    """The store was written by a newer Memoranda. Upgrade Memoranda to open it."""


class Corruption(MemorandaError):
    """Stored bytes are not what was written. Restore a backup; `memoranda verify` says where."""


class ChainBroken(Corruption):
    """The hash chain does not hold: the log was changed after it was written."""

    commit_ts: int
    problem: str
    last_checkpoint: int | None
    """The size of the last valid checkpoint before it, if the store has one."""

    def __init__(self, commit_ts: int, problem: str, *, last_checkpoint: int | None = None) -> None:
        checkpoint = (
            f" (the last checkpoint that holds is of {last_checkpoint} commits)"
            if last_checkpoint
            else ""
        )
        super().__init__(
            f"the chain breaks at commit {commit_ts}: {problem}. "
            f"The log was changed after it was written; restore a backup from before{checkpoint}"
        )
        self.commit_ts = commit_ts
        self.problem = problem
        self.last_checkpoint = last_checkpoint


class ViewsDiffer(Corruption):
    """What is read is not what the log says, though the log is whole."""

    view: str
    table: str
    problem: str
    row: dict[str, object]
    """The first columns of the row that differs, by their names."""
    commit_ts: int | None
    """The commit of the row, if it has one."""

    def __init__(
        self,
        view: str,
        table: str,
        problem: str,
        *,
        row: dict[str, object] | None = None,
        commit_ts: int | None = None,
    ) -> None:
        super().__init__(
            f"view {view!r} is not what the log says: in table {table!r}, {problem}. "
            "The log itself is whole; `memoranda rebuild` builds every view again from it"
        )
        self.view = view
        self.table = table
        self.problem = problem
        self.row = row or {}
        self.commit_ts = commit_ts


class Compacted(NotFound):
    """What is asked about was summed up, and is known only from a commit on."""

    horizon: int

    def __init__(self, horizon: int, detail: str) -> None:
        super().__init__(f"{detail}: the log is summed up to commit {horizon}, ask from there on")
        self.horizon = horizon


class Unauthenticated(MemorandaError):
    """Nothing valid says who is calling. Give a token that is neither expired nor revoked."""


class PermissionDenied(MemorandaError):
    """The caller may not do this. Ask the owner of the store for a grant that covers it."""


class Unavailable(MemorandaError):
    """The storage does not answer. Check that it is reachable and try again."""

    retryable = True


class ReplicaBehind(Unavailable):
    """The replica lacks a commit that must be seen. Try again, or read from the primary."""

    min_commit: int
    """The commit that must be seen."""
    replica_commit: int
    """The last commit that the replica has."""

    def __init__(self, *, min_commit: int, replica_commit: int, seconds: float) -> None:
        super().__init__(
            f"the replica of read_url is at commit {replica_commit} after {seconds:g} seconds, and "
            f"commit {min_commit} must be seen: try again, give it more time with read_wait, or "
            "open the store without read_url to read from the primary"
        )
        self.min_commit = min_commit
        self.replica_commit = replica_commit


# How errors are reported outside Python: by servers over gRPC and HTTP, and by commands.


class ErrorReport(NamedTuple):
    """How one class of errors is reported. Clients rely on it, so it never changes."""

    grpc_status: str
    http_status: int
    problem_type: str
    """The last part of the type of an RFC 9457 problem."""
    title: str
    exit_code: int
    """The exit code of a command; `cli/exit_codes.py` has their meanings."""


ERROR_TABLE: Mapping[type[MemorandaError], ErrorReport] = MappingProxyType(
    {
        MemorandaError: ErrorReport("INTERNAL", 500, "error", "Something went wrong", 1),
        InvalidInput: ErrorReport(
            "INVALID_ARGUMENT", 400, "invalid-input", "A value is not accepted", 2
        ),
        NotFound: ErrorReport("NOT_FOUND", 404, "not-found", "The named thing does not exist", 4),
        Compacted: ErrorReport("OUT_OF_RANGE", 410, "compacted", "The history was compacted", 4),
        Conflict: ErrorReport("ABORTED", 409, "conflict", "Another writer was first", 5),
        TransactionConflict: ErrorReport(
            "ABORTED", 409, "transaction-conflict", "Something that was read has changed", 5
        ),
        VersionMismatch: ErrorReport(
            "ABORTED", 409, "version-mismatch", "The key has another version", 5
        ),
        TitleTaken: ErrorReport(
            "ALREADY_EXISTS", 409, "title-taken", "Another memory has this title", 5
        ),
        IdempotencyMismatch: ErrorReport(
            "FAILED_PRECONDITION",
            422,
            "idempotency-mismatch",
            "The txn_id is in use",
            5,
        ),
        TransactionClosed: ErrorReport(
            "FAILED_PRECONDITION", 409, "transaction-closed", "The transaction is over", 1
        ),
        TransactionExpired: ErrorReport(
            "DEADLINE_EXCEEDED", 504, "transaction-expired", "The transaction took too long", 1
        ),
        CommitUnknown: ErrorReport(
            "UNKNOWN", 500, "commit-unknown", "The outcome of the commit is unknown", 1
        ),
        LinkCycle: ErrorReport(
            "FAILED_PRECONDITION", 409, "link-cycle", "The link would close a cycle", 1
        ),
        ReflectionTooDeep: ErrorReport(
            "FAILED_PRECONDITION", 409, "reflection-too-deep", "The reflection would be too deep", 1
        ),
        EdgeError: ErrorReport(
            "UNAVAILABLE", 503, "edge-catalog-unreadable", "The edge catalog cannot be read", 1
        ),
        LogForked: ErrorReport(
            "FAILED_PRECONDITION", 409, "log-forked", "The resume token is of another history", 1
        ),
        NotProven: ErrorReport(
            "FAILED_PRECONDITION", 422, "not-proven", "The proof does not hold", 3
        ),
        StoreBusy: ErrorReport("UNAVAILABLE", 503, "store-busy", "The store is busy", 1),
        TooManyRequests: ErrorReport(
            "RESOURCE_EXHAUSTED", 429, "too-many-requests", "The token has reached a limit", 1
        ),
        StoreFull: ErrorReport(
            "RESOURCE_EXHAUSTED", 507, "store-full", "There is no space left", 1
        ),
        StoreReadOnly: ErrorReport(
            "FAILED_PRECONDITION", 409, "store-read-only", "The store cannot be written to", 1
        ),
        StoreClosed: ErrorReport(
            "FAILED_PRECONDITION", 409, "store-closed", "The store is closed", 1
        ),
        UnsupportedFormat: ErrorReport(
            "FAILED_PRECONDITION", 501, "unsupported-format", "A newer Memoranda wrote the store", 1
        ),
        Corruption: ErrorReport("DATA_LOSS", 500, "corruption", "Stored bytes are damaged", 3),
        ChainBroken: ErrorReport("DATA_LOSS", 500, "chain-broken", "The hash chain is broken", 3),
        ViewsDiffer: ErrorReport(
            "DATA_LOSS", 500, "views-differ", "A view differs from the log", 3
        ),
        Unauthenticated: ErrorReport(
            "UNAUTHENTICATED", 401, "unauthenticated", "The caller is unknown", 1
        ),
        PermissionDenied: ErrorReport(
            "PERMISSION_DENIED", 403, "permission-denied", "The caller may not do this", 1
        ),
        Unavailable: ErrorReport(
            "UNAVAILABLE", 503, "unavailable", "The storage does not answer", 1
        ),
        ReplicaBehind: ErrorReport(
            "UNAVAILABLE", 503, "replica-behind", "The replica lacks a commit", 1
        ),
    }
)
"""One row for each class of the tree; `retryable` is on the class, and an error may differ."""


def public_class(kind: type[MemorandaError]) -> type[MemorandaError]:
    """Return the class of the tree that an error class is, or is derived from."""
    return next(base for base in kind.__mro__ if base in ERROR_TABLE)


def report_of(kind: type[MemorandaError]) -> ErrorReport:
    """Return how the errors of a class are reported; one that is not in the tree, as its base."""
    return ERROR_TABLE[public_class(kind)]
