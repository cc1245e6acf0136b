"""Requests about memories, and the validation of callers' arguments.

A request is what a transaction stages; the rules turn it into operations at commit. `by` is the
acting agent: visibility is checked for that agent. All lengths of time are in microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, TypedDict, TypeVar, cast

import msgspec

from memoranda.errors import InvalidInput
from memoranda.memory.settings import LOG_RETENTION, MAX_REFLECTION_DEPTH, TRANSCRIPT_RETENTION
from memoranda.model import document
from memoranda.model.clock import Duration, Instant, check_duration, check_time
from memoranda.model.codec import digest_of, pack
from memoranda.model.document import Document
from memoranda.model.limits import Limits, check_integer, check_text, plain_text, short_repr
from memoranda.model.memory import KINDS, TIERS, Content, Details, Span
from memoranda.model.refs import IdLike
from memoranda.model.scope import Scope
from memoranda.model.suggestions import did_you_mean


class RememberMemory(msgspec.Struct, frozen=True, array_like=True, tag=11, gc=False):
    """Create a memory, or add a version to the one that has its title."""

    scope: Scope
    memory_id: str
    """The id of the memory if it is created; one with the same title keeps its own id."""
    kind: str | None
    tier: str | None
    title: str | None
    private: bool
    content: Content
    details: Details
    ttl: int | None
    update: bool
    """Whether to update a memory that has the title; otherwise `TitleTaken` is raised."""


class RememberMemoryAs(RememberMemory, frozen=True, array_like=True, tag=23, gc=False):
    """Remember with details that are given as their defaults.

    In `RememberMemory`, a detail that has its default was not given, and a memory that has the
    title keeps its own.
    """

    reset: tuple[str, ...]
    """The names of those details."""


class MemoryChanges(msgspec.Struct, frozen=True, omit_defaults=True):
    """The fields to change; an unset field keeps its value."""

    kind: str | msgspec.UnsetType = msgspec.UNSET
    tier: str | msgspec.UnsetType = msgspec.UNSET
    title: str | msgspec.UnsetType | None = msgspec.UNSET
    content: Content | msgspec.UnsetType = msgspec.UNSET
    ttl: int | msgspec.UnsetType | None = msgspec.UNSET
    tags: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    priority: int | msgspec.UnsetType = msgspec.UNSET
    confidence: float | msgspec.UnsetType = msgspec.UNSET
    source: str | msgspec.UnsetType = msgspec.UNSET
    metadata: bytes | msgspec.UnsetType | None = msgspec.UNSET
    event_time: int | msgspec.UnsetType | None = msgspec.UNSET
    source_uri: str | msgspec.UnsetType | None = msgspec.UNSET
    citations: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    entity_id: str | msgspec.UnsetType | None = msgspec.UNSET
    confidence_source: str | msgspec.UnsetType | None = msgspec.UNSET


class ReviseMemory(msgspec.Struct, frozen=True, array_like=True, tag=12, gc=False):
    """Change some fields of a memory."""

    identity: ClassVar = ("memory_id",)

    by: str
    memory_id: str
    changes: MemoryChanges
    expect_version: int | None = None


class RetractMemory(msgspec.Struct, frozen=True, array_like=True, tag=13, gc=False):
    """Retract a memory."""

    identity: ClassVar = ("memory_id",)

    by: str
    memory_id: str
    reason: str | None


class TouchMemory(msgspec.Struct, frozen=True, array_like=True, tag=14, gc=False):
    """Count an access to a memory, and extend its lifetime."""

    identity: ClassVar = ("memory_id",)

    by: str
    memory_id: str


class PromoteMemory(msgspec.Struct, frozen=True, array_like=True, tag=15, gc=False):
    """Move a memory to a tier that lasts longer."""

    identity: ClassVar = ("memory_id",)

    by: str
    memory_id: str
    tier: str


class LinkMemories(msgspec.Struct, frozen=True, array_like=True, tag=16, gc=False):
    """Link one memory to another."""

    identity: ClassVar = ("source", "target", "relation")

    by: str
    source: str
    target: str
    relation: str


class UnlinkMemories(msgspec.Struct, frozen=True, array_like=True, tag=17, gc=False):
    """Close a link between two memories."""

    identity: ClassVar = ("source", "target", "relation")

    by: str
    source: str
    target: str
    relation: str


class StoreTranscript(msgspec.Struct, frozen=True, array_like=True, tag=18, gc=False):
    """Store a transcript given as text; the hash and the size are of the text."""

    stays_in_scope: ClassVar = True

    scope: Scope
    transcript_id: str
    digest: bytes
    size: int
    occurred_at: int | None
    ttl: int | None


class StoreMessages(StoreTranscript, frozen=True, array_like=True, tag=22, gc=False):
    """Store a transcript given as messages; the hash and the size are of their JSON."""

    form: int
    text_size: int


class CiteTranscript(msgspec.Struct, frozen=True, array_like=True, tag=19, gc=False):
    """Add citations of a transcript to a memory; without spans, of the whole transcript."""

    identity: ClassVar = ("memory_id", "transcript_id")

    by: str
    memory_id: str
    transcript_id: str
    spans: tuple[Span, ...]


class ResolveNotice(msgspec.Struct, frozen=True, array_like=True, tag=20, gc=False):
    """Close a notice with a decision about the dependent memory."""

    identity: ClassVar = ("notice_id", "decision", "replacement")

    by: str
    notice_id: str
    decision: str
    note: str | None
    replacement: str | None


class ChangeSettings(msgspec.Struct, frozen=True, array_like=True, tag=21, gc=False):
    """Change the settings of a namespace, which apply below it too."""

    scope: Scope
    settings: dict[str, int | None]


MemoryRequest = (
    RememberMemory
    | RememberMemoryAs
    | ReviseMemory
    | RetractMemory
    | TouchMemory
    | PromoteMemory
    | LinkMemories
    | UnlinkMemories
    | StoreTranscript
    | StoreMessages
    | CiteTranscript
    | ResolveNotice
    | ChangeSettings
)


class TitleKey(msgspec.Struct, frozen=True):
    """The key under which a title is unique.

    That is a namespace, or for a private memory the namespace and the owner. `owner` is empty for
    a memory that the whole namespace sees.
    """

    namespace: str
    owner: str
    title: str

    @classmethod
    def of(cls, scope: Scope, title: str, *, private: bool) -> TitleKey:
        """Return the key of a memory's title in a scope."""
        return cls(scope.namespace, scope.agent_id if private else "", title)

    def __str__(self) -> str:
        return f"the memory titled {self.title!r} in {self.namespace!r}"


