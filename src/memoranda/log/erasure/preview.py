"""Erasure previews: what would be erased, what depends on it, and what still mentions a name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from memoranda.log import blobs, pages
from memoranda.log.erasure.forget import Findings, find, not_found_error
from memoranda.log.read.cursors import cursor_names, cursors_of
from memoranda.log.views import Views
from memoranda.model import codec
from memoranda.model.erasure import AGENT, NAMESPACE, Forget, LogPosition, Target
from memoranda.model.event import SealedEvent
from memoranda.model.operations import (
    AddLink,
    AnyOperation,
    Assert,
    Cite,
    CloseLink,
    Delete,
    KeepTranscript,
    MemoryTombstone,
    Remember,
    TranscriptTombstone,
    Write,
)
from memoranda.model.refs import KeyRef, Ref, id_in
from memoranda.storage.port import Reader

# Mentions: where a name would still occur after the erasure.
#
# Forgetting removes a name from the fields that are meant for names. In a value, a memory or a
# transcript that stays, the name is part of somebody's content. The preview lists those, so that
# the caller can decide first.


class Mentions:
    """Collects the addresses of content that mentions a name, as whole words in any case."""

    def __init__(self, reader: Reader, names: Iterable[str], viewer: str | None) -> None:
        self._reader = reader
        self._viewer = viewer
        words = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
        self._pattern = re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE) if words else None
        self.addresses: set[str] = set()
        self._hidden: set[str] = set()

    @property
    def hidden(self) -> int:
        """Private memories of other agents that mention a name."""
        return len(self._hidden)

    def add(self, place: LogPosition, operation: AnyOperation) -> None:
        """Examine an operation that stays."""
        if self._pattern is None or not self._is_mentioned(place, operation):
            return
        if operation.private and self._viewer not in (None, operation.agent_id):
            self._hidden.add(operation.key)
        elif isinstance(operation, (Write, Delete)):
            parts = (operation.namespace, operation.agent_id, operation.key)
            self.addresses.add("key:" + "|".join(parts))
        elif operation.key:
            self.addresses.add(operation.key)

    def add_text(self, address: str, text: str) -> None:
        """Examine a text that belongs to no operation."""
        if self._pattern is not None and self._pattern.search(text):
            self.addresses.add(address)

    def _is_mentioned(self, place: LogPosition, operation: AnyOperation) -> bool:
        assert self._pattern is not None, "there is a name to look for"
        texts = _texts(msgspec.msgpack.decode(codec.encode(operation)))
        if any(map(self._pattern.search, texts)):
            return True
        if operation.blob is None:
            return False
        content = blobs.load_of(self._reader, *place, operation)
        return self._pattern.search(content.decode()) is not None


def _texts(value: object) -> Iterator[str]:
    """Yield every text in an encoded operation."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):  # a JSON value, or a hash
        yield value.decode(errors="replace")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(key)
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


# Previews: what an erasure would erase, and what depends on it.

_PREVIEW_PSEUDONYM = "forgotten"


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What an erasure would erase, and what rests on that."""

    operations: int
    events: int
    by_type: Mapping[str, int]
    """Erased operations by type, wholly or in part."""
    resting: tuple[str, ...]
    """Addresses of the keys and memories that rest on it; they begin with `key:` or `memory:`."""
    mentions: tuple[str, ...] = ()
    """Addresses of content that stays and mentions the name of the agent, namespace or entity."""
    hidden_mentions: int = 0
    """How many private memories of others mention it."""
    cursors: tuple[str, ...] = ()
    """The agent's cursors, which would be dropped."""


