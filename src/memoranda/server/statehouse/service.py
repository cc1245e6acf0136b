"""The service `statehouse.v1.StatehouseService`: its requests as calls, and their answers.

Requests arrive as bytes and are parsed here, so that one that cannot be parsed gets a status in
words like any other. Reads and commits go to the dispatcher; only transactions that are not
committed yet are kept here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from memoranda import __version__
from memoranda.calls import key_writes
from memoranda.calls.grant import Grant
from memoranda.calls.keys import GetState, ListKeys, ScanPrefix
from memoranda.calls.log import Replay
from memoranda.calls.transactions import Begin, Begun, Commit
from memoranda.errors import InvalidInput, MemorandaError
from memoranda.model.event import ReplayEvent
from memoranda.model.limits import Limits
from memoranda.model.operations import OperationType
from memoranda.model.scope import DEFAULT_NAMESPACE
from memoranda.server.statehouse import messages
from memoranda.server.statehouse import statehouse_pb2 as pb
from memoranda.server.statehouse.callers import Callers, StatehouseCaller
from memoranda.server.statehouse.statuses import status_of
from memoranda.server.statehouse.transactions import ServerTransactions, check_timeout
from memoranda.server.statehouse.values import read_document
from memoranda.state.requests import KeyRequest

SERVICE = "statehouse.v1.StatehouseService"
"""The full name of the service, for its paths and for reflection."""
_KINDS = (OperationType.WRITE.value, OperationType.DELETE.value)
"""The kinds of operations that this wire can replay."""
_MAX_REQUEST_BYTES = 8 * 1024 * 1024
"""A value of a mebibyte of JSON is a Struct of at most six; parsing more keeps the event loop."""
_MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""Keys or entries in one answer, which is one message: more are refused, and not collected."""
_MAX_INLINE_BYTES = 32 * 1024
"""Values up to this size are converted in the event loop, mostly in much less than a millisecond:
a thread would have to be waited for. Larger ones are converted in a thread."""
_MAX_INLINE_PARTS = 5_000
"""As above, for a value whose size is not known: its members and items, at all depths."""
_SWEEP_SECONDS = 1.0
"""Time between two looks for transactions that have expired."""
_MIN_TIMEOUT = 0.001
"""Seconds; a commit that has less is as good as too late, and is told so by the store."""
_MAX_COMMIT = 2**63 - 1
"""The largest commit number: databases store no larger integer."""
_EMPTY = b""
"""An answer without fields."""

Request = TypeVar("Request", bound=Message)
Unary = Callable[[bytes, grpc.aio.ServicerContext], Awaitable[bytes]]


