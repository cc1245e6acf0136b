"""The stream of writes of a store over gRPC, for threads.

Three sorts of threads take part. A caller adds its write to the queue and waits. The *sender* is a
thread of gRPC that asks for the next batch: it takes whatever callers have added while the last one
was on its way. The *receiver* reads outcomes and wakes callers; if the connection is lost, it opens
the stream again, which first sends what is unanswered. Signals interrupt neither of them, so an
interrupted caller leaves the stream intact for others.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import grpc

from memoranda.errors import MemorandaError, StoreClosed
from memoranda.sdk.remote.errors import REFUSALS, ConnectionLost
from memoranda.sdk.remote.grpc.connection import GrpcConnection
from memoranda.sdk.remote.write_sender import PEER_WAIT_SECONDS, WriteSender
from memoranda.storage.thread_locks import Wakeup


class WriteStream(WriteSender):
    """Sends writes on one stream, which is opened again after a lost connection."""

    def __init__(self, connection: GrpcConnection) -> None:
        super().__init__(connection)
        self._channel = connection
        self._current: _Stream | None = None
        """The stream that is open, or being opened."""
        self._receiver: threading.Thread | None = None
        """None: nothing is to be sent, and no stream is open."""

    def _wake(self) -> None:
        """Let the queue be sent; the caller holds the lock."""
        stream = self._current
        if stream is not None and not (stream.waits_for_peers and self._queue.expects_more):
            stream.wakeup.set()
        if self._receiver is None or not self._receiver.is_alive():
            # One that an interrupt kept from starting is replaced; should it start yet, it ends.
            self._receiver = threading.Thread(
                target=self._receive, name="memoranda-writes", daemon=True
            )
            self._receiver.start()

    def close(self, seconds: float) -> None:
        """Take no more writes, and wait until those on their way have outcomes, or so long."""
        with self._lock:
            self._is_closing = True
            if self._receiver is not None:
                self._wake()
            receiver = self._receiver
        if receiver is None or receiver is threading.current_thread():
            return
        receiver.join(seconds)
        with self._lock:
            self._queue.fail(StoreClosed())

    # The receiver.

    def _receive(self) -> None:
        """Send and receive until a stream has ended, and nothing is left to be sent."""
        with self._lock:
            if self._receiver is not threading.current_thread():
                return
        patience = self._connection.patience()
        problem: MemorandaError = MemorandaError("the thread of a write stream ended unexpectedly")
        try:
            while True:
                stream = _Stream()
                lost = self._run(stream)
                if stream.has_answered:
                    patience.reset()
                with self._lock:
                    self._queue.send_again(
                        may_be_committed=stream.has_answered or not isinstance(lost, REFUSALS)
                    )
                    if self._queue.is_empty:
                        self._receiver = None
                        return
                problem = lost
                self._connection.rest(patience.pause(lost))
        except MemorandaError as error:
            problem = error
        finally:
            with self._lock:
                if self._receiver is threading.current_thread():
                    self._receiver = None
                    self._queue.fail(problem)

    def _run(self, stream: _Stream) -> MemorandaError:
        """Open a stream, receive outcomes until it ends, and return why it did."""
        with self._lock:
            self._current = stream
        try:
            call = self._channel.write_stream(self._batches(stream))
            call.initial_metadata()  # the server has taken the call, or it has failed
            stream.is_open = not call.done()
            stream.wakeup.set()
            for outcomes in call:
                stream.has_answered = True
                with self._lock:
                    self._queue.settle(outcomes)
                    if self._is_closing and self._queue.is_empty:
                        stream.wakeup.set()
        except grpc.RpcError as error:
            return self._channel.translated(error)
        except StoreClosed as error:
            return error
        finally:
            with self._lock:
                self._current = None
                stream.is_over = True
            stream.wakeup.set()
        return ConnectionLost(f"{self._connection.place} has ended a stream of writes")

    # The sender.

    def _batches(self, stream: _Stream) -> Iterator[Any]:
        """Yield the batches to send on a stream, until it is closed."""
        while True:
            self._wait_for_peers(stream)
            with self._lock:
                if stream.is_over or (self._is_closing and self._queue.is_empty):
                    return
                batch = self._queue.take_batch() if stream.is_open else None
            if batch is None:
                stream.wakeup.wait()
            else:
                yield batch

    def _wait_for_peers(self, stream: _Stream) -> None:
        """Wait until the callers that the last outcomes have woken write again, or no more do.

        A message costs the server more than a write of it does. And a sender that every write of a
        batch wakes costs its callers more than their writes do: here it waits with a timeout, so
        only the last write that it expects has to wake it.
        """
        count = 0
        stream.waits_for_peers = True
        while self._queue.expects_more and count < self._queue.unsent_count:
            stream.wakeup.clear()
            count = self._queue.unsent_count
            stream.wakeup.wait(PEER_WAIT_SECONDS)
        # Before the queue is looked at under the lock: a write that is added later wakes it.
        stream.waits_for_peers = False


class _Stream:
    """One stream of a connection, and how its sender is woken."""

    __slots__ = ("has_answered", "is_open", "is_over", "waits_for_peers", "wakeup")

    def __init__(self) -> None:
        self.wakeup = Wakeup()
        self.is_open = False
        """Whether the server has taken the call. Before, nothing is sent: if it cannot be reached,
        it is certain that no write has taken effect."""
        self.is_over = False
        self.has_answered = False
        """Whether an outcome came: the server has accepted the caller and its store."""
        self.waits_for_peers = False
        """Whether the sender waits for more writes, and for a moment only."""
