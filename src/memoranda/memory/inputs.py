"""What callers say of memories, checked before anything is staged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, TypedDict

from memoranda.errors import InvalidInput
from memoranda.memory.requests import MemoryChanges
from memoranda.memory.settings import LOG_RETENTION, MAX_REFLECTION_DEPTH, TRANSCRIPT_RETENTION
from memoranda.model import document
from memoranda.model.document import Document
from memoranda.model.instant import MOST_LIFETIME, Instant, to_micros
from memoranda.model.limits import Limits, check_text, plain_text, shown
from memoranda.model.memory import KINDS, TIERS, Content, Details, Span
from memoranda.model.packing import digest_of, pack

INLINE_BYTES = 4096
"""Longer content is kept beside the log."""
_MOST_DEPTH = 1_000_000
MOST_SECONDS = MOST_LIFETIME
"""The longest lifetime, some 316 years: the end of one is always a time that can be shown."""

Duration = timedelta | float
"""A length of time: a timedelta, or seconds."""
Message = Mapping[str, Any] | object
"""A message of a conversation: who (`role`) said what (`content`), as a mapping or an object."""


class MemoryFields(TypedDict, total=False):
    """What can be said of a memory beside its content and its title.

    kind: observation (if new), reflection, decision, event, conversation, claim, concept, persona
    tier: short (6 hours), mid (7 days) or long (for ever; if new); `configure` changes the lengths
    tags: up to 50
    priority: 1 to 10; 5 if not said
    confidence: 0 to 1; 1 if not said
    source: where it comes from; "api" if not said
    metadata: a JSON object
    ttl: how long it lasts, whatever its tier; a timedelta, or seconds
    event_time: when what it says happened
    source_uri, citations, entity_id, confidence_source: text
    """

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
    """What can be said of a memory that is remembered.

    visibility: "namespace" (if not said) or "private", for its own agent only
    on_conflict: what to do if its title is taken: "update" (if not said) or "error"
    transcript, spans: the transcript it comes from, and where in it; no spans: the whole
    """

    visibility: str
    on_conflict: str
    transcript: str | None
    spans: Sequence[Span] | None


class ChangedMemory(MemoryFields, total=False):
    """What can be changed of a memory."""

    title: str | None
    content: str


class NamespaceSettings(TypedDict, total=False):
    """What can be set for a namespace and those below it.

    max_reflection_depth: how deep reflections may rest on reflections; 0 forbids them
    tiers: how long memories of a tier last; a timedelta, seconds, or None for ever
    transcript_retention: how long transcripts are kept at least
    log_retention: how far back the log is kept in full, when it is compacted by that
    """

    max_reflection_depth: int
    tiers: Mapping[str, Duration | None]
    transcript_retention: Duration | None
    log_retention: Duration | None


def choose(field: str, value: object, choices: Sequence[str]) -> str:
    """Return a value that is one of the choices."""
    text = plain_text(field, value)
    if text not in choices:
        raise InvalidInput(field, f"{shown(text)} is not one of {', '.join(choices)}")
    return text


check_id: Callable[[str, object], str] = partial(check_text, most_bytes=512)
"""Returns what can be an id."""


def check_content(value: object, limits: Limits) -> tuple[Content, dict[bytes, bytes]]:
    """Return content as the log keeps it, and what is kept beside the log."""
    text = check_text("content", value, most_bytes=limits.content_bytes)
    encoded = text.encode()
    if len(encoded) <= INLINE_BYTES:
        return Content(text), {}
    digest = digest_of(encoded)
    return Content(None, digest, len(encoded)), {digest: pack(encoded)}


def check_title(value: object, limits: Limits) -> str | None:
    """Return a title, if there is one."""
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
    """Return a note or a reason, if there is one."""
    return None if value is None else check_text(field, value, most_bytes=limits.note_bytes)


def check_details(fields: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """Return the fields of `Details` that are given, in the form the log keeps."""
    return {name: _CHECKS[name](value, limits) for name, value in fields.items() if name in _CHECKS}


def new_details(fields: MemoryFields, limits: Limits) -> Details:
    """Return the details of a memory that is remembered."""
    return Details(**check_details(fields, limits))


def check_changes(
    fields: ChangedMemory, limits: Limits
) -> tuple[MemoryChanges, dict[bytes, bytes]]:
    """Return what is to be different of a memory, and what is kept beside the log."""
    changes = check_details(fields, limits)
    blobs: dict[bytes, bytes] = {}
    if "kind" in fields:
        changes["kind"] = choose("kind", fields["kind"], KINDS)
    if "tier" in fields:
        changes["tier"] = choose("tier", fields["tier"], TIERS)
    if "title" in fields:
        changes["title"] = check_title(fields["title"], limits)
    if "ttl" in fields:
        changes["ttl"] = check_duration("ttl", fields["ttl"])
    if "content" in fields:
        changes["content"], blobs = check_content(fields["content"], limits)
    return MemoryChanges(**changes), blobs


def check_known(fields: Mapping[str, object], known: type) -> None:
    """Refuse an argument that nobody knows, as a function with its arguments listed would."""
    if not fields.keys() <= known.__annotations__.keys():
        unknown = fields.keys() - known.__annotations__.keys()
        raise TypeError(f"got an unexpected keyword argument {min(unknown)!r}")


def check_duration(field: str, value: object) -> int | None:
    """Return a length of time in microseconds; None: no length in particular."""
    if value is None:
        return None
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise InvalidInput(field, f"{shown(value)} is neither a timedelta nor seconds")
    if not seconds > 0:  # nor is what is no number
        raise InvalidInput(field, f"{shown(value)} is not a positive length of time")
    if seconds > MOST_SECONDS:
        raise InvalidInput(
            field, f"{shown(value)} is over {MOST_SECONDS} seconds: give less, or None for no end"
        )
    return max(round(seconds * 1_000_000), 1)


def check_time(field: str, value: Instant | None) -> int | None:
    """Return a time in microseconds, if there is one."""
    return None if value is None else to_micros(field, value)


def check_settings(given: NamespaceSettings) -> dict[str, int | None]:
    """Return the settings that are given, by the names the log has for them."""
    check_known(given, NamespaceSettings)
    settings: dict[str, int | None] = {}
    if "max_reflection_depth" in given:
        depth = given["max_reflection_depth"]
        if type(depth) is not int or not 0 <= depth <= _MOST_DEPTH:
            raise InvalidInput("max_reflection_depth", f"{shown(depth)} is not a number, 0 or more")
        settings[MAX_REFLECTION_DEPTH] = depth
    if "tiers" in given:
        if not isinstance(given["tiers"], Mapping):
            raise InvalidInput(
                "tiers", f"{shown(given['tiers'])} is no mapping of tiers to lengths"
            )
        for tier, lifetime in given["tiers"].items():
            name = choose("tiers", tier, TIERS)
            settings[f"tier:{name}"] = check_duration(f"tiers.{name}", lifetime)
    if "transcript_retention" in given:
        retention = given["transcript_retention"]
        settings[TRANSCRIPT_RETENTION] = check_duration("transcript_retention", retention)
    if "log_retention" in given:
        settings[LOG_RETENTION] = check_duration("log_retention", given["log_retention"])
    if not settings:
        raise InvalidInput("settings", "are missing: give at least one")
    return settings


def check_tags(value: object, limits: Limits) -> tuple[str, ...]:
    """Return tags, each once."""
    return _texts("tags", value, limits.tags, limits.tag_bytes)


def _texts(field: str, value: object, most: int, most_bytes: int) -> tuple[str, ...]:
    if not isinstance(value, list) and (  # as it mostly is, and no other question is as cheap
        isinstance(value, (str, bytes)) or not isinstance(value, Iterable)
    ):
        raise InvalidInput(field, f"{shown(value)} is not a list of texts")
    texts = tuple(dict.fromkeys([check_text(field, text, most_bytes=most_bytes) for text in value]))
    if len(texts) > most:
        raise InvalidInput(field, f"has {len(texts)} entries, and the limit is {most}")
    return texts


def _priority(value: object) -> int:
    if type(value) is not int or not 1 <= value <= 10:
        raise InvalidInput("priority", f"{shown(value)} is not a whole number from 1 to 10")
    return value


def _confidence(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise InvalidInput("confidence", f"{shown(value)} is not a number from 0 to 1")
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
    "source": lambda value, limits: check_text("source", value, most_bytes=limits.tag_bytes),
    "metadata": _metadata,
    "event_time": lambda value, _: check_time("event_time", value),
    "source_uri": lambda value, limits: check_note("source_uri", value, limits),
    "citations": lambda value, limits: _texts("citations", value, limits.tags, limits.note_bytes),
    "entity_id": lambda value, limits: check_note("entity_id", value, limits),
    "confidence_source": lambda value, limits: check_note("confidence_source", value, limits),
}
"""How each of the details is checked."""
