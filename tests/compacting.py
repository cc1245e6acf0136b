"""Compaction in slices of a chosen size, which a test can stop, or do something in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from memoranda import Store
from memoranda.log.compaction import pace
from memoranda.log.compaction.compactor import Plan, Slice, Step
from tests.cores import core_of

Between = Callable[[Step], object]


class Stopped(KeyboardInterrupt):
    """As if somebody had pressed Ctrl-C between two slices."""


@contextmanager
def sliced(store: Store, weight: int, between: Between | None = None) -> Iterator[list[Slice]]:
    """Let a store's compactions be cut into slices of a weight; yield those carried out."""
    committer, done = core_of(store).committer, list[Slice]()
    carry_out = committer._write_slice

    def carried_out(plan: Plan, part: Slice) -> Step:
        step = carry_out(plan, part)
        done.append(part)
        if between is not None:
            between(step)
        return step

    with ExitStack() as changed:
        for name in ("MIN_WEIGHT", "FIRST_WEIGHT", "MAX_WEIGHT"):
            changed.enter_context(patch.object(pace, name, weight))
        changed.enter_context(patch.object(committer, "_write_slice", carried_out))
        yield done


def stopping_after(count: int) -> Between:
    """Return what interrupts a compaction behind so many slices."""
    remainder = iter(range(count, 0, -1))

    def stop(_: Step) -> None:
        if next(remainder, 0) == 1:
            raise Stopped

    return stop


def compact_partly(store: Store, before: int, *, weight: int = 4, count: int = 2) -> None:
    """Begin a compaction and interrupt it."""
    with sliced(store, weight, stopping_after(count)):
        try:
            store.compact(before=before, confirm=True)
        except Stopped:
            return
    raise AssertionError("it was over before it was stopped")
