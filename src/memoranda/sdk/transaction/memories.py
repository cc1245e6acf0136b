"""The calls of a transaction about memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import UNSET, UnsetType

from memoranda.calls.core import check_optional_integer
from memoranda.calls.memories import check_named, title_keys
from memoranda.calls.requests import (
    check_memory_id,
    check_memory_ids,
    check_transcript_ref,
    promote_memory,
    retract_memory,
    share_facts,
    touch_memory,
)
from memoranda.errors import InvalidInput
from memoranda.memory.records import Memory, memory_of
from memoranda.memory.requests import (
    ChangedMemory,
    ChangeSettings,
    CiteTranscript,
    LinkMemories,
    MemoryRead,
    MemoryRequest,
    NamespaceSettings,
    NewMemory,
    RememberMemory,
    RememberMemoryAs,
    ReviseMemory,
    TitleKey,
    check_changes,
    check_choice,
    check_content,
    check_settings,
    check_title,
    given_fields,
    new_details,
)
from memoranda.model.clock import Duration, Instant, check_duration
from memoranda.model.document import Document
from memoranda.model.limits import renamed_fields
from memoranda.model.memory import KINDS, REFLECTION, REFLECTS_ON, TIERS, VISIBILITIES, Span
from memoranda.model.refs import IdLike, RefLike
from memoranda.sdk.transaction.staging import Staging

ON_CONFLICT = ("update", "error")
_ARGUMENTS = {"target": "on", "transcript_id": "transcript"}
"""Field of the links and citations of a new memory -> the argument of `remember` or `reflect`."""


class MemoryStaging(Staging):
    """Remembering, reflecting, revising and reading memories as part of a transaction."""

    last_title: TitleKey | None = None
    """The title that was staged last; only the commit decides which memory has it."""

    def remember(
        self,
        content: str,
        *,
        title: str | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        kind: str | UnsetType = UNSET,
        tier: str | UnsetType = UNSET,
        tags: Iterable[str] | UnsetType = UNSET,
        priority: int | UnsetType = UNSET,
        confidence: float | UnsetType = UNSET,
        source: str | UnsetType = UNSET,
        metadata: Document | UnsetType | None = UNSET,
        ttl: Duration | UnsetType | None = UNSET,
        event_time: Instant | UnsetType | None = UNSET,
        source_uri: str | UnsetType | None = UNSET,
        citations: Iterable[str] | UnsetType = UNSET,
        entity_id: str | UnsetType | None = UNSET,
        confidence_source: str | UnsetType | None = UNSET,
        visibility: str | UnsetType = UNSET,
        on_conflict: str | UnsetType = UNSET,
        transcript: IdLike | UnsetType | None = UNSET,
        spans: Sequence[Span] | UnsetType | None = UNSET,
    ) -> str:
        """Stage a memory and return its id; a title that is taken gives the id of its memory.

        The arguments are those of `Store.remember`.
        """
        fields = given_fields(NewMemory, locals())
        return self._remember(content, title, agent_id, namespace, fields)

    def _remember(
        self,
        content: str,
        title: str | None,
        agent_id: str | None,
        namespace: str | None,
        fields: NewMemory,
        targets: Sequence[str] = (),
    ) -> str:
        """Stage a memory with its citation and its links, all or nothing, and return its id.

        The citation and the links name the new id, which a retry under the same `txn_id` gives out
        again. The commit replaces it if another memory has the title by then.
        """
        scope, limits = self._owner(agent_id, namespace), self._core.limits
        checked, blobs = check_content(content, limits)
        title = check_title(title, limits)
        arguments = (
            scope,
            self._draft.new_id(self._core.ids),
            check_choice("kind", fields["kind"], KINDS) if "kind" in fields else None,
            check_choice("tier", fields["tier"], TIERS) if "tier" in fields else None,
            title,
            _chosen(fields, "visibility", VISIBILITIES) == "private",
            checked,
            new_details(fields, limits),
            check_duration("ttl", fields.get("ttl")),
            _chosen(fields, "on_conflict", ON_CONFLICT) == "update",
        )
        request = RememberMemory(*arguments)
        if title is not None and (reset := request.details.defaults_among(fields)):
            request = RememberMemoryAs(*arguments, reset)
        citation = self._cited(fields)
        self.last_title = None if title is None else _key(request, title)
        existing_id = None if self.last_title is None else self._titled(self.last_title)
        drafted = request.memory_id
        group: list[MemoryRequest] = [request]
        if citation is not None:
            group.append(CiteTranscript(scope.agent_id, drafted, *citation))
        if targets:
            by = self._acting(agent_id)
            group.extend(LinkMemories(by, drafted, target, REFLECTS_ON) for target in targets)
        self._stage(*group, blobs=blobs, arguments=_ARGUMENTS)
        return existing_id or drafted

    def reflect(
        self,
        content: str,
        *,
        on: Iterable[IdLike] | RefLike,
        title: str | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        kind: str | UnsetType = UNSET,
        tier: str | UnsetType = UNSET,
        tags: Iterable[str] | UnsetType = UNSET,
        priority: int | UnsetType = UNSET,
        confidence: float | UnsetType = UNSET,
        source: str | UnsetType = UNSET,
        metadata: Document | UnsetType | None = UNSET,
        ttl: Duration | UnsetType | None = UNSET,
        event_time: Instant | UnsetType | None = UNSET,
        source_uri: str | UnsetType | None = UNSET,
        citations: Iterable[str] | UnsetType = UNSET,
        entity_id: str | UnsetType | None = UNSET,
        confidence_source: str | UnsetType | None = UNSET,
        visibility: str | UnsetType = UNSET,
        on_conflict: str | UnsetType = UNSET,
        transcript: IdLike | UnsetType | None = UNSET,
        spans: Sequence[Span] | UnsetType | None = UNSET,
    ) -> str:
        """Stage a reflection with its links, and return its id.

        The arguments are those of `Store.reflect`.
        """
        fields = given_fields(NewMemory, locals())
        targets = _check_targets(on)
        fields["kind"] = fields.get("kind") or REFLECTION
        return self._remember(content, title, agent_id, namespace, fields, targets)

    def update_memory(
        self,
        memory_id: IdLike,
        *,
        agent_id: str | None = None,
        expect_version: int | None = None,
        title: str | UnsetType | None = UNSET,
        content: str | UnsetType = UNSET,
        kind: str | UnsetType = UNSET,
        tier: str | UnsetType = UNSET,
        tags: Iterable[str] | UnsetType = UNSET,
        priority: int | UnsetType = UNSET,
        confidence: float | UnsetType = UNSET,
        source: str | UnsetType = UNSET,
        metadata: Document | UnsetType | None = UNSET,
        ttl: Duration | UnsetType | None = UNSET,
        event_time: Instant | UnsetType | None = UNSET,
        source_uri: str | UnsetType | None = UNSET,
        citations: Iterable[str] | UnsetType = UNSET,
        entity_id: str | UnsetType | None = UNSET,
        confidence_source: str | UnsetType | None = UNSET,
    ) -> None:
        """Stage changes of a memory. The arguments are those of `Store.update_memory`."""
        fields = given_fields(ChangedMemory, locals())
        by, memory_id = self._acting(agent_id), check_memory_id("memory_id", memory_id)
        changes, blobs = check_changes(fields, self._core.limits)
        version = check_optional_integer("expect_version", expect_version, minimum=1)
        self._stage(ReviseMemory(by, memory_id, changes, version), blobs=blobs)

    def retract_memory(
        self, memory_id: IdLike, *, reason: str | None = None, agent_id: str | None = None
    ) -> None:
        """Stage a retraction: reads omit the memory then; its history and its links stay."""
        actor = self._acting(agent_id)
        self._stage(retract_memory(self._core.limits, actor, memory_id, reason))

    def touch(self, memory_id: IdLike, *, agent_id: str | None = None) -> None:
        """Stage a use of a memory: it is counted, and renews the time to live."""
        self._stage(touch_memory(self._acting(agent_id), memory_id))

    def promote(
        self, memory_id: IdLike, *, tier: str = "long", agent_id: str | None = None
    ) -> None:
        """Stage the move of a memory to a tier with a longer time to live."""
        self._stage(promote_memory(self._acting(agent_id), memory_id, tier))

    def get_memory(
        self,
        memory_id: IdLike | None = None,
        *,
        title: str | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> Memory | None:
        """Return a memory by its id or its title as this transaction sees it.

        Staged requests show as far as they can be decided before the commit. Times that the commit
        sets are None, such as a new end of a memory. Notices that depend on commits of others after
        the beginning do not show.
        """
        viewer, limits = self._acting(agent_id), self._core.limits
        check_named(memory_id, title)
        candidates: list[IdLike | None] = [memory_id]
        if title is not None:
            where = self._defaults.scope(viewer, namespace, limits)
            candidates = [self._titled(key) for key in title_keys(where, title, limits)]
        checked = [
            check_memory_id("memory_id", candidate)
            for candidate in candidates
            if candidate is not None
        ]
        for candidate in checked:
            self._draft.track(MemoryRead(candidate))
        return self._calls.run(self._read_memory, checked, viewer)

    def configure(
        self,
        *,
        namespace: str | None = None,
        agent_id: str | None = None,
        max_reflection_depth: int | UnsetType = UNSET,
        tiers: Mapping[str, Duration | None] | UnsetType = UNSET,
        transcript_retention: Duration | UnsetType | None = UNSET,
        log_retention: Duration | UnsetType | None = UNSET,
        facts: str | UnsetType = UNSET,
        allow_large: bool = False,
    ) -> None:
        """Stage settings of a namespace and its children, for later writes.

        The arguments are those of `Store.configure`. `facts` takes effect with the commit, and not
        in a transaction with other requests about facts.
        """
        settings = given_fields(NamespaceSettings, locals())
        scope = self._owner(self._acting(agent_id), namespace)
        if settings or facts is UNSET:
            self._stage(ChangeSettings(scope, check_settings(settings)))
        if facts is not UNSET:
            limits = self._core.limits
            self._draft.stage(share_facts(limits, scope, facts, allow_large=allow_large))

    def _read_memory(self, memory_ids: Sequence[str], viewer: str) -> Memory | None:
        """Return the first of the memories that is neither retracted nor expired."""
        now = self._core.clock.now()
        with self._core.engine.reading() as reader:
            for memory_id in memory_ids:
                snapshot = self._memories.memory(reader, memory_id, viewer)
                if snapshot is not None and not snapshot.hidden(now):
                    return memory_of(snapshot, self._text(reader, snapshot))
        return None

    def _cited(self, fields: NewMemory) -> tuple[str, tuple[tuple[int, int], ...]] | None:
        """Return the transcript that a new memory cites, and the spans of it."""
        transcript, spans = fields.get("transcript"), fields.get("spans")
        if transcript is None:
            if spans is not None:
                raise InvalidInput("spans", "are given without the transcript they are of")
            return None
        with renamed_fields(transcript_id="transcript"):
            source = self._check_quotation(check_transcript_ref("transcript", transcript), spans)
        return source.transcript_id, source.spans


def _chosen(fields: Mapping[str, object], field: str, choices: Sequence[str]) -> str:
    """Return a checked choice; the default is the first one."""
    return check_choice(field, fields[field], choices) if field in fields else choices[0]


def _key(request: RememberMemory, title: str) -> TitleKey:
    return TitleKey.of(request.scope, title, private=request.private)


def _check_targets(on: object) -> tuple[str, ...]:
    targets = check_memory_ids("on", on)
    if not targets:
        raise InvalidInput("on", "is empty: name at least one memory to reflect on")
    return targets
