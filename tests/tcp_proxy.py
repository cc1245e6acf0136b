"""A proxy between a client and a server that can cut their connections, or keep them apart."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from contextlib import suppress
from types import TracebackType
from typing import Self

from tests.patience import HANG_SECONDS

_CHUNK_BYTES = 64 * 1024


class TcpProxy:
    """Listens on a free port of this machine, and passes what comes to another address."""

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = host, int(port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server
        self.is_down = False
        """Whether new connections are closed at once."""
        self.cut_after_bytes: int | None = None
        """After so many bytes of answers, a connection is cut."""
        self.holds_answers = False
        """Whether what the server sends is held back."""
        self.connections = 0
        """How many were made so far."""
        self.address = ""

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(
            HANG_SECONDS
        )
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(HANG_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(HANG_SECONDS)
        self._loop.close()

    def cut(self) -> None:
        """Break every connection, in the middle of whatever it carries."""
        done: Future[None] = Future()

        def abort() -> None:
            for writer in self._writers:
                writer.transport.abort()
            done.set_result(None)

        self._loop.call_soon_threadsafe(abort)
        done.result(HANG_SECONDS)

    def refuse(self) -> None:
        """Stop to listen: new connections are refused."""

        async def close() -> None:
            self._server.close()

        asyncio.run_coroutine_threadsafe(close(), self._loop).result(HANG_SECONDS)

    def accept(self) -> None:
        """Listen again, at the same address."""
        port = int(self.address.rpartition(":")[2])
        work = asyncio.run_coroutine_threadsafe(self._listen(port), self._loop)
        self._server = work.result(HANG_SECONDS)

    async def _listen(self, port: int = 0) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", port)

    async def _close(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        self._writers.add(writer)
        try:
            if not self.is_down:
                await self._connect(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()
            self._writers.discard(writer)
            self._tasks.discard(task)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, requests = await asyncio.open_connection(*self._target)
        self._writers.add(requests)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pass_on(reader, requests, is_answer=False))
                group.create_task(self._pass_on(answers, writer, is_answer=True))
        finally:
            requests.transport.abort()
            self._writers.discard(requests)

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool
    ) -> None:
        """Pass bytes on until an end is closed, and then close the other."""
        size = 0
        with suppress(OSError):
            while data := await reader.read(_CHUNK_BYTES):
                size += len(data)
                if is_answer and self.cut_after_bytes is not None and size > self.cut_after_bytes:
                    break
                while is_answer and self.holds_answers:
                    await asyncio.sleep(0.01)
                    if writer.is_closing():
                        return
                writer.write(data)
                await writer.drain()
        writer.transport.abort()
