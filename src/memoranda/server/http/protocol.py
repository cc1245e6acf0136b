"""The connections of the HTTP server: uvicorn's protocol, with bounds on headers and on time.

uvicorn waits for ever for the headers and the body of a request, and for a client that reads no
response. Here, a sweep each second looks at all connections, and ends those that are too slow. So a
request costs no timer of its own.
"""

from __future__ import annotations

import asyncio
from email.utils import formatdate
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from memoranda.model.clock import Clock
from memoranda.server.http.limits import HttpLimits

SWEEP_SECONDS = 1.0
"""Time between two looks at all connections."""
_MAX_CHUNKED = 8
"""Bytes that a byte of a body may have come in: its chunk has a length and four line ends."""
_TIMEOUT = (b"408 Request Timeout", b"the request did not arrive in time")
_LARGE_HEADERS = (b"431 Request Header Fields Too Large", b"the headers are too long")
_TOO_MANY = (b"503 Service Unavailable", b"the server has too many connections")


class Connections(ServerState):
    """The connections of a server, and what they share."""

    def __init__(self, limits: HttpLimits, clock: Clock) -> None:
        super().__init__()
        self.limits = limits
        self._clock = clock
        self._sweeping: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start the sweep over the connections."""
        self._sweep()

    def stop(self) -> None:
        """Stop the sweep."""
        if self._sweeping is not None:
            self._sweeping.cancel()

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        date = formatdate(self._clock.now() / 1_000_000, usegmt=True).encode()
        self.default_headers = [(b"date", date)]
        for connection in [*self.connections]:
            if isinstance(connection, Connection):
                connection.check_speed(loop.time())
        self._sweeping = loop.call_later(SWEEP_SECONDS, self._sweep)


class Connection(HttpToolsProtocol):
    """A connection of a client."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        assert isinstance(server_state, Connections), "the server has these"
        self._limits = server_state.limits
        self._arriving_since: float | None = None
        """When the request that is arriving began; None: none is."""
        self._received = 0
        """Bytes since then."""
        self._received_body = 0
        """Bytes of the body among them."""
        self._are_headers_complete = False
        self._unsent = 0
        """Bytes that the client had not taken when it was last looked at."""
        self._stuck_since: float | None = None
        """Since when it takes none."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, if there are not too many."""
        super().connection_made(transport)
        self._arriving_since = self.loop.time()
        if len(self.connections) > self._limits.connections:
            self._refuse(*_TOO_MANY)

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        if self._arriving_since is None:
            self._arriving_since = self.loop.time()
        self._received += len(data)
        super().data_received(data)
        if self._received > self._allowed_bytes():
            self._refuse(*_LARGE_HEADERS)

    def _allowed_bytes(self) -> int:
        """Return the bytes that the request may have by now.

        Behind its headers, these are its body, in chunks of a byte at the least, and a trailer.
        """
        if not self._are_headers_complete:
            return self._limits.header_bytes
        return 2 * self._limits.header_bytes + _MAX_CHUNKED * self._received_body

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, without the space around it (RFC 9110, 5.5).

        One of a trailer is ignored: it must not replace what was checked.
        """
        if not self._are_headers_complete:
            super().on_header(name, value.strip(b" \t"))

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._received_body += len(body)
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """Begin to answer a request."""
        self._are_headers_complete = True
        if sum(len(name) + len(value) for name, value in self.headers) > self._limits.header_bytes:
            self._refuse(*_LARGE_HEADERS)
            return
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that a request has arrived."""
        self._arriving_since, self._received, self._received_body = None, 0, 0
        self._are_headers_complete = False
        super().on_message_complete()

    def check_speed(self, now: float) -> None:
        """End the connection if its client is too slow."""
        if self._is_late(now) and not self.transport.is_closing():
            cycle: RequestResponseCycle | None = self.cycle
            if cycle is not None and cycle.response_started and not cycle.response_complete:
                self.transport.abort()
            else:
                self._refuse(*_TIMEOUT)
        else:
            self._check_sending(now)

    def _is_late(self, now: float) -> bool:
        """Say whether a request takes too long to arrive, other than because the server is busy."""
        since = self._arriving_since
        return (
            since is not None
            and not self.flow.read_paused
            and now > since + self._allowed_seconds()
        )

    def _allowed_seconds(self) -> float:
        """Return the seconds that the request has, from its first byte on."""
        limits = self._limits
        if not self._are_headers_complete:
            return limits.header_seconds
        return limits.body_seconds + self._received / limits.body_bytes_per_second

    def _check_sending(self, now: float) -> None:
        unsent = self.transport.get_write_buffer_size()
        if not unsent or unsent != self._unsent:
            self._unsent, self._stuck_since = unsent, None
        elif self._stuck_since is None:
            self._stuck_since = now
        elif now - self._stuck_since > self._limits.send_seconds:
            self.transport.abort()

    def _refuse(self, status: bytes, text: bytes) -> None:
        """Answer with a status and close the connection."""
        if self.transport.is_closing():
            return
        self.transport.write(
            b"HTTP/1.1 " + status + b"\r\ncontent-type: text/plain\r\ncontent-length: "
            + str(len(text)).encode() + b"\r\nconnection: close\r\n\r\n" + text
        )  # fmt: skip
        self.transport.close()
