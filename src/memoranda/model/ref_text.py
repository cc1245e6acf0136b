"""The text form of references.

    KEY[@VERSION]    memory:ID[@VERSION]    fact:ID    transcript:ID[@START-END[,START-END…]]

A key that begins with one of these prefixes is written with the prefix `key:`.
"""

from __future__ import annotations

import re

from memoranda.model.refs import FactRef, KeyRef, MemoryRef, Ref, TranscriptRef

_KEY, _MEMORY, _FACT, _TRANSCRIPT = _PREFIXES = ("key:", "memory:", "fact:", "transcript:")
_VERSIONED = re.compile(r"(?P<name>.*)@(?P<version>[0-9]{1,1000})", re.DOTALL)
_SPAN = r"[0-9]{1,18}-[0-9]{1,18}"
_SPANNED = re.compile(rf"(?P<name>.*)@(?P<spans>{_SPAN}(?:,{_SPAN})*)", re.DOTALL)


def parse(text: str) -> Ref:
    """Parse a reference; after the last `@` are its version or its spans, in bytes."""
    if text.startswith(_FACT):
        return FactRef(text.removeprefix(_FACT))
    if text.startswith(_TRANSCRIPT):
        return _parse_transcript(text.removeprefix(_TRANSCRIPT))
    match = _VERSIONED.fullmatch(text)
    name, version = (match["name"], int(match["version"])) if match else (text, None)
    if name.startswith(_MEMORY):
        return MemoryRef(name.removeprefix(_MEMORY), version)
    return KeyRef(name.removeprefix(_KEY), version)


def _parse_transcript(text: str) -> TranscriptRef:
    match = _SPANNED.fullmatch(text)
    if match is None:
        return TranscriptRef(text)
    pairs = (span.split("-") for span in match["spans"].split(","))
    return TranscriptRef(match["name"], tuple((int(start), int(end)) for start, end in pairs))


def format_ref(ref: Ref) -> str:
    """Return the text that `parse` turns into this reference."""
    if isinstance(ref, FactRef):
        return f"{_FACT}{ref.assertion_id}"
    if isinstance(ref, TranscriptRef):
        spans = ",".join(f"{start}-{end}" for start, end in ref.spans)
        return f"{_TRANSCRIPT}{ref.transcript_id}{'@' if spans else ''}{spans}"
    version = "" if ref.version is None else f"@{ref.version}"
    if isinstance(ref, MemoryRef):
        return f"{_MEMORY}{ref.memory_id}{version}"
    is_ambiguous = ref.key.startswith(_PREFIXES)
    return f"{_KEY if is_ambiguous else ''}{ref.key}{version}"
