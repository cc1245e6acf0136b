"""The writes of a store over HTTP, for one event loop: batches, each of which is a request.

Some tasks send what is queued, each one batch at a time, as threads do (`write_requests.py`).
"""

from __future__ import annotations

import asyncio
from typing import Any

from memoranda.errors import MemorandaError, StoreClosed
from memoranda.sdk.remote.async_write_sender import AsyncWriteSender
from memoranda.sdk.remote.errors import ConnectionLost
from memoranda.sdk.remote.http.async_connection import AsyncHttpConnection
from memoranda.sdk.remote.http.write_requests import MAX_REQUESTS, NOT_TAKEN


class AsyncWriteRequests(AsyncWriteSender):
    """Sends writes in requests, and sends those again that a lost connection left unanswered."""

    def __init__(self, connection: AsyncHttpConnection) -> None:
        super().__init__(connection)
        self._http = connection
        self._patience = connection.patience()
        """Since any request has succeeded."""
        self._workers: set[asyncio.Task[None]] = set()

    def _wake(self) -> None:
        if len(self._workers) < MAX_REQUESTS:
            worker = self._http.start(self._work())
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)

    async def close(self, seconds: float) -> None:
        """Take no more writes, and wait until those on their way have outcomes, or so long."""
        self._is_closing = True
        if self._workers:
            await asyncio.wait([*self._workers], timeout=seconds)
        self._queue.fail(StoreClosed())

    async def _work(self) -> None:
        """Send batches, until there is nothing to send."""
        is_over = False
        try:
            while (batch := self._queue.take_batch()) is not None:
                await self._send(batch)
            is_over = True
        finally:
            if not is_over:
                self._queue.fail(MemorandaError("a task that sends writes has failed"))

    async def _send(self, batch: Any) -> None:
        """Send a batch, and settle what is answered; what is not goes back to the queue."""
        problem, may_be_committed = await self._exchange(batch)
        if problem is None:
            self._patience.reset()
            return
        try:
            await asyncio.sleep(self._patience.pause(problem))
        except MemorandaError as error:
            self._queue.give_up(batch, error, may_be_committed=may_be_committed)
        else:
            self._queue.send_again(batch, may_be_committed=may_be_committed)

    async def _exchange(self, batch: Any) -> tuple[MemorandaError | None, bool]:
        """Send a batch once; return why writes of it have no outcome, or None if all have one.

        The second value says whether the others may be in the log all the same.
        """
        try:
            stream = self._http.write(batch)
        except StoreClosed as error:
            return error, False
        try:
            while (outcomes := await stream.read()) is not None:
                self._queue.settle(outcomes)
        except MemorandaError as error:
            problem, is_taken = error, stream.has_begun or not isinstance(error, NOT_TAKEN)
        else:
            problem = ConnectionLost(f"{self._http.place} has not answered all writes")
            is_taken = True
        finally:
            stream.cancel()
        return (problem, is_taken) if self._queue.has_unanswered(batch) else (None, True)
