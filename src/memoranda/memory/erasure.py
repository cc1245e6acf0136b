"""Bringing memories, transcripts and notices to what the log says once something was erased."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from memoranda.errors import InvalidInput
from memoranda.log import pages
from memoranda.log.views import Commit, Eraser, Rewritten
from memoranda.memory.states import At
from memoranda.memory.stubs import add_transcript_stub
from memoranda.model import codec
from memoranda.model.erasure import MEMORY, TRANSCRIPT, Place, Target
from memoranda.model.operations import (
    AnyOperation,
    Begun,
    Carried,
    Configure,
    Continued,
    MemoryStub,
    Notify,
    Remember,
    Resolve,
    Retract,
    Revise,
    Touch,
    TranscriptStub,
)
from memoranda.storage.port import Reader, Writer

Again = Callable[[Writer, At, AnyOperation, str], None]
"""Applies to one memory what an operation says of it."""
_OF_A_MEMORY = (
    Remember,
    Revise,
    Retract,
    Touch,
    Notify,
    Resolve,
    MemoryStub,
    Begun,
    Carried,
    Continued,
)


def places_of(reader: Reader, target: Target, viewer: str | None) -> list[Place]:
    """Return where the log speaks of a memory or a transcript that somebody may see."""
    if target.kind == TRANSCRIPT:
        rows = reader.rows("transcript_place", transcript_id=target.name)
    elif target.kind == MEMORY:
        if reader.row("notice_find", memory_id=target.name) is not None:
            raise InvalidInput(
                "memory_id",
                f"{target.name!r} is a notice, which holds nothing but ids: "
                "close it with resolve_invalidation",
            )
        rows = reader.rows("memory_places", memory_id=target.name, viewer=viewer)
        rows += _notes(reader, target.name) if rows else []
    else:
        rows = []
    return [(commit_ts, position) for commit_ts, position in rows]


def _notes(reader: Reader, memory_id: str) -> list[Place]:
    """Return where notes stand on what was decided about a memory."""
    rows = reader.rows("notices_decided", memory_id=memory_id)
    decided: dict[str, int] = dict(rows)
    return [
        (event.commit_ts, position)
        for event in pages.events_of(reader, sorted(set(decided.values())))
        for position, operation in enumerate(codec.decode_standing(event.operations))
        if isinstance(operation, Resolve) and operation.memory_id in decided
    ]


class MemoryEraser(Eraser):
    """Applies again, from the log as it is now, what concerns memories that were changed."""

    def __init__(self, writer: Writer, again: Again) -> None:
        self._writer = writer
        self._again = again
        self._memories: set[str] = set()

    def take(self, rewritten: Rewritten, /) -> None:
        """Note which memories are concerned; what is not about one is changed at once."""
        after = rewritten.after
        for position, before, left in rewritten.changes():
            at = At(after.commit_ts, position, after.committed_at)
            if isinstance(before, _OF_A_MEMORY):
                self._memories.add(before.memory_id)
            if isinstance(left, TranscriptStub):
                add_transcript_stub(self._writer, at, left)
            elif isinstance(left, Notify):
                self._writer.run("notice_by", memory_id=left.memory_id, by_agent=left.by)
            elif isinstance(left, Resolve):
                self._writer.run(
                    "notice_note", memory_id=left.memory_id, by_agent=left.by, note=left.note
                )
            elif isinstance(before, Configure) and not isinstance(left, Configure):
                for name in before.settings:
                    self._writer.run("setting_remove", namespace=before.namespace, name=name)

    def finish(self) -> None:
        """Drop the states of the memories concerned, and apply them in the order of the log."""
        places: list[tuple[int, int, str]] = []
        for memory_id in self._memories:
            rows = self._writer.rows("memory_all_places", memory_id=memory_id)
            places.extend((commit_ts, position, memory_id) for commit_ts, position in rows)
            for query in ("memory_titles_remove", "memory_states_remove"):
                self._writer.run(query, memory_id=memory_id)
        for commit_ts, group in groupby(sorted(places), key=lambda place: place[0]):
            (event,) = pages.events_of(self._writer, [commit_ts])
            commit = Commit.of(event)
            for _, position, memory_id in group:
                at = At(commit_ts, position, commit.committed_at)
                self._again(self._writer, at, commit.operations[position], memory_id)
