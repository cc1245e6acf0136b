"""Calls that write and delete keys."""

from __future__ import annotations

from typing import Self

from memoranda.calls.call import WriteCall
from memoranda.calls.core import Core
from memoranda.calls.grant import Grant
from memoranda.calls.open_transaction import OpenTransaction, check_own_spans
from memoranda.calls.requests import check_refs, delete_key, write_key
from memoranda.calls.write import WriteHandler, Writes, Written
from memoranda.model.document import Document
from memoranda.model.limits import WIDEST, Limits
from memoranda.model.receipt import Receipt
from memoranda.model.refs import Ref, TranscriptRef
from memoranda.model.scope import Scope
from memoranda.state.receipts import cached_receipt, read_receipt
from memoranda.state.requests import DeleteKey, WriteKey


class Write(WriteCall[Receipt], frozen=True):
    """Write a key."""

    agent_id: str
    namespace: str
    key: str
    value: Document
    expect_version: int | None = None
    """Makes it a compare-and-set; 0 expects no value."""
    because: tuple[Ref, ...] | Ref = ()
    """What the value rests on. A key without a scope is in the scope of the call."""

    def plain(self) -> Self:
        """Return the call with plain references, if it has references."""
        scope = Scope(self.namespace, self.agent_id)
        refs = check_refs("because", self.because, scope, WIDEST)
        for index, ref in enumerate(refs):
            if isinstance(ref, TranscriptRef):
                check_own_spans(ref, f"because[{index}].spans")
        return self

    @property
    def looks_up(self) -> bool:
        """Whether it cites words of a transcript."""
        because = self.because
        if type(because) is tuple:
            return bool(because) and any(isinstance(ref, TranscriptRef) for ref in because)
        return isinstance(because, TranscriptRef)


class Delete(WriteCall[Receipt], frozen=True):
    """Delete a key, which is a version of its own, also where there is no value."""

    agent_id: str
    namespace: str
    key: str
    expect_version: int | None = None


def write_request(grant: Grant, call: Write, limits: Limits) -> WriteKey | None:
    """Return the request of a write that cites no words of a transcript."""
    scope = grant.scope(call.namespace, call.agent_id, limits, writing=True)
    refs = check_refs("because", call.because, scope, limits)
    if refs and any(isinstance(ref, TranscriptRef) for ref in refs):
        return None
    return write_key(limits, scope, call.key, call.value, call.expect_version, refs)


def stage_write(transaction: OpenTransaction, call: Write) -> None:
    """Stage a write."""
    limits, scope = transaction.limits, transaction.owner(call.namespace, call.agent_id)
    refs = check_refs("because", call.because, scope, limits)
    if refs:
        refs = tuple(
            transaction.check_quotation(ref, field=f"because[{index}].spans")
            if isinstance(ref, TranscriptRef)
            else ref
            for index, ref in enumerate(refs)
        )
    transaction.add_key(write_key(limits, scope, call.key, call.value, call.expect_version, refs))


def delete_request(grant: Grant, call: Delete, limits: Limits) -> DeleteKey:
    """Return the request of a deletion."""
    scope = grant.scope(call.namespace, call.agent_id, limits, writing=True)
    return delete_key(limits, scope, call.key, call.expect_version)


def stage_delete(transaction: OpenTransaction, call: Delete) -> None:
    """Stage a deletion."""
    transaction.draft.check()
    transaction.add_key(delete_request(transaction.grant, call, transaction.limits))


def _answer_from_memory(core: Core, _: Write | Delete, written: Written) -> Receipt | None:
    """Return the receipt without a read, unless the batch has other writes of the key."""
    commit = written.committed.result.applied
    return None if commit is None else cached_receipt(core.heads, commit)


def _answer(core: Core, _: Write | Delete, written: Written) -> Receipt:
    with core.engine.reading() as reader:
        return read_receipt(reader, written.committed.result.load(reader))


WRITES: Writes = {
    Write: WriteHandler(
        stage_write, _answer, write_request, answer_from_memory=_answer_from_memory
    ),
    Delete: WriteHandler(
        stage_delete, _answer, delete_request, answer_from_memory=_answer_from_memory
    ),
}
