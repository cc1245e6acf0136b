"""The connection of a store over HTTP, for threads: a pool of connections for all handles of it."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from weakref import WeakSet

import httpx2

from memoranda.model.ids import IdSource
from memoranda.sdk.remote.connection import Connection, MessageStream
from memoranda.sdk.remote.errors import ConnectionLost
from memoranda.sdk.remote.http.answers import INCOMPLETE, FramedAnswer, WholeAnswer
from memoranda.sdk.remote.http.client import (
    ANSWER_SECONDS,
    SILENCE_SECONDS,
    Requests,
    client_options,
    connected_socket,
    proxy_refused,
)
from memoranda.sdk.remote.http.errors import (
    MAX_PROBLEM_BYTES,
    answered,
    check_type,
    too_late,
    translating,
)
from memoranda.sdk.remote.options import RemoteOptions
from memoranda.storage.thread_locks import new_lock
from memoranda.wire.methods import WRITE_OUTCOMES, Method
from memoranda.wire.over_http import FRAMES_MEDIA, MESSAGE_MEDIA, WRITES

_CLOSE_SECONDS = 2.0
"""Time for calls of other threads to notice that their connections were ended."""


class HttpConnection(Connection):
    """Sends messages as requests. A call that waits for its answer has a connection of its own."""

    def __init__(self, options: RemoteOptions, ids: IdSource) -> None:
        super().__init__(options, ids)
        self._requests = Requests(options)
        try:
            self._client = httpx2.Client(**client_options(options))
        except (ImportError, ValueError) as error:  # how the library refuses a proxy
            raise proxy_refused(error) from error
        self._sockets: WeakSet[Any] = WeakSet()
        """The sockets of all connections that were made, for `close`."""
        self._streams: WeakSet[HttpStream] = WeakSet()
        """Answers that are being read, for `close`."""
        self._responses = 0
        """Requests that were sent, and whose responses are not closed."""
        self._lock = new_lock()
        """Protects the sets and the count."""

    def _ask(self, method: Method, message: Any, timeout: float | None) -> Any:
        seconds = ANSWER_SECONDS if timeout is None else timeout
        answer = WholeAnswer()
        with translating(self):
            try:
                with self.response(method.name, message, MESSAGE_MEDIA, seconds) as response:
                    for data in response.iter_bytes():
                        answer.feed(data)
            except httpx2.ReadTimeout as error:
                if timeout is None:
                    raise
                raise too_late(self.place, timeout) from error
        return answer.message(method.response)

    def stream(self, method: Method, message: Any) -> HttpStream:
        """Return the messages of an answer; the call is sent with the first that is read."""
        return self._begin(HttpStream(self, method.name, message, method.response))

    def write(self, batch: Any) -> HttpStream:
        """Return the outcomes of a batch of writes; it is sent with the first that is read."""
        return self._begin(HttpStream(self, WRITES, batch, WRITE_OUTCOMES))

    def _begin(self, stream: HttpStream) -> HttpStream:
        self.check_open()
        with self._lock:
            self._streams.add(stream)
        return stream

    @contextmanager
    def response(
        self, method: str, message: Any, media: str, seconds: float
    ) -> Iterator[httpx2.Response]:
        """Send a message, and lend the response once its headers came; raise what is no success."""
        request = self._requests.post(method, message, media, seconds, self._note_connection)
        self._count_responses(1)
        try:
            response = self._client.send(request, stream=True)
            try:
                self._check(response, media)
                yield response
            finally:
                response.close()
        finally:
            self._count_responses(-1)

    def _count_responses(self, step: int) -> None:
        with self._lock:
            self._responses += step

    def _check(self, response: httpx2.Response, media: str) -> None:
        """Raise the error of a response that is not of the type that was asked for."""
        if response.status_code != httpx2.codes.OK:
            body = bytearray()
            with suppress(httpx2.HTTPError):  # the status is enough
                for data in response.iter_bytes():
                    body += data[: MAX_PROBLEM_BYTES - len(body)]
                    if len(body) == MAX_PROBLEM_BYTES:
                        break
            raise answered(response.status_code, response.headers, bytes(body), self.place)
        check_type(response.headers, media, self.place)

    def _note_connection(self, event: str, info: Mapping[str, Any]) -> None:
        made = connected_socket(event, info)
        if made is not None:
            with self._lock:
                self._sockets.add(made)
            if self.is_closed:  # it was made while the others were ended
                shut_down(made)

    def _close(self) -> None:
        with self._lock:
            streams, sockets = list(self._streams), list(self._sockets)
        for stream in streams:
            stream.cancel()
        for made in sockets:
            shut_down(made)
        # A socket is closed when no thread waits for it: its number may be another's right after.
        deadline = self._time.monotonic() + _CLOSE_SECONDS
        while self._responses and self._time.monotonic() < deadline:
            self.rest(0.001)
        self._client.close()


class HttpStream(MessageStream):
    """A request whose answer has several messages."""

    def __init__(self, connection: HttpConnection, method: str, message: Any, kind: Any) -> None:
        self._connection = connection
        self._method = method
        self._message = message
        self._answer = FramedAnswer(kind, connection.place)
        self._response: httpx2.Response | None = None
        """The response while there is more of it to read."""
        self._lent = ExitStack()
        """Closes the response."""
        self._chunks: Iterator[bytes] = iter(())
        self.has_begun = False
        """Whether the server has taken the call."""
        self._is_complete = False
        self._is_cancelled = False
        self._reading = new_lock()
        """Held by the thread that reads."""

    def __del__(self) -> None:
        self.cancel()

    def read(self) -> Any:
        """Return the next message; None at the end."""
        with self._reading:
            if self._is_complete:
                return None
            is_open = False
            try:
                with translating(self._connection):
                    message = self._read()
                is_open = message is not None
                self._is_complete = not is_open
            finally:
                if not is_open:
                    self._end()
            return message

    def _read(self) -> Any:
        self._check_wanted()
        if not self.has_begun:
            self._response = self._lent.enter_context(
                self._connection.response(
                    self._method, self._message, FRAMES_MEDIA, SILENCE_SECONDS
                )
            )
            self._chunks = self._response.iter_bytes()
            self.has_begun = True
            self._check_wanted()
        while (message := self._answer.take()) is INCOMPLETE:
            self._answer.feed(next(self._chunks, None))
        if message is None:
            with suppress(httpx2.HTTPError):  # the end of the body: the connection can be reused
                next(self._chunks, None)
        return message

    def _check_wanted(self) -> None:
        if self._is_cancelled:
            raise ConnectionLost(f"a call to {self._connection.place} was cancelled")

    def cancel(self) -> None:
        """End the call; the end of the connection wakes a thread that reads."""
        self._is_cancelled = True
        if self._connection.is_forked:  # the connection is that of the other process
            return
        response = self._response
        if response is not None:
            shut_down(response.extensions["network_stream"].get_extra_info("socket"))
        if self._reading.acquire(blocking=False):  # nobody reads, who would close it
            try:
                self._end()
            finally:
                self._reading.release()

    def _end(self) -> None:
        """Close the response, if there is one; the caller holds the lock."""
        self._is_cancelled, self._response = True, None
        self._lent.close()


def shut_down(made: socket.socket | None) -> None:
    """End a connection, and wake the thread that waits for it.

    That of a socket with TLS, too, is ended below the encryption.
    """
    if made is not None:
        with suppress(OSError):  # it has ended already
            socket.socket.shutdown(made, socket.SHUT_RDWR)
