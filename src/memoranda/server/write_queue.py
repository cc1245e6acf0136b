"""The writes of one client that come in batches: staged in their order, committed together.

All writes of a batch are staged and queued before the next batch is, so that writes to one key are
decided in the order in which they came. Nothing waits for a commit before the next one is queued:
they share the sync of a group commit. Outcomes come in any order.

An outcome is encoded as soon as it is known, so that its bytes count. While many of them are
unsent, no more answers are read: a client that does not read its outcomes makes no memory grow.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any

import msgspec

from memoranda.calls.call import WriteCall, call_name
from memoranda.calls.core import Core
from memoranda.calls.grant import EVERYTHING
from memoranda.calls.registry import may_read_to_stage, stage_write
from memoranda.calls.write import StagedWrite
from memoranda.errors import MemorandaError
from memoranda.log.commit.outcome import CommitResult
from memoranda.model.trace import TraceContext, Tracing
from memoranda.sdk.local.async_calls import AsyncLocalCalls
from memoranda.sdk.local.submitted_writes import SubmittedWrite
from memoranda.sdk.spans import CallSpan
from memoranda.server.dispatcher import Caller, Dispatcher
from memoranda.server.folders import without_folders
from memoranda.server.metering import Admission
from memoranda.server.stores import OpenStore
from memoranda.wire.batches import write_outcomes

MAX_WRITES = 4096
"""Writes of a client that may be in flight: accepted, and not answered yet. A batch has no more."""
MAX_BYTES = 16 * 1024 * 1024
"""Bytes of their requests, and bytes of unsent outcomes: a bound on memory. A single batch or
outcome may have more."""
OUTCOME_BYTES = 1024 * 1024
"""Bytes of a message with outcomes; a larger outcome is a message of its own."""

_STAGED_AT_ONCE = 64
"""Writes of a batch that are staged in one turn of the event loop: some milliseconds, after which
the calls of other clients have their turn."""
_READ_AT_ONCE = 16
"""Answers that are read together, in one turn of a thread: each may be some hundred kilobytes."""


class QueuedWrite(msgspec.Struct, frozen=True):
    """A write, with the number that its client gave it."""

    number: int
    caller: Caller
    call: WriteCall[Any]
    is_named: bool
    trace: TraceContext | None = None
    """The trace that its client says it belongs to."""


class OutcomeMessage(msgspec.Struct, frozen=True):
    """The outcomes of some writes, encoded as one message."""

    data: bytes
    count: int


class WriteQueue:
    """The writes of one client, from when they are taken until their outcomes are sent."""

    def __init__(self, dispatcher: Dispatcher, caller: Caller, admission: Admission) -> None:
        self._dispatcher = dispatcher
        self._caller = caller
        self._admission = admission
        self._tasks: set[asyncio.Task[None]] = set()
        """One for each batch whose outcomes are not all known."""
        self._outcomes: deque[bytes] = deque()
        """Outcomes that nobody has taken yet, each encoded as a message of its own: joined, they
        are one message with all of them."""
        self._outcome_bytes = 0
        """Bytes of outcomes that are not sent."""
        self._changed = asyncio.Event()
        """Set when there are outcomes, when room was made, or when a batch has failed."""
        self._writes = 0
        self._bytes = 0
        """Bytes of requests that have no outcome yet."""
        self.reading = asyncio.Lock()
        """Held by the batch whose answers are being read: all could find room at the same time."""
        self._failure: BaseException | None = None
        """A defect that ended a batch without outcomes: the client has to send it again."""

    # Taking writes.

    async def put(
        self,
        store: str,
        writes: Sequence[QueuedWrite],
        size: int,
        refused: Sequence[tuple[int, MemorandaError]] = (),
    ) -> None:
        """Take a batch of so many bytes, and return once its writes are queued.

        Wait while the client has much in flight, or passes the rates of its token. `refused` has
        the numbers of invalid writes, with their errors.
        """
        self._dispatcher.check_current(self._caller)
        count = len(writes) + len(refused)
        seconds = self._admission.spend(size, calls=count)
        if seconds > 0:
            await asyncio.sleep(seconds)
        while self._writes and (self._writes >= MAX_WRITES or self._bytes + size > MAX_BYTES):
            await self._wait()
        self._writes += count
        for number, error in refused:
            self._add_outcome(number, None, error)
        share = size // max(count, 1)
        ordered = []
        for write in writes:
            if write.call.lane == "short":
                ordered.append(write)
            else:  # it searches much before it is staged
                self._start(self._write_apart(store, write), share)
        if ordered:
            is_queued = asyncio.get_running_loop().create_future()
            work = self._write_batch(store, ordered, is_queued)
            batch = self._start(work, share * len(ordered))
            batch.add_done_callback(lambda _: _settle(is_queued))  # it may fail before
            await is_queued

    def _start(self, work: Coroutine[Any, Any, None], size: int) -> asyncio.Task[None]:
        """Do work for writes of so many bytes."""
        self._bytes += size
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(partial(self._end, size))
        return task

    def _end(self, size: int, task: asyncio.Task[None]) -> None:
        self._bytes -= size
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._failure = task.exception()
        self._changed.set()

    # Giving outcomes.

    async def take(self) -> OutcomeMessage:
        """Return outcomes that are known, as one message; wait for the first one."""
        while not self._outcomes:
            await self._wait()
        parts = [self._outcomes.popleft()]
        size = len(parts[0])
        while self._outcomes and size + len(self._outcomes[0]) <= OUTCOME_BYTES:
            parts.append(self._outcomes.popleft())
            size += len(parts[-1])
        return OutcomeMessage(b"".join(parts), len(parts))

    def note_sent(self, message: OutcomeMessage) -> None:
        """Note that outcomes were sent: the client may send as many writes more.

        Their bytes count for its token, and delay its next batch.
        """
        size = len(message.data)
        self._admission.spend(size)
        self._writes -= message.count
        self._outcome_bytes -= size
        self._changed.set()

    @property
    def is_full(self) -> bool:
        """Whether many bytes of outcomes are unsent."""
        return self._outcome_bytes > MAX_BYTES

    async def has_room(self) -> None:
        """Wait while many bytes of outcomes are unsent."""
        while self.is_full:
            await self._wait()

    async def answered(self) -> None:
        """Wait until the outcomes of all writes were sent."""
        while self._writes:
            await self._wait()

    async def _wait(self) -> None:
        if self._failure is not None:
            raise self._failure
        self._changed.clear()
        await self._changed.wait()

    async def close(self) -> None:
        """Withdraw undecided writes, and wait for those that are being written."""
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    # Writing.

    async def _write_apart(self, store: str, write: QueuedWrite) -> None:
        try:
            with Tracing(write.trace):
                outcome = await self._dispatcher.write(
                    write.caller, store, write.call, is_named=write.is_named
                )
        except MemorandaError as error:
            outcome = error
        self.deliver(write, outcome)

    async def _write_batch(
        self, store: str, writes: Sequence[QueuedWrite], is_queued: asyncio.Future[None]
    ) -> None:
        """Stage a batch, queue it, and deliver the outcomes as they come."""
        batch: _Batch | None = None
        try:
            async with self._dispatcher.use(self._caller, store, "write_stream") as opened:
                batch = _Batch(self, self._dispatcher, opened)
                try:
                    await batch.queue(writes)
                    _settle(is_queued)
                    await batch.deliver()
                finally:
                    batch.withdraw()
        except MemorandaError as error:
            if batch is not None:
                raise
            for write in writes:  # there is no such store, or it is busy
                self.deliver(write, error)

    def deliver(self, write: QueuedWrite, outcome: Any) -> None:
        """Note the outcome of a write: its answer, or an error."""
        self._add_outcome(write.number, type(write.call), outcome)

    def _add_outcome(self, number: int, kind: Any, outcome: Any) -> None:
        if isinstance(outcome, MemorandaError):
            self._dispatcher.traffic.count_error(outcome)
        data: bytes = write_outcomes([(number, kind, outcome)]).SerializeToString()
        self._outcomes.append(data)
        self._outcome_bytes += len(data)
        self._changed.set()


def _settle(future: asyncio.Future[None]) -> None:
    """Complete a future, unless it was cancelled meanwhile."""
    if not future.done():
        future.set_result(None)


class _Batch:
    """Some writes in an open store."""

    def __init__(self, queue: WriteQueue, dispatcher: Dispatcher, opened: OpenStore) -> None:
        self._client_queue = queue
        self._dispatcher = dispatcher
        self._opened = opened
        self._core: Core = opened.core
        self._calls: AsyncLocalCalls = opened.calls(EVERYTHING)
        """Runs threads and commits; each write is staged under its own caller's grant."""
        self._submitted: deque[tuple[QueuedWrite, StagedWrite[Any], SubmittedWrite]] = deque()
        """What is queued and not answered, in the order of the batch."""
        self._spans: dict[int, CallSpan] = {}
        """The spans of writes that have no outcome yet, by their numbers."""

    async def queue(self, writes: Sequence[QueuedWrite]) -> None:
        """Stage writes and queue them; those that are refused are answered."""
        for start in range(0, len(writes), _STAGED_AT_ONCE):
            if start:
                await asyncio.sleep(0)
            await self._queue_some(writes[start : start + _STAGED_AT_ONCE])

    async def _queue_some(self, writes: Sequence[QueuedWrite]) -> None:
        calls, counts = self._calls, self._dispatcher.traffic.calls
        for write in writes:
            counts[call_name(type(write.call))] += 1
        work = partial(self._stage_all, writes)
        reads = any(may_read_to_stage(write.caller.grant, write.call) for write in writes)
        staged_writes = await calls.run(work) if reads else work()
        channel = calls.channel()
        for write, staged in zip(writes, staged_writes, strict=True):
            try:
                if isinstance(staged, MemorandaError):
                    raise staged
                submitted = SubmittedWrite(channel, staged)
            except MemorandaError as error:
                self._refuse(write, error)
            else:
                self._core.answering.append(None)
                self._submitted.append((write, staged, submitted))

    def _stage_all(self, writes: Sequence[QueuedWrite]) -> list[StagedWrite[Any] | MemorandaError]:
        return [self._stage(write) for write in writes]

    def _stage(self, write: QueuedWrite) -> StagedWrite[Any] | MemorandaError:
        try:
            write.caller.check_agent(self._core)  # each write has named its own
            with Tracing(write.trace):
                span = self._opened.span_of(write.call)
                if span is None:
                    return self._staged(write)
                self._spans[write.number] = span.__enter__()  # its outcome ends it
                try:
                    return self._staged(write)
                finally:
                    span.leave()
        except MemorandaError as error:
            return error

    def _staged(self, write: QueuedWrite) -> StagedWrite[Any]:
        grant, call = write.caller.grant, write.call
        return stage_write(self._core, grant, call, None, is_named=write.is_named)

    def _finish(self, write: QueuedWrite, outcome: Any) -> None:
        """Deliver the outcome of a write."""
        span = self._spans.pop(write.number, None)
        if span is not None:
            error = outcome if isinstance(outcome, MemorandaError) else None
            if error is None:
                span.answered(outcome)
            span.end(error)
        self._client_queue.deliver(write, outcome)

    async def deliver(self) -> None:
        """Wait for what is queued, and answer it."""
        slow: list[tuple[QueuedWrite, StagedWrite[Any], CommitResult]] = []
        while self._submitted:
            if self._client_queue.is_full:
                await self._client_queue.has_room()
            write, staged, submitted = self._submitted[0]
            if slow and (len(slow) == _READ_AT_ONCE or not submitted.is_decided):
                await self._answer(slow)
                slow = []
            try:
                if not submitted.is_decided:
                    await submitted.wait()
                result = submitted.result()
                answer = staged.answer_from_memory(result)
            except MemorandaError as error:
                self._pop()
                self._refuse(write, error)
                continue
            self._pop()
            if answer is None or staged.has_transaction:
                slow.append((write, staged, result))
            else:
                self._finish(write, answer)
        await self._answer(slow)

    def _pop(self) -> None:
        self._submitted.popleft()
        self._core.answering.pop()

    async def _answer(
        self, committed: Sequence[tuple[QueuedWrite, StagedWrite[Any], CommitResult]]
    ) -> None:
        """Read the answers of committed writes, all in one thread."""
        if not committed:
            return
        for _, staged, result in committed:
            if staged.has_transaction:
                await self._calls.give_way(result.commit_ts)
        async with self._client_queue.reading:
            await self._client_queue.has_room()
            answers = await self._calls.run(_read_answers, committed)
            for (write, _, _), answer in zip(committed, answers, strict=True):
                if isinstance(answer, MemorandaError):
                    self._refuse(write, answer)
                else:
                    self._finish(write, without_folders(answer))

    def _refuse(self, write: QueuedWrite, error: MemorandaError) -> None:
        name = call_name(type(write.call))
        reported = self._dispatcher.reported(write.caller, self._opened, name, error)
        self._finish(write, reported)

    def withdraw(self) -> None:
        """Withdraw the unanswered writes: their client has disconnected."""
        while self._submitted:
            self._submitted[0][2].withdraw()
            self._pop()
        for span in self._spans.values():
            span.end()


def _read_answers(
    committed: Sequence[tuple[QueuedWrite, StagedWrite[Any], CommitResult]],
) -> list[Any]:
    return [_read_answer(staged, result) for _, staged, result in committed]


def _read_answer(staged: StagedWrite[Any], result: CommitResult) -> Any:
    try:
        return staged.answer(result)
    except MemorandaError as error:
        return error
