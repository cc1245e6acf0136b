"""The rules of memories: what a request becomes, and whether it may.

One of them spreads: when a reflection that others reflect on is superseded, their owners are told,
in the same event. It holds for both sides of that encounter. Whether the superseding link lands
last or the reflecting one, there is a notice, so that who comes at the same time misses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from memoranda.errors import Conflict, InvalidInput, NotFound
from memoranda.memory import guards, revisions
from memoranda.memory.notices import Warrant, notice_memory, notify
from memoranda.memory.requests import (
    ChangeSettings,
    CiteTranscript,
    LinkMemories,
    MemoryRequest,
    PromoteMemory,
    RememberMemory,
    ResolveNotice,
    RetractMemory,
    ReviseMemory,
    StoreMessages,
    StoreTranscript,
    TouchMemory,
    UnlinkMemories,
)
from memoranda.memory.settings import Setting
from memoranda.memory.standing import Standing
from memoranda.memory.working import NoticeStanding, Working
from memoranda.model.memory import (
    ACYCLIC,
    INBOX,
    REFLECTION,
    REFLECTS_ON,
    SUPERSEDES,
    Depth,
    Expiry,
)
from memoranda.model.operations import (
    AddLink,
    AnyOperation,
    Cite,
    CloseLink,
    Configure,
    KeepTranscript,
    Resolve,
    Touch,
)
from memoranda.model.refs import MemoryRef, Ref, Referent, TranscriptRef
from memoranda.model.scope import Scope

Operations = Iterator[AnyOperation]


class MemoryRules:
    """Decides one transaction's requests about memories, in order, each seeing those before it."""

    def __init__(self, working: Working) -> None:
        self.working = working
        self._deciders: Mapping[type, Callable[[Any], Operations]] = {
            RememberMemory: lambda asked: revisions.remember(self.working, asked),
            ReviseMemory: self._revise,
            RetractMemory: lambda asked: self._retract(asked.by, asked.memory_id, asked.reason),
            TouchMemory: self._touch,
            PromoteMemory: self._promote,
            LinkMemories: self._link,
            UnlinkMemories: self._unlink,
            StoreTranscript: self._store_transcript,
            StoreMessages: self._store_transcript,
            CiteTranscript: self._cite,
            ResolveNotice: self._resolve,
            ChangeSettings: self._configure,
        }

    def decide(self, staged: MemoryRequest, /) -> Operations:
        """Return what a request becomes: nothing, if all is as it asks for."""
        return self._deciders[type(staged)](staged)

    def look_up(self, ref: Ref | TranscriptRef, asker: Scope, /) -> Referent:
        """Return the memory at a version it has or had, or the transcript."""
        assert isinstance(ref, MemoryRef | TranscriptRef), "nothing else is asked of memories"
        if isinstance(ref, TranscriptRef):
            if not self.working.has_transcript(ref.transcript_id):
                raise NotFound(f"there is no transcript {ref.transcript_id!r}")
            return Referent(ref)
        found = self._current(ref.memory_id, asker.agent_id)
        version = ref.version or found.version
        if version > found.version:
            raise NotFound(f"memory {ref.memory_id!r} has no version {version}")
        if version < found.version:
            self.working.check_known(ref.memory_id, version)
        ref = MemoryRef(found.memory_id, version)
        return Referent(ref, found.details.event_time, found.private)

    def _seen(self, memory_id: str, by: str, field: str = "memory_id") -> Standing:
        """Return a memory that whoever acts may see, and that was not forgotten."""
        found = self.working.memory(memory_id)
        if found is not None and found.kind and not found.private:  # as most are
            return found
        found = self._there(memory_id, by, field)
        if found.forgotten:
            raise NotFound(f"{field}: memory {memory_id!r} was forgotten")
        return found

    def _there(self, memory_id: str, by: str, field: str) -> Standing:
        """Return a memory that whoever acts may see, be it only that there was one."""
        found = self.working.memory(memory_id)
        if found is None or not found.seen_by(by):
            raise NotFound(f"{field}: there is no memory {memory_id!r} that {by!r} can see")
        return found

    def _current(self, memory_id: str, by: str) -> Standing:
        """Return a memory that may be acted on: one that was not taken back."""
        found = self._seen(memory_id, by)
        if found.retracted:
            raise NotFound(
                f"memory {memory_id!r} was retracted: remember it again to bring it back"
            )
        return found

    def _own(self, memory_id: str, by: str) -> Standing:
        """Return a memory whose words are an agent's, not the engine's."""
        found = self._current(memory_id, by)
        if found.namespace.split("/")[-1] == INBOX:
            raise InvalidInput(
                "memory_id", f"{memory_id!r} is a notice: close it with resolve_invalidation"
            )
        return found

    def _revise(self, asked: ReviseMemory) -> Operations:
        return revisions.revise(self.working, self._own(asked.memory_id, asked.by), asked)

    def _retract(self, by: str, memory_id: str, reason: str | None) -> Operations:
        found = self._there(memory_id, by, "memory_id")
        if not found.retracted and not found.forgotten:
            yield from revisions.retract(self.working, self._own(memory_id, by), reason)

    def _promote(self, asked: PromoteMemory) -> Operations:
        return revisions.promote(self.working, self._current(asked.memory_id, asked.by), asked.tier)

    def _touch(self, asked: TouchMemory) -> Operations:
        memory = self._current(asked.memory_id, asked.by)
        lifetime = self.working.lifetime(memory)
        touched = replace(memory, access_count=memory.access_count + 1)
        self.working.put(revisions.lasting(touched, Expiry(lifetime, extends=True)))
        yield Touch(*_scope(memory), memory.memory_id, memory.version, lifetime, memory.private)

    def _link(self, asked: LinkMemories) -> Operations:
        # what was said on another's behalf can be linked from, also where it can no more be seen
        source = self.working.drafted(asked.source)
        if source is None:
            source = self._seen(asked.source, asked.by, "source")
        target = self._seen(asked.target, asked.by, "target")
        return self._add_link(source, target, asked.relation, asked.by)

    def _add_link(self, source: Standing, target: Standing, relation: str, by: str) -> Operations:
        """Add a link that does not hold yet, and tell those whom it concerns."""
        edge = (source.memory_id, relation, target.memory_id)
        if self.working.has_link(edge):
            return
        if relation in ACYCLIC:
            guards.check_cycle(self.working, edge, by)
        elif source.memory_id == target.memory_id:
            raise InvalidInput("target", f"{target.memory_id!r} is the source: link to another one")
        depths: tuple[Depth, ...] = ()
        if relation == REFLECTS_ON:
            depths = guards.deepen(self.working, source.memory_id, target.memory_id)
            self._put_depths(depths)
        self.working.put_link(edge, holds=True)
        private = source.private or target.private
        yield AddLink(
            *_scope(source), source.memory_id, target.memory_id, relation, depths, private
        )
        if relation in (SUPERSEDES, REFLECTS_ON):
            yield from self._tell(source, target, relation, by)

    def _tell(self, source: Standing, target: Standing, relation: str, by: str) -> Operations:
        """Tell the owner of each memory whose ground this link shows to be superseded."""
        warrants: list[Warrant] = []
        if relation == SUPERSEDES and source.kind == target.kind == REFLECTION:
            old, new = target.memory_id, source.memory_id
            resting = self.working.sources((old,), REFLECTS_ON)[old]
            warrants = [Warrant(dependent, old, new) for dependent in resting]
        elif relation == REFLECTS_ON and target.kind == REFLECTION:
            old, dependent = target.memory_id, source.memory_id
            superseding = self.working.sources((old,), SUPERSEDES)[old]
            newer = self.working.memories(superseding, content=False)
            warrants = [
                Warrant(dependent, old, new)
                for new in sorted(newer)
                if newer[new].kind == REFLECTION
            ]
        dependents = {warrant.dependent for warrant in warrants}
        concerned = self.working.memories(dependents, content=False)
        others = (each for each in warrants if each.dependent != each.invalidating)
        for warrant in self.working.untold(others):
            owned = concerned[warrant.dependent]
            notice = notify(warrant, owned.scope, private=owned.private, by=by)
            self.working.put_notice(revisions.begun(notice_memory(notice)), warrant.dependent)
            yield notice

    def _unlink(self, asked: UnlinkMemories) -> Operations:
        source = self._there(asked.source, asked.by, "source")
        target = self._there(asked.target, asked.by, "target")
        edge = (asked.source, asked.relation, asked.target)
        if not self.working.has_link(edge):
            raise NotFound(
                f"{asked.source!r} has no {asked.relation} link to {asked.target!r} to close"
            )
        self.working.put_link(edge, holds=False)
        depths: tuple[Depth, ...] = ()
        if asked.relation == REFLECTS_ON:
            depths = guards.flatten(self.working, asked.source)
            self._put_depths(depths)
        private = source.private or target.private
        yield CloseLink(
            *_scope(source), asked.source, asked.target, asked.relation, depths, private
        )

    def _put_depths(self, depths: tuple[Depth, ...]) -> None:
        memories = self.working.memories(each.memory_id for each in depths)
        for each in depths:
            self.working.put(replace(memories[each.memory_id], depth=each.depth))

    def _store_transcript(self, asked: StoreTranscript) -> Operations:
        retention = self.working.settings(asked.scope.namespace).transcript_retention
        self.working.put_transcript(asked.transcript_id)
        form, text_size = 0, 0
        if isinstance(asked, StoreMessages):
            form, text_size = asked.form, asked.text_size
        yield KeepTranscript(
            asked.scope.namespace,
            asked.scope.agent_id,
            asked.transcript_id,
            asked.digest,
            asked.size,
            asked.occurred_at,
            Expiry(retention if asked.ttl is None else asked.ttl),
            form,
            text_size,
        )

    def _cite(self, asked: CiteTranscript) -> Operations:
        memory = self._seen(asked.memory_id, asked.by)
        if not self.working.has_transcript(asked.transcript_id):
            raise NotFound(f"transcript_id: there is no transcript {asked.transcript_id!r}")
        known = self.working.spans(memory.memory_id, asked.transcript_id)
        whole = ((0, 0),)
        if known.issuperset(asked.spans or whole):
            return
        new = tuple(span for span in asked.spans if span not in known) if known else asked.spans
        known.update(new or whole)
        yield Cite(*_scope(memory), memory.memory_id, asked.transcript_id, new, memory.private)

    def _resolve(self, asked: ResolveNotice) -> Operations:
        memory = self._seen(asked.notice_id, asked.by, "notice_id")
        notice = self.working.notice(asked.notice_id)
        if notice is None:
            raise NotFound(f"notice_id: {asked.notice_id!r} is a memory, but no notice")
        if notice.decision is not None:
            if (notice.decision, notice.replacement) == (asked.decision, asked.replacement):
                return
            raise Conflict(
                f"notice {asked.notice_id!r} was resolved before, with {notice.decision!r}"
            )
        self.working.resolve_notice(
            asked.notice_id, NoticeStanding(notice.dependent, asked.decision, asked.replacement)
        )
        yield Resolve(
            *_scope(memory),
            memory_id=asked.notice_id,
            decision=asked.decision,
            by=asked.by,
            expiry=Expiry(self.working.settings(memory.namespace).lifetime(memory.tier)),
            note=asked.note,
            replacement=asked.replacement,
            private=memory.private,
        )
        if asked.decision == "retract":
            yield from self._retract(asked.by, notice.dependent, asked.note)
        elif asked.decision == "revise":
            assert asked.replacement is not None, "checked when it was staged"
            source = self._seen(asked.replacement, asked.by, "replacement")
            target = self._seen(notice.dependent, asked.by, "dependent")
            yield from self._add_link(source, target, SUPERSEDES, asked.by)

    def _configure(self, asked: ChangeSettings) -> Operations:
        namespace = asked.scope.namespace
        now = self.working.own_settings(namespace)
        changed = {
            name: value
            for name, value in asked.settings.items()
            if name not in now or now[name] != value
        }
        if changed:
            self.working.put_settings(
                Setting(namespace, name, value) for name, value in changed.items()
            )
            yield Configure(namespace, asked.scope.agent_id, changed)


def _scope(memory: Standing) -> tuple[str, str]:
    """Return whose operation it is: the memory's owner's, whoever acts."""
    return memory.namespace, memory.agent_id