class StatehouseService:
    """Answers the requests of Statehouse's clients about one store."""

    def __init__(self, callers: Callers, transactions: ServerTransactions | None = None) -> None:
        self._callers = callers
        self._transactions = transactions or ServerTransactions()
        self._is_sweep_due = False
        """Whether `_sweep` is scheduled in the event loop."""

    @property
    def open_transactions(self) -> int:
        """How many transactions it keeps."""
        return self._transactions.count

    def handlers(self) -> Mapping[str, grpc.RpcMethodHandler]:
        """Return the handler of each method, which take and return bytes."""
        unary = {
            "Health": self._unary(pb.HealthRequest, self._health),
            "Version": self._unary(pb.VersionRequest, self._version),
            "BeginTransaction": self._unary(pb.BeginTransactionRequest, self._begin),
            "Write": self._unary(pb.WriteRequest, self._write),
            "Delete": self._unary(pb.DeleteRequest, self._delete),
            "Commit": self._unary(pb.CommitRequest, self._commit),
            "Abort": self._unary(pb.AbortRequest, self._abort),
            "GetState": self._unary(pb.GetStateRequest, self._get_state),
            "GetStateAtVersion": self._unary(pb.GetStateAtVersionRequest, self._get_at_version),
            "ListKeys": self._unary(pb.ListKeysRequest, self._list_keys),
            "ScanPrefix": self._unary(pb.ScanPrefixRequest, self._scan_prefix),
        }
        handlers = {
            name: grpc.unary_unary_rpc_method_handler(method) for name, method in unary.items()
        }
        handlers["Replay"] = grpc.unary_stream_rpc_method_handler(self._replay)
        return handlers

    async def check_caller(self, context: grpc.aio.ServicerContext) -> None:
        """End a call of somebody who may not call; its message need not have arrived."""
        try:
            self._callers.identify(context, 0)
        except MemorandaError as error:
            await self._refuse(context, error)

    def _unary(
        self,
        kind: type[Request],
        answer: Callable[[StatehouseCaller, Request], Awaitable[bytes]],
    ) -> Unary:
        """Return the handler of a method that answers with one message."""

        async def handle(data: bytes, context: grpc.aio.ServicerContext) -> bytes:
            try:
                caller = self._callers.identify(context, len(data))
                return await answer(caller, _parse(kind, data))
            except MemorandaError as error:
                await self._refuse(context, error)

        return handle

    # The server.

    async def _health(self, caller: StatehouseCaller, _: pb.HealthRequest) -> bytes:
        with caller.admit():
            return _encode(pb.HealthResponse(status="ok"))

    async def _version(self, caller: StatehouseCaller, _: pb.VersionRequest) -> bytes:
        with caller.admit():
            return _encode(pb.VersionResponse(version=__version__))

    # Transactions.

    async def _begin(self, caller: StatehouseCaller, request: pb.BeginTransactionRequest) -> bytes:
        has_timeout = request.HasField("timeout_ms")
        timeout = check_timeout(request.timeout_ms if has_timeout else None)
        self._transactions.check_room(caller.owner)
        begun: Begun = await caller.ask(Begin())
        self._transactions.check_room(caller.owner)  # others may have begun meanwhile
        self._transactions.add(begun.txn_id, caller.owner, begun.limits, timeout)
        self._schedule_sweep()
        return _encode(pb.BeginTransactionResponse(txn_id=begun.txn_id))

    async def _write(self, caller: StatehouseCaller, request: pb.WriteRequest) -> bytes:
        return await self._stage(caller, request, partial(_write_key, request))

    async def _delete(self, caller: StatehouseCaller, request: pb.DeleteRequest) -> bytes:
        return await self._stage(caller, request, partial(_delete_key, request))

    async def _stage(
        self,
        caller: StatehouseCaller,
        request: pb.WriteRequest | pb.DeleteRequest,
        check: Callable[[Grant, Limits], KeyRequest],
    ) -> bytes:
        """Check a request as the commit would, and add it to its transaction."""
        transactions = self._transactions
        with caller.admit():
            work = partial(
                check, caller.grant, transactions.find(request.txn_id, caller.owner).limits
            )
            async with caller.use("write" if isinstance(request, pb.WriteRequest) else "delete"):
                is_small = request.ByteSize() <= _MAX_INLINE_BYTES
                staged = work() if is_small else await asyncio.to_thread(work)
            # It may have ended meanwhile.
            transactions.stage(transactions.find(request.txn_id, caller.owner), staged)
        return _EMPTY

    async def _commit(self, caller: StatehouseCaller, request: pb.CommitRequest) -> bytes:
        """Commit a transaction; after an error it is as before, and can be committed again.

        The log has its `txn_id`, so however often it is committed, it has one effect.
        """
        transactions = self._transactions
        transaction = transactions.find(request.txn_id, caller.owner)
        transaction.is_committing = True
        try:
            if transaction.size <= _MAX_INLINE_BYTES:
                calls = transaction.calls()
            else:
                calls = await asyncio.to_thread(transaction.calls)
            timeout = max(transactions.seconds_left(transaction), _MIN_TIMEOUT)
            call = Commit(calls, txn_id=request.txn_id, is_named=False, timeout=timeout)
            committed = await caller.write(call)
        finally:
            transaction.is_committing = False
        transactions.commit(transaction, committed.commit_ts)
        return _encode(pb.CommitResponse(commit_ts=committed.commit_ts))

    async def _abort(self, caller: StatehouseCaller, request: pb.AbortRequest) -> bytes:
        with caller.admit():
            self._transactions.abort(request.txn_id, caller.owner)
        return _EMPTY

    def _schedule_sweep(self) -> None:
        if not self._is_sweep_due:
            self._is_sweep_due = True
            asyncio.get_running_loop().call_later(_SWEEP_SECONDS, self._sweep)

    def _sweep(self) -> None:
        """Drop abandoned transactions, again and again until there are none."""
        self._is_sweep_due = False
        self._transactions.sweep()
        if not self._transactions.is_empty:
            self._schedule_sweep()

    # Reads.

    async def _get_state(self, caller: StatehouseCaller, request: pb.GetStateRequest) -> bytes:
        call = GetState(request.agent_id, _namespace(request), request.key)
        return await self._get(caller, call)

    async def _get_at_version(
        self, caller: StatehouseCaller, request: pb.GetStateAtVersionRequest
    ) -> bytes:
        call = GetState(request.agent_id, _namespace(request), request.key, request.version)
        return await self._get(caller, call)

    async def _get(self, caller: StatehouseCaller, call: GetState) -> bytes:
        record = await caller.ask(call)
        if record is None or messages.has_few_parts(record.value, _MAX_INLINE_PARTS):
            encoded = messages.encode_state(record)
        else:
            encoded = await asyncio.to_thread(messages.encode_state, record)
        caller.count_answer(len(encoded))
        return encoded

    async def _list_keys(self, caller: StatehouseCaller, request: pb.ListKeysRequest) -> bytes:
        call = ListKeys(request.agent_id, _namespace(request))
        return await self._collect(caller, call, messages.encode_keys, "agent_id")

    async def _scan_prefix(self, caller: StatehouseCaller, request: pb.ScanPrefixRequest) -> bytes:
        call = ScanPrefix(request.agent_id, _namespace(request), request.prefix)
        return await self._collect(caller, call, messages.encode_entries, "prefix")

    async def _collect(
        self,
        caller: StatehouseCaller,
        call: ListKeys | ScanPrefix,
        encode: Callable[[Any], bytes],
        field: str,
    ) -> bytes:
        """Return a whole listing as one message."""
        parts, size = [], 0
        async with caller.pages(call) as stream:
            async for items in stream:
                part = await asyncio.to_thread(encode, items)
                parts.append(part)
                size += len(part)
                await stream.throttle(len(part))
                if size > _MAX_ANSWER_BYTES:
                    raise InvalidInput(
                        field,
                        f"selects over {_MAX_ANSWER_BYTES} bytes, the most that one answer has: "
                        "scan with longer prefixes",
                    )
        return b"".join(parts)

    async def _replay(self, data: bytes, context: grpc.aio.ServicerContext) -> None:
        """Send the events, one a message, as fast as the client takes them."""
        try:
            caller = self._callers.identify(context, len(data))
            call = _replay_call(_parse(pb.ReplayRequest, data))
            async with caller.pages(call) as stream:
                async for events in stream:
                    # Many are encoded together: one at a time, between two sends, would take
                    # several times as long, since the processor's caches have other code then.
                    for part in messages.parts_of(events, _MAX_INLINE_BYTES):
                        batch = await _encode_events(part)
                        for message in batch:
                            await context.write(message)
                        await stream.throttle(sum(map(len, batch)))
        except MemorandaError as error:
            await self._refuse(context, error)

    async def _refuse(self, context: grpc.aio.ServicerContext, error: MemorandaError) -> NoReturn:
        self._callers.traffic.count_error(error)
        await context.abort(*status_of(error))
        raise AssertionError("abort raises")


