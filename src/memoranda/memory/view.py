"""The memory view: applying what was decided about memories to the tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any

import msgspec

from memoranda.log.retaining import Retained
from memoranda.log.views import Commit, LookUp, View
from memoranda.memory import requests
from memoranda.memory.erasing import MemoryEraser, places_of
from memoranda.memory.keeping import MemoryKeeper
from memoranda.memory.notices import notice_memory
from memoranda.memory.numbers import Numbers
from memoranda.memory.rules import MemoryRules
from memoranda.memory.settings import KnownSettings
from memoranda.memory.standing import NEWEST, STILL
from memoranda.memory.states import (
    At,
    add_state,
    begin,
    carried_of,
    continued_of,
    last_state,
    move_title,
    retracted_of,
    revised_of,
)
from memoranda.memory.stubs import add_stub, add_transcript_stub, put_again
from memoranda.memory.sweeping import overdue
from memoranda.memory.trimming import MemoryTrimmer
from memoranda.memory.working import Working
from memoranda.model.erasure import Place, Target
from memoranda.model.ids import IdSource
from memoranda.model.memory import Depth, Expiry
from memoranda.model.operations import (
    AddLink,
    AnyOperation,
    Begun,
    Carried,
    Cite,
    CloseLink,
    Configure,
    Continued,
    KeepTranscript,
    MemoryStub,
    Notify,
    Remember,
    Resolve,
    Retract,
    Revise,
    Touch,
    TranscriptStub,
)
from memoranda.model.refs import MemoryRef, TranscriptRef
from memoranda.storage.gathering import Gathering
from memoranda.storage.port import Reader, Writer


class MemoryView(View):
    """Memories at every commit, their links, titles and transcripts, notices and settings."""

    name = "memory"
    version = 1
    staged = (
        requests.RememberMemory,
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
    referred = (MemoryRef, TranscriptRef)
    tracked = (requests.MemoryRead, requests.TitleKey, requests.LinksRead)
    clear = (
        "memory_clear",
        "memory_state_clear",
        "memory_title_clear",
        "memory_link_clear",
        "transcript_clear",
        "citation_clear",
        "notice_clear",
        "setting_clear",
    )
    rows = (
        "memory_rows",
        "memory_state_rows",
        "memory_title_rows",
        "memory_link_rows",
        "transcript_rows",
        "citation_rows",
        "notice_rows",
        "setting_rows",
    )

    def __init__(self) -> None:
        self._numbers = Numbers()
        self._settings = KnownSettings()
        self._appliers: Mapping[type, Callable[[Gathering, At, Any], None]] = {
            Remember: self._remember,
            MemoryStub: self._leave_stub,
            TranscriptStub: self._leave_transcript_stub,
            Begun: self._remember,
            Carried: self._carry,
            Continued: self._continue,
            Revise: self._revise,
            Retract: self._retract,
            Touch: self._touch,
            AddLink: self._add_link,
            CloseLink: self._close_link,
            KeepTranscript: self._keep_transcript,
            Cite: self._cite,
            Notify: self._notify,
            Resolve: self._resolve,
            Configure: self._configure,
        }
        self.applied = frozenset(self._appliers)

    def rules(self, reader: Reader, _: LookUp, /) -> MemoryRules:
        """Return the rules for one transaction."""
        return MemoryRules(Working(reader, NEWEST, self._settings))

    def changed(
        self,
        reader: Reader,
        read: requests.MemoryRead | requests.TitleKey | requests.LinksRead,
        since: int,
        /,
    ) -> bool:
        """Say whether a memory, whose title it is, or the links have changed since."""
        values = msgspec.structs.asdict(read)
        if isinstance(read, requests.MemoryRead):
            row = reader.row("memory_changed", **values, since=since, still=STILL)
        elif isinstance(read, requests.TitleKey):
            row = reader.row("title_changed", **values, since=since, still=STILL)
        else:
            row = reader.row("links_changed", **values, since=since, still=STILL)
        return row is not None

    def keeper(self, notes: Retained, ids: IdSource, /) -> MemoryKeeper:
        """Return who says what stays when a namespace is summed up."""
        return MemoryKeeper(notes, ids)

    def apply(self, writer: Writer, commit: Commit, /) -> None:
        """Bring the tables from before the commit to after it."""
        commit_ts, time, rows = commit.commit_ts, commit.committed_at, Gathering(writer)
        for position, operation in enumerate(commit.operations):
            applier = self._appliers.get(type(operation))
            if applier is not None:
                applier(rows, At(commit_ts, position, time), operation)
        rows.written()

    def places(self, reader: Reader, target: Target, viewer: str | None, /) -> list[Place]:
        """Return where the log speaks of a memory or a transcript."""
        return places_of(reader, target, viewer)

    def overdue(self, reader: Reader, sweep: Target, spared: Set[str], /) -> list[Target]:
        """Return the memories and transcripts that nothing needs any more."""
        return overdue(reader, sweep, spared)

    def eraser(self, writer: Writer, /) -> MemoryEraser:
        """Return what brings the tables to what is left of memories and transcripts."""
        return MemoryEraser(writer, self._again)

    def trimmer(self, writer: Writer, /) -> MemoryTrimmer:
        """Return what takes the rows of compacted operations out of the tables."""
        return MemoryTrimmer(writer)

    def _again(self, writer: Writer, at: At, operation: AnyOperation, memory_id: str) -> None:
        """Apply to one memory, whose states were dropped, what an operation says of it."""
        rows = Gathering(writer)
        if isinstance(operation, Notify):
            operation = notice_memory(operation, at.time)
        if isinstance(operation, (Remember, Begun)):
            begin(rows, at, put_again(writer, operation), operation)
        elif isinstance(operation, (AddLink, CloseLink)):
            depths = tuple(each for each in operation.depths if each.memory_id == memory_id)
            self._set_depths(rows, at, depths)
        elif type(operation) in self._appliers:
            self._appliers[type(operation)](rows, at, operation)
        rows.written()

    def forget(self) -> None:
        """Drop what is remembered of memories, transcripts and settings."""
        self._numbers.forget()
        self._settings.forget()

    def _remember(self, rows: Gathering, at: At, operation: Remember | Begun) -> None:
        """Add a memory: its number, its first state, and its title."""
        memory = self._numbers.give(rows, operation.memory_id)
        rows.add(
            "memory_add",
            memory,
            operation.memory_id,
            operation.namespace,
            operation.agent_id,
            int(operation.private),
            at.commit_ts,
            at.time,
        )
        begin(rows, at, memory, operation)

    def _leave_stub(self, rows: Gathering, at: At, operation: MemoryStub) -> None:
        """Add what is left of a memory that was forgotten."""
        memory = add_stub(rows.written(), at, operation)
        self._numbers.put(operation.memory_id, memory)

    def _leave_transcript_stub(self, rows: Gathering, at: At, operation: TranscriptStub) -> None:
        number = add_transcript_stub(rows.written(), at, operation)
        self._numbers.put_transcript(operation.transcript_id, number)

    def _revise(self, rows: Gathering, at: At, operation: Revise) -> None:
        writer, memory = rows.written(), self._numbers.of(rows, operation.memory_id)
        last = last_state(writer, memory)
        move_title(writer, at, memory, last["title"], operation.title)
        add_state(writer, at, memory, last | revised_of(operation, at, last))

    def _continue(self, rows: Gathering, at: At, operation: Continued) -> None:
        """Apply what is left of an operation, and let the memory be what it had come to then."""
        writer, memory = rows.written(), self._numbers.of(rows, operation.memory_id)
        last = last_state(writer, memory)
        if isinstance(operation.base, Revise):
            move_title(writer, at, memory, last["title"], operation.base.title)
        add_state(writer, at, memory, last | continued_of(operation, at, last))

    def _carry(self, rows: Gathering, at: At, operation: Carried) -> None:
        """Let a memory be what operations had made of it that are gone."""
        writer, memory = rows.written(), self._numbers.of(rows, operation.memory_id)
        last = last_state(writer, memory)
        move_title(writer, at, memory, last["title"], operation.title)
        add_state(writer, at, memory, last | carried_of(operation))

    def _retract(self, rows: Gathering, at: At, operation: Retract) -> None:
        writer, memory = rows.written(), self._numbers.of(rows, operation.memory_id)
        add_state(writer, at, memory, last_state(writer, memory) | retracted_of(operation, at))

    def _touch(self, rows: Gathering, at: At, operation: Touch) -> None:
        writer, memory = rows.written(), self._numbers.of(rows, operation.memory_id)
        last = last_state(writer, memory)
        expiry = Expiry(operation.lifetime, extends=True)
        changes = {
            "access_count": last["access_count"] + 1,
            "last_accessed_at": at.time,
            "expires_at": expiry.end(at.time, last["expires_at"]),
        }
        add_state(writer, at, memory, last | changes)

    def _add_link(self, rows: Gathering, at: At, operation: AddLink) -> None:
        rows.add(
            "link_add",
            self._numbers.of(rows, operation.source),
            operation.relation,
            self._numbers.of(rows, operation.target),
            at.commit_ts,
            at.position,
            at.time,
            STILL,
        )
        self._set_depths(rows, at, operation.depths)

    def _close_link(self, rows: Gathering, at: At, operation: CloseLink) -> None:
        rows.written().run(
            "link_close",
            source=self._numbers.of(rows, operation.source),
            relation=operation.relation,
            target=self._numbers.of(rows, operation.target),
            commit_ts=at.commit_ts,
            valid_until=at.time,
            still=STILL,
        )
        self._set_depths(rows, at, operation.depths)

    def _set_depths(self, rows: Gathering, at: At, depths: tuple[Depth, ...]) -> None:
        for memory_id, depth in ((each.memory_id, each.depth) for each in depths):
            writer, memory = rows.written(), self._numbers.of(rows, memory_id)
            add_state(writer, at, memory, last_state(writer, memory) | {"depth": depth})

    def _keep_transcript(self, rows: Gathering, at: At, operation: KeepTranscript) -> None:
        number = rows.written().add(
            "transcript_add",
            operation.transcript_id,
            operation.namespace,
            operation.agent_id,
            at.commit_ts,
            at.position,
            at.time,
            operation.occurred_at,
            operation.expiry.end(at.time, None),
            operation.text_size if operation.form else operation.size,
            operation.blob,
            operation.form,
            operation.size if operation.form else 0,
        )
        self._numbers.put_transcript(operation.transcript_id, number)

    def _cite(self, rows: Gathering, at: At, operation: Cite) -> None:
        memory = self._numbers.of(rows, operation.memory_id)
        transcript = self._numbers.of_transcript(rows, operation.transcript_id)
        for first, beyond in operation.spans or ((0, 0),):
            rows.add("citation_add", memory, transcript, first, beyond, at.commit_ts)

    def _notify(self, rows: Gathering, at: At, operation: Notify) -> None:
        self._remember(rows, at, notice_memory(operation, at.time))
        rows.written().run(
            "notice_add",
            memory=self._numbers.of(rows, operation.memory_id),
            dependent=self._numbers.of(rows, operation.dependent_id),
            invalidated=self._numbers.of(rows, operation.invalidated_id),
            invalidating=self._numbers.of(rows, operation.invalidating_id),
            by_agent=operation.by,
            commit_ts=at.commit_ts,
        )

    def _resolve(self, rows: Gathering, at: At, operation: Resolve) -> None:
        writer, memory = rows.written(), self._numbers.of(rows, operation.memory_id)
        writer.run(
            "notice_resolve",
            memory=memory,
            commit_ts=at.commit_ts,
            resolved_at=at.time,
            resolved_by=operation.by,
            decision=operation.decision,
            note=operation.note,
            replacement=operation.replacement,
        )
        expires_at = operation.expiry.end(at.time, None)
        add_state(writer, at, memory, last_state(writer, memory) | {"expires_at": expires_at})

    def _configure(self, rows: Gathering, _: At, operation: Configure) -> None:
        for name, value in operation.settings.items():
            rows.written().run("setting_set", namespace=operation.namespace, name=name, value=value)
        self._settings.forget()
