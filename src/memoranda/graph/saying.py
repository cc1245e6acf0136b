"""What one commit says of facts, on its way into the tables.

Statements are written together, and a short timeline is derived as a whole, once, behind all that
the commit says of it. A long one is changed at each place instead, so that what a statement costs
does not grow with what was said before it.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from memoranda.graph.derive import STILL, Statement, derive
from memoranda.graph.timelines import Change, Timeline, Which, statement_of
from memoranda.storage.gathering import Gathering
from memoranda.storage.port import Row, Writer

SHORT = 8
"""How many statements a timeline has at most to be derived as a whole."""

Note = Callable[[Which, Change], None]
"""Is told what became of a timeline."""


class _Short(msgspec.Struct, frozen=True, gc=False):
    """A timeline that is derived as a whole: what was said of it before the commit, and in it."""

    timeline: Timeline
    single: bool
    before: list[Statement[int]]
    added: list[Statement[int]]

    def change(self) -> Change:
        """Return its edges as they were, and as they are."""
        both = sorted([*self.before, *self.added], key=_place)
        return Change(derive(self.before, single=self.single), derive(both, single=self.single))


class Saying:
    """Gathers what a commit says. Whoever reads the tables asks for them to be `settled`."""

    def __init__(self, writer: Writer, note: Note) -> None:
        self.writer = writer
        self.note = note
        self._rows = Gathering(writer)
        self._timelines: dict[Which, _Short | Timeline] = {}

    def settled(self) -> Writer:
        """Bring the tables up to date with what was said so far, and return who writes to them."""
        for which, known in self._timelines.items():
            if isinstance(known, _Short):
                change = known.change()
                for edge in known.timeline.replace(change):
                    self._rows.add("graph_edge_put", *edge)
                self.note(which, change)
        self._timelines.clear()
        return self._rows.written()

    def say(self, which: Which, said: Statement[int], row: Row, *, single: bool, new: bool) -> None:
        """Add a statement, as it is and as its row; of something `new` nothing was said before."""
        known = self._timelines.get(which)
        if known is None:
            known = self._timelines[which] = self._find(which, single=single, new=new)
        self._rows.add("graph_statement_add", *row)
        if isinstance(known, _Short):
            known.added.append(said)
            return
        self._rows.written()
        self.note(which, known.update(said, stands=True, single=single))

    def _find(self, which: Which, *, single: bool, new: bool) -> _Short | Timeline:
        """Return a timeline as the tables have it."""
        timeline = Timeline(self.writer, *which)
        if new:
            return _Short(timeline, single, [], [])
        subject, relation = which
        rows = self.writer.rows(
            "graph_timeline_short", subject=subject, relation=relation, most=SHORT + 1
        )
        if len(rows) > SHORT:
            return timeline
        said = [statement_of(row) for row in rows if row[6] == STILL]
        return _Short(timeline, single, sorted(said, key=_place), [])


def _place(said: Statement[int]) -> tuple[int, int, int]:
    return said.place
