"""Drives an AsyncStore as if it were a Store, so that one suite holds for both."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from types import TracebackType
from typing import Any

from memoranda import (
    AsyncReplayEntry,
    AsyncStore,
    AsyncSubscription,
    AsyncTransaction,
    AsyncTranscript,
)
from memoranda.sdk.async_calls import AsyncListing, AsyncOpened


async def _opened(target: AsyncListing[Any] | AsyncOpened) -> None:
    await target


async def _called(method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a method on the loop, and await what it gives: what is staged, or an answer."""
    result = method(*args, **kwargs)
    return await result if inspect.isawaitable(result) else result


TWINS = (AsyncReplayEntry, AsyncStore, AsyncSubscription, AsyncTransaction, AsyncTranscript)


class Loop:
    """An event loop in a thread of its own: whoever calls it waits, and it goes on."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> Loop:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


class Blocking:
    """Awaits every call, and turns asynchronous iterators into plain ones."""

    def __init__(self, target: Any, loop: Loop) -> None:
        self._target = target
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._target, name)
        if not callable(attribute):
            return self._settle(attribute)
        if isinstance(self._target, AsyncTransaction):  # staging needs the loop of its caller
            return lambda *args, **kwargs: self._settle(
                self._loop.run(_called(attribute, *args, **kwargs))
            )
        return lambda *args, **kwargs: self._settle(
            attribute(*(self._awaitable(arg) if callable(arg) else arg for arg in args), **kwargs)
        )

    def __iter__(self) -> Blocking:
        return self

    def __next__(self) -> Any:
        assert isinstance(self._target, AsyncSubscription)
        return next(self._iterate(self._target))

    def __enter__(self) -> Blocking:
        self._loop.run(self._target.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.run(self._target.__aexit__(kind, error, traceback))

    def _settle(self, result: Any) -> Any:
        if inspect.iscoroutine(result):
            result = self._loop.run(result)
        if isinstance(result, (AsyncListing, AsyncOpened)):  # a plain one is opened by its call
            self._loop.run(_opened(result))
        if isinstance(result, TWINS):
            return Blocking(result, self._loop)
        if isinstance(result, list):
            return [self._settle(item) for item in result]
        return self._iterate(result) if hasattr(result, "__anext__") else result

    def _iterate(self, items: AsyncIterator[Any]) -> Iterator[Any]:
        async def following() -> list[Any]:
            try:
                return [self._settle(await anext(items))]
            except StopAsyncIteration:
                return []

        while result := self._loop.run(following()):
            yield result[0]

    def _awaitable(self, work: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Let a blocking function run beside the loop, with a transaction it can block on."""

        async def awaited(transaction: AsyncTransaction) -> Any:
            return await asyncio.to_thread(work, Blocking(transaction, self._loop))

        return awaited
