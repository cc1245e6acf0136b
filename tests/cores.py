"""The components of a store that is open in this process, also if a server has it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from memoranda.calls.core import Core
from memoranda.sdk.local.async_calls import AsyncLocalCalls
from memoranda.sdk.local.calls import LocalCalls
from tests.server_process import ServerThread

_SERVED: dict[str, Core] = {}
"""The components of the only store of a server, by its URLs."""


def core_of(store: Any) -> Core:
    """Return the components of a store, or of an asynchronous one that a test drives."""
    calls = getattr(store, "_target", store)._calls
    if isinstance(calls, (LocalCalls, AsyncLocalCalls)):
        return calls.core
    return _SERVED[calls.place]


@contextmanager
def serve_core(server: ServerThread) -> Iterator[None]:
    """Let tests know the components of a server's only store, for the length of a block."""

    async def core() -> Core:
        async with server.server.stores.use("") as opened:
            return opened.core

    places = [server.url(scheme, "") for scheme in ("grpc", "http")]
    opened = server.run(core())
    _SERVED.update((place, opened) for place in places)
    try:
        yield
    finally:
        for place in places:
            del _SERVED[place]
