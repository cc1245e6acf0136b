"""Readiness: checks whether a server can answer calls now, and gives the reason if not."""

from __future__ import annotations

import asyncio

from memoranda.errors import MemorandaError, Unavailable
from memoranda.model.clock import Clock, SystemClock
from memoranda.server.control_store import ControlStore
from memoranda.server.folders import error_without
from memoranda.server.stores import StoreSet

CHECK_SECONDS = 5.0
"""Seconds that a check may take; a slower disk could not answer calls either."""
REUSE_SECONDS = 1.0
"""Seconds that the result of a check is reused: any client may request it without a token."""


class Readiness:
    """Checks that a server can read its stores and its tokens. It is used in its event loop."""

    def __init__(
        self, stores: StoreSet, control: ControlStore | None, clock: Clock | None = None
    ) -> None:
        self._stores = stores
        self._control = control
        self._clock = clock or SystemClock()
        self._checked_at = 0.0
        self._problem: Unavailable | None = None
        self._check: asyncio.Task[None] | None = None
        """The running check, which all concurrent requests wait for."""

    async def check(self) -> None:
        """Raise `Unavailable`, with the reason, if calls could not be answered."""
        is_recent = self._clock.monotonic() - self._checked_at < REUSE_SECONDS
        if self._check is None and not (self._checked_at and is_recent):
            self._check = asyncio.create_task(self._run())
        if self._check is not None:
            await asyncio.shield(self._check)
        if self._problem is not None:
            raise self._problem

    async def _run(self) -> None:
        try:
            self._problem = await self._find_problem()
        finally:
            self._checked_at = self._clock.monotonic()
            self._check = None

    async def _find_problem(self) -> Unavailable | None:
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                await self._stores.check_readable()
                if self._control is not None:
                    await asyncio.to_thread(self._control.check_readable)
        except TimeoutError:
            return Unavailable(
                f"the stores could not be read within {CHECK_SECONDS:g} seconds: check the disk"
            )
        except MemorandaError as error:
            return _as_unavailable(error_without(self._stores.folder, error))
        return None


def _as_unavailable(error: MemorandaError) -> Unavailable:
    return error if isinstance(error, Unavailable) else Unavailable(str(error))
