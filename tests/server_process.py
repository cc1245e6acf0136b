"""Servers for tests: in a thread, with a clock and ids of the test's own, or as a process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from msgspec.structs import replace

from memoranda.model.clock import Clock
from memoranda.model.ids import IdSource
from memoranda.server.http.settings import HttpSettings
from memoranda.server.serving import Server, ServerSettings
from memoranda.server.stores import StoreOptions
from tests.patience import HANG_SECONDS

Result = TypeVar("Result")


class ServerThread:
    """A server on a free port of this machine, in a thread with an event loop of its own.

    with ServerThread(folder=tmp_path, create=["acme"]) as server:
        store = memoranda.open(f"grpc://{server.address}/acme")
    """

    def __init__(
        self,
        *,
        folder: Path | None = None,
        file: Path | None = None,
        create: tuple[str, ...] | list[str] = (),
        clock: Clock | None = None,
        ids: IdSource | None = None,
        **settings: Any,
    ) -> None:
        options = settings.pop("stores", StoreOptions(durability="relaxed", embedder=None))
        options = replace(options, clock=clock, ids=ids)
        settings = {"port": 0, "http": HttpSettings(port=0), **settings}
        self._settings = ServerSettings(folder=folder, file=file, stores=options, **settings)
        self._create = create
        self._drain_seconds = 0.0
        self._started: Future[None] = Future()
        self._stopping: asyncio.Event
        self._loop: asyncio.AbstractEventLoop
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self.server: Server

    @property
    def address(self) -> str:
        """Its host and port."""
        return self.server.address

    @property
    def http_address(self) -> str:
        """Its host and port for HTTP."""
        assert self.server.http_address is not None
        return self.server.http_address

    def address_of(self, scheme: str) -> str:
        """Its host and port for the URLs of a scheme."""
        return self.http_address if scheme.startswith("http") else self.address

    def url(self, scheme: str, store: str = "acme") -> str:
        """The URL of a store of it."""
        return f"{scheme}://{self.address_of(scheme)}/{store}"

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine in the server's event loop, and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(HANG_SECONDS)

    def stop(self, seconds: float = 0.0) -> None:
        """Shut it down, with so much time for calls in flight; a second call has no effect."""
        if self._thread.is_alive():
            self._drain_seconds = seconds
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(HANG_SECONDS)
        assert not self._thread.is_alive(), "the server does not stop"

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.result(HANG_SECONDS)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    async def _serve(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        starting = asyncio.ensure_future(self._start())
        await asyncio.wait((starting,))
        if (error := starting.exception()) is not None:
            self._started.set_exception(error)
            return
        self._started.set_result(None)
        await self._stopping.wait()
        await self.server.stop(self._drain_seconds)

    async def _start(self) -> None:
        self.server = Server(self._settings)
        await self.server.start()
        for name in self._create:
            await self.server.stores.create(name)


class ServerProcess:
    """`memoranda serve` on a free port of this machine, as a process of its own.

    with ServerProcess("--stores", str(folder)) as server:
        store = memoranda.open(f"{server.url}")
    """

    def __init__(
        self,
        *arguments: str,
        environment: dict[str, str] | None = None,
        prefix: tuple[str, ...] = (),
    ) -> None:
        self._arguments = arguments
        self._prefix = prefix
        """A command that runs the server as its own arguments say."""
        self._environment = {**os.environ, **(environment or {})}
        self.process: subprocess.Popen[str]
        self.announced: dict[str, Any] = {}

    @property
    def address(self) -> str:
        """Its host and port."""
        return str(self.announced["address"])

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self.process.pid

    def start(self) -> None:
        """Start it, and wait until it listens."""
        options = ("--grpc", "127.0.0.1:0", "--embedder", "none", "--json")
        command = [sys.executable, "-m", "memoranda", "serve", *options, *self._arguments]
        self.process = subprocess.Popen(
            [*self._prefix, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self._environment,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            _, errors = self.process.communicate(timeout=HANG_SECONDS)
            raise AssertionError(f"the server did not start: {errors}")
        self.announced = json.loads(line)

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def wait(self) -> tuple[int, str]:
        """Wait until it has ended, and return its exit code and what it wrote to stderr."""
        _, errors = self.process.communicate(timeout=HANG_SECONDS)
        return self.process.returncode, errors

    def kill(self) -> None:
        """End it as a crash does."""
        self.process.kill()
        self.process.communicate(timeout=HANG_SECONDS)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
            try:
                self.wait()
            finally:
                self.process.kill()
