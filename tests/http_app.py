"""The HTTP application in this process, without sockets: requests in, responses out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from memoranda.server.control_store import ControlStore, control_path
from memoranda.server.dispatcher import Dispatcher
from memoranda.server.http.app import HttpApp
from memoranda.server.stores import StoreOptions, StoreSet
from tests.patience import HANG_SECONDS

OPTIONS = StoreOptions(embedder=None, durability="relaxed")
HOST = {"host": "127.0.0.1:7421"}


class Reply:
    """A response, whole."""

    def __init__(self) -> None:
        self.status = 0
        self.raw_headers: list[tuple[bytes, bytes]] = []
        self.body = b""
        self.is_complete = False

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.raw_headers}

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def lines(self) -> list[Any]:
        return [msgspec.json.decode(line) for line in self.body.splitlines()]

    def take(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status, self.raw_headers = message["status"], message["headers"]
        else:
            self.body += message.get("body", b"")
            self.is_complete = not message.get("more_body", False)


class Exchange:
    """A request that is being answered; its client can go, or read piece by piece."""

    def __init__(self, app: Any, scope: dict[str, Any], chunks: list[bytes]) -> None:
        self.reply = Reply()
        self._chunks = chunks
        self._changed = asyncio.Event()
        self._gone = asyncio.Event()
        self.may_send = asyncio.Event()
        """Cleared: the client takes nothing."""
        self.may_send.set()
        self.task = asyncio.ensure_future(app(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if self._chunks:
            chunk = self._chunks.pop(0)
            return {"type": "http.request", "body": chunk, "more_body": bool(self._chunks)}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        await self.may_send.wait()
        self.reply.take(message)
        self._changed.set()

    async def until(self, condition: Callable[[Reply], bool]) -> Reply:
        """Wait until the reply is as it should be, or is over."""
        while not condition(self.reply) and not self.task.done():
            self._changed.clear()
            waiting = asyncio.ensure_future(self._changed.wait())
            await asyncio.wait((waiting, self.task), return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
        return self.reply

    def leave(self) -> None:
        """Close the connection, from the side of the client."""
        self._gone.set()

    async def whole(self) -> Reply:
        await self.task
        return self.reply


class Client:
    """Sends requests to an application."""

    def __init__(self, app: Any, **headers: str) -> None:
        self.app = app
        self._headers = HOST | {name.replace("_", "-"): text for name, text in headers.items()}

    def begin(
        self,
        method: str,
        target: str,
        body: Any = None,
        *,
        data: bytes | None = None,
        chunks: list[bytes] | None = None,
        **headers: str | None,
    ) -> Exchange:
        """Send a request, and return it while it is answered. A header that is None is left out."""
        sent: dict[str, str | None] = {**self._headers}
        if body is not None:
            data, sent = msgspec.json.encode(body), sent | {"content-type": "application/json"}
        sent |= {name.replace("_", "-"): text for name, text in headers.items()}
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [
                (name.encode(), text.encode("latin-1"))
                for name, text in sent.items()
                if text is not None
            ],
        }
        return Exchange(self.app, scope, chunks or [data or b""])

    async def send(self, method: str, target: str, body: Any = None, **options: Any) -> Reply:
        """Send a request, and return the whole response."""
        return await self.begin(method, target, body, **options).whole()

    async def get(self, target: str, **options: Any) -> Reply:
        return await self.send("GET", target, **options)

    async def post(self, target: str, body: Any = None, **options: Any) -> Reply:
        return await self.send("POST", target, body, **options)

    async def put(self, target: str, body: Any = None, **options: Any) -> Reply:
        return await self.send("PUT", target, body, **options)


class Served:
    """An application with the store `acme`, and what is behind it."""

    def __init__(
        self, app: HttpApp, dispatcher: Dispatcher, stores: StoreSet, control: ControlStore
    ) -> None:
        self.app = app
        self.dispatcher = dispatcher
        self.stores = stores
        self.control = control
        self.client = Client(app)

    def secret(self, **options: Any) -> str:
        """Make a token, and return its secret."""
        secret, _ = self.control.tokens.create(**({"store": None} | options))
        return secret

    def with_token(self, **options: Any) -> Client:
        return Client(self.app, authorization=f"Bearer {self.secret(**options)}")


@asynccontextmanager
async def serving(
    folder: Path,
    *,
    asks_for_tokens: bool = False,
    options: StoreOptions = OPTIONS,
    meter: Any = None,
    **settings: Any,
) -> AsyncIterator[Served]:
    """Serve a folder of stores, with one called `acme`."""
    stores = StoreSet.in_folder(folder, options)
    with ControlStore(control_path(folder=folder)) as control:
        try:
            if "acme" not in await stores.names():
                await stores.create("acme")
            dispatcher = Dispatcher(stores, control, meter, asks_for_tokens=asks_for_tokens)
            app = HttpApp(dispatcher, **settings)
            yield Served(app, dispatcher, stores, control)
        finally:
            await stores.close(0)


def run(folder: Path, work: Callable[[Served], Awaitable[None]], **settings: Any) -> None:
    """Run a test in an event loop, against an application of its own."""

    async def main() -> None:
        async with asyncio.timeout(HANG_SECONDS), serving(folder, **settings) as served:
            await work(served)

    asyncio.run(main())
