"""The HTTP server: the application on a port, from its start to an orderly shutdown."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from functools import partial

from uvicorn.config import Config

from memoranda.errors import InvalidInput, Unavailable
from memoranda.model.clock import SystemClock
from memoranda.server.http.app import HttpApp
from memoranda.server.http.limits import HttpLimits
from memoranda.server.http.protocol import Connection, Connections
from memoranda.server.http.tls import server_context
from memoranda.server.tls import TlsFiles

_log = logging.getLogger("memoranda.server")
_BACKLOG = 1024
"""Connections that wait to be accepted, as far as the system allows."""
_FINAL_RESPONSE_SECONDS = 0.2
"""Time for the last responses to reach their clients."""
_TLS_CHECK_SECONDS = 1.0
"""Seconds between two checks of the TLS files."""


class HttpServer:
    """An HTTP server on one port. All methods are called in one event loop."""

    def __init__(self, limits: HttpLimits | None = None) -> None:
        self._limits = limits or HttpLimits()
        self._connections = Connections(self._limits, SystemClock())
        self._socket: socket.socket | None = None
        self._listener: asyncio.Server | None = None
        self._app: HttpApp | None = None
        self._connect: Callable[[], Connection] | None = None
        self._following: asyncio.Task[None] | None = None
        """Follows the files of TLS."""

    def bind(self, host: str, port: int) -> int:
        """Take a port, 0 for a free one, and return it; requests are answered from `start` on."""
        try:
            addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            family, kind, protocol, _, address = addresses[0]
            self._socket = socket.socket(family, kind, protocol)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind(address)
        except OSError as error:
            self._close_socket()
            raise Unavailable(
                f"cannot listen on {host}:{port}: another program may do so, or it is no address "
                "of this machine; choose another one"
            ) from error
        return int(self._socket.getsockname()[1])

    async def start(self, app: HttpApp, tls: TlsFiles | None = None) -> None:
        """Answer requests with an application."""
        self._app = app
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # our own log says it
        config = Config(
            app,
            http=Connection,
            ws="none",
            loop="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=round(self._limits.idle_seconds),
        )
        config.load()
        self._connect = partial(Connection, config, self._connections, {})
        self._connections.start()
        await self._listen(tls)
        if tls is not None:
            self._following = asyncio.create_task(self._follow(tls))

    async def _listen(self, tls: TlsFiles | None) -> None:
        """Listen with the files of TLS as they are now, and no longer as they were before."""
        assert self._socket is not None, "a port was taken"
        assert self._connect is not None, "the server starts"
        context = None if tls is None else await asyncio.to_thread(server_context, tls)
        before, loop = self._listener, asyncio.get_running_loop()
        self._listener = await loop.create_server(
            self._connect, sock=self._socket.dup(), ssl=context, backlog=_BACKLOG
        )
        if before is not None:  # its connections stay
            before.close()

    async def _follow(self, tls: TlsFiles) -> None:
        """Listen anew whenever the files of TLS have changed, if they fit together."""
        stamp = tls.stamp()
        while True:
            await asyncio.sleep(_TLS_CHECK_SECONDS)
            current = tls.stamp()
            if current is None or current == stamp:
                continue
            stamp = current
            try:
                await self._listen(tls)
            except InvalidInput as error:
                _log.warning("the TLS files are not used", extra={"problem": str(error)})
            else:
                _log.info("the TLS files were read again")

    @property
    def count(self) -> int:
        """How many requests are being answered."""
        return 0 if self._app is None else self._app.count

    async def stop(self, seconds: float) -> None:
        """Take no more requests, let those in flight end within some seconds, and cut off the rest.

        A second call shortens what the first one waits for.
        """
        if self._following is not None:
            self._following.cancel()
        if self._listener is not None:
            self._listener.close()
        self._close_socket()
        if self._app is None:
            return
        await self._app.drain(seconds)
        for connection in [*self._connections.connections]:
            connection.shutdown()
        await self._wait_until_closed(_FINAL_RESPONSE_SECONDS if seconds else 0)
        self._connections.stop()
        for connection in [*self._connections.connections]:
            connection.transport.abort()
        tasks = [*self._connections.tasks]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _wait_until_closed(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while self._connections.connections and loop.time() < deadline:
            await asyncio.sleep(0.01)

    def _close_socket(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