async def _encode_events(events: Sequence[ReplayEvent]) -> list[bytes]:
    if len(events) > 1 or messages.size_of(events[0]) <= _MAX_INLINE_BYTES:
        return messages.encode_events(events)
    return await asyncio.to_thread(messages.encode_events, events)


def _encode(answer: Message) -> bytes:
    data: bytes = answer.SerializeToString()
    return data


def _parse(kind: type[Request], data: bytes) -> Request:
    if len(data) > _MAX_REQUEST_BYTES:
        raise InvalidInput(
            "request", f"has {len(data)} bytes, and the limit of this wire is {_MAX_REQUEST_BYTES}"
        )
    try:
        request: Request = kind.FromString(data)
    except DecodeError as error:
        raise InvalidInput(
            "request",
            f"is no {kind.DESCRIPTOR.name}: it is cut off, has text that is no UTF-8, or is nested "
            "too deeply",
        ) from error
    return request


def _write_key(request: pb.WriteRequest, grant: Grant, limits: Limits) -> KeyRequest:
    if not request.HasField("value"):
        raise InvalidInput("value", "is missing: give an object; delete the key to remove it")
    value = read_document(request.value)
    call = key_writes.Write(request.agent_id, _namespace(request), request.key, value)
    staged = key_writes.write_request(grant, call, limits)
    assert staged is not None, "it cites no words, which would have to be looked up"
    return staged


def _delete_key(request: pb.DeleteRequest, grant: Grant, limits: Limits) -> KeyRequest:
    call = key_writes.Delete(request.agent_id, _namespace(request), request.key)
    return key_writes.delete_request(grant, call, limits)


def _namespace(request: Any) -> str:
    """Return the namespace of a request; clients may leave the default one out."""
    return request.namespace or DEFAULT_NAMESPACE


def _replay_call(request: pb.ReplayRequest) -> Replay:
    """Return the replay of a request, whose first and last commits are both included."""
    first = request.start_ts if request.HasField("start_ts") else 0
    last = request.end_ts if request.HasField("end_ts") else _MAX_COMMIT
    return Replay(
        request.agent_id,
        _namespace(request),
        after_commit=min(max(first - 1, 0), _MAX_COMMIT),
        through_commit=min(last, _MAX_COMMIT),
        kinds=_KINDS,
    )
