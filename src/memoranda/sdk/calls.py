"""How a store's work is called: at once, in the caller's thread.

The classes of `sdk/store/` and `sdk/transaction/` do everything that may wait through `Calls`. The
asynchronous classes generated from them use `AsyncCalls` (`sdk/async_calls.py`) instead; that is
the whole difference.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import ParamSpec, TypeVar

from memoranda.errors import InvalidInput
from memoranda.log.commit.group_commit import Committer
from memoranda.log.commit.outcome import CommitResult
from memoranda.log.commit.staged_transaction import Request
from memoranda.log.pages import Pages
from memoranda.log.read.wakeup import Signal
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.limits import short_repr

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
Argument = TypeVar("Argument")
Item = TypeVar("Item")


class Calls:
    """Runs work in the calling thread, which waits for it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def run(
        self, work: Callable[Arguments, Answer], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Answer:
        """Do the work."""
        return work(*args, **kwargs)

    def perform(self, work: Callable[[Argument], Answer], argument: Argument) -> Answer:
        """Call a function that the caller passed; refuse a coroutine, which nobody would await."""
        result = work(argument)
        if isinstance(result, Coroutine):
            result.close()
        if isinstance(result, Awaitable):
            raise InvalidInput(
                "work",
                f"{short_repr(work)} is asynchronous, and this store is not: give a plain "
                "function, or open the store with open_async",
            )
        return result

    def commit(self, committer: Committer, request: Request) -> CommitResult:
        """Commit a request, and wait until it is durable."""
        return committer.commit(request)

    def sleep(self, seconds: float) -> None:
        """Wait on the store's clock."""
        self._clock.sleep(seconds)

    def wait(self, signal: Signal, count: int, seconds: float) -> None:
        """Wait until the signal was set more than `count` times, for `seconds` at most."""
        signal.wait(count, seconds)

    def rest(self, seconds: float) -> None:
        """Wait in real time, whatever clock the store has."""
        SystemClock().sleep(seconds)


def paged(calls: Calls, pages: Pages[Item]) -> Iterator[Item]:
    """Yield the items of a paged result, reading a page when the previous one is used up."""
    while page := calls.run(pages.next_page):
        yield from page
