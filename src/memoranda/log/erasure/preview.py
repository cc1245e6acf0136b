"""Previews: what forgetting something would erase, and what would be left without its ground."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from memoranda.log import pages
from memoranda.log.cursors import cursor_names, cursors_of
from memoranda.log.forgetting import Findings, find, not_found
from memoranda.log.mentions import Mentions
from memoranda.log.views import Views
from memoranda.model import codec
from memoranda.model.erasure import AGENT, NAMESPACE, Forget, Target
from memoranda.model.event import SealedEvent
from memoranda.model.operations import (
    AddLink,
    AnyOperation,
    Assert,
    Cite,
    CloseLink,
    Delete,
    KeepTranscript,
    MemoryStub,
    Remember,
    TranscriptStub,
    Write,
)
from memoranda.model.refs import KeyRef, MemoryRef, Ref
from memoranda.storage.port import Reader

_UNNAMED = "forgotten"


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What forgetting something would erase, and what rests on that."""

    operations: int
    events: int
    by_type: Mapping[str, int]
    """How many operations of each type would be erased, or something of them."""
    resting: tuple[str, ...]
    """The keys and memories that rest on it, as addresses; `key:` and `memory:` begin them."""
    mentions: tuple[str, ...] = ()
    """What would stay and has the name of an agent, a namespace or an entity in its words."""
    hidden_mentions: int = 0
    """How many private memories of others have it, too."""
    cursors: tuple[str, ...] = ()
    """The cursors of an agent, which go with it."""


def preview(reader: Reader, views: Views, asked: Forget) -> Preview:
    """Return what would go with a target, or raise `NotFound`; nothing is changed."""
    found = find(reader, views, asked.target, asked.viewer, _UNNAMED)
    going = _Going(found, asked.target.name if asked.target.kind == AGENT else None)
    for event in pages.events_of(reader, sorted(found.commits)):
        going.take(event)
    if not going.events:
        raise not_found(asked.target)
    resting = _Resting(going, asked.viewer)
    mentions = Mentions(reader, _names(reader, views, asked.target), asked.viewer)
    for event in pages.events(reader, after=0, through=pages.head_commit(reader)):
        for position, operation in enumerate(codec.decode_standing(event.operations)):
            resting.take(operation)
            place = (event.commit_ts, position)
            left = found.left_of(place, operation)
            stays = operation if left is None else left.rest
            if stays is not None:
                mentions.take(place, stays)
    agent = asked.target.name if asked.target.kind == AGENT else None
    own = cursors_of(reader, agent)
    for name in cursor_names(reader):
        if name not in own:
            mentions.take_text(f"cursor:{name}", name)
    return Preview(
        operations=sum(going.types.values()),
        events=going.events,
        by_type=dict(sorted(going.types.items())),
        resting=tuple(sorted(resting.addresses)),
        mentions=tuple(sorted(mentions.addresses)),
        hidden_mentions=mentions.hidden,
        cursors=tuple(own),
    )


def _names(reader: Reader, views: Views, target: Target) -> list[str]:
    """Return the names that go, where it is names that do."""
    if target.kind in (AGENT, NAMESPACE):
        return [target.name]
    known = [name.text for name in views.names(reader, target)]
    return [*known, target.name] if known else []


class _Going:
    """What would be erased."""

    def __init__(self, found: Findings, actor: str | None) -> None:
        self._found = found
        self._actor = actor
        self.types: Counter[str] = Counter()
        self.events = 0
        self.ids: set[str] = set()
        """Of memories, transcripts and assertions."""
        self.keys: set[tuple[str, str, str]] = set()

    def take(self, event: SealedEvent) -> None:
        """Count what would go of an event."""
        changed = codec.decode_envelope(event.envelope).actor == self._actor
        for position, operation in enumerate(codec.decode_standing(event.operations)):
            left = self._found.left_of((event.commit_ts, position), operation)
            if left is not None:
                changed = True
                self.types[operation.type.value] += 1
                if left.rest is None or isinstance(left.rest, (MemoryStub, TranscriptStub)):
                    self._note(operation)
        self.events += changed

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
        """Say whether what a reference names would go."""
        if isinstance(ref, KeyRef):
            return (ref.namespace, ref.agent_id, ref.key) in self.keys
        return (ref.memory_id if isinstance(ref, MemoryRef) else ref.assertion_id) in self.ids


class _Resting:
    """What names something that would be erased, and would stay itself."""

    def __init__(self, going: _Going, viewer: str | None) -> None:
        self._going = going
        self._viewer = viewer
        self.addresses: set[str] = set()

    def take(self, operation: AnyOperation) -> None:
        """Follow the log: what holds at its end counts."""
        going = self._going
        if operation.private and self._viewer not in (None, operation.agent_id):
            return
        if isinstance(operation, (Write, Delete)):
            because = operation.because if isinstance(operation, Write) else ()
            own = (operation.namespace, operation.agent_id, operation.key)
            named = own not in going.keys and any(map(going.has, because))
            self._set("key:" + "|".join(own), named=named)
        elif isinstance(operation, (AddLink, CloseLink)) and operation.target in going.ids:
            named = isinstance(operation, AddLink) and operation.source not in going.ids
            self._set(f"memory:{operation.source}", named=named)
        elif isinstance(operation, Cite) and operation.transcript_id in going.ids:
            self._set(f"memory:{operation.memory_id}", named=operation.memory_id not in going.ids)

    def _set(self, address: str, *, named: bool) -> None:
        (self.addresses.add if named else self.addresses.discard)(address)
