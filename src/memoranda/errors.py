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
    ├── StoreFull                no space left where the store lives
    ├── StoreReadOnly            the store cannot be written to
    ├── StoreClosed              the handle was closed
    ├── UnsupportedFormat        the store was written by a newer Memoranda
    ├── Corruption               stored bytes are not what was written
    │   ├── ChainBroken            the hash chain breaks at a commit
    │   └── ViewsDiffer            a view differs from the log
    └── Unavailable              the storage does not answer

An error without a message has its docstring as its message, which names the remedy. Foreign errors
are translated where they enter (`storage/<engine>`); the original is the cause.
"""

from __future__ import annotations

import inspect
from copy import copy
from typing import Self


class MemorandaError(Exception):
    """Something went wrong in Memoranda."""

    retryable = False
    position: int | None = None
    """Which of a transaction's requests was refused, if one was."""

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

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class NotFound(MemorandaError):
    """The named thing does not exist."""

    def __init__(self, problem: str | None = None, *, field: str | None = None) -> None:
        super().__init__(problem if field is None else f"{field}: {problem}")
        self.field = field
        """The argument that names it, where one does."""
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

    def __init__(self, message: str | None = None, *, commit_ts: int | None = None) -> None:
        super().__init__(message)
        self.commit_ts = commit_ts
        """The commit that has this txn_id."""


class TransactionClosed(MemorandaError):
    """This transaction has been committed or aborted. Begin a new one."""


class TransactionExpired(MemorandaError):
    """This transaction's timeout has passed and nothing was written. Begin a new one."""


class CommitUnknown(MemorandaError):
    """The storage failed while committing. Commit again with the same txn_id to find out."""

    def __init__(self, txn_id: str) -> None:
        super().__init__(
            f"the storage failed while transaction {txn_id!r} was being committed: commit the "
            "same operations again with this txn_id to learn whether it is in the log"
        )
        self.txn_id = txn_id


class LinkCycle(MemorandaError):
    """This link would lead back to where it starts. Leave it out, or unlink one on the way."""

    def __init__(self, relation: str, path: tuple[str | None, ...]) -> None:
        way = " → ".join("(not yours to see)" if step is None else step for step in path)
        super().__init__(
            f"a {relation} link would close the cycle {way}: leave it out, or unlink one on the way"
        )
        self.relation = relation
        self.path = path
        """The memories of the cycle; None for one that the caller may not see."""


class ReflectionTooDeep(MemorandaError):
    """Reflections would rest on reflections past what the namespace allows.

    Reflect on what lies below, or allow more with `configure(max_reflection_depth=…)`.
    """

    def __init__(
        self, namespace: str, depth: int, limit: int, memory_ids: tuple[str, ...] = ()
    ) -> None:
        super().__init__(
            f"a reflection in {namespace!r} would have depth {depth}, and the limit is {limit}: "
            "reflect on what lies below, or allow more with configure(max_reflection_depth=…)"
        )
        self.namespace = namespace
        self.depth = depth
        self.limit = limit
        self.memory_ids = memory_ids
        """The memories of the chain of reflections, as far as they have ids."""


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

    def __init__(self, message: str | None = None, *, commit_ts: int | None = None) -> None:
        super().__init__(message)
        self.commit_ts = commit_ts
        """The commit whose signature does not hold, if the error is about one."""


class StoreBusy(MemorandaError):
    """Another process holds the store's write lock. Try again shortly."""

    retryable = True


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
        """The size of the last valid checkpoint before it, if the store has one."""


class ViewsDiffer(Corruption):
    """What is read is not what the log says, though the log is whole."""

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
        """The first columns of the row that differs, by their names."""
        self.commit_ts = commit_ts
        """The commit of the row, if it has one."""


class Compacted(NotFound):
    """What is asked about was summed up, and is known only from a commit on."""

    def __init__(self, horizon: int, detail: str) -> None:
        super().__init__(f"{detail}: the log is summed up to commit {horizon}, ask from there on")
        self.horizon = horizon


class Unavailable(MemorandaError):
    """The storage does not answer. Check that it is reachable and try again."""

    retryable = True
