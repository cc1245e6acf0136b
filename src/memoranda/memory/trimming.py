"""Taking what a compaction erases out of the memory tables, row by row, the newest first.

A row that goes leaves the others as they are: those whose details or content it brought now name
the row before it that did, as a rebuild would have them. What is left in an operation's place leads
to the same row as the operation did, but for content, and details that no row needs.
"""

from __future__ import annotations

from memoranda.log.views import Eraser, Rewritten
from memoranda.model import codec
from memoranda.model.erasure import Place
from memoranda.model.memory import Details
from memoranda.model.operations import (
    AnyOperation,
    Begun,
    Carried,
    Continued,
    Remember,
    Retract,
    Revise,
    Touch,
)
from memoranda.storage.port import Row, Writer

_DETAILS, _CONTENT = 3, 4
"""The columns of `memory_states_behind` that say which row brought something."""
_POINT = {_DETAILS: "memory_details_point", _CONTENT: "memory_content_point"}
_NEXT = 8
_COMPACTED = (Remember, Revise, Retract, Touch, Begun, Carried, Continued)


class MemoryTrimmer(Eraser):
    """Removes the rows of operations that are gone, and reduces those of what is left."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._changes: list[tuple[Place, str, AnyOperation]] = []

    def take(self, rewritten: Rewritten, /) -> None:
        """Note what is left of operations on memories."""
        for position, before, left in rewritten.changes():
            if isinstance(before, _COMPACTED):
                place = (rewritten.before.commit_ts, position)
                self._changes.append((place, before.memory_id, left))

    def finish(self) -> None:
        """Bring the rows to what is left, the newest first."""
        for place, memory_id, left in sorted(self._changes, key=lambda each: each[0], reverse=True):
            row = self._writer.row(
                "memory_state_around", memory_id=memory_id, commit_ts=place[0], position=place[1]
            )
            if row is None:
                continue  # it was forgotten
            if isinstance(left, Begun):
                self._begin(place, row, left)
            elif isinstance(left, Continued):
                self._continue(row, left)
            elif isinstance(left, Carried):
                self._reduce(place, row, left)
            else:
                self._remove(place, row)

    def _begin(self, place: Place, row: Row, left: Begun) -> None:
        """Leave a memory's first row without its content, and perhaps without its title."""
        number = row[1]
        self._writer.run("memory_state_without_content", id=number, content_in=None)
        details = codec.encode(left.details or Details())
        self._writer.run("memory_state_details", id=number, details_in=None, details=details)
        if left.title != row[2]:
            self._writer.run("memory_state_title", id=number, title=left.title)
            self._end_title(place, row)

    def _continue(self, row: Row, left: Continued) -> None:
        """Leave a row without content and details that were not left; it still says of them."""
        if left.without_content:
            self._writer.run("memory_state_without_content", id=row[1], content_in=None)
        if left.without_details:
            details = codec.encode(Details())
            self._writer.run("memory_state_details", id=row[1], details_in=None, details=details)

    def _reduce(self, place: Place, row: Row, left: Carried) -> None:
        """Leave a row without its content, and without details that were not left."""
        number, last, details_in, content_in = row[1], row[3], row[4], row[5]
        bringing = content_in or last
        self._point(place, row, _CONTENT, bringing)
        self._writer.run("memory_state_without_content", id=number, content_in=bringing)
        if left.details is None:
            bringing = details_in or last
            self._point(place, row, _DETAILS, bringing)
            self._writer.run("memory_state_details", id=number, details_in=bringing, details=None)

    def _remove(self, place: Place, row: Row) -> None:
        number, last, details_in, content_in = row[1], row[3], row[4], row[5]
        assert last is not None, "of a memory's first operation something is left"
        self._point(place, row, _DETAILS, details_in or last)
        self._point(place, row, _CONTENT, content_in or last)
        self._writer.run("memory_state_drop", id=number)
        if row[2] != row[6]:
            self._end_title(place, row)

    def _point(self, place: Place, row: Row, column: int, into: int) -> None:
        """Let the rows to which one brought something name another: they stand right behind it."""
        memory, number, brings = row[0], row[1], row[10 if column == _DETAILS else 11]
        while brings:
            rows = self._writer.rows(
                "memory_states_behind",
                memory=memory,
                commit_ts=place[0],
                position=place[1],
                most=_NEXT,
            )
            for behind in rows:
                if behind[column] != number:
                    return
                self._writer.run(_POINT[column], id=behind[0], into=into)
                place = (behind[1], behind[2])
            brings = len(rows) == _NEXT

    def _end_title(self, place: Place, row: Row) -> None:
        """Let a memory never have had the title that it was given at a place.

        Until its next row it has the one from before, and what that row says from there on.
        """
        memory, title, before, title_behind = row[0], row[2], row[6], row[9]
        behind = (row[7], row[8])
        until = self._drop(memory, title, place)
        if title_behind == title:
            self._put(memory, title, behind, until)
        if before is None:
            return
        end = self._drop(memory, before, behind) if title_behind == before else behind[0]
        self._writer.run(
            "title_last_until",
            memory=memory,
            title=before,
            commit_ts=place[0],
            position=place[1],
            until_commit=end,
        )

    def _drop(self, memory: int, title: str | None, place: Place) -> int | None:
        """Drop a title that was given at a place, and return until when it was the memory's."""
        if title is None:
            return None
        which = {"memory": memory, "title": title, "commit_ts": place[0], "position": place[1]}
        row = self._writer.row("title_begun", **which)
        assert row is not None, "a title has a row from where it was given"
        self._writer.run("title_drop", **which)
        return int(row[0])

    def _put(self, memory: int, title: str | None, place: Place, until: int | None) -> None:
        if title is None:
            return
        self._writer.run(
            "title_put",
            memory=memory,
            title=title,
            commit_ts=place[0],
            position=place[1],
            until_commit=until,
        )
