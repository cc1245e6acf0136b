"""How a store's work is called: at once, in the caller's thread.

The classes of `sdk/store/` and `sdk/transaction/` do everything that may wait through `Calls`. The
asynchronous classes generated from them use `AsyncCalls` (`sdk/async_calls.py`) instead; that is
the whole difference. Both are local carriers of calls: they run the handlers in this process.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, ParamSpec, TypeVar

from memoranda.calls.call import Call
from memoranda.calls.core import Core
from memoranda.calls.grant import Grant
from memoranda.calls.registry import handle
from memoranda.errors import InvalidInput
from memoranda.log.commit.group_commit import Committer
from memoranda.log.commit.outcome import CommitResult
from memoranda.log.commit.staged_transaction import Request
from memoranda.log.pages import Pages
from memoranda.log.read.wakeup import Signal
from memoranda.model.clock import SystemClock
from memoranda.model.limits import short_repr
from memoranda.storage.port import Progress

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
Argument = TypeVar("Argument")
Item = TypeVar("Item")


class Calls:
    """Runs work in the calling thread, which waits for it."""

    def __init__(self, core: Core, grant: Grant) -> None:
        self._core = core
        self._grant = grant

    def bound_to(self, grant: Grant) -> Calls:
        """Return the carrier of another handle of the same store."""
        return Calls(self._core, grant)

    def ask(self, call: Call[Answer], progress: Progress | None = None) -> Answer:
        """Return the answer of a call; a long one can report its progress."""
        return handle(self._core, self._grant, call, progress)

    def open_pages(self, call: Call[Item]) -> Pages[Item]:
        """Return the pages of a call that has a long answer."""
        pages: Any = handle(self._core, self._grant, call)
        return pages  # type: ignore[no-any-return]

    def run(
        self, work: Callable[Arguments, Answer], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Answer:
        """Do the work."""
        return work(*args, **kwargs)

    def run_search(
        self, work: Callable[Arguments, Answer], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Answer:
        """Do a part of a call that searches much, or writes much."""
        return work(*args, **kwargs)

    def run_apart(
        self, work: Callable[Arguments, Answer], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Answer:
        """Do work that mostly waits, for a disk or a server."""
        return work(*args, **kwargs)

    def close(self, work: Callable[[], None]) -> None:
        """Close the store."""
        work()

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
        self._core.clock.sleep(seconds)

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


def listed(calls: Calls, call: Call[Item]) -> Iterator[Item]:
    """Yield the items of an answer; the call is checked, and its moment set, at once."""
    return paged(calls, calls.open_pages(call))


def listed_as(
    calls: Calls, call: Call[Argument], change: Callable[[Argument], Item]
) -> Iterator[Item]:
    """Yield what a function makes of each item of an answer."""
    return map(change, listed(calls, call))
