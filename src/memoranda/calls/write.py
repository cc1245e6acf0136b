"""Writes: how a call that writes is staged, committed and answered.

A handler of a write has two parts. `stage` checks the arguments and stages requests, alone or in a
transaction with others. Once they are committed, `answer` returns their effect. Between the two, a
carrier commits: in this thread, or without keeping an event loop waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from memoranda.calls.call import WriteCall
from memoranda.calls.core import TIMEOUT, Core, all_views
from memoranda.calls.grant import Grant
from memoranda.calls.open_transaction import OpenTransaction
from memoranda.errors import (
    InvalidInput,
    LinkCycle,
    MemorandaError,
    NotFound,
    ReflectionTooDeep,
)
from memoranda.log.commit import idempotency
from memoranda.log.commit.outcome import CommitResult, Committed
from memoranda.log.commit.staged_transaction import Request
from memoranda.log.commit.transaction_signature import Signing
from memoranda.log.erasure.log_search import LogSearch
from memoranda.log.read.visibility import hidden_refs
from memoranda.log.views import Commit
from memoranda.model.erasure import Forget
from memoranda.model.limits import Limits, check_text, renamed
from memoranda.model.operations import AnyOperation, Erase
from memoranda.model.receipt import Outcome, Receipt
from memoranda.model.refs import MemoryRef

Answer = TypeVar("Answer")
Chained: TypeAlias = LinkCycle | ReflectionTooDeep
"""An error about a chain of links, which may include memories that the caller may not see."""


class WriteHandler(msgspec.Struct, frozen=True):
    """The functions that serve one kind of write."""

    stage: Callable[[OpenTransaction, Any], str | None] | None
    """`stage(transaction, call)` stages the call, and returns the id of the new item, if any. None:
    the call cannot be part of a transaction."""
    answer: Callable[[Core, Any, Written], Any]
    """`answer(core, call, written)` answers it, once it is committed alone."""
    request: Callable[[Grant, Any, Limits], msgspec.Struct | None] | None = None
    """`request(grant, call, limits)` returns the one request of a call that reads nothing and gives
    out no ids; None if this one does. Such a call needs no transaction."""
    arguments: Mapping[str, str] = {}
    """Field of that request -> the caller's argument, where they differ, for errors."""
    answer_from_memory: Callable[[Core, Any, Written], Any] | None = None
    """Answers without a read, if the committed operations are enough; otherwise returns None."""
    open: Callable[[Core, Grant, Signing | None, Any], OpenTransaction] | None = None
    """Opens the transaction of a call that brings its own beginning."""
    search: Callable[[Core, Core, Grant, Any], tuple[Forget, LogSearch]] | None = None
    """`search(core, covered, grant, call)` returns the request of an erasure, and the result of the
    search before it. The target is covered; operations that name the target may not be."""


Writes: TypeAlias = Mapping[type[WriteCall[Any]], WriteHandler]
"""The handler of each kind of write."""


class Written(msgspec.Struct, frozen=True):
    """A committed write, and the result of staging it."""

    committed: Committed
    whole: Core
    """The whole store, regardless of the grant; answers are read from its covered part."""
    item_id: str | None = None
    """The id of the new item, if there is one."""
    transaction: OpenTransaction | None = None
    """The transaction that it was staged in; None if it needed none."""


