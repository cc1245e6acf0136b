"""The writes of a store over HTTP, for threads: batches, each of which is a request.

Some threads send the queue, each one batch at a time. So concurrent callers share a request when
there are more callers than requests, and a slow write delays only its own request. The outcomes of
a batch come as they are known.
"""

from __future__ import annotations

import threading
from typing import Any

from memoranda.errors import InvalidInput, MemorandaError, StoreClosed
from memoranda.model.clock import SystemClock
from memoranda.sdk.remote.errors import REFUSALS, ConnectionLost
from memoranda.sdk.remote.http.connection import HttpConnection
from memoranda.sdk.remote.write_sender import PEER_WAIT_SECONDS, WriteSender
from memoranda.storage.thread_locks import Wakeup

MAX_REQUESTS = 4
"""Batches on their way at a time."""
NOT_TAKEN = (*REFUSALS, InvalidInput)
"""Errors of a whole request that mean that the server has accepted none of its writes."""
_IDLE_SECONDS = 10.0
"""Seconds after which a thread that has nothing to send ends."""


class WriteRequests(WriteSender):
    """Sends writes in requests, and sends those again that a lost connection left unanswered."""

    def __init__(self, connection: HttpConnection) -> None:
        super().__init__(connection)
        self._http = connection
        self._time = SystemClock()
        self._patience = connection.patience()
        """Since any request has succeeded."""
        self._workers: set[threading.Thread] = set()
        self._idle: list[Wakeup] = []
        """Wakes the workers that have nothing to send."""

    def _wake(self) -> None:
        """Let the queue be sent; the caller holds the lock."""
        if self._idle:
            self._idle.pop().set()
            return
        # One that an interrupt kept from starting is replaced; should it start yet, it ends.
        self._workers = {worker for worker in self._workers if worker.is_alive()}
        if len(self._workers) < MAX_REQUESTS:
            worker = threading.Thread(target=self._work, name="memoranda-writes", daemon=True)
            self._workers.add(worker)
            worker.start()

    def close(self, seconds: float) -> None:
        """Take no more writes, and wait until those on their way have outcomes, or so long."""
        with self._lock:
            self._is_closing = True
            workers = self._workers - {threading.current_thread()}
            while self._idle:
                self._idle.pop().set()
        deadline = self._time.monotonic() + seconds
        for worker in workers:
            worker.join(max(deadline - self._time.monotonic(), 0.0))
        with self._lock:
            self._queue.fail(StoreClosed())

    # What a worker does.

    def _work(self) -> None:
        """Send batches, until there has been nothing to send for a while."""
        worker, wakeup = threading.current_thread(), Wakeup()
        is_over = False
        try:
            while not is_over:
                self._wait_for_peers()
                is_over = self._send_next(worker, wakeup)
        finally:
            if not is_over:
                with self._lock:
                    self._queue.fail(MemorandaError("a thread that sends writes has failed"))

    def _send_next(self, worker: threading.Thread, wakeup: Wakeup) -> bool:
        """Send a batch, or wait for one; return whether the worker ends."""
        with self._lock:
            if worker not in self._workers:
                return True
            batch = self._queue.take_batch()
            if batch is None:
                if self._is_closing:
                    return True
                self._idle.append(wakeup)
        if batch is not None:
            self._send(batch)
            return False
        if wakeup.wait(_IDLE_SECONDS):
            return False
        with self._lock:
            if wakeup not in self._idle:  # it was woken just now
                return False
            self._idle.remove(wakeup)
            self._workers.discard(worker)
            return True

    def _wait_for_peers(self) -> None:
        """Wait until the callers that the last outcomes have woken write again, or no more do.

        A request costs the server more than a write of it does.
        """
        count = 0
        while self._queue.expects_more and count < self._queue.unsent_count:
            count = self._queue.unsent_count
            self._http.rest(PEER_WAIT_SECONDS)

    def _send(self, batch: Any) -> None:
        """Send a batch, and settle what is answered; what is not goes back to the queue."""
        problem, may_be_committed = self._exchange(batch)
        if problem is None:
            self._patience.reset()
            return
        try:
            self._http.rest(self._patience.pause(problem))
        except MemorandaError as error:
            with self._lock:
                self._queue.give_up(batch, error, may_be_committed=may_be_committed)
        else:
            with self._lock:
                self._queue.send_again(batch, may_be_committed=may_be_committed)

    def _exchange(self, batch: Any) -> tuple[MemorandaError | None, bool]:
        """Send a batch once; return why writes of it have no outcome, or None if all have one.

        The second value says whether the others may be in the log all the same.
        """
        try:
            stream = self._http.write(batch)
        except StoreClosed as error:
            return error, False
        try:
            while (outcomes := stream.read()) is not None:
                with self._lock:
                    self._queue.settle(outcomes)
        except MemorandaError as error:
            problem, is_taken = error, stream.has_begun or not isinstance(error, NOT_TAKEN)
        else:
            problem = ConnectionLost(f"{self._http.place} has not answered all writes")
            is_taken = True
        return (problem, is_taken) if self._queue.has_unanswered(batch) else (None, True)
