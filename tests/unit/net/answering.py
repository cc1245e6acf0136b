"""A small HTTP server in a thread, which answers as a test tells it to."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Asked(NamedTuple):
    path: str
    headers: dict[str, str]
    body: Any


class Said(NamedTuple):
    status: int = 200
    body: object = None
    """Bytes are sent as they are, all else as JSON."""
    headers: tuple[tuple[str, str], ...] = ()


Answer = Callable[[Asked], Said | None]
"""None: the connection is dropped without a word."""


class Server:
    def __init__(self, answer: Answer, address: str) -> None:
        self.answer = answer
        self.url = address
        self.asked: list[Asked] = []
        self.connections = 0


@contextmanager
def answering(answer: Answer) -> Iterator[Server]:
    """Serve on a free port of this machine until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # connections stay open
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            server.connections += 1

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            queries = Asked(self.path, dict(self.headers.items()), json.loads(content))
            server.asked.append(queries)
            text = server.answer(queries)
            if text is None:
                self.close_connection = True
                return
            body = text.body if isinstance(text.body, bytes) else json.dumps(text.body).encode()
            self.send_response(text.status)
            for name, value in (*text.headers, ("Content-Length", str(len(body)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server = Server(answer, f"http://127.0.0.1:{listening.server_address[1]}/v1")
    thread = threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


@contextmanager
def nobody() -> Iterator[str]:
    """Yield an address where nobody answers: its port is held, so that no other server gets it."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{holder.getsockname()[1]}/v1"
