"""Tools to test agents: a store in memory, deterministic clock and ids, and a comparison of logs.

Two stores of `memory_store()` that get the same calls have the same log, byte for byte. To compare
only the operations of two runs, use `same_behaviour`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

import msgspec

from memoranda.model import document
from memoranda.model.clock import FixedClock
from memoranda.model.event import ReplayEvent
from memoranda.model.ids import FixedIds
from memoranda.model.operations import AnyOperation
from memoranda.sdk.open import open
from memoranda.sdk.store.store import Store
from memoranda.search.vectors.embedder import EmbedderSpec

if TYPE_CHECKING:
    from memoranda.sdk.aio.store.store import AsyncStore

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
    embedder: EmbedderSpec = None,
) -> Store:
    """Return a new store in memory, with a fixed clock and deterministic ids.

    Without an `embedder` it has no vectors, and recall uses the full-text index and facts.
    """
    return open(":memory:", clock=clock or FixedClock(), ids=ids or FixedIds(), embedder=embedder)


async def memory_store_async(
    *,
    clock: FixedClock | None = None,
    ids: FixedIds | None = None,
    embedder: EmbedderSpec = None,
) -> AsyncStore:
    """Return a new store in memory for asyncio."""
    from memoranda.sdk.open_async import open_async  # loads asyncio

    return await open_async(
        ":memory:", clock=clock or FixedClock(), ids=ids or FixedIds(), embedder=embedder
    )


class Behaviour(msgspec.Struct, frozen=True):
    """The result of a comparison: true if both runs are equal; otherwise the first difference."""

    difference: str | None = None

    def __bool__(self) -> bool:
        return self.difference is None


def same_behaviour(first: Iterable[ReplayEvent], second: Iterable[ReplayEvent]) -> Behaviour:
    """Compare two runs: the same operations on the same values, grouped in the same way.

    Times, commits, transactions, versions, agents, namespaces and evidence are not compared, so two
    runs can share a log. Values are compared as JSON: 1, 1.0 and true differ.
    """
    pairs = zip_longest(_steps(first), _steps(second))
    for number, (left, right) in enumerate(pairs, start=1):
        if not _equal(left, right):
            return Behaviour(
                f"event {number}: {_format(left)} in the first, {_format(right)} in the second"
            )
    return Behaviour()


Step = tuple[str, str, document.Document | None]


def _steps(events: Iterable[ReplayEvent]) -> Iterator[list[Step]]:
    for event in events:
        yield [_step(operation) for operation in event.operations]


def _step(operation: AnyOperation) -> Step:
    return operation.type.name, operation.key, operation.value


def _equal(first: list[Step] | None, second: list[Step] | None) -> bool:
    if first is None or second is None or len(first) != len(second):
        return False
    return all(
        left[:2] == right[:2] and document.equal_json(left[2], right[2])
        for left, right in zip(first, second, strict=True)
    )


def _format(steps: list[Step] | None) -> str:
    if steps is None:
        return "nothing more"
    return ", ".join(f"{name} {key!r} {value}" for name, key, value in steps)