class StagedWrite(Generic[Answer]):
    """A write of its own that is staged, and not committed yet.

    `covered` is the part of the store that the caller's grant covers. Staging and the answer read
    only that part. The commit decides on the whole store, so every item that a request names is
    first looked up in the covered part. Ids and scopes never change, so the result stays valid
    until the commit.

    `is_named` says whether the caller chose the `txn_id`, so that it may repeat the call at any
    time. Such a call is recorded even if it changes nothing. A client that repeats a call after a
    lost connection uses an id of its own, which is recorded only with a change.
    """

    def __init__(
        self,
        core: Core,
        covered: Core,
        grant: Grant,
        signing: Signing | None,
        handler: WriteHandler,
        call: WriteCall[Answer],
        *,
        is_named: bool = True,
    ) -> None:
        self._core = core
        self._covered = covered
        self._grant = grant
        self._handler = handler
        self._call = call
        self._is_named = is_named
        self._transaction: OpenTransaction | None = None
        self._item_id: str | None = None
        self.request: Request = self._stage(signing)

    def _stage(self, signing: Signing | None) -> Request:
        core, grant, handler, call = self._core, self._grant, self._handler, self._call
        actor = grant.acting(None)
        if handler.request is not None:
            staged = handler.request(grant, call, core.limits)
            if staged is not None:
                request = core.request(
                    actor, staged, call.txn_id, signing, records_no_change=self._is_named
                )
                return request if self._covered is core else self._checked(request)
        if handler.search is not None:
            erasure, search = handler.search(core, self._covered, grant, call)
            return core.request(
                actor, erasure, call.txn_id, signing, search, records_no_change=self._is_named
            )
        if handler.open is None:
            draft = core.draft(actor, TIMEOUT, call.txn_id, signing)
            self._transaction = OpenTransaction.of(self._covered, grant, draft)
        else:
            self._transaction = handler.open(self._covered, grant, signing, call)
        if not self._is_named:
            self._transaction.draft.records_no_change = False
        if handler.stage is not None:  # else it was staged when it was opened
            self._item_id = handler.stage(self._transaction, call)
        request = self._transaction.draft.request()
        return request if self._covered is core else self._checked(request)

    def _checked(self, request: Request) -> Request:
        """Return a request, if the caller's grant covers all that it names."""
        error = missing_in(self._covered, request)
        if error is not None and not is_retry(self._core, self._grant, self._call.txn_id):
            raise self.named_by_caller(error)
        return request

    @property
    def has_transaction(self) -> bool:
        """Whether it was staged in a transaction, and may be large."""
        return self._transaction is not None

    def named_by_caller(self, error: InvalidInput | NotFound) -> InvalidInput | NotFound:
        """Return an error of the commit under the name of the argument that the caller used."""
        if self._transaction is not None:
            return self._transaction.draft.named_by_caller(error)
        return renamed(error, self._handler.arguments)

    def masked(self, error: Chained) -> Chained:
        """Return an error about a chain of links, without the memories that are not covered."""
        if self._covered is self._core:
            return error
        return mask_chain(self._covered, error)

    def written(self, result: CommitResult) -> Written:
        """Return the committed write."""
        request = self.request
        viewer = self._grant.acting(getattr(self._call, "agent_id", None))
        committed = Committed(result, request.txn_id, request.actor, viewer)
        return Written(committed, self._core, self._item_id, self._transaction)

    def answer_from_memory(self, result: CommitResult) -> Answer | None:
        """Return the answer if it needs no read; else None."""
        answer = self._handler.answer_from_memory
        if answer is None or result.applied is None:
            return None
        quick: Answer | None = answer(self._covered, self._call, self.written(result))
        return quick

    def answer(self, result: CommitResult) -> Answer:
        """Return the answer.

        Its errors are not retryable, since a retry would commit the write twice.
        """
        try:
            answer: Answer = self._handler.answer(self._covered, self._call, self.written(result))
        except MemorandaError as error:
            error.retryable = False
            raise
        return answer


def missing_in(covered: Core, request: Request) -> NotFound | None:
    """Return the error of a request that names something which is not covered, or not there."""
    with covered.engine.snapshot() as reader:
        return all_views().first_missing(reader, request.staged)


def is_retry(core: Core, grant: Grant, txn_id: str | None) -> bool:
    """Say whether the log has a transaction of the caller's that did something covered.

    The items that it named may be gone since, by that very transaction. An erasure does not record
    the scope it was made in.
    """
    if txn_id is None:
        return False
    name = check_text("txn_id", txn_id, max_bytes=core.limits.txn_id_bytes)
    with core.engine.snapshot() as reader:
        commit_ts = idempotency.commit_of(reader, name, grant.acting(None))
        if commit_ts is None:
            return False
        return any(
            isinstance(operation, Erase) or grant.coverage.covers_namespace(operation.namespace)
            for operation in Commit.load(reader, commit_ts).operations
        )


def mask_chain(covered: Core, error: Chained) -> Chained:
    """Return the error of a chain of links with its covered memories only."""
    with covered.engine.snapshot() as reader:
        assert reader.coverage is not None, "the store is covered in part"
        if isinstance(error, LinkCycle):
            steps = [None if name is None else MemoryRef(name) for name in error.path]
            hidden = hidden_refs(reader, filter(None, steps), None)
            path = (None if ref is None or ref in hidden else ref.memory_id for ref in steps)
            return LinkCycle(error.relation, tuple(path))
        if error.namespace is None or reader.coverage.covers_namespace(error.namespace):
            return error
    return ReflectionTooDeep(None, None, None, error.memory_ids)


class StagedTransaction:
    """A transaction that its caller has staged, and that is not committed yet."""

    def __init__(self, transaction: OpenTransaction) -> None:
        self._draft = transaction.draft
        self.request: Request = self._draft.request()

    def named_by_caller(self, error: InvalidInput | NotFound) -> InvalidInput | NotFound:
        """Return an error of the commit under the name of the argument that the caller used."""
        return self._draft.named_by_caller(error)

    def masked(self, error: Chained) -> Chained:
        """Return the error as it is: a caller in this process may see all memories of a chain."""
        return error


def receipts(
    outcome: Outcome, *kinds: type[AnyOperation]
) -> Callable[[Core, Any, Written], Receipt]:
    """Return an answer that is a receipt: unchanged if no operation of these kinds was written."""

    def answer(core: Core, _: WriteCall[Receipt], written: Written) -> Receipt:
        committed = written.committed
        with core.engine.reading() as reader:
            has_effect = any(isinstance(part, kinds) for part in committed.own_operations(reader))
            return Receipt(**committed.answer(reader, outcome if has_effect else "unchanged"))

    return answer
