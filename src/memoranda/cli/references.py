"""References on the command line: an id can be given by its first characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from memoranda.cli.ids import full_id
from memoranda.model.ref_text import parse
from memoranda.model.refs import FactRef, MemoryRef, Ref, TranscriptRef

if TYPE_CHECKING:
    from memoranda.sdk.store.store import Store


def full_ref(store: Store, text: str) -> Ref:
    """Parse a reference whose id may be given by its first characters."""
    ref = parse(text)
    if isinstance(ref, MemoryRef):
        return replace(ref, memory_id=full_id(store, ref.memory_id, "memory"))
    if isinstance(ref, FactRef):
        return replace(ref, assertion_id=full_id(store, ref.assertion_id, "fact"))
    if isinstance(ref, TranscriptRef):
        return replace(ref, transcript_id=full_id(store, ref.transcript_id, "transcript"))
    return ref
