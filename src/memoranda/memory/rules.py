"""The rules of memories: whether a request is allowed, and the operations it becomes.

Rules run once, at commit, under the write lock. They read the transaction's overlay and return
operations; applying those operations later needs no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import chain
from typing import Any

from msgspec.structs import replace

from memoranda.errors import Conflict, InvalidInput, LinkCycle, NotFound, ReflectionTooDeep
from memoranda.log.pages import SplitEventCache
from memoranda.log.views import LookUp
from memoranda.memory import revisions
from memoranda.memory.notices import find_causes, notice_memory, notify, resolve_place
from memoranda.memory.overlay import Edge, NoticeState, TransactionOverlay
from memoranda.memory.requests import (
    ChangeSettings,
    CiteTranscript,
    LinkMemories,
    MemoryRequest,
    PromoteMemory,
    RememberMemory,
    RememberMemoryAs,
    ResolveNotice,
    RetractMemory,
    ReviseMemory,
    StoreMessages,
    StoreTranscript,
    TouchMemory,
    UnlinkMemories,
)
from memoranda.memory.settings import Setting
from memoranda.memory.snapshots import MemorySnapshot
from memoranda.memory.transcripts import WHOLE_TRANSCRIPT
from memoranda.model.memory import (
    ACYCLIC,
    INBOX,
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
from memoranda.model.refs import (
    FactRef,
    KeyRef,
    MemoryRef,
    OperationRef,
    Ref,
    Referent,
    TranscriptRef,
)
from memoranda.model.scope import Scope

# Guards: links have no cycles, and chains of reflections stay within the depth limit.


def check_cycle(overlay: TransactionOverlay, edge: Edge, viewer: str) -> None:
    """Raise `LinkCycle` if links lead from the target back to the source.

    A cycle needs a link into the source. Most links start at a new memory, which has none, so most
    links need no walk.
    """
    source, relation, target = edge
    if source != target and not overlay.has_sources(source, relation):
        return
    path = _find_path(overlay, relation, target, source)
    if path is not None:
        memories = overlay.memories(path)
        cycle = (
            memory_id if memories[memory_id].visible_to(viewer) else None
            for memory_id in (source, *path)
        )
        raise LinkCycle(relation, tuple(cycle))


def _find_path(
    overlay: TransactionOverlay, relation: str, start: str, goal: str
) -> list[str] | None:
    """Return a shortest path of links, with both ends; each hop is one query."""
    came_from: dict[str, str | None] = {start: None}
    frontier = [start]
    while frontier and goal not in came_from:
        hop = overlay.targets(frontier, relation)
        frontier = []
        for source, targets in hop.items():
            for target in targets:
                if target not in came_from:
                    came_from[target] = source
                    frontier.append(target)
    if goal not in came_from:
        return None
    path, step = [], came_from[goal]
    while step is not None:
        path.append(step)
        step = came_from[step]
    return [*reversed(path), goal]


def deepen(overlay: TransactionOverlay, source: str, target: str) -> tuple[Depth, ...]:
    """Return the depths that change when the source begins to reflect on the target.

    A reflection is one deeper than the deepest memory it reflects on, so the change spreads to all
    that reflect on the source. Raises `ReflectionTooDeep` at the first memory beyond the limit of
    its namespace; therefore the walk also ends on a cycle that a damaged table may have.
    """
    depths = overlay.depths((source, target))
    new_depths: dict[str, int] = {}
    frontier = {source: depths[target][1] + 1}
    while frontier:
        depths |= overlay.depths(frontier.keys() - depths.keys())
        deeper = {
            memory_id: depth
            for memory_id, depth in frontier.items()
            if depth > new_depths.get(memory_id, depths[memory_id][1])
        }
        for memory_id, depth in deeper.items():
            namespace = depths[memory_id][0]
            limit = overlay.settings(namespace).max_reflection_depth
            if depth > limit:
                raise ReflectionTooDeep(namespace, depth, limit, (source, target))
        new_depths |= deeper
        frontier = {}
        for child, parents in overlay.sources(deeper, REFLECTS_ON).items() if deeper else ():
            for parent in parents:
                frontier[parent] = max(frontier.get(parent, 0), deeper[child] + 1)
    return _depth_changes(new_depths)


def flatten(overlay: TransactionOverlay, source: str) -> tuple[Depth, ...]:
    """Return the depths that change when a link of the source was closed.

    Depths only fall here. A memory's depth is computed again from its remaining links, and the walk
    goes on to the reflections on those memories that became shallower.
    """
    new_depths: dict[str, int] = {}
    frontier = [source]
    while frontier:
        targets = overlay.targets(frontier, REFLECTS_ON)
        below = set(chain.from_iterable(targets.values()))
        depths = overlay.depths(below.union(frontier))
        shallower = {}
        for memory_id, ends in targets.items():
            depth = max((new_depths.get(end, depths[end][1]) + 1 for end in ends), default=0)
            if depth < new_depths.get(memory_id, depths[memory_id][1]):
                shallower[memory_id] = depth
        new_depths |= shallower
        parents = overlay.sources(shallower, REFLECTS_ON) if shallower else {}
        frontier = sorted(set(chain.from_iterable(parents.values())))
    return _depth_changes(new_depths)


def _depth_changes(depths: dict[str, int]) -> tuple[Depth, ...]:
    return tuple(Depth(memory_id, depths[memory_id]) for memory_id in sorted(depths))


# The rules.
#
# Supersession. When a reflection that others reflect on is superseded, the owner of each dependent
# memory gets a notice. The notice is an operation of the same transaction as the link, so link and
# notice are in one event: no reader sees one without the other, and no crash can lose the notice.
#
# The condition has two links, and either may be committed last:
#
#     dependent --reflects_on--> old <--supersedes-- new
#
# Therefore adding either link looks for the other one (`_notify_owners`). Two transactions that add
# one link each are ordered by the write lock: the second one sees the first link and writes the
# notice. Its id is derived from the three memories, so there is at most one notice for each cause.

Operations = Iterable[AnyOperation]


class MemoryRules:
    """Decides the requests of one transaction in order; each sees the effects of those before."""

    def __init__(self, overlay: TransactionOverlay, look_up: LookUp | None = None) -> None:
        self.overlay = overlay
        self._look_up = look_up
        """None for a transaction's own reads, which leave checks across views to the commit."""
        self.stale_evidence: set[str] = set()
        """The memories that were not current when a request began to rest on them."""
        self._deciders: Mapping[type, Callable[[Any], Operations]] = {
            RememberMemory: partial(revisions.remember, overlay),
            RememberMemoryAs: partial(revisions.remember, overlay),
            ReviseMemory: self._revise,
            RetractMemory: lambda request: self._retract(
                request.by, request.memory_id, request.reason
            ),
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

    def decide(self, request: MemoryRequest, /) -> Operations:
        """Yield the operations for a request; none if it changes nothing."""
        return self._deciders[type(request)](request)

    def look_up(self, ref: Ref, asker: Scope, /) -> Referent:
        """Resolve a reference to a memory's version or to a transcript; raise if there is none."""
        assert isinstance(ref, MemoryRef | TranscriptRef), "other views resolve other references"
        if isinstance(ref, TranscriptRef):
            if not self.overlay.has_transcript(ref.transcript_id):
                raise NotFound(f"there is no transcript {ref.transcript_id!r}")
            return Referent(ref)
        memory = self._require_current(ref.memory_id, asker.agent_id, None)
        version = ref.version or memory.version
        if version > memory.version:
            raise NotFound(f"memory {ref.memory_id!r} has no version {version}")
        if version < memory.version:
            self.overlay.check_not_compacted(ref.memory_id, version)
        if version < memory.version or memory.superseded_by is not None:
            self.stale_evidence.add(memory.memory_id)
        ref = MemoryRef(memory.memory_id, version)
        return Referent(ref, memory.details.event_time, memory.private)

    def _require_visible(
        self, memory_id: str, by: str, field: str | None = "memory_id"
    ) -> MemorySnapshot:
        """Return a memory that the agent may see and that was not forgotten."""
        memory = self.overlay.memory(memory_id)
        if memory is not None and memory.kind and not memory.private:  # the common case
            return memory
        memory = self._require_existing(memory_id, by, field)
        if memory.forgotten:
            raise NotFound(f"memory {memory_id!r} was forgotten", field=field)
        return memory

    def _require_existing(self, memory_id: str, by: str, field: str | None) -> MemorySnapshot:
        """Return a memory that the agent may see, even if it was forgotten."""
        memory = self.overlay.memory(memory_id)
        if memory is None or not memory.visible_to(by):
            raise NotFound(f"there is no memory {memory_id!r} that {by!r} can see", field=field)
        return memory

    def _require_current(
        self, memory_id: str, by: str, field: str | None = "memory_id"
    ) -> MemorySnapshot:
        """Return a visible memory that was not retracted."""
        memory = self._require_visible(memory_id, by, field)
        if memory.retracted:
            raise NotFound(
                f"memory {memory_id!r} was retracted: remember it again to bring it back",
                field=field,
            )
        return memory

    def _require_editable(self, memory_id: str, by: str) -> MemorySnapshot:
        """Return a current memory that is not a notice; the engine writes notices."""
        memory = self._require_current(memory_id, by)
        if memory.namespace.split("/")[-1] == INBOX:
            raise InvalidInput(
                "memory_id", f"{memory_id!r} is a notice: close it with resolve_invalidation"
            )
        return memory

    def _revise(self, request: ReviseMemory) -> Operations:
        memory = self._require_editable(request.memory_id, request.by)
        return revisions.revise(self.overlay, memory, request)

    def _retract(self, by: str, memory_id: str, reason: str | None) -> Operations:
        memory = self._require_existing(memory_id, by, "memory_id")
        if not memory.retracted and not memory.forgotten:
            memory = self._require_editable(memory_id, by)
            yield from revisions.retract(self.overlay, memory, reason)

    def _promote(self, request: PromoteMemory) -> Operations:
        memory = self._require_current(request.memory_id, request.by)
        return revisions.promote(self.overlay, memory, request.tier)

    def _touch(self, request: TouchMemory) -> Operations:
        memory = self._require_current(request.memory_id, request.by)
        lifetime = self.overlay.lifetime(memory)
        touched = replace(memory, access_count=memory.access_count + 1)
        self.overlay.put(revisions.with_lifetime(touched, Expiry(lifetime, extends=True)))
        yield Touch(*_scope(memory), memory.memory_id, memory.version, lifetime, memory.private)

    def _link(self, request: LinkMemories) -> Operations:
        # A transaction may link from its own draft, even a private one of another agent.
        source = self.overlay.find_by_draft_id(request.source)
        if source is None:
            source = self._require_visible(request.source, request.by, "source")
        target = self._require_visible(request.target, request.by, "target")
        return self._add_link(source, target, request.relation, request.by)

    def _add_link(
        self, source: MemorySnapshot, target: MemorySnapshot, relation: str, by: str
    ) -> Operations:
        """Add a link that is not open yet, and notices for the dependents that it affects."""
        edge = (source.memory_id, relation, target.memory_id)
        if self.overlay.has_link(edge):
            return ()
        if relation in ACYCLIC:
            check_cycle(self.overlay, edge, by)
        elif source.memory_id == target.memory_id:
            raise InvalidInput("target", f"{target.memory_id!r} is the source: link to another one")
        depths: tuple[Depth, ...] = ()
        if relation == REFLECTS_ON:
            depths = deepen(self.overlay, source.memory_id, target.memory_id)
            self._put_depths(depths)
        if target.retracted or target.superseded_by is not None:
            self.stale_evidence.add(target.memory_id)
        self.overlay.put_link(edge, is_open=True)
        private = source.private or target.private
        link = AddLink(
            *_scope(source), source.memory_id, target.memory_id, relation, depths, private
        )
        if relation in (SUPERSEDES, REFLECTS_ON):
            return (link, *self._notify_owners(source, target, relation, by))
        return (link,)

    def _notify_owners(
        self, source: MemorySnapshot, target: MemorySnapshot, relation: str, by: str
    ) -> Operations:
        """Yield a notice for each memory that now reflects on a superseded reflection."""
        causes = find_causes(self.overlay, source, target, relation)
        memories = self.overlay.memories({cause.dependent for cause in causes}, content=False)
        for cause in self.overlay.without_notice(causes):
            memory = memories[cause.dependent]
            notice = notify(cause, memory.scope, private=memory.private, by=by)
            self.overlay.put_notice(revisions.new_snapshot(notice_memory(notice)), memory.memory_id)
            yield notice

    def _unlink(self, request: UnlinkMemories) -> Operations:
        source = self._require_existing(request.source, request.by, "source")
        target = self._require_existing(request.target, request.by, "target")
        edge = (request.source, request.relation, request.target)
        if not self.overlay.has_link(edge):
            raise NotFound(
                f"{request.source!r} has no {request.relation} link to {request.target!r} to close",
                field="target",
            )
        self.overlay.put_link(edge, is_open=False)
        depths: tuple[Depth, ...] = ()
        if request.relation == REFLECTS_ON:
            depths = flatten(self.overlay, request.source)
            self._put_depths(depths)
        private = source.private or target.private
        yield CloseLink(
            *_scope(source), request.source, request.target, request.relation, depths, private
        )

    def _put_depths(self, depths: tuple[Depth, ...]) -> None:
        memories = self.overlay.memories(change.memory_id for change in depths)
        for change in depths:
            self.overlay.put(replace(memories[change.memory_id], depth=change.depth))

    def _store_transcript(self, request: StoreTranscript) -> Operations:
        retention = self.overlay.settings(request.scope.namespace).transcript_retention
        self.overlay.put_transcript(request.transcript_id)
        form, text_size = 0, 0
        if isinstance(request, StoreMessages):
            form, text_size = request.form, request.text_size
        yield KeepTranscript(
            request.scope.namespace,
            request.scope.agent_id,
            request.transcript_id,
            request.digest,
            request.size,
            request.occurred_at,
            Expiry(retention if request.ttl is None else request.ttl),
            form,
            text_size,
        )

    def _cite(self, request: CiteTranscript) -> Operations:
        memory = self._require_visible(request.memory_id, request.by)
        if not self.overlay.has_transcript(request.transcript_id):
            raise NotFound(
                f"there is no transcript {request.transcript_id!r}", field="transcript_id"
            )
        stored_spans = self.overlay.spans(memory.memory_id, request.transcript_id)
        if stored_spans.issuperset(request.spans or (WHOLE_TRANSCRIPT,)):
            return ()
        spans = tuple([span for span in request.spans if span not in stored_spans])
        stored_spans.update(spans or (WHOLE_TRANSCRIPT,))
        place = (memory.memory_id, request.transcript_id)
        return (Cite(*_scope(memory), *place, spans, memory.private),)

    def _resolve(self, request: ResolveNotice) -> Operations:
        memory = self._require_visible(request.notice_id, request.by, "notice_id")
        notice = self.overlay.notice(request.notice_id)
        if notice is None:
            raise NotFound(f"{request.notice_id!r} is a memory, not a notice", field="notice_id")
        if notice.decision is not None:
            if (notice.decision, notice.replacement) == (request.decision, request.replacement):
                return
            raise Conflict(
                f"notice {request.notice_id!r} was resolved before, with {notice.decision!r}"
            )
        self._check_decision(request, notice.dependent, memory.scope)
        self.overlay.resolve_notice(
            request.notice_id, NoticeState(notice.dependent, request.decision, request.replacement)
        )
        yield Resolve(
            *_scope(memory),
            memory_id=request.notice_id,
            decision=request.decision,
            by=request.by,
            expiry=Expiry(self.overlay.settings(memory.namespace).lifetime(memory.tier)),
            note=request.note,
            replacement=request.replacement,
            private=memory.private,
        )
        if isinstance(notice.dependent, OperationRef):
            return
        if request.decision == "retract":
            yield from self._retract(request.by, notice.dependent, request.note)
        elif request.decision == "revise":
            assert request.replacement is not None, "a memory is revised with a replacement"
            source = self._require_visible(request.replacement, request.by, "replacement")
            target = self._require_visible(notice.dependent, request.by, "dependent")
            yield from self._add_link(source, target, SUPERSEDES, request.by)

    def _check_decision(
        self, request: ResolveNotice, dependent: str | OperationRef, owner: Scope
    ) -> None:
        """Refuse a decision that does not fit what the notice is about.

        A memory is revised by its replacement. A key and a fact are changed by their own calls, in
        the same transaction or before: the decision to revise or retract one records that.
        """
        if isinstance(dependent, str):
            if request.decision == "revise" and request.replacement is None:
                raise InvalidInput(
                    "replacement", "is missing: 'revise' needs the memory that takes its place"
                )
            return
        if request.replacement is not None:
            raise InvalidInput(
                "replacement", "is for a memory: write the key or assert the fact again instead"
            )
        if request.decision == "keep" or self._look_up is None:
            return
        ref = resolve_place(self.overlay.reader, SplitEventCache(), dependent)
        if ref is not None and self._is_current(ref, owner):
            remedy = (
                f"write or delete key {ref.key!r}"
                if isinstance(ref, KeyRef)
                else f"retract assertion {ref.assertion_id!r}"
            )
            raise InvalidInput(
                "decision",
                f"{request.decision!r} records a change that was not made: {remedy} first, in the "
                "same transaction if you like, or decide 'keep'",
            )

    def _is_current(self, ref: KeyRef | FactRef, owner: Scope) -> bool:
        """Say whether a key still has a version's value, or an assertion stands."""
        assert self._look_up is not None, "a commit looks up references of other views"
        current = ref if isinstance(ref, FactRef) else replace(ref, version=None)
        try:
            return self._look_up(current, owner).ref == ref
        except NotFound:  # deleted, or retracted
            return False

    def _configure(self, request: ChangeSettings) -> Operations:
        namespace = request.scope.namespace
        current = self.overlay.local_settings(namespace)
        changes = {
            name: value
            for name, value in request.settings.items()
            if name not in current or current[name] != value
        }
        if changes:
            self.overlay.put_settings(
                Setting(namespace, name, value) for name, value in changes.items()
            )
            yield Configure(namespace, request.scope.agent_id, changes)


def _scope(memory: MemorySnapshot) -> tuple[str, str]:
    """Return the scope of an operation: the memory owner's, whichever agent acts."""
    return memory.namespace, memory.agent_id
