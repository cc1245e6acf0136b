"""Effects: what a statement did to its timeline, as an answer to whoever made it.

It is computed, not stored. What was applied in this process a moment ago is remembered; for the
rest, the timeline is derived as it was known before the commit and behind it, and compared.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Mapping

import msgspec

from memoranda.graph.derive import STILL, Holding, Place, Statement
from memoranda.graph.resolution import Edge, EdgeResolution, ExistingEdge
from memoranda.graph.timelines import Change, Which
from memoranda.model.instant import to_datetime

_MOST = 1_000


class Effect(msgspec.Struct, frozen=True):
    """What a commit did to one timeline: the edges it changed, before it and behind it."""

    timeline: Which
    before: dict[Place, Holding[int]]
    after: dict[Place, Holding[int]]

    def add(self, change: Change) -> None:
        """Take in one more change of the same timeline."""
        known = {edge.first: edge for edge in change.old}  # it may name an edge twice
        for first, edge in known.items():
            if self.after.pop(first, None) is None:
                self.before.setdefault(first, edge)
        self.after.update((edge.first, edge) for edge in change.new)


class Effects:
    """Remembers the effects of the last commits that were applied here."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, dict[Which, Effect]] = OrderedDict()

    def note(self, commit_ts: int, timeline: Which, change: Change) -> None:
        """Remember what an operation did."""
        known = self._known.setdefault(commit_ts, {})
        known.setdefault(timeline, Effect(timeline, {}, {})).add(change)
        if len(self._known) > _MOST:
            self._known.popitem(last=False)

    def of(self, commit_ts: int) -> list[Effect] | None:
        """Return what a commit did, if that is remembered."""
        known = self._known.get(commit_ts)
        return None if known is None else list(known.values())

    def forget(self) -> None:
        """Remember nothing."""
        self._known.clear()


def compared(
    timeline: Which, before: Iterable[Holding[int]], after: Iterable[Holding[int]]
) -> Effect:
    """Return what became of a timeline between two whole derivations of it."""
    return Effect(
        timeline, {edge.first: edge for edge in before}, {edge.first: edge for edge in after}
    )


class Keys(msgspec.Struct, frozen=True):
    """The names of what the numbers stand for."""

    by_number: Mapping[int, str]

    def existing(self, timeline: Which, held: Holding[int]) -> ExistingEdge:
        """Return an edge as callers see it."""
        return ExistingEdge(
            self.by_number[timeline[0]],
            self.by_number[timeline[1]],
            self.by_number[held.object],
            to_datetime(held.first[0]),
            None if held.ends_at == STILL else to_datetime(held.ends_at),
        )

    def opened(self, timeline: Which, held: Holding[int], confidence: float) -> Edge:
        """Return the edge that an assertion is part of, known by where that begins."""
        edge = self.existing(timeline, held)
        return Edge(edge.subject_key, edge.relation, edge.object_key, confidence, edge.valid_from)


def resolution(
    effects: Iterable[Effect], keys: Keys, asserted: Statement[int] | None, confidence: float
) -> EdgeResolution:
    """Return what a commit did, told as the answer to what was asserted in it, if anything was."""
    telling = _Telling(keys)
    for effect in effects:
        own = None if asserted is None else _own(effect, asserted)
        if own is not None:
            telling.opened = keys.opened(effect.timeline, own, confidence)
        telling.tell(effect, own)
    return EdgeResolution(
        open=telling.opened,
        close=tuple(telling.closed),
        changed=tuple(telling.changed),
        folded=telling.folded,
        reopened=tuple(telling.reopened),
    )


class _Telling:
    """An answer that is being put together."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self.opened: Edge | None = None
        self.folded: ExistingEdge | None = None
        self.closed: list[ExistingEdge] = []
        self.changed: list[tuple[ExistingEdge, ExistingEdge]] = []
        self.reopened: list[ExistingEdge] = []

    def tell(self, effect: Effect, own: Holding[int] | None) -> None:
        """Tell one timeline's part; `own` is the edge that what was asserted is part of."""
        moved = _moved(effect)
        for first, old in sorted(effect.before.items()):
            new = effect.after.get(first) or moved.get(first)
            was = self._keys.existing(effect.timeline, old)
            if new is None or (new.first == first and new.ends_at < old.ends_at):
                self.closed.append(was)
            elif new.first != first or new.ends_at > old.ends_at:
                now = self._keys.existing(effect.timeline, new)
                if new.first == first and new.is_open:
                    self.reopened.append(now)
                else:
                    self.changed.append((was, now))
            if new is not None and new == own and new.first == first:
                self.folded = was
        known = {*effect.before, *(new.first for new in moved.values())}
        for first, new in sorted(effect.after.items()):
            if first not in known and new != own:
                self.reopened.append(self._keys.existing(effect.timeline, new))


def _moved(effect: Effect) -> dict[Place, Holding[int]]:
    """Return where edges begin now that began elsewhere before."""
    begun: dict[int, list[Holding[int]]] = {}
    for first, new in sorted(effect.after.items()):
        if first not in effect.before:
            begun.setdefault(new.object, []).append(new)
    moved: dict[Place, Holding[int]] = {}
    for first, old in effect.before.items():
        same = begun.get(old.object) if first not in effect.after else None
        if same is not None:
            last = bisect_left(same, old.end, key=lambda new: new.first) - 1
            if last >= 0 and old.first < same[last].end:
                moved[first] = same[last]
    return moved


def _own(effect: Effect, asserted: Statement[int]) -> Holding[int] | None:
    """Return the edge that an assertion is part of."""
    return next(
        (
            edge
            for edge in effect.after.values()
            if edge.object == asserted.object and edge.first <= asserted.place <= edge.last
        ),
        None,
    )