def preview(reader: Reader, views: Views, request: Forget) -> Preview:
    """Return what would be erased, or raise `NotFound`; nothing is changed."""
    findings = find(reader, views, request.target, request.viewer, _PREVIEW_PSEUDONYM)
    erased_items = _ErasedItems(
        findings, request.target.name if request.target.kind == AGENT else None
    )
    for event in pages.events_of(reader, sorted(findings.commits)):
        erased_items.count(event)
    if not erased_items.events:
        raise not_found_error(request.target)
    dependents = _Dependents(erased_items, request.viewer)
    mentions = Mentions(reader, _names(reader, views, request.target), request.viewer)
    for event in pages.events(reader, after=0, through=pages.head_commit(reader)):
        for position, operation in enumerate(codec.decode_effective(event.operations)):
            dependents.follow(operation)
            place = (event.commit_ts, position)
            replacement = findings.replacement_of(place, operation)
            stays = operation if replacement is None else replacement.residue
            if stays is not None:
                mentions.add(place, stays)
    agent = request.target.name if request.target.kind == AGENT else None
    own = cursors_of(reader, agent)
    for name in cursor_names(reader):
        if name not in own:
            mentions.add_text(f"cursor:{name}", name)
    return Preview(
        operations=sum(erased_items.types.values()),
        events=erased_items.events,
        by_type=dict(sorted(erased_items.types.items())),
        resting=tuple(sorted(dependents.addresses)),
        mentions=tuple(sorted(mentions.addresses)),
        hidden_mentions=mentions.hidden,
        cursors=tuple(own),
    )


def _names(reader: Reader, views: Views, target: Target) -> list[str]:
    """Return the names that would be erased, if the target has any."""
    if target.kind in (AGENT, NAMESPACE):
        return [target.name]
    names = [name.text for name in views.names(reader, target)]
    return [*names, target.name] if names else []


class _ErasedItems:
    """Counts and identifies what would be erased."""

    def __init__(self, findings: Findings, actor: str | None) -> None:
        self._findings = findings
        self._actor = actor
        self.types: Counter[str] = Counter()
        self.events = 0
        self.ids: set[str] = set()
        """Of memories, transcripts and assertions."""
        self.keys: set[tuple[str, str, str]] = set()

    def count(self, event: SealedEvent) -> None:
        """Count what would be erased of an event."""
        is_affected = codec.decode_envelope(event.envelope).actor == self._actor
        for position, operation in enumerate(codec.decode_effective(event.operations)):
            replacement = self._findings.replacement_of((event.commit_ts, position), operation)
            if replacement is not None:
                is_affected = True
                self.types[operation.type.value] += 1
                if replacement.residue is None or isinstance(
                    replacement.residue, (MemoryTombstone, TranscriptTombstone)
                ):
                    self._note(operation)
        self.events += is_affected

    def _note(self, operation: AnyOperation) -> None:
        if isinstance(operation, Remember):
            self.ids.add(operation.memory_id)
        elif isinstance(operation, KeepTranscript):
            self.ids.add(operation.transcript_id)
        elif isinstance(operation, Assert):
            self.ids.add(operation.assertion_id)
        elif isinstance(operation, (Write, Delete)):
            self.keys.add((operation.namespace, operation.agent_id, operation.key))

    def has(self, ref: Ref) -> bool:
        """Return whether the referent would be erased."""
        if isinstance(ref, KeyRef):
            return (ref.namespace, ref.agent_id, ref.key) in self.keys
        return id_in(ref) in self.ids


class _Dependents:
    """Collects what refers to erased items and would stay itself."""

    def __init__(self, erased_items: _ErasedItems, viewer: str | None) -> None:
        self._erased_items = erased_items
        self._viewer = viewer
        self.addresses: set[str] = set()

    def follow(self, operation: AnyOperation) -> None:
        """Examine the next operation of the log; the last one about an address decides."""
        erased_items = self._erased_items
        if operation.private and self._viewer not in (None, operation.agent_id):
            return
        if isinstance(operation, (Write, Delete)):
            because = operation.because if isinstance(operation, Write) else ()
            own = (operation.namespace, operation.agent_id, operation.key)
            rests_on_erased = own not in erased_items.keys and any(map(erased_items.has, because))
            self._set("key:" + "|".join(own), is_dependent=rests_on_erased)
        elif isinstance(operation, (AddLink, CloseLink)) and operation.target in erased_items.ids:
            rests_on_erased = (
                isinstance(operation, AddLink) and operation.source not in erased_items.ids
            )
            self._set(f"memory:{operation.source}", is_dependent=rests_on_erased)
        elif isinstance(operation, Cite) and operation.transcript_id in erased_items.ids:
            self._set(
                f"memory:{operation.memory_id}",
                is_dependent=operation.memory_id not in erased_items.ids,
            )

    def _set(self, address: str, *, is_dependent: bool) -> None:
        (self.addresses.add if is_dependent else self.addresses.discard)(address)
