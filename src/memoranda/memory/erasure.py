"""Erasure of memories, transcripts and notices: the sweep's targets, and the tables after it."""

from __future__ import annotations

from collections.abc import Callable, Set
from itertools import groupby
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.log import pages
from memoranda.log.views import Commit, Eraser, RewrittenEvent
from memoranda.memory.reads import AFTER_ALL_NAMES
from memoranda.memory.tables import (
    MemberIndex,
    OperationStamp,
    RowNumbers,
    put_transcript_tombstone,
)
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
from memoranda.storage.port import Reader, Row, WriteBuffer, Writer

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
    namespace_range: dict[str, Any] = {
        "namespace": sweep.name,
        "children": f"{sweep.name}/" if sweep.name else "",
        "end": f"{sweep.name}0" if sweep.name else AFTER_ALL_NAMES,
        "spared": sorted(spared),
    }
    due = sweep.due
    rows = reader.rows("sweep_memories", **namespace_range, before=due.before)
    memories = [memory_id for (memory_id,) in rows]
    return [
        *(Target(MEMORY, memory_id) for memory_id in memories),
        *(
            Target(TRANSCRIPT, transcript_id)
            for (transcript_id,) in reader.rows(
                "sweep_transcripts", **namespace_range, swept_ids=memories, now=due.now
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

    def __init__(
        self,
        writer: Writer,
        reapply: Reapply,
        memories: RowNumbers,
        transcripts: RowNumbers,
    ) -> None:
        self._writer = writer
        self._reapply = reapply
        self._memory_numbers = memories
        self._transcript_numbers = transcripts
        self._tombstones: list[tuple[OperationStamp, TranscriptTombstone]] = []
        self._memories: set[str] = set()

    def apply_rewrite(self, rewritten: RewrittenEvent, /) -> None:
        """Collect the memories and transcripts that changed; change all other rows at once."""
        after = rewritten.after
        for position, before, residue in rewritten.changes():
            stamp = OperationStamp(after.commit_ts, position, after.committed_at)
            if isinstance(before, _STATE_OPERATIONS):
                self._memories.add(before.memory_id)
            if isinstance(residue, TranscriptTombstone):
                self._tombstones.append((stamp, residue))
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
        """Put tombstones of transcripts; apply the operations of the collected memories again."""
        self._put_transcript_tombstones()
        places = self._remove_states()
        self._memory_numbers.look_up_all(self._writer, sorted(self._memories))
        by_commit = {
            commit_ts: [*group]
            for commit_ts, group in groupby(sorted(places), key=lambda place: place[0])
        }
        for event in pages.events_of(self._writer, by_commit):
            commit = Commit.of(event)
            for commit_ts, position, memory_id in by_commit[event.commit_ts]:
                stamp = OperationStamp(commit_ts, position, commit.committed_at)
                self._reapply(self._writer, stamp, commit.operations[position], memory_id)

    def _put_transcript_tombstones(self) -> None:
        transcript_ids = [tombstone.transcript_id for _, tombstone in self._tombstones]
        self._transcript_numbers.look_up_all(self._writer, transcript_ids)
        rows = WriteBuffer(self._writer)
        for stamp, tombstone in self._tombstones:
            put_transcript_tombstone(rows, stamp, tombstone, self._transcript_numbers)

    def _remove_states(self) -> list[tuple[int, int, str]]:
        """Delete the state rows of the collected memories; return the places of their operations.

        A place is a commit, a position and the memory.
        """
        places: list[tuple[int, int, str]] = []
        for chunk in pages.chunks([(memory_id,) for memory_id in sorted(self._memories)]):
            MemberIndex(self._writer, [memory_id for (memory_id,) in chunk]).clear()
            rows_of_each = self._writer.rows_each("memory_all_places", chunk)
            for (memory_id,), rows in zip(chunk, rows_of_each, strict=True):
                places.extend((commit_ts, position, memory_id) for commit_ts, position in rows)
            for query in ("memory_titles_remove", "memory_states_remove"):
                self._writer.put_all(query, chunk)
        return places
