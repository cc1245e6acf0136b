"""Transactions as data: begin one, read inside it, and commit it.

A client stages calls and sends them with the commit. The store stages them again with its own
checks, and decides. It keeps nothing between two calls. Ids derive from the `txn_id`, so both sides
agree on them, and a commit that is sent again has one effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Self

import msgspec
from msgspec.structs import replace

from memoranda.calls import (
    fact_writes,
    key_writes,
    link_writes,
    memory_writes,
    transcript_writes,
)
from memoranda.calls.call import Call, Handlers, Shape, WriteCall, call_name
from memoranda.calls.core import TIMEOUT, Core
from memoranda.calls.grant import Grant
from memoranda.calls.open_transaction import OpenTransaction
from memoranda.calls.within import read_within
from memoranda.calls.write import WriteHandler, Writes, Written
from memoranda.errors import InvalidInput
from memoranda.graph.requests import TimelineRead
from memoranda.log import pages
from memoranda.log.commit.outcome import CommitResult, Committed
from memoranda.log.commit.staged_transaction import Beginning
from memoranda.log.commit.transaction_signature import Signing
from memoranda.log.pages import Pages
from memoranda.memory import snapshots
from memoranda.memory.requests import LinksRead, MemoryRead, TitleKey
from memoranda.model.clock import to_datetime
from memoranda.model.limits import Limits, check_integer, check_items, short_repr
from memoranda.state.requests import KeyRead, PrefixRead

PlainRead = dict[str, Any]
"""A tracked read as plain data: its fields, and its type as `read`."""


class Begun(msgspec.Struct, frozen=True):
    """The beginning of a transaction, and the values that its caller needs for staging."""

    txn_id: str
    actor: str
    since: int
    """The commit that its reads are as of."""
    era: int
    """A part of the ids that it derives."""
    limits: Limits
    is_named: bool
    """Whether the caller chose the `txn_id`, to send the transaction again after any failure."""
    log_id: str
    """The log that it is a transaction of."""


class Begin(Call[Begun], frozen=True):
    """Begin a transaction."""

    verb = "write"
    obeys_grants = True

    txn_id: str | None = None


class CommittedTransaction(msgspec.Struct, frozen=True):
    """The commit of a transaction."""

    commit_ts: int
    """Its number; if the transaction changed nothing, the last commit."""
    committed_at: datetime
    txn_id: str
    changed: bool
    """Whether it made that commit, now or when it was sent before."""
    ids: tuple[str | None, ...] = ()
    """The id that each of its calls has made, if it made one."""


class Commit(WriteCall[CommittedTransaction], frozen=True):
    """Commit calls as one event, or not at all."""

    calls: tuple[WriteCall[Any], ...]
    since: int | None = None
    """The commit that its reads are as of; None: now."""
    era: int = 0
    """A part of the ids that it derives, as it was told when it began."""
    is_named: bool = True
    """Whether its caller chose the `txn_id`: then it is recorded, also if it changes nothing."""
    reads: tuple[PlainRead, ...] = ()
    """The tracked reads: if the answer of one has changed, the commit is a conflict."""
    timeout: float = TIMEOUT
    """Seconds from here until it is decided."""

    @property
    def looks_up(self) -> bool:
        """Whether staging it may take long."""
        return True

    def signed_part(self) -> Self:
        """Return it without the timeout, which a server shortens to that of the connection."""
        return replace(self, signature=None, timeout=TIMEOUT)


class AnsweredWithin(msgspec.Struct, frozen=True):
    """The answer of a read inside a transaction, and the tracked reads."""

    answer: Any
    reads: tuple[PlainRead, ...]


class AskWithin(Call[AnsweredWithin], frozen=True):
    """Read inside a transaction: as of its beginning, with the calls staged so far on top."""

    needs_primary = True

    txn_id: str
    since: int
    era: int
    calls: tuple[WriteCall[Any], ...]
    read: Call[Any]
    is_named: bool = True
    """Whether the caller chose the `txn_id`: a part of how ids are derived from it."""


class ListWithin(Call[Any], frozen=True):
    """List inside a transaction, in pages; a scan tracks its prefix."""

    needs_primary = True
    shape = "pages"

    txn_id: str
    since: int
    era: int
    calls: tuple[WriteCall[Any], ...]
    read: Call[Any]
    is_named: bool = True
    """Whether the caller chose the `txn_id`: a part of how ids are derived from it."""


def begin(core: Core, grant: Grant, call: Begin) -> Begun:
    """Return the beginning of a new transaction."""
    txn_id = core.ids.unique() if call.txn_id is None else call.txn_id
    draft = core.draft(grant.acting(None), TIMEOUT, txn_id)
    start, is_named = draft.beginning, call.txn_id is not None
    return Begun(
        draft.txn_id,
        draft.actor,
        start.commit_ts,
        start.era,
        core.limits,
        is_named,
        core.log_id,
    )


def ask_within(core: Core, grant: Grant, call: AskWithin) -> AnsweredWithin:
    """Return the answer, and the reads to send with the commit."""
    read = _check_shape(call.read, "value", "list_within")
    transaction = _staged(core, grant, call)
    answer = read_within(core, transaction, read)
    return AnsweredWithin(answer, plain_reads(transaction))


def list_within(core: Core, grant: Grant, call: ListWithin) -> Pages[Any]:
    """Return the pages."""
    read = _check_shape(call.read, "pages", "ask_within")
    pages: Pages[Any] = read_within(core, _staged(core, grant, call), read)
    return pages


def _check_shape(read: object, shape: Shape, other: str) -> Call[Any]:
    """Return a read whose answer has this shape; `other` is the call for those of another."""
    if not isinstance(read, Call):
        raise InvalidInput("read", f"{short_repr(read)} is not a call")
    if read.shape != shape:
        name = call_name(type(read))
        raise InvalidInput("read", f"{name} does not answer with {shape}: send it with `{other}`")
    return read


def _staged(core: Core, grant: Grant, call: AskWithin | ListWithin) -> OpenTransaction:
    beginning = Beginning(call.since, check_era(call.era))
    draft = core.draft(
        grant.acting(None),
        TIMEOUT,
        call.txn_id,
        since=beginning,
        records_no_change=bool(call.is_named),
    )
    transaction = OpenTransaction.of(core, grant, draft)
    transaction.is_staged_again = True
    stage_calls(transaction, call.calls)
    return transaction


def open_commit(core: Core, grant: Grant, signing: Signing | None, call: Commit) -> OpenTransaction:
    """Return the transaction of a commit, with what it has read."""
    beginning = None if call.since is None else Beginning(call.since, check_era(call.era))
    draft = core.draft(
        grant.acting(None),
        call.timeout,
        call.txn_id,
        signing,
        beginning,
        records_no_change=bool(call.is_named),
    )
    if beginning is not None:
        draft.begin()
    for plain in check_items("reads", call.reads):
        read = _covered_read(core, grant, check_read(plain))
        if read is not None:
            draft.track(read)
    transaction = OpenTransaction.of(core, grant, draft)
    transaction.is_staged_again = beginning is not None
    return transaction


def _covered_read(core: Core, grant: Grant, read: msgspec.Struct) -> msgspec.Struct | None:
    """Return a tracked read of data that the caller may see; None if its answer never changes."""
    if grant.covers_everything:
        return read
    coverage = grant.coverage
    if isinstance(read, (MemoryRead, LinksRead)):
        with core.engine.reading() as reader:
            head = pages.head_commit(reader)
            memory = snapshots.find_one(reader, read.memory_id, head, viewer=grant.actor)
            return None if memory is None else read
    if isinstance(read, TitleKey):
        covers_owner = not read.owner or coverage.covers_agent(read.owner)
        return read if covers_owner and coverage.covers_namespace(read.namespace) else None
    assert isinstance(read, (KeyRead, PrefixRead, TimelineRead)), "these are all"
    namespace, agent_id = read.scope.namespace, read.scope.agent_id
    if isinstance(read, TimelineRead) and coverage.covers_namespace(namespace):
        is_own = coverage.covers_agent(agent_id) and grant.actor in (None, agent_id)
        return read if is_own else replace(read, public_only=True)
    return read if coverage.covers(namespace, agent_id) else None


def check_era(era: object) -> int:
    """Return the era that a caller was told."""
    return check_integer("era", era, minimum=0)


STAGED: Writes = MappingProxyType(
    {
        **key_writes.WRITES,
        **memory_writes.WRITES,
        **link_writes.WRITES,
        **transcript_writes.WRITES,
        **fact_writes.WRITES,
    }
)
"""The writes that a transaction can stage with others."""
_STAGE: Mapping[type, Callable[[OpenTransaction, Any], str | None]] = {
    kind: handler.stage for kind, handler in STAGED.items() if handler.stage is not None
}


def stage(transaction: OpenTransaction, call: object) -> str | None:
    """Stage one call, and return the id of what it makes, if it has one."""
    stage_kind = _STAGE.get(type(call))
    if stage_kind is None or not isinstance(call, WriteCall):
        raise InvalidInput("calls", f"{short_repr(call)} is no call that a transaction can stage")
    if call.txn_id is not None:
        raise InvalidInput("txn_id", "is given for a part of a transaction: give it to the commit")
    if call.signature is not None:
        raise InvalidInput("signature", "is of a part of a transaction: sign the commit")
    transaction.grant.check_verb(call.verb)
    item_id = stage_kind(transaction, call)
    transaction.note_staged(call)
    return item_id


def stage_calls(transaction: OpenTransaction, calls: object) -> None:
    """Stage the calls of a transaction."""
    for call in check_items("calls", calls):
        transaction.item_ids.append(stage(transaction, call))


def _stage_commit(transaction: OpenTransaction, call: Commit) -> None:
    stage_calls(transaction, call.calls)


def _answer_commit(core: Core, _: Commit, written: Written) -> CommittedTransaction:
    assert written.transaction is not None, "a commit has a transaction"
    return describe_commit(core, written.transaction, written.committed.result)


def describe_commit(
    core: Core, transaction: OpenTransaction, result: CommitResult
) -> CommittedTransaction:
    """Return the commit of a transaction; only that of a retry, or of no change, is read."""
    draft, applied, ids = transaction.draft, result.applied, tuple(transaction.item_ids)
    if applied is not None:
        time = to_datetime(applied.committed_at)
        return CommittedTransaction(applied.commit_ts, time, draft.txn_id, True, ids)
    committed = Committed(result, draft.txn_id, draft.actor, draft.actor)
    with core.engine.reading() as reader:
        time, changed = to_datetime(result.time(reader)), committed.is_own(reader)
    return CommittedTransaction(result.commit_ts, time, draft.txn_id, changed, ids)


# Tracked reads as plain data.

_READ_TYPES: Mapping[str, type[msgspec.Struct]] = MappingProxyType(
    {
        kind.__name__: kind
        for kind in (KeyRead, PrefixRead, MemoryRead, TitleKey, LinksRead, TimelineRead)
    }
)


def plain_reads(transaction: OpenTransaction) -> tuple[PlainRead, ...]:
    """Return the tracked reads of a transaction as plain data."""
    return tuple(
        {"read": type(read).__name__, **msgspec.to_builtins(read)}
        for read in transaction.draft.reads
    )


def check_read(read: object) -> msgspec.Struct:
    """Return a tracked read from plain data."""
    name = read.get("read") if isinstance(read, Mapping) else None
    kind = _READ_TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InvalidInput("reads", f"{short_repr(read)} is no read of a transaction")
    try:
        return msgspec.convert(read, kind)
    except msgspec.ValidationError as error:
        raise InvalidInput("reads", f"{short_repr(read)} is not understood: {error}") from error


HANDLERS: Handlers = {Begin: begin, AskWithin: ask_within, ListWithin: list_within}
WRITES: Writes = {
    Commit: WriteHandler(
        _stage_commit,
        _answer_commit,
        open=open_commit,
        answer_from_memory=_answer_commit,  # what was just applied is read nowhere
    )
}
