"""The connection of a store over HTTP, for one event loop: a pool of connections."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx2

from memoranda.errors import MemorandaError, StoreClosed
from memoranda.model.ids import IdSource
from memoranda.sdk.remote.async_connection import AsyncConnection, AsyncMessageStream
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
from memoranda.wire.methods import WRITE_OUTCOMES, Method
from memoranda.wire.over_http import FRAMES_MEDIA, MESSAGE_MEDIA, WRITES


class AsyncHttpConnection(AsyncConnection):
    """Sends messages as requests. A call that waits for its answer has a connection of its own."""

    def __init__(self, options: RemoteOptions, ids: IdSource) -> None:
        super().__init__(options, ids)
        self._requests = Requests(options)
        try:
            self._client = httpx2.AsyncClient(**client_options(options))
        except (ImportError, ValueError) as error:  # how the library refuses a proxy
            raise proxy_refused(error) from error
        self._receivers: set[asyncio.Task[None]] = set()
        """The tasks that receive streams, for `close`."""

    async def _ask(self, method: Method, message: Any, timeout: float | None) -> Any:
        seconds = ANSWER_SECONDS if timeout is None else timeout
        answer = WholeAnswer()
        with translating(self):
            try:
                async with self.response(method.name, message, MESSAGE_MEDIA, seconds) as response:
                    async for data in response.aiter_bytes():
                        answer.feed(data)
            except httpx2.ReadTimeout as error:
                if timeout is None:
                    raise
                raise too_late(self.place, timeout) from error
        return answer.message(method.response)

    def stream(self, method: Method, message: Any) -> AsyncHttpStream:
        """Return the messages of an answer; the call is sent at once."""
        return self._begin(method.name, message, method.response)

    def write(self, batch: Any) -> AsyncHttpStream:
        """Return the outcomes of a batch of writes, which is sent at once."""
        return self._begin(WRITES, batch, WRITE_OUTCOMES)

    def _begin(self, method: str, message: Any, kind: Any) -> AsyncHttpStream:
        self.check_open()
        inbox = _Inbox()
        receiver = self.start(self._receive(inbox, method, message, kind))
        self._receivers.add(receiver)
        receiver.add_done_callback(self._receivers.discard)
        return AsyncHttpStream(self, inbox, receiver)

    async def _receive(self, inbox: _Inbox, method: str, message: Any, kind: Any) -> None:
        """Send a call, and put the messages of its answer into an inbox, one at a time.

        It does not have the stream itself, so that the call ends once nobody has that.
        """
        problem: MemorandaError = ConnectionLost(f"a call to {self.place} was cancelled")
        answer = FramedAnswer(kind, self.place)
        try:
            with translating(self):
                async with self.response(
                    method, message, FRAMES_MEDIA, SILENCE_SECONDS
                ) as response:
                    inbox.has_begun = True
                    chunks = response.aiter_bytes()
                    while (part := answer.take()) is not None:
                        if part is INCOMPLETE:
                            answer.feed(await anext(chunks, None))
                        else:
                            await inbox.put(part)
                    inbox.complete()
                    with suppress(httpx2.HTTPError):  # the end: the connection can be reused
                        await anext(chunks, None)
        except MemorandaError as error:
            problem = error
        finally:
            inbox.fail(StoreClosed() if self.is_closed else problem)

    @asynccontextmanager
    async def response(
        self, method: str, message: Any, media: str, seconds: float
    ) -> AsyncIterator[httpx2.Response]:
        """Send a message, and lend the response once its headers came; raise what is no success."""
        request = self._requests.post(method, message, media, seconds, _note_connection)
        response = await self._client.send(request, stream=True)
        try:
            await self._check(response, media)
            yield response
        finally:
            await response.aclose()

    async def _check(self, response: httpx2.Response, media: str) -> None:
        """Raise the error of a response that is not of the type that was asked for."""
        if response.status_code != httpx2.codes.OK:
            body = bytearray()
            with suppress(httpx2.HTTPError):  # the status is enough
                async for data in response.aiter_bytes():
                    body += data[: MAX_PROBLEM_BYTES - len(body)]
                    if len(body) == MAX_PROBLEM_BYTES:
                        break
            raise answered(response.status_code, response.headers, bytes(body), self.place)
        check_type(response.headers, media, self.place)

    async def _close(self) -> None:
        receivers = [*self._receivers]
        for receiver in receivers:
            receiver.cancel()
        if receivers:
            await asyncio.wait(receivers)
        await self._client.aclose()


async def _note_connection(event: str, info: Mapping[str, Any]) -> None:
    connected_socket(event, info)


class _Inbox:
    """The messages of an answer between the task that receives them and the one that reads them."""

    def __init__(self) -> None:
        self.has_begun = False
        """Whether the server has taken the call."""
        self.is_complete = False
        """Whether all messages came."""
        self._messages: deque[Any] = deque()
        self._error: MemorandaError | None = None
        """Why nothing more comes."""
        self._changed = asyncio.Event()
        """Set when there is something to read."""
        self._room = asyncio.Event()
        """Set when all messages were read."""

    async def put(self, message: Any) -> None:
        """Add a message, and wait until it was read: until then, the server waits."""
        self._messages.append(message)
        self._room.clear()
        self._changed.set()
        await self._room.wait()

    def complete(self) -> None:
        """Note that all messages came."""
        self.is_complete = True
        self._changed.set()

    def fail(self, error: MemorandaError) -> None:
        """Note why nothing more comes, unless all came."""
        self._error = self._error or error
        self._changed.set()

    async def take(self) -> Any:
        """Return the next message; None at the end."""
        while True:
            if self._messages:
                message = self._messages.popleft()
                self._room.set()
                return message
            if self.is_complete:
                return None
            if self._error is not None:
                raise self._error
            self._changed.clear()
            await self._changed.wait()


class AsyncHttpStream(AsyncMessageStream):
    """A request whose answer has several messages."""

    def __init__(
        self, connection: AsyncHttpConnection, inbox: _Inbox, receiver: asyncio.Task[None]
    ) -> None:
        self._connection = connection
        self._inbox = inbox
        self._receiver = receiver

    def __del__(self) -> None:
        if self._inbox.is_complete:
            return
        with suppress(RuntimeError):  # the loop is closed, and the task with it
            self._connection.loop.call_soon_threadsafe(self._receiver.cancel)

    @property
    def has_begun(self) -> bool:
        """Whether the server has taken the call."""
        return self._inbox.has_begun

    async def read(self) -> Any:
        """Return the next message; None at the end."""
        return await self._inbox.take()

    def cancel(self) -> None:
        """End the call, and wake a task that reads."""
        if not self._inbox.is_complete:
            self._receiver.cancel()
            self._inbox.fail(ConnectionLost(f"a call to {self._connection.place} was cancelled"))
