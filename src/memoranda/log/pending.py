"""Commits that are waited for: who waits, who writes, and how they learn what became of it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol

from memoranda.errors import MemorandaError
from memoranda.log.batch import Outcome
from memoranda.log.transaction import Request
from memoranda.storage.locks import Wakeup


def commit_of(outcome: Outcome) -> int:
    """Return the commit, or raise why there is none."""
    if isinstance(outcome, MemorandaError):
        raise outcome
    return outcome


class Lead:
    """The right to write, of one call in one thread."""

    __slots__ = ("thread",)

    def __init__(self) -> None:
        self.thread = threading.get_ident()


class Pending:
    """A request on its way into the log."""

    __slots__ = ("channel", "lead", "outcome", "request", "size")

    def __init__(self, request: Request, channel: Channel | WaitingThread) -> None:
        self.request = request
        self.channel = channel
        self.size = request.size
        self.lead: Lead | None = None
        """Who took it out of the queue to write it."""
        self.outcome: Outcome | None = None
        """None until it is decided and durable."""

    def result(self) -> int:
        """Return the commit, or raise why there is none."""
        assert self.outcome is not None, "asked for before it was settled"
        return commit_of(self.outcome)


class Channel(Protocol):
    """How an event loop is told of the commits it waits for."""

    def settle(self, settled: Sequence[Pending]) -> None:
        """Tell that these have their outcome; called once a batch, from the leader's thread."""
        ...


class WaitingThread(Wakeup):
    """A thread that waits for one commit.

    Threads whose commits were written together are woken one by one, each by the one before it: all
    at once they would compete for the interpreter, which can run only one of them.
    """

    __slots__ = ("following",)

    def __init__(self) -> None:
        super().__init__()
        self.following: WaitingThread | None = None

    def pass_on(self) -> None:
        """Wake the one that follows, if there is one."""
        following, self.following = self.following, None
        if following is not None:
            following.set()


def tell(batch: Sequence[Pending], outcomes: Sequence[Outcome], own: WaitingThread | None) -> None:
    """Give everybody in a batch their outcome and wake them; who leads is awake."""
    first: WaitingThread | None = None
    for pending in reversed(batch):
        if isinstance(pending.channel, WaitingThread) and pending.channel is not own:
            pending.channel.following, first = first, pending.channel
    loops: dict[Channel, list[Pending]] = {}
    for pending, outcome in zip(batch, outcomes, strict=True):
        pending.outcome = outcome  # from here on a thread may go: who follows it is known by now
        if not isinstance(pending.channel, WaitingThread):
            loops.setdefault(pending.channel, []).append(pending)
    for channel, settled in loops.items():
        channel.settle(settled)
    if first is not None:
        first.set()
