"""Timelines in the tables: kept up to date where something changed, not derived as a whole.

A statement that comes, or goes, at a place changes what holds from there to the next assertion, as
that sets the holder again, whatever was before it. So an assertion into a timeline of any length
reads and writes a handful of rows, and the result is the same as that of deriving all of it.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from memoranda.graph.derive import OPEN, STILL, Holding, Place, Statement, derive, said_at
from memoranda.storage.port import Row, Writer

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
        elif said.ends_others:
            change = self._of_end(said, stands=stands)
        else:
            change = Change([], [])  # its assertion has it as its bound
        self._put_all(self.replace(change))
        return change

    def rebuild(self, *, single: bool) -> None:
        """Derive everything again."""
        which = {"subject": self.subject, "relation": self.relation}
        self.writer.run("graph_timeline_drop", **which)
        rows = self.writer.rows("graph_timeline_statements", **which)
        said = [statement_of(row) for row in rows]
        self._put_all([self._row(edge) for edge in derive(said, single=single)])

    def size(self) -> int:
        """Return how many statements stand."""
        which = {"subject": self.subject, "relation": self.relation}
        row = self.writer.row("graph_timeline_size", **which)
        assert row is not None, "a count has a row"
        return int(row[0])

    def replace(self, change: Change) -> list[Row]:
        """Drop the edges that are no more, and return the rows of those to be put."""
        old = {edge.first: edge for edge in change.old}
        for first in old.keys() - {edge.first for edge in change.new}:
            self.writer.run("graph_edge_drop", **self._at(first))
        return [self._row(edge) for edge in change.new if old.get(edge.first) != edge]

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

    def _ended(self, edge: Edge, behind: Place) -> Edge:
        """Return an edge that ends with the first end of its object behind a place."""
        end = self._end_behind("graph_end_after", edge.object, behind)
        own = self._end_behind("graph_bound_after", edge.object, behind)
        return replace(edge, end=min(end, own))

    def _end_behind(self, query: str, object_: int, place: Place) -> Place:
        row = self.writer.row(query, object=object_, **self._at(place))
        return OPEN if row is None else (row[0], row[1], row[2])

    def _of_object(self, said: Statement[int], *, stands: bool) -> Change:
        """Take in an assertion of a relation that has many objects at a time."""
        assert said.object is not None, "an assertion has an object"
        known = self._edge("graph_edge_of_object", said.place, object=said.object)
        if not stands:
            assert known is not None, "what stood was part of an edge"
            return Change([known], self._again(known))
        end = min(said.bound, self._end_behind("graph_end_after", said.object, said.place))
        if known is None:
            return Change([], [Holding(said.object, said.place, said.place, end)])
        return Change([known], [replace(known, last=said.place, end=max(known.end, end))])

    def _of_end(self, said: Statement[int], *, stands: bool) -> Change:
        """Let an end take effect on every edge that has reached it, or let it no longer."""
        since = self._last_end(said)
        if not stands:
            query = "graph_edges_ended_at"
            old = self._edges(query, said.place, since=since, object=said.object)
            return Change(old, [left for edge in old for left in self._again(edge)])
        if said.object is None:
            old = self._edges("graph_edges_crossing", said.place, since=since)
        else:
            query = "graph_edges_crossing_of_object"
            old = self._edges(query, said.place, object=said.object, since=since)
        return Change(old, [replace(edge, end=said.place) for edge in old])

    def _again(self, edge: Edge) -> list[Edge]:
        """Derive an edge of a relation with many objects from what stands of it: one, or none."""
        if edge.first == edge.last:
            row = self.writer.row("graph_statement_bound", **self._at(edge.first))
            if row is None:
                return []
            said = said_at(edge.first, True, edge.object, row[0])
            end = self._end_behind("graph_end_after", edge.object, edge.first)
            return [replace(edge, end=min(said.bound, end))]
        return self._told_often(edge)

    def _told_often(self, edge: Edge) -> list[Edge]:
        """Derive it from its assertions, the ends at their instant, and the first end behind."""
        at, object_ = edge.first[0], edge.object
        _, last_commit, last_position = edge.last
        last = {"last_commit": last_commit, "last_position": last_position}
        rows = self.writer.rows(
            "graph_statements_at", object=object_, **self._at(edge.first), **last
        )
        said = [said_at((at, row[0], row[1]), row[2], object_, row[3]) for row in rows]
        end = self._end_behind("graph_end_after", object_, (at, STILL, 0))
        if end != OPEN:
            said.append(Statement(end, asserts=False, object=object_))
        return derive(said, single=False)

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

    def _edges(self, query: str, place: Place, **more: int | None) -> list[Edge]:
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


def statement_of(row: Row) -> Statement[int]:
    """Return a statement of the tables: its place, whether it asserts, its object and its bound."""
    return said_at((row[0], row[1], row[2]), row[3], row[4] or None, row[5])
