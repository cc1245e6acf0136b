"""The memory view: applies operations on memories to the tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from typing import Any

import msgspec

from memoranda.log.compaction.retention import RetainedRefs
from memoranda.log.views import Commit, LookUp, View
from memoranda.memory import notices, requests
from memoranda.memory.erasure import (
    MemoryEraser,
    citing_memories,
    expired_targets,
    notes_about,
    places_of,
)
from memoranda.memory.notices import notice_memory, stale_notice_memory
from memoranda.memory.overlay import TransactionOverlay
from memoranda.memory.retention import MemoryCompactionEraser, MemoryRetentionPolicy
from memoranda.memory.rules import MemoryRules
from memoranda.memory.settings import SettingsCache
from memoranda.memory.tables import (
    OperationStamp,
    RowNumbers,
    add_first_state,
    add_state,
    change_residue_values,
    changed_memories,
    last_state,
    move_title,
    named_memories,
    put_tombstone,
    put_transcript_tombstone,
    restore_owner,
    retraction_values,
    revision_values,
    state_residue_values,
)
from memoranda.memory.transcripts import WHOLE_TRANSCRIPT
from memoranda.model.erasure import LogPosition, Target
from memoranda.model.ids import IdSource
from memoranda.model.intervals import NEWEST
from memoranda.model.memory import NOTICE_KIND, Depth, Expiry
from memoranda.model.operations import (
    AddLink,
    AnyOperation,
    ChangeResidue,
    Cite,
    CloseLink,
    Configure,
    KeepTranscript,
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
from memoranda.model.refs import MemoryRef, OperationRef, TranscriptRef
from memoranda.storage.memory_budget import MemoryBudget
from memoranda.storage.port import Reader, Unread, WriteBuffer, Writer


class MemoryView(View):
    """The tables of memories, links, titles, transcripts, citations, notices and settings.

    Applying an operation needs no rule, no clock and no setting: a rebuild gives the same rows.
    """

    name = "memory"
    version = 2
    request_types = (
        requests.RememberMemory,
        requests.RememberMemoryAs,
        requests.ReviseMemory,
        requests.RetractMemory,
        requests.TouchMemory,
        requests.PromoteMemory,
        requests.LinkMemories,
        requests.UnlinkMemories,
        requests.StoreTranscript,
        requests.StoreMessages,
        requests.CiteTranscript,
        requests.ResolveNotice,
        requests.ChangeSettings,
    )
    reference_types = (MemoryRef, TranscriptRef)
    tracked_reads = (requests.MemoryRead, requests.TitleKey, requests.LinksRead)
    tables = (
        "memory",
        "memory_state",
        "memory_title",
        "memory_link",
        "transcript",
        "citation",
        "notice",
        "setting",
        "memory_member",
    )
    clear_queries = (
        "memory_clear",
        "memory_state_clear",
        "memory_title_clear",
        "memory_link_clear",
        "transcript_clear",
        "citation_clear",
        "notice_clear",
        "setting_clear",
        "memory_member_clear",
    )
    row_queries = (
        "memory_rows",
        "memory_state_rows",
        "memory_title_rows",
        "memory_link_rows",
        "transcript_rows",
        "citation_rows",
        "notice_rows",
        "setting_rows",
        "memory_member_rows",
    )

    def __init__(self, budget: MemoryBudget | None = None) -> None:
        self._memories = RowNumbers("memory_number", "memory_last_number", budget)
        self._transcripts = RowNumbers("transcript_number", "transcript_last_number", budget)
        self._settings = SettingsCache()
        self._applied = 0
        """How many operations of the commit that is being applied are behind; 0 between commits."""
        self._appliers: Mapping[type, Callable[[WriteBuffer, OperationStamp, Any], None]] = {
            Remember: self._remember,
            MemoryTombstone: self._leave_tombstone,
            TranscriptTombstone: self._leave_transcript_tombstone,
            RememberResidue: self._remember,
            StateResidue: self._apply_state_residue,
            ChangeResidue: self._apply_change_residue,
            Revise: self._revise,
            Retract: self._retract,
            Touch: self._touch,
            AddLink: self._add_link,
            CloseLink: self._close_link,
            KeepTranscript: self._keep_transcript,
            Cite: self._cite,
            Notify: self._notify,
            NotifyStale: self._notify_stale,
            Resolve: self._resolve,
            Configure: self._configure,
        }
        self.applied_types = frozenset(self._appliers)

    def rules(self, reader: Reader, look_up: LookUp, /) -> MemoryRules:
        """Return the rules for one transaction, with an empty overlay on the newest commit."""
        return MemoryRules(TransactionOverlay(reader, NEWEST, self._settings), look_up)

    def has_changed(
        self,
        reader: Reader,
        read: requests.MemoryRead | requests.TitleKey | requests.LinksRead,
        since: int,
        /,
    ) -> bool:
        """Say whether the result of a tracked read has changed after a commit."""
        values = msgspec.structs.asdict(read)
        if isinstance(read, requests.MemoryRead):
            row = reader.row("memory_changed", **values, since=since)
        elif isinstance(read, requests.TitleKey):
            row = reader.row("title_changed", **values, since=since)
        else:
            row = reader.row("links_changed", **values, since=since)
        return row is not None

    def retention_policy(self, refs: RetainedRefs, ids: IdSource, /) -> MemoryRetentionPolicy:
        """Return the retention policy for the compaction of a namespace."""
        return MemoryRetentionPolicy(refs, ids)

    def apply(self, writer: Writer, commit: Commit, /) -> None:
        """Apply the operations of a commit to the tables, in their order."""
        commit_ts, time, rows = commit.commit_ts, commit.committed_at, WriteBuffer(writer)
        for position, operation in enumerate(commit.operations):
            applier = self._appliers.get(type(operation))
            if applier is not None:
                self._applied = position
                applier(rows, OperationStamp(commit_ts, position, time), operation)
        self._applied = 0
        rows.flush()

    def rehearse(self, scout: Reader, commit: Commit, /) -> None:
        """Read the numbers of what a commit names, and the last states that it changes."""
        for operation in commit.operations[self._applied :]:
            for memory_id in named_memories(operation):
                with suppress(Unread):
                    self._memories.look_up(scout, memory_id)
            for memory_id in changed_memories(operation):
                with suppress(Unread):
                    number = self._memories.look_up(scout, memory_id)
                    if number is not None:
                        scout.row("memory_last_state", memory=number)
            if isinstance(operation, Cite):
                with suppress(Unread):
                    self._transcripts.look_up(scout, operation.transcript_id)

    def places(self, reader: Reader, target: Target, viewer: str | None, /) -> list[LogPosition]:
        """Return the positions of a memory's or a transcript's operations in the log."""
        return places_of(reader, target, viewer)

    def citing_memories(self, reader: Reader, transcript_id: str, /) -> list[str]:
        """Return the memories that ever cited a transcript, of any agent."""
        return citing_memories(reader, transcript_id)

    def notes(self, reader: Reader, places: Set[LogPosition], /) -> list[LogPosition]:
        """Return the positions of decisions about keys and facts that have a note."""
        return notes_about(reader, places)

    def expired_targets(self, reader: Reader, sweep: Target, spared: Set[str], /) -> list[Target]:
        """Return the expired memories and transcripts that nothing else needs."""
        return expired_targets(reader, sweep, spared)

    def eraser(self, writer: Writer, /) -> MemoryEraser:
        """Return the eraser that brings the tables to the log after a `forget`."""
        return MemoryEraser(writer, self._reapply, self._memories, self._transcripts)

    def compaction_eraser(self, writer: Writer, /) -> MemoryCompactionEraser:
        """Return the eraser that brings the tables to the log after a compaction."""
        return MemoryCompactionEraser(writer)

    def _reapply(
        self, writer: Writer, stamp: OperationStamp, operation: AnyOperation, memory_id: str
    ) -> None:
        """Apply an operation again, to the one memory whose state rows were deleted."""
        rows = WriteBuffer(writer)
        if isinstance(operation, Notify):
            operation = notice_memory(operation, stamp.time)
        elif isinstance(operation, NotifyStale):
            operation = stale_notice_memory(operation, stamp.time)
        if isinstance(operation, (Remember, RememberResidue)):
            restore_owner(writer, operation)
            add_first_state(rows, stamp, self._memories.of(rows, memory_id), operation)
        elif isinstance(operation, (AddLink, CloseLink)):
            depths = tuple(change for change in operation.depths if change.memory_id == memory_id)
            self._set_depths(rows, stamp, depths)
        elif type(operation) in self._appliers:
            self._appliers[type(operation)](rows, stamp, operation)
        rows.flush()

    def drop_caches(self) -> None:
        """Empty the caches of row numbers and settings."""
        self._applied = 0
        self._memories.forget()
        self._transcripts.forget()
        self._settings.forget()

    # The appliers. New memories, links and citations are inserted only: the buffer collects them,
    # and writes them together. An applier that reads rows flushes it first, because it must see the
    # rows of earlier operations in the same commit.

    def _remember(
        self, rows: WriteBuffer, stamp: OperationStamp, operation: Remember | RememberResidue
    ) -> None:
        """Add a memory with its number, its first state row and its title."""
        memory = self._memories.assign(rows, operation.memory_id)
        rows.add(
            "memory_add",
            memory,
            operation.memory_id,
            operation.namespace,
            operation.agent_id,
            int(operation.private),
            stamp.commit_ts,
            stamp.time,
        )
        add_first_state(rows, stamp, memory, operation)

    def _leave_tombstone(
        self, rows: WriteBuffer, stamp: OperationStamp, operation: MemoryTombstone
    ) -> None:
        """Add the tombstone of a memory that was forgotten."""
        put_tombstone(rows, stamp, operation, self._memories)

    def _leave_transcript_tombstone(
        self, rows: WriteBuffer, stamp: OperationStamp, operation: TranscriptTombstone
    ) -> None:
        put_transcript_tombstone(rows, stamp, operation, self._transcripts)

    def _revise(self, rows: WriteBuffer, stamp: OperationStamp, operation: Revise) -> None:
        writer, memory = rows.flush(), self._memories.of(rows, operation.memory_id)
        last = last_state(writer, memory)
        move_title(writer, stamp, memory, last["title"], operation.title)
        add_state(writer, stamp, memory, last | revision_values(operation, stamp, last))

    def _apply_change_residue(
        self, rows: WriteBuffer, stamp: OperationStamp, operation: ChangeResidue
    ) -> None:
        """Apply the residue of a change: its remaining fields, and the numbers it recorded."""
        writer, memory = rows.flush(), self._memories.of(rows, operation.memory_id)
        last = last_state(writer, memory)
        if isinstance(operation.base, Revise):
            move_title(writer, stamp, memory, last["title"], operation.base.title)
        add_state(writer, stamp, memory, last | change_residue_values(operation, stamp, last))

    def _apply_state_residue(
        self, rows: WriteBuffer, stamp: OperationStamp, operation: StateResidue
    ) -> None:
        """Set a memory to the state that dropped operations led to."""
        writer, memory = rows.flush(), self._memories.of(rows, operation.memory_id)
        last = last_state(writer, memory)
        move_title(writer, stamp, memory, last["title"], operation.title)
        add_state(writer, stamp, memory, last | state_residue_values(operation))

    def _retract(self, rows: WriteBuffer, stamp: OperationStamp, operation: Retract) -> None:
        writer, memory = rows.flush(), self._memories.of(rows, operation.memory_id)
        state = last_state(writer, memory) | retraction_values(operation, stamp)
        add_state(writer, stamp, memory, state)

    def _touch(self, rows: WriteBuffer, stamp: OperationStamp, operation: Touch) -> None:
        writer, memory = rows.flush(), self._memories.of(rows, operation.memory_id)
        last = last_state(writer, memory)
        expiry = Expiry(operation.lifetime, extends=True)
        changes = {
            "access_count": last["access_count"] + 1,
            "last_accessed_at": stamp.time,
            "expires_at": expiry.end(stamp.time, last["expires_at"]),
        }
        add_state(writer, stamp, memory, last | changes)

    def _add_link(self, rows: WriteBuffer, stamp: OperationStamp, operation: AddLink) -> None:
        rows.add(
            "link_add",
            self._memories.of(rows, operation.source),
            operation.relation,
            self._memories.of(rows, operation.target),
            stamp.commit_ts,
            stamp.position,
            stamp.time,
        )
        self._set_depths(rows, stamp, operation.depths)

    def _close_link(self, rows: WriteBuffer, stamp: OperationStamp, operation: CloseLink) -> None:
        rows.flush().run(
            "link_close",
            source=self._memories.of(rows, operation.source),
            relation=operation.relation,
            target=self._memories.of(rows, operation.target),
            commit_ts=stamp.commit_ts,
            valid_until=stamp.time,
        )
        self._set_depths(rows, stamp, operation.depths)

    def _set_depths(
        self, rows: WriteBuffer, stamp: OperationStamp, depths: tuple[Depth, ...]
    ) -> None:
        for change in depths:
            writer, memory = rows.flush(), self._memories.of(rows, change.memory_id)
            state = last_state(writer, memory) | {"depth": change.depth}
            add_state(writer, stamp, memory, state)

    def _keep_transcript(
        self, rows: WriteBuffer, stamp: OperationStamp, operation: KeepTranscript
    ) -> None:
        rows.add(
            "transcript_add",
            self._transcripts.assign(rows, operation.transcript_id),
            operation.transcript_id,
            operation.namespace,
            operation.agent_id,
            stamp.commit_ts,
            stamp.position,
            stamp.time,
            operation.occurred_at,
            operation.expiry.end(stamp.time, None),
            operation.text_size if operation.form else operation.size,
            operation.blob,
            operation.form,
            operation.size if operation.form else 0,
        )

    def _cite(self, rows: WriteBuffer, stamp: OperationStamp, operation: Cite) -> None:
        memory = self._memories.of(rows, operation.memory_id)
        transcript = self._transcripts.of(rows, operation.transcript_id)
        for start, end in operation.spans or (WHOLE_TRANSCRIPT,):
            rows.add("citation_add", memory, transcript, start, end, stamp.commit_ts)

    def _notify(self, rows: WriteBuffer, stamp: OperationStamp, operation: Notify) -> None:
        self._remember(rows, stamp, notice_memory(operation, stamp.time))
        rows.flush().run(
            "notice_add",
            memory=self._memories.of(rows, operation.memory_id),
            kind=NOTICE_KIND,
            **self._reference(rows, "dependent", MemoryRef(operation.dependent_id)),
            **self._reference(rows, "invalidated", MemoryRef(operation.invalidated_id)),
            invalidated_kind=notices.MEMORY,
            invalidated_version=None,
            change=notices.SUPERSEDED,
            invalidating=self._memories.of(rows, operation.invalidating_id),
            by_agent=operation.by,
            commit_ts=stamp.commit_ts,
        )

    def _notify_stale(
        self, rows: WriteBuffer, stamp: OperationStamp, operation: NotifyStale
    ) -> None:
        self._remember(rows, stamp, stale_notice_memory(operation, stamp.time))
        evidence, invalidating_id = operation.evidence, operation.invalidating_id
        rows.flush().run(
            "notice_add",
            memory=self._memories.of(rows, operation.memory_id),
            kind=notices.STALE_KINDS[operation.dependent_kind],
            **self._reference(rows, "dependent", operation.dependent),
            **self._reference(rows, "invalidated", evidence),
            invalidated_kind=operation.evidence_kind,
            invalidated_version=evidence.version if isinstance(evidence, MemoryRef) else None,
            change=operation.change,
            invalidating=invalidating_id and self._memories.of(rows, invalidating_id),
            by_agent=operation.by,
            commit_ts=stamp.commit_ts,
        )

    def _reference(
        self, rows: WriteBuffer, name: str, ref: MemoryRef | OperationRef
    ) -> dict[str, int | None]:
        """Return the columns of a reference: a memory's number, or a log position."""
        if isinstance(ref, MemoryRef):
            number = self._memories.of(rows, ref.memory_id)
            return {name: number, f"{name}_commit": None, f"{name}_position": None}
        return {name: None, f"{name}_commit": ref.commit_ts, f"{name}_position": ref.position}

    def _resolve(self, rows: WriteBuffer, stamp: OperationStamp, operation: Resolve) -> None:
        writer, memory = rows.flush(), self._memories.of(rows, operation.memory_id)
        writer.run(
            "notice_resolve",
            memory=memory,
            commit_ts=stamp.commit_ts,
            resolved_at=stamp.time,
            resolved_by=operation.by,
            decision=operation.decision,
            note=operation.note,
            replacement=operation.replacement,
        )
        expires_at = operation.expiry.end(stamp.time, None)
        add_state(writer, stamp, memory, last_state(writer, memory) | {"expires_at": expires_at})

    def _configure(self, rows: WriteBuffer, _: OperationStamp, operation: Configure) -> None:
        for name, value in operation.settings.items():
            rows.flush().run("setting_set", namespace=operation.namespace, name=name, value=value)
        self._settings.forget()
