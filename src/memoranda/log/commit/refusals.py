"""Refusals that matter for security: noted in the log, by ids alone, and not too many of them.

Whoever is refused is told at once. The note is a transaction of the engine's own behind the refused
one, in the audit's scope, where no agent's replay sees it. Of one kind and one agent only so many
are noted in a while; how many more there were is said in the next note, or when the store closes.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from memoranda.errors import LinkCycle, MemorandaError, ReflectionTooDeep
from memoranda.log.transaction import Request
from memoranda.model import codec
from memoranda.model.clock import Clock
from memoranda.model.operations import AUDIT_SCOPE, Refuse

CYCLE = "link.cycle_refused"
DEPTH = "reflection.depth_exceeded"
PERMISSION = "permission.denied"
KINDS = (CYCLE, DEPTH, PERMISSION)
"""The types of audit event that refusals are."""

MOST_NOTED = 10
"""How many refusals of one kind and agent are noted in a `WINDOW`."""
WINDOW = 60.0
MOST_PAIRS = 1024
"""How many kinds and agents are remembered at once."""


class _Recent:
    """What came of one kind and one agent in the current window."""

    __slots__ = ("left_out", "noted", "since")

    def __init__(self, since: float, left_out: int) -> None:
        self.since = since
        self.noted = 0
        self.left_out = left_out


class Refusals:
    """What was refused and is to be noted. Used by one thread at a time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._recent: OrderedDict[tuple[str, str], _Recent] = OrderedDict()
        self.waiting: list[Refuse] = []
        """What is to be written next."""

    def refused(self, error: MemorandaError, by: str) -> None:
        """Take an error that somebody is told, if it is of a kind that is noted."""
        if isinstance(error, LinkCycle):
            self.note(CYCLE, by, (each for each in error.path[:2] if each is not None))
        elif isinstance(error, ReflectionTooDeep):
            self.note(DEPTH, by, error.memory_ids)

    def note(self, what: str, by: str, about: Iterable[str]) -> None:
        """Let a refusal be noted, or counted where there were too many lately."""
        recent = self._window(what, by)
        if recent.noted >= MOST_NOTED:
            recent.left_out += 1
            return
        recent.noted += 1
        self.waiting.append(_refuse(what, by, tuple(about), recent.left_out))
        recent.left_out = 0

    def take(self) -> list[Refuse]:
        """Return what is to be written; it is not kept any longer."""
        taken, self.waiting = self.waiting, []
        return taken

    def take_all(self) -> list[Refuse]:
        """Return what is to be written, and what was only counted, too."""
        for (what, by), recent in self._recent.items():
            self._say_count(what, by, recent)
        return self.take()

    def lost(self, taken: Iterable[Refuse]) -> None:
        """Count what could not be written: it is said with what comes next."""
        for each in taken:
            self._window(each.what, each.by).left_out += each.left_out + bool(each.about)

    def _window(self, what: str, by: str) -> _Recent:
        """Return what came lately of a kind and an agent, as the latest of all."""
        now, pair = self._clock.monotonic(), (what, by)
        recent = self._recent.pop(pair, None)
        if recent is None or now - recent.since >= WINDOW:
            recent = _Recent(now, 0 if recent is None else recent.left_out)
        self._recent[pair] = recent
        if len(self._recent) > MOST_PAIRS:
            (what, by), oldest = self._recent.popitem(last=False)
            self._say_count(what, by, oldest)
        return recent

    def _say_count(self, what: str, by: str, recent: _Recent) -> None:
        """Let it be said how many were left out, with nothing else."""
        if recent.left_out:
            self.waiting.append(_refuse(what, by, (), recent.left_out))
            recent.left_out = 0


def request(txn_id: str, noted: Sequence[Refuse]) -> Request:
    """Return the transaction in which the engine notes something."""
    return Request(
        txn_id=txn_id,
        named=False,
        actor=AUDIT_SCOPE.agent_id,
        staged=noted,
        encoded=codec.join([*map(codec.encode, noted)]),
        reads=frozenset(),
        since=0,
        deadline=math.inf,
    )


def _refuse(what: str, by: str, about: tuple[str, ...], left_out: int) -> Refuse:
    return Refuse(AUDIT_SCOPE.namespace, AUDIT_SCOPE.agent_id, what, by, about, left_out)
