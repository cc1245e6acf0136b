"""A gateway between a client and a server over HTTP: it reads answers whole, and may spoil them."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import NamedTuple, Self

from memoranda.wire.over_http import FrameReader, frame
from tests.patience import HANG_SECONDS


class Answer(NamedTuple):
    """A response as it goes to the client."""

    status: int
    headers: dict[str, str]
    body: bytes
    length: int | None = None
    """The length that it claims to have; None: its own."""


Forward = Callable[[], Answer]
Spoil = Callable[[Forward], Answer]
"""Answers a request; it may ask the server first."""


def page(status: int, text: str = "<html>Bad Gateway</html>", **headers: str) -> Spoil:
    """Return what answers with a page of HTML."""
    return lambda _: Answer(status, {"content-type": "text/html", **headers}, text.encode())


def after(spoil: Spoil) -> Spoil:
    """Return what lets the server do its work, and then answers otherwise."""

    def answer(forward: Forward) -> Answer:
        forward()
        return spoil(forward)

    return answer


def cut_off(share: float) -> Spoil:
    """Return what passes on a part of a body only, which does not have the length it claims."""

    def answer(forward: Forward) -> Answer:
        whole = forward()
        part = whole.body[: int(len(whole.body) * share)]
        return whole._replace(body=part, length=len(whole.body))

    return answer


def without_end(forward: Forward) -> Answer:
    """Pass on a body of frames without its last one, as if it were whole."""
    whole = forward()
    return whole._replace(body=whole.body[:-5])


def without_last_message(forward: Forward) -> Answer:
    """Pass on a body of frames without the last message and the end, as if it were whole."""
    whole = forward()
    parts = [frame(kind, data) for kind, data in FrameReader().feed(whole.body)]
    return whole._replace(body=b"".join(parts[:-2]))


class _Server(ThreadingHTTPServer):
    """Prints nothing of clients that went away: tests make them do so."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class Gateway:
    """Listens on a free port of this machine, and passes requests on to another address."""

    def __init__(self, target: str) -> None:
        self._target = target
        self.spoils: dict[str, list[Spoil]] = {}
        """What answers the next requests of a method; the last one answers all that follow."""
        self.requests: Counter[str] = Counter()
        """How many came, by the method."""
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/acme"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(HANG_SECONDS)

    def _answer(self, path: str, headers: dict[str, str], body: bytes) -> Answer:
        method = path.rpartition("/")[2]
        self.requests[method] += 1

        def forward() -> Answer:
            connection = HTTPConnection(self._target, timeout=HANG_SECONDS)
            try:
                connection.request("POST", path, body, headers)
                response = connection.getresponse()
                fields = {"content-type": response.headers["content-type"]}
                return Answer(response.status, fields, response.read())
            finally:
                connection.close()

        spoils = self.spoils.get(method, [])
        spoil = spoils.pop(0) if len(spoils) > 1 else next(iter(spoils), None)
        return forward() if spoil is None else spoil(forward)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                names = ("authorization", "content-type", "accept")
                headers = {name: self.headers[name] for name in names if name in self.headers}
                answer = gateway._answer(self.path, headers, body)
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                length = len(answer.body) if answer.length is None else answer.length
                self.send_header("content-length", str(length))
                self.end_headers()
                self.wfile.write(answer.body)
                self.close_connection = len(answer.body) != length

            def log_message(self, *_: object) -> None:
                pass

        return Handler