class MemoryRead(msgspec.Struct, frozen=True):
    """A tracked read of a memory by its id."""

    memory_id: str

    def __str__(self) -> str:
        return f"memory {self.memory_id!r}"


class LinksRead(msgspec.Struct, frozen=True):
    """A tracked read of a memory's links; a new link conflicts with it too."""

    memory_id: str

    def __str__(self) -> str:
        return f"a link of memory {self.memory_id!r}"


# Validation of callers' arguments, before anything is staged.

_INLINE_BYTES = 4096
"""Largest content inside an operation, in bytes. Longer content is a blob, so events stay small."""
_MAX_REFLECTION_DEPTH = 1_000_000
"""Largest depth limit; it bounds the walk along the reflections that a new link makes deeper."""

ChatMessage = Mapping[str, Any] | object
"""A chat message with a speaker (`role`) and a text (`content`), as a mapping or an object."""


class MemoryFields(TypedDict, total=False):
    """The fields of a memory beside its content and its title; `Store.remember` describes them."""

    kind: str
    tier: str
    tags: Iterable[str]
    priority: int
    confidence: float
    source: str
    metadata: Document | None
    ttl: Duration | None
    event_time: Instant | None
    source_uri: str | None
    citations: Iterable[str]
    entity_id: str | None
    confidence_source: str | None


class NewMemory(MemoryFields, total=False):
    """The fields of `remember` and `reflect`."""

    visibility: str
    on_conflict: str
    transcript: IdLike | None
    spans: Sequence[Span] | None


class ChangedMemory(MemoryFields, total=False):
    """The fields of a memory that can be changed."""

    title: str | None
    content: str


class NamespaceSettings(TypedDict, total=False):
    """The settings of a namespace and those below it; `Store.configure` describes them."""

    max_reflection_depth: int
    tiers: Mapping[str, Duration | None]
    transcript_retention: Duration | None
    log_retention: Duration | None


Fields = TypeVar("Fields", bound=Mapping[str, Any])


def given_fields(declared: type[Fields], arguments: Mapping[str, Any]) -> Fields:
    """Return the arguments of a call that the type declares and that the caller gave."""
    names = declared.__annotations__
    fields = {
        name: value
        for name, value in arguments.items()
        if value is not msgspec.UNSET and name in names
    }
    return cast("Fields", fields)


def fields_of(declared: type[Fields], call: object) -> Fields:
    """Return the fields of a call that the type declares and that the caller gave."""
    fields = {
        name: value
        for name in declared.__annotations__
        if (value := getattr(call, name)) is not msgspec.UNSET
    }
    return cast("Fields", fields)


def check_choice(field: str, value: object, choices: Sequence[str]) -> str:
    """Return the value; raise `InvalidInput` if it is not one of the choices."""
    text = plain_text(field, value)
    if text not in choices:
        problem = f"{short_repr(text)} is not one of {', '.join(choices)}"
        raise InvalidInput(field, problem + did_you_mean(text, choices))
    return text


check_id: Callable[[str, object], str] = partial(check_text, max_bytes=512)
"""Returns the id; raises `InvalidInput` if it is not text of at most 512 bytes."""


def check_content(value: object, limits: Limits) -> tuple[Content, dict[bytes, bytes]]:
    """Return content as an operation has it, and the blobs to store with the operation."""
    text = check_text("content", value, max_bytes=limits.content_bytes)
    encoded = text.encode()
    if len(encoded) <= _INLINE_BYTES:
        return Content(text), {}
    digest = digest_of(encoded)
    return Content(None, digest, len(encoded)), {digest: pack(encoded)}


