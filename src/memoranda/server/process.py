"""A server as a process: it serves until it gets a signal, and then shuts down in order."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from contextlib import closing, suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from msgspec.structs import replace

from memoranda.server.process_limits import fitting_stores, tune_interpreter
from memoranda.server.serving import Server, ServerSettings

_log = logging.getLogger("memoranda.server")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_HURRY_SECONDS = 2.0
"""Time to close the stores after a second signal; every commit that was acknowledged is durable."""


def serve(
    settings: ServerSettings, drain_seconds: float, announce: Callable[[Server], None]
) -> None:
    """Serve until SIGINT or SIGTERM; `announce` is called once the server listens.

    After the signal, calls in flight have `drain_seconds` to end. A second signal ends at once.
    """
    tune_interpreter()
    max_open = fitting_stores(settings.stores.max_open)
    settings = replace(settings, stores=replace(settings.stores, max_open=max_open))
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(settings, drain_seconds, announce))


def _loop_factory() -> Any:
    """Return what makes event loops: uvloop, if it is installed."""
    if find_spec("uvloop") is None:
        return None
    return import_module("uvloop").new_event_loop


async def _serve(
    settings: ServerSettings, drain_seconds: float, announce: Callable[[Server], None]
) -> None:
    with closing(_Signals()) as signals:
        server = Server(settings)
        await server.start()
        try:
            announce(server)
            await signals.first.wait()
            _log.info("shutting down", extra={"seconds": drain_seconds})
            stopping = asyncio.ensure_future(server.stop(drain_seconds))
            hurrying = asyncio.ensure_future(signals.second.wait())
            await asyncio.wait((stopping, hurrying), return_when=asyncio.FIRST_COMPLETED)
            hurrying.cancel()
        finally:
            if signals.second.is_set():
                asyncio.get_running_loop().call_later(_HURRY_SECONDS, os._exit, 1)
            await server.stop(0)
        await stopping


class _Signals:
    """The signals that end a server: the first one in order, the second one at once."""

    def __init__(self) -> None:
        self.first = asyncio.Event()
        self.second = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            with suppress(NotImplementedError):  # Windows: Ctrl-C interrupts the event loop
                loop.add_signal_handler(number, self._note)

    def _note(self) -> None:
        (self.second if self.first.is_set() else self.first).set()

    def close(self) -> None:
        """Let signals do what they do elsewhere: uvloop would leave its handlers behind."""
        for number in _SIGNALS:
            with suppress(NotImplementedError):
                asyncio.get_running_loop().remove_signal_handler(number)
