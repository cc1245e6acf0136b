"""Timelines in the tables: kept up to date where something changed, not derived as a whole.

A statement that comes, or goes, at a place changes what holds from there to the next assertion, as
that sets the holder again, whatever was before it. So an assertion into a timeline of any length
reads and writes a handful of rows, and the result is the same as that of deriving all of it.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from recollect.graph.derive import OPEN, Holding, Place, Statement, derive
from recollect.storage.port import Row, Writer

_EVER = -(2**63)
"""Before every instant."""

Edge = Holding[int]
Which = tuple[int, int]
"""A timeline, by the numbers of its subject and its relation."""


class Change(NamedTuple):
    """The edges where something changed: as they were, and as they are."""

    old: list[Edge]
    new: list[Edge]


class Timeline(msgspec.Struct, frozen=True, gc=False):
    """What a subject's relation is said to be, by the numbers of both."""

    writer: Writer
    subject: int
    relation: int

    def update(self, said: Statement[int], *, stands: bool, single: bool) -> Change:
        """Take in a statement that was just added to the tables, or withdrawn there."""
        if single:
            change = self._of_single(said, stands=stands)
        elif said.asserts:
            change = self._of_object(said, stands=stands)
        else:
            change = self._of_end(said, stands=stands)
        self._put_all(self.replace(change))
        return change

    def rebuild(self, *, single: bool) -> None:
        """Derive everything again."""
        which = {"subject": self.subject, "relation": self.relation}
        self.writer.run("graph_timeline_drop", **which)
        rows = self.writer.rows("graph_timeline_statements", **which)
        said = [Statement((row[0], row[1], row[2]), bool(row[3]), row[4] or None) for row in rows]
        self._put_all([self._row(edge) for edge in derive(said, single=single)])

    def replace(self, change: Change) -> list[Row]:
        """Drop the edges that are no more, and return the rows of those to be put."""
        kept = {edge.first for edge in change.new}
        for edge in change.old:
            if edge.first not in kept:
                self.writer.run("graph_edge_drop", **self._at(edge.first))
        return [self._row(edge) for edge in change.new if edge not in change.old]

    def _of_single(self, said: Statement[int], *, stands: bool) -> Change:
        """Derive again from a place to the next assertion, and join both ends to what is there."""
        place = said.place
        before = self._edge("graph_edge_before", place)
        if before is not None and before.end < place:
            before = None
        own = self._edge("graph_edge_from", place)
        following = self._assertion("graph_assertion_after", place)
        tail = None if following is None else self._tail(following.place, own or before)
        held = None if before is None else self._cut(before, place)
        between = [said] if stands else []
        if held is not None:
            between.insert(0, Statement(held.first, asserts=True, object=held.object))
        found = [
            replace(each, last=held.last) if held is not None and each.last == held.first else each
            for each in derive(between, single=True)
        ]
        if found and found[-1].end == OPEN:
            found[-1] = self._ended(found[-1], behind=place)
        if following is not None and tail is not None:
            found = _joined(found, following, tail)
        return Change([each for each in (before, own, tail) if each is not None], found)

    def _cut(self, edge: Edge, place: Place) -> Edge:
        """Return an edge as its assertions before a place leave it."""
        if edge.last < place:
            return replace(edge, end=OPEN)
        last = self._assertion("graph_assertion_before", place)
        assert last is not None, "an edge that begins before a place has an assertion there"
        return replace(edge, last=last.place, end=OPEN)

    def _tail(self, following: Place, current: Edge | None) -> Edge:
        """Return the edge an assertion belongs to: its own, or one that began before."""
        edge = self._edge("graph_edge_from", following) or current
        assert edge is not None, "every assertion belongs to an edge"
        return edge

    def _ended(self, edge: Edge, behind: Place | None = None) -> Edge:
        """Return an edge that ends with the first end of its object behind a place."""
        row = self.writer.row(
            "graph_end_after", object=edge.object, **self._at(behind or edge.last)
        )
        return replace(edge, end=OPEN if row is None else (row[0], row[1], row[2]))

    def _of_object(self, said: Statement[int], *, stands: bool) -> Change:
        """Take in an assertion of a relation that has many objects at a time."""
        assert said.object is not None, "an assertion has an object"
        known = self._edge("graph_edge_of_object", said.place, object=said.object)
        old = [] if known is None else [known]
        if stands:
            first = said.place if known is None else known.first
            return Change(old, [self._ended(Holding(said.object, first, said.place))])
        rows = self.writer.rows("graph_assertions_at", object=said.object, **self._at(said.place))
        places = [(said.place[0], row[0], row[1]) for row in rows]
        left = [self._ended(Holding(said.object, places[0], places[-1]))] if places else []
        return Change(old, left)

    def _of_end(self, said: Statement[int], *, stands: bool) -> Change:
        """Let an end take effect on every edge that has reached it, or let it no longer."""
        since = self._last_end(said)
        if not stands:
            old = self._edges("graph_edges_ended_at", said.place, since=since)
            return Change(old, [self._ended(edge) for edge in old])
        if said.object is None:
            old = self._edges("graph_edges_crossing", said.place, since=since)
        else:
            query = "graph_edges_crossing_of_object"
            old = self._edges(query, said.place, object=said.object, since=since)
        return Change(old, [replace(edge, end=said.place) for edge in old])

    def _last_end(self, said: Statement[int]) -> int:
        """Return the instant of the end before an end: what began earlier has ended by then."""
        row = self.writer.row("graph_end_before", object=said.object or 0, **self._at(said.place))
        return _EVER if row is None else int(row[0])

    def _put_all(self, rows: list[Row]) -> None:
        self.writer.put_all("graph_edge_put", rows)

    def _row(self, edge: Edge) -> Row:
        return (self.subject, self.relation, edge.object, *edge.first, *edge.last, *edge.end)

    def _edge(self, query: str, place: Place, **more: int) -> Edge | None:
        row = self.writer.row(query, **self._at(place), **more)
        return None if row is None else _edge(row)

    def _edges(self, query: str, place: Place, **more: int) -> list[Edge]:
        return [_edge(row) for row in self.writer.rows(query, **self._at(place), **more)]

    def _assertion(self, query: str, place: Place) -> Statement[int] | None:
        row = self.writer.row(query, **self._at(place))
        return None if row is None else Statement((row[0], row[1], row[2]), True, row[3])

    def _at(self, place: Place) -> dict[str, int]:
        at, commit_ts, position = place
        return {
            "subject": self.subject,
            "relation": self.relation,
            "at": at,
            "commit_ts": commit_ts,
            "position": position,
        }


def _joined(found: list[Edge], following: Statement[int], tail: Edge) -> list[Edge]:
    """Return edges up to an assertion, and the one it belongs to, of which `tail` is the rest."""
    assert following.object is not None, "an assertion has an object"
    rest = Holding(following.object, following.place, tail.last, tail.end)
    if not found or found[-1].end < following.place:
        return [*found, rest]
    *found, held = found
    if held.object == rest.object:
        return [*found, replace(rest, first=held.first)]
    return [*found, replace(held, end=rest.first), rest]


def _edge(row: Row) -> Edge:
    return Holding(
        row[0], (row[1], row[2], row[3]), (row[4], row[5], row[6]), (row[7], row[8], row[9])
    )