def check_title(value: object, limits: Limits) -> str | None:
    """Return a title; None stays None."""
    if value is None:
        return None
    title = plain_text("title", value)
    if not title:
        raise InvalidInput("title", "is empty: give at least one character, or no title")
    if len(title) > limits.title_characters:
        raise InvalidInput(
            "title", f"has {len(title)} characters, and the limit is {limits.title_characters}"
        )
    return title


def check_note(field: str, value: object, limits: Limits) -> str | None:
    """Return a note or a reason; None stays None."""
    return None if value is None else check_text(field, value, max_bytes=limits.note_bytes)


def check_details(call: object, limits: Limits) -> dict[str, Any]:
    """Validate the fields of `Details` that a call has, and return them as the log has them."""
    return {
        name: check(value, limits)
        for name, check in _CHECKS.items()
        if (value := getattr(call, name)) is not msgspec.UNSET
    }


def check_changes(call: Any, limits: Limits) -> tuple[MemoryChanges, dict[bytes, bytes]]:
    """Return the changes of a memory, and the blobs to store with the operation."""
    changes, unset = check_details(call, limits), msgspec.UNSET
    blobs: dict[bytes, bytes] = {}
    if call.kind is not unset:
        changes["kind"] = check_choice("kind", call.kind, KINDS)
    if call.tier is not unset:
        changes["tier"] = check_choice("tier", call.tier, TIERS)
    if call.title is not unset:
        changes["title"] = check_title(call.title, limits)
    if call.ttl is not unset:
        changes["ttl"] = check_duration("ttl", call.ttl)
    if call.content is not unset:
        changes["content"], blobs = check_content(call.content, limits)
    return MemoryChanges(**changes), blobs


def check_settings(values: NamespaceSettings) -> dict[str, int | None]:
    """Validate settings, and return them by their names in the log."""
    settings: dict[str, int | None] = {}
    if "max_reflection_depth" in values:
        depth = values["max_reflection_depth"]
        settings[MAX_REFLECTION_DEPTH] = check_integer(
            "max_reflection_depth", depth, minimum=0, maximum=_MAX_REFLECTION_DEPTH
        )
    if "tiers" in values:
        if not isinstance(values["tiers"], Mapping):
            raise InvalidInput(
                "tiers", f"{short_repr(values['tiers'])} is not a mapping of tiers to lengths"
            )
        for tier, lifetime in values["tiers"].items():
            name = check_choice("tiers", tier, TIERS)
            settings[f"tier:{name}"] = check_duration(f"tiers.{name}", lifetime)
    if "transcript_retention" in values:
        retention = values["transcript_retention"]
        settings[TRANSCRIPT_RETENTION] = check_duration("transcript_retention", retention)
    if "log_retention" in values:
        settings[LOG_RETENTION] = check_duration("log_retention", values["log_retention"])
    if not settings:
        raise InvalidInput("settings", "are missing: give at least one")
    return settings


def check_tags(value: object, limits: Limits) -> tuple[str, ...]:
    """Return tags without duplicates."""
    return _texts("tags", value, limits.tags, limits.tag_bytes)


def _texts(field: str, value: object, limit: int, byte_limit: int) -> tuple[str, ...]:
    if not isinstance(value, list) and (  # a list is the common case, and the cheapest check
        isinstance(value, (str, bytes)) or not isinstance(value, Iterable)
    ):
        raise InvalidInput(field, f"{short_repr(value)} is not a list of texts")
    texts = tuple(dict.fromkeys([check_text(field, text, max_bytes=byte_limit) for text in value]))
    if len(texts) > limit:
        raise InvalidInput(field, f"has {len(texts)} entries, and the limit is {limit}")
    return texts


def _priority(value: object) -> int:
    return check_integer("priority", value, minimum=1, maximum=10, noun="a whole number")


def _confidence(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise InvalidInput("confidence", f"{short_repr(value)} is not a number from 0 to 1")
    return float(value)


def _metadata(value: object, limits: Limits) -> bytes | None:
    if value is None:
        return None
    encoded = document.encode("metadata", value, limits)
    if len(encoded) > limits.metadata_bytes:
        raise InvalidInput(
            "metadata",
            f"has {len(encoded)} bytes as JSON, and the limit is {limits.metadata_bytes}",
        )
    return encoded


_CHECKS: Mapping[str, Callable[[Any, Limits], object]] = {
    "tags": check_tags,
    "priority": lambda value, _: _priority(value),
    "confidence": lambda value, _: _confidence(value),
    "source": lambda value, limits: check_text("source", value, max_bytes=limits.tag_bytes),
    "metadata": _metadata,
    "event_time": lambda value, _: check_time("event_time", value),
    "source_uri": lambda value, limits: check_note("source_uri", value, limits),
    "citations": lambda value, limits: _texts("citations", value, limits.tags, limits.note_bytes),
    "entity_id": lambda value, limits: check_note("entity_id", value, limits),
    "confidence_source": lambda value, limits: check_note("confidence_source", value, limits),
}
"""The check for each field of `Details`."""
