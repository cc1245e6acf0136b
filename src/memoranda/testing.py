"""What you test agents with: a store in memory, a clock and ids that repeat, and a comparison.

Two stores made by `memory_store()` that are given the same calls have the same log to the last
byte. Where only what the agent *did* should be compared, use `same_behaviour`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest

import msgspec

from memoranda.model import document
from memoranda.model.clock import FixedClock
from memoranda.model.event import ReplayEvent
from memoranda.model.ids import FixedIds
from memoranda.model.operations import AnyOperation
from memoranda.sdk.aio import AsyncStore
from memoranda.sdk.open import open, open_async
from memoranda.sdk.store import Store
from memoranda.search.embedding import Given

__all__ = [
    "Behaviour",
    "FixedClock",
    "FixedIds",
    "memory_store",
    "memory_store_async",
    "same_behaviour",
]


def memory_store(
    *,
    clock: FixedClock | None = None,
    ids: FixedIds | None = None,
    embedder: Given = None,
) -> Store:
    """Return a new store in memory, with a clock that stands still and ids that repeat.

    It has no vectors unless there is an `embedder`: recalling then goes by words and facts.
    """
    return open(":memory:", clock=clock or FixedClock(), ids=ids or FixedIds(), embedder=embedder)


async def memory_store_async(
    *,
    clock: FixedClock | None = None,
    ids: FixedIds | None = None,
    embedder: Given = None,
) -> AsyncStore:
    """Return a new store in memory for asyncio."""
    return await open_async(
        ":memory:", clock=clock or FixedClock(), ids=ids or FixedIds(), embedder=embedder
    )


class Behaviour(msgspec.Struct, frozen=True):
    """What a comparison found; true if both did the same, else it says where they part."""

    difference: str | None = None

    def __bool__(self) -> bool:
        return self.difference is None


def same_behaviour(first: Iterable[ReplayEvent], second: Iterable[ReplayEvent]) -> Behaviour:
    """Compare what was done: the same operations on the same values, grouped in the same way.

    When it was done, under which commit, transaction and version, by which agent in which
    namespace, and because of what makes no difference, so two runs can be compared that share
    a log. Values are compared as JSON: 1, 1.0 and true differ.
    """
    for number, (one, other) in enumerate(zip_longest(_deeds(first), _deeds(second)), start=1):
        if not _same(one, other):
            return Behaviour(
                f"event {number}: {_shown(one)} in the first, {_shown(other)} in the second"
            )
    return Behaviour()


Deed = tuple[str, str, document.Document | None]


def _deeds(events: Iterable[ReplayEvent]) -> Iterator[list[Deed]]:
    for event in events:
        yield [_deed(operation) for operation in event.operations]


def _deed(operation: AnyOperation) -> Deed:
    return operation.type.name, operation.key, operation.value


def _same(one: list[Deed] | None, other: list[Deed] | None) -> bool:
    if one is None or other is None or len(one) != len(other):
        return False
    return all(
        mine[:2] == yours[:2] and document.same(mine[2], yours[2])
        for mine, yours in zip(one, other, strict=True)
    )


def _shown(deeds: list[Deed] | None) -> str:
    if deeds is None:
        return "nothing more"
    return ", ".join(f"{name} {key!r} {value}" for name, key, value in deeds)
