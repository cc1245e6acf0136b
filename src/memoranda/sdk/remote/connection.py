"""The connection of a store to its server, for threads: one channel for all handles of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any
from weakref import WeakSet

import grpc

from memoranda.errors import MemorandaError, StoreClosed
from memoranda.model.clock import SystemClock
from memoranda.model.ids import IdSource
from memoranda.sdk.remote.channel import open_channel
from memoranda.sdk.remote.errors import translated
from memoranda.sdk.remote.options import RemoteOptions
from memoranda.sdk.remote.patience import Patience
from memoranda.storage.thread_locks import check_process, new_lock
from memoranda.wire.methods import WRITE_BATCH, WRITE_OUTCOMES, WRITE_STREAM, Method


class Connection:
    """Sends messages to a server, and tries again what a lost connection has kept from it.

    gRPC makes the connection, and makes it again. Threads share it; a forked process must open the
    store itself.
    """

    def __init__(self, options: RemoteOptions, ids: IdSource) -> None:
        self.options = options
        self.place = str(options.url)
        self.is_closed = False
        self._ids = ids
        self._time = SystemClock()
        self._owner = os.getpid()
        self._channel = open_channel(options)
        self._stubs: dict[str, Any] = {}
        """What sends the calls of a method, by its path."""
        self._streams: WeakSet[Any] = WeakSet()
        """Answers that are being read, for `close`."""
        self._lock = new_lock()
        """Protects the set of streams."""

    def check_open(self) -> None:
        """Raise `StoreClosed` if it is closed, or if this is a fork of the process that made it."""
        check_process(self._owner)
        if self.is_closed:
            raise StoreClosed

    @property
    def is_forked(self) -> bool:
        """Whether this process is a fork of the one that made it."""
        return self._owner != os.getpid()

    def patience(self) -> Patience:
        """Return the patience of a new call."""
        return Patience(self.options.timeout, self._ids)

    def ask(self, method: Method, message: Any, timeout: float | None = None) -> Any:
        """Return the one answer of a call; try again if the connection was lost meanwhile."""
        stub = self._stub(method)
        patience: Patience | None = None
        while True:
            self.check_open()
            try:
                return stub(message, metadata=self.options.metadata, timeout=timeout)
            except grpc.RpcError as error:
                problem = self.translated(error)
            except ValueError as error:  # the channel was closed just now
                raise StoreClosed from error
            patience = patience or self.patience()
            self.rest(patience.pause(problem))

    def stream(self, method: Method, message: Any) -> Any:
        """Return the messages of an answer as they come; dropping it cancels the call."""
        return self._begun(self._stub(method), message)

    def write_stream(self, batches: Iterator[Any]) -> Any:
        """Return the outcomes of batches of writes as they come."""
        stub = self._stubs.get(WRITE_STREAM)
        if stub is None:
            stub = self._stubs[WRITE_STREAM] = self._channel.stream_stream(
                WRITE_STREAM, WRITE_BATCH.SerializeToString, WRITE_OUTCOMES.FromString
            )
        return self._begun(stub, batches)

    def _begun(self, stub: Any, messages: Any) -> Any:
        """Begin a call, and note it for `close`."""
        self.check_open()
        try:
            call = stub(messages, metadata=self.options.metadata)
        except ValueError as error:  # the channel was closed just now
            raise StoreClosed from error
        with self._lock:
            self._streams.add(call)
        return call

    def _stub(self, method: Method) -> Any:
        stub = self._stubs.get(method.path)
        if stub is None:
            make = (
                self._channel.unary_unary if method.shape == "unary" else self._channel.unary_stream
            )
            stub = self._stubs[method.path] = make(
                method.path, method.request.SerializeToString, method.response.FromString
            )
        return stub

    def translated(self, error: grpc.RpcError) -> MemorandaError:
        """Return the error of a call as one of ours; once it is closed, that is why it failed."""
        if self.is_closed:
            problem: MemorandaError = StoreClosed()
            problem.__cause__ = error
            return problem
        return translated(error, self.place)

    def rest(self, seconds: float) -> None:
        """Wait before another attempt."""
        self._time.sleep(seconds)

    def close(self) -> None:
        """End the calls that are under way, and close the channel. A second call does nothing."""
        if self.is_closed or self.is_forked:
            return
        self.is_closed = True
        with self._lock:
            streams = list(self._streams)
        for call in streams:
            call.cancel()
        self._channel.close()
