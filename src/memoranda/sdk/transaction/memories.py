"""What a transaction does with memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Unpack

from memoranda.errors import InvalidInput
from memoranda.memory.inputs import (
    ChangedMemory,
    NamespaceSettings,
    NewMemory,
    check_changes,
    check_content,
    check_duration,
    check_id,
    check_known,
    check_note,
    check_settings,
    check_title,
    choose,
    new_details,
)
from memoranda.memory.records import Memory, memory_of
from memoranda.memory.requests import (
    ChangeSettings,
    CiteTranscript,
    LinkMemories,
    MemoryRead,
    MemoryRequest,
    PromoteMemory,
    RememberMemory,
    RetractMemory,
    ReviseMemory,
    TitleKey,
    TouchMemory,
)
from memoranda.model.limits import Limits, shown
from memoranda.model.memory import KINDS, REFLECTION, REFLECTS_ON, TIERS, VISIBILITIES
from memoranda.model.scope import Scope
from memoranda.sdk.core import check_version
from memoranda.sdk.staging import Staging

ON_CONFLICT = ("update", "error")


class MemoryStaging(Staging):
    """Remembering, reflecting, revising and reading memories as part of a transaction."""

    remembered: TitleKey | None = None
    """The title that was remembered last: whose it was, only the commit decides."""

    def remember(
        self,
        content: str,
        *,
        title: str | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        **fields: Unpack[NewMemory],
    ) -> str:
        """Stage a memory and return its id, which is that of the memory that has its title."""
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

        What is staged along with it names the id it is drafted with: a retry gives that again,
        whoever has the title by then.
        """
        check_known(fields, NewMemory)
        scope, limits = self._owner(agent_id, namespace), self._core.limits
        checked, blobs = check_content(content, limits)
        title = check_title(title, limits)
        kind, tier = fields.get("kind"), fields.get("tier")
        request = RememberMemory(
            scope,
            self._draft.new_id(self._core.ids),
            None if kind is None else choose("kind", kind, KINDS),
            None if tier is None else choose("tier", tier, TIERS),
            title,
            _chosen(fields, "visibility", VISIBILITIES) == "private",
            checked,
            new_details(fields, limits),
            check_duration("ttl", fields.get("ttl")),
            _chosen(fields, "on_conflict", ON_CONFLICT) == "update",
        )
        cited = self._cited(fields)
        self.remembered = None if title is None else _key(request, title)
        known = None if self.remembered is None else self._titled(self.remembered)
        drafted = request.memory_id
        group: list[MemoryRequest] = [request]
        if cited is not None:
            group.append(CiteTranscript(scope.agent_id, drafted, *cited))
        if targets:
            by = self._acting(agent_id)
            group.extend(LinkMemories(by, drafted, target, REFLECTS_ON) for target in targets)
        self._stage(*group, blobs=blobs)
        return known or drafted

    def reflect(
        self,
        content: str,
        *,
        on: Iterable[str],
        title: str | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        **fields: Unpack[NewMemory],
    ) -> str:
        """Stage a reflection with its links to what it reflects on, and return its id."""
        targets = _check_targets(on)
        if fields.get("kind") is None:
            fields["kind"] = REFLECTION
        return self._remember(content, title, agent_id, namespace, fields, targets)

    def update_memory(
        self,
        memory_id: str,
        *,
        agent_id: str | None = None,
        expect_version: int | None = None,
        **fields: Unpack[ChangedMemory],
    ) -> None:
        """Stage changes of a memory. `expect_version` makes it a compare-and-set."""
        check_known(fields, ChangedMemory)
        by, memory_id = self._acting(agent_id), check_id("memory_id", memory_id)
        changes, blobs = check_changes(fields, self._core.limits)
        expected = check_version("expect_version", expect_version, least=1)
        self._stage(ReviseMemory(by, memory_id, changes, expected), blobs=blobs)

    def retract_memory(
        self, memory_id: str, *, reason: str | None = None, agent_id: str | None = None
    ) -> None:
        """Stage taking a memory back: it is shown no more, but its history and its links stay."""
        by, memory_id = self._acting(agent_id), check_id("memory_id", memory_id)
        self._stage(RetractMemory(by, memory_id, check_note("reason", reason, self._core.limits)))

    def touch(self, memory_id: str, *, agent_id: str | None = None) -> None:
        """Stage that a memory was of use: it is counted, and lasts as long again."""
        self._stage(TouchMemory(self._acting(agent_id), check_id("memory_id", memory_id)))

    def promote(self, memory_id: str, *, tier: str = "long", agent_id: str | None = None) -> None:
        """Stage a longer life for a memory."""
        by, memory_id = self._acting(agent_id), check_id("memory_id", memory_id)
        self._stage(PromoteMemory(by, memory_id, choose("tier", tier, TIERS)))

    def get_memory(
        self,
        memory_id: str | None = None,
        *,
        title: str | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> Memory | None:
        """Return a memory by its id or its title as this transaction sees it.

        What was staged is seen as far as it is decided by now. Times are the commit's: the
        end of a memory that is given a new one here is None until then, and so is the time in a
        notice. A notice that only the commit brings about, on what others have written meanwhile,
        is not seen.
        """
        viewer, limits = self._acting(agent_id), self._core.limits
        check_named(memory_id, title)
        wanted = [memory_id]
        if title is not None:
            where = self._defaults.scope(viewer, namespace, limits)
            wanted = [self._titled(key) for key in title_keys(where, title, limits)]
        checked = [check_id("memory_id", each) for each in wanted if each is not None]
        for each in checked:
            self._draft.track(MemoryRead(each))
        return self._calls.run(self._read_memory, checked, viewer)

    def configure(
        self,
        *,
        namespace: str | None = None,
        agent_id: str | None = None,
        **settings: Unpack[NamespaceSettings],
    ) -> None:
        """Stage settings of a namespace and those below it; they hold for what comes later."""
        scope = self._owner(self._acting(agent_id), namespace)
        self._stage(ChangeSettings(scope, check_settings(settings)))

    def _read_memory(self, memory_ids: Sequence[str], viewer: str) -> Memory | None:
        """Return the first of the memories that is shown."""
        now = self._core.clock.now()
        with self._core.engine.reading() as reader:
            for memory_id in memory_ids:
                found = self._memories.memory(reader, memory_id, viewer)
                if found is not None and not found.hidden(now):
                    return memory_of(found, self._text(reader, found))
        return None

    def _cited(self, fields: NewMemory) -> tuple[str, tuple[tuple[int, int], ...]] | None:
        """Return the transcript a memory is said to come from, and where in it."""
        transcript, spans = fields.get("transcript"), fields.get("spans")
        if transcript is None:
            if spans is not None:
                raise InvalidInput("spans", "are given without the transcript they are of")
            return None
        transcript = check_id("transcript", transcript)
        return transcript, self._check_spans(transcript, spans)


def _chosen(fields: Mapping[str, object], field: str, choices: Sequence[str]) -> str:
    """Return what was chosen; the first of the choices, if nothing was said."""
    return choose(field, fields[field], choices) if field in fields else choices[0]


def check_named(memory_id: object, title: object) -> None:
    """Refuse a memory that is named by nothing, or twice."""
    if (memory_id is None) == (title is None):
        raise InvalidInput("memory_id", "give a memory's id or its title, one of the two")


def title_keys(scope: Scope, title: str, limits: Limits) -> tuple[TitleKey, TitleKey]:
    """Return under which keys an agent finds a title: its own first, then everybody's."""
    checked = check_title(title, limits)
    assert checked is not None, "a title is given"
    own, shared = (TitleKey.of(scope, checked, private=private) for private in (True, False))
    return own, shared


def _key(request: RememberMemory, title: str) -> TitleKey:
    return TitleKey.of(request.scope, title, private=request.private)


def _check_targets(on: object) -> tuple[str, ...]:
    if isinstance(on, (str, bytes)) or not isinstance(on, Iterable):
        raise InvalidInput("on", f"{shown(on)} is not a list of memory ids")
    targets = tuple(dict.fromkeys(check_id("on", target) for target in on))
    if not targets:
        raise InvalidInput("on", "is empty: name at least one memory to reflect on")
    return targets
