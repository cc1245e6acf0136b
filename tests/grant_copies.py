"""Copies of worlds to write in: with what a grant does not cover, without it, or linked to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

import memoranda
from memoranda import LinkCycle, MemorandaError, ReflectionTooDeep
from memoranda.calls.call import WriteCall
from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.calls.links import Invalidations
from memoranda.calls.registry import handle
from memoranda.model.clock import FixedClock
from tests.cores import core_of
from tests.grant_answers import InProcess, Reach
from tests.grant_worlds import (
    FOREIGN,
    LINKS,
    MARK,
    OWN,
    SECONDS_A_STEP,
    Step,
    StepIds,
    World,
    build,
    comparable,
    finish,
)

BOTH = [step for pair in zip(OWN, FOREIGN, strict=True) for step in pair]
STEPS = [
    *BOTH,
    *(step for step in LINKS if step.agent_id == "b" and "superseded" not in step.label),
]
"""The steps of the agents, and those that link what is covered from elsewhere. Superseding is left
out: its notices belong to the agent whose beliefs rest on what was superseded."""
FIRST_STEP = 10_000
"""The steps of calls come behind those of worlds."""
NOTED = (LinkCycle, ReflectionTooDeep)
"""Refusals of which the engine makes a note in the log."""


class Saved(msgspec.Struct, frozen=True):
    """The file of a world, the ids in it, and the time when it was finished."""

    file: bytes
    ids: dict[str, str]
    now: int
    head: int


@cache
def _whole() -> World:
    return finish(build(STEPS))


@cache
def whole() -> Saved:
    """Return a world with everything, and links from elsewhere."""
    return _save(_whole())


@cache
def without(grant: Grant) -> Saved:
    """Return the same world, in which what a grant does not cover was never written."""

    def is_foreign(step: Step) -> bool:
        return not step.is_covered(grant)

    world = finish(build(STEPS, leave_out=is_foreign, like=_whole()), is_foreign, _whole())
    return _save(world)


@cache
def linked(words: str = MARK) -> Saved:
    """Return a world in which what is covered rests on what is not, too."""
    return _save(finish(build([*BOTH, *LINKS], words=words)))


def _save(world: World) -> Saved:
    core = core_of(world.store)
    notices: Any = handle(core, EVERYTHING, Invalidations(None, "all"))
    names = sorted(notice.id for page in iter(notices.next_page, []) for notice in page)
    ids = world.ids | {f"notice {number}": name for number, name in enumerate(names)}
    with TemporaryDirectory() as folder:
        world.store.backup(Path(folder) / "store.db")
        file = (Path(folder) / "store.db").read_bytes()
    return Saved(file, ids, core.clock.now(), core.head())


@contextmanager
def opened(saved: Saved, folder: Path) -> Iterator[World]:
    """Open a copy of a world, at the time when it was finished."""
    path = folder / f"{len([*folder.iterdir()])}.db"
    path.write_bytes(saved.file)
    clock, ids = FixedClock(saved.now), StepIds()
    with memoranda.open(path, clock=clock, ids=ids, embedder=None, durability="relaxed") as store:
        yield World(store, saved.ids, {})


def answered(
    world: World,
    grant: Grant,
    call: WriteCall[Any],
    number: int = 0,
    reach: Reach | None = None,
) -> Any:
    """Return the answer of a write, or its error with everything that it says.

    Its number decides when it is made, and which ids it draws. A call that raises an error has
    written nothing.
    """
    core = core_of(world.store)
    assert isinstance(core.ids, StepIds)
    assert isinstance(core.clock, FixedClock)
    minutes = number + 1 - max(core.ids.step - FIRST_STEP, 0)
    core.ids.begin(FIRST_STEP + number + 1)
    core.clock.step(minutes * SECONDS_A_STEP)
    before = core.head()
    try:
        return comparable((reach or InProcess(core)).answer(grant, call))
    except MemorandaError as error:
        refusal = error
    core.committer.write_queued()  # a server notes a refusal after it has answered
    assert core.head() == before or isinstance(refusal, NOTED), f"{call} was refused, and wrote"
    return type(refusal), str(refusal), {**vars(refusal), "retryable": refusal.retryable}
