"""Commits of an event loop: queued here, written in another thread, and awaited."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from memoranda.calls.write import StagedTransaction, StagedWrite
from memoranda.errors import InvalidInput, LinkCycle, NotFound, ReflectionTooDeep
from memoranda.log.commit.group_commit import RECHECK_SECONDS, Committer, PendingCommit
from memoranda.log.commit.outcome import CommitResult
from memoranda.log.commit.staged_transaction import Request

_WAKE_UPS = 16
"""Tasks that are woken in one turn of the event loop; each takes about fifty microseconds."""


class LoopChannel:
    """Passes the outcomes of commits to the event loop that awaits them, one wake-up a batch.

    All attributes are used in the loop's own thread. The leader of a batch runs in another one: it
    calls `settle`, which only schedules `_resolve` in the loop. An interrupt can hit the leader
    between writing a batch and `settle`; `_recheck` finds such commits by their outcome.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, committer: Committer) -> None:
        self.loop = loop
        self._committer = committer
        self._futures: dict[PendingCommit, asyncio.Future[None]] = {}
        """The commits that tasks await, and the futures that wake the tasks."""
        self._is_leader_due = False
        """Whether `_ensure_leader` is scheduled in the loop."""
        self._is_recheck_due = False
        """Whether `_recheck` is scheduled in the loop."""

    def commit(self, request: Request) -> PendingCommit:
        """Queue a commit.

        The leader starts after every ready task has run, so that one batch has all their commits.
        """
        pending = self._committer.submit(request, self)
        if not self._is_leader_due:
            self._is_leader_due = True
            atexit.register(self._committer.write_queued)  # in case the loop stops before
            self.loop.call_soon(self._ensure_leader)
        return pending

    def expect(self, pending: PendingCommit) -> asyncio.Future[None]:
        """Return a new future that is done when the commit has an outcome."""
        future = self._futures[pending] = self.loop.create_future()
        if not self._is_recheck_due:
            self.loop.call_later(RECHECK_SECONDS, self._recheck)
            self._is_recheck_due = True
        return future

    def withdraw(self, pending: PendingCommit) -> bool:
        """Take a commit out of the queue; return False if a leader has taken it already."""
        if not self._committer.withdraw(pending):
            return False
        self._futures.pop(pending, None)
        return True

    def settle(self, settled: Sequence[PendingCommit]) -> None:
        """Wake the tasks of these commits; called by the leader, in its own thread."""
        with suppress(RuntimeError):  # the loop is closed, and no task waits
            self.loop.call_soon_threadsafe(self._resolve, settled)

    def _ensure_leader(self) -> None:
        self._is_leader_due = False
        self._committer.ensure_leader()
        atexit.unregister(self._committer.write_queued)

    def _resolve(self, settled: Sequence[PendingCommit], start: int = 0) -> None:
        """Wake the tasks of commits, some at a time: tasks of other stores run in between."""
        end = start + _WAKE_UPS
        for pending in settled[start:end]:
            future = self._futures.pop(pending, None)
            if future is not None and not future.done():  # else it was cancelled
                future.set_result(None)
        if end < len(settled):
            self.loop.call_soon(self._resolve, settled, end)

    def _recheck(self) -> None:
        """Resolve or recover commits whose leader was interrupted before it told this loop."""
        self._is_recheck_due = False
        self._resolve([pending for pending in self._futures if pending.outcome is not None])
        for pending in self._futures:
            self._committer.recover(pending)
        if self._futures:
            self._is_recheck_due = True
            self.loop.call_later(RECHECK_SECONDS, self._recheck)
            self._ensure_leader()


class SubmittedWrite:
    """A write that is staged and queued, until its outcome is known."""

    __slots__ = ("_channel", "_future", "_pending", "_staged")

    def __init__(self, channel: LoopChannel, staged: StagedWrite[Any] | StagedTransaction) -> None:
        self._channel = channel
        self._staged = staged
        self._pending = channel.commit(staged.request)
        self._future = channel.expect(self._pending)

    @property
    def is_decided(self) -> bool:
        """Whether it is durable, or was refused."""
        return self._pending.outcome is not None

    async def decided(self) -> CommitResult:
        """Wait until it is durable, and return its commit, or raise the error that prevented it."""
        if not self.is_decided:
            await self.wait()
        return self.result()

    async def wait(self) -> None:
        """Wait until it is decided.

        Cancelling withdraws it if no leader has taken it yet; otherwise it completes first.
        """
        pending = self._pending
        try:
            await self._future
        except asyncio.CancelledError:
            if not self._channel.withdraw(pending) and pending.outcome is None:
                await self._channel.expect(pending)
            raise

    def result(self) -> CommitResult:
        """Return the commit of a decided write, or raise the error that prevented it."""
        staged = self._staged
        try:
            return self._pending.result()
        except (InvalidInput, NotFound) as error:
            raise staged.named_by_caller(error) from error
        except (LinkCycle, ReflectionTooDeep) as error:
            raise staged.masked(error) from None

    def withdraw(self) -> None:
        """Withdraw the write; if a leader has taken it, it completes unnoticed."""
        self._channel.withdraw(self._pending)
