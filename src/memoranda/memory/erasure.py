"""Erasure of memories, transcripts and notices: the sweep's targets, and the tables after it."""

from __future__ import annotations

from collections.abc import Callable, Set
from itertools import groupby
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.log import pages
from memoranda.log.views import Commit, Eraser, RewrittenEvent
from memoranda.memory.reads import AFTER_ALL_NAMES
from memoranda.memory.tables import MemberIndex, OperationStamp, add_transcript_tombstone
from memoranda.model import codec
from memoranda.model.erasure import MEMORY, TRANSCRIPT, LogPosition, Target
from memoranda.model.operations import (
    AnyOperation,
    ChangeResidue,
    Configure,
    MemoryTombstone,
    Notify,
    NotifyStale,
    Remember,
    RememberResidue,
    Resolve,
    Retract,
    Revise,
    StateResidue,
    Touch,
    TranscriptTombstone,
)
from memoranda.storage.port import Reader, Row, Writer

# Sweep: the expired memories and transcripts that nothing else needs.
#
# A memory may go if it expired before the sweep's cut-off, and no memory that stays rests on it,
# directly or through others. So evidence never goes before the conclusions drawn from it. A
# transcript may go if its retention has ended and no memory that stays cites it. Its retention was
# set when it was stored, from the settings of its namespace or the caller's `ttl`. What facts and
# keys need is passed as `spared`.


def expired_targets(reader: Reader, sweep: Target, spared: Set[str]) -> list[Target]:
    """Return the targets that may go, in a namespace and those below it, except `spared` ids."""
    assert sweep.due is not None, "a sweep has a cut-off"
    where: dict[str, Any] = {
        "namespace": sweep.name,
        "children": f"{sweep.name}/" if sweep.name else "",
        "end": f"{sweep.name}0" if sweep.name else AFTER_ALL_NAMES,
        "spared": sorted(spared),
    }
    due = sweep.due
    rows = reader.rows("sweep_memories", **where, before=due.before)
    memories = [memory_id for (memory_id,) in rows]
    return [
        *(Target(MEMORY, memory_id) for memory_id in memories),
        *(
            Target(TRANSCRIPT, transcript_id)
            for (transcript_id,) in reader.rows(
                "sweep_transcripts", **where, swept_ids=memories, now=due.now
            )
        ),
    ]


# Erasure: the tables follow the rewritten log. The state rows of a memory depend on each other, so
# all are deleted and its operations are applied again, as in a rebuild. Other rows change in place.

Reapply = Callable[[Writer, OperationStamp, AnyOperation, str], None]
"""Applies an operation again to one memory."""
_STATE_OPERATIONS = (
    Remember,
    Revise,
    Retract,
    Touch,
    Notify,
    NotifyStale,
    Resolve,
    MemoryTombstone,
    RememberResidue,
    StateResidue,
    ChangeResidue,
)
"""Operations that write state rows of the memory they name."""


def places_of(reader: Reader, target: Target, viewer: str | None) -> list[LogPosition]:
    """Return the positions of a memory's or a transcript's operations that the viewer may see."""
    if target.kind == TRANSCRIPT:
        rows = reader.rows("transcript_place", transcript_id=target.name)
    elif target.kind == MEMORY:
        if reader.row("notice_find", memory_id=target.name) is not None:
            raise InvalidInput(
                "memory_id",
                f"{target.name!r} is a notice, which has only ids: "
                "close it with resolve_invalidation",
            )
        rows = reader.rows("memory_places", memory_id=target.name, viewer=viewer)
        if rows:
            rows += _resolutions(reader, reader.rows("notices_decided", memory_id=target.name))
    else:
        rows = []
    return [(commit_ts, position) for commit_ts, position in rows]


def citing_memories(reader: Reader, transcript_id: str) -> list[str]:
    """Return the memories that ever cited a transcript: the tables keep every citation."""
    rows = reader.rows("memories_citing_transcript", transcript_id=transcript_id)
    return [memory_id for (memory_id,) in rows]


def notes_about(reader: Reader, places: Set[LogPosition]) -> list[LogPosition]:
    """Return the positions of decisions, with a note, about what these operations made."""
    return [
        place
        for chunk in pages.chunks(sorted(places))
        for place in _resolutions(reader, reader.rows("notices_decided_at", places=chunk))
    ]


def _resolutions(reader: Reader, rows: list[Row]) -> list[LogPosition]:
    """Return the positions of the operations that resolved notices."""
    commits: dict[str, int] = dict(rows)
    return [
        (event.commit_ts, position)
        for event in pages.events_of(reader, sorted(set(commits.values())))
        for position, operation in enumerate(codec.decode_effective(event.operations))
        if isinstance(operation, Resolve) and operation.memory_id in commits
    ]


class MemoryEraser(Eraser):
    """Brings the tables to the rewritten log after a `forget`."""

    def __init__(self, writer: Writer, reapply: Reapply) -> None:
        self._writer = writer
        self._reapply = reapply
        self._memories: set[str] = set()

    def apply_rewrite(self, rewritten: RewrittenEvent, /) -> None:
        """Collect the memories whose operations changed; change all other rows at once."""
        after = rewritten.after
        for position, before, residue in rewritten.changes():
            stamp = OperationStamp(after.commit_ts, position, after.committed_at)
            if isinstance(before, _STATE_OPERATIONS):
                self._memories.add(before.memory_id)
            if isinstance(residue, TranscriptTombstone):
                add_transcript_tombstone(self._writer, stamp, residue)
            elif isinstance(residue, Notify | NotifyStale):
                self._writer.run("notice_by", memory_id=residue.memory_id, by_agent=residue.by)
            elif isinstance(residue, Resolve):
                self._writer.run(
                    "notice_note",
                    memory_id=residue.memory_id,
                    by_agent=residue.by,
                    note=residue.note,
                )
            elif isinstance(before, Configure) and not isinstance(residue, Configure):
                for name in before.settings:
                    self._writer.run("setting_remove", namespace=before.namespace, name=name)

    def finish(self) -> None:
        """Delete the state rows of the collected memories, and apply their operations again."""
        places: list[tuple[int, int, str]] = []
        for memory_id in self._memories:
            MemberIndex(self._writer, memory_id).clear()
            rows = self._writer.rows("memory_all_places", memory_id=memory_id)
            places.extend((commit_ts, position, memory_id) for commit_ts, position in rows)
            for query in ("memory_titles_remove", "memory_states_remove"):
                self._writer.run(query, memory_id=memory_id)
        for commit_ts, group in groupby(sorted(places), key=lambda place: place[0]):
            (event,) = pages.events_of(self._writer, [commit_ts])
            commit = Commit.of(event)
            for _, position, memory_id in group:
                stamp = OperationStamp(commit_ts, position, commit.committed_at)
                self._reapply(self._writer, stamp, commit.operations[position], memory_id)
