"""Quoting: the words behind a reference."""

from __future__ import annotations

from recollect.memory import standing, transcripts
from recollect.model.refs import Evidence, MemoryRef
from recollect.storage.port import Reader


def quotes(reader: Reader, source: Evidence | None, at: int, viewer: str) -> tuple[str, ...]:
    """Return the words something comes from, as far as somebody may see them.

    Those of a memory are its content; those of a transcript the spans that are named, or all of it.
    """
    if source is None:
        return ()
    if isinstance(source, MemoryRef):
        found = standing.find_one(reader, source.memory_id, at, viewer=viewer)
        return () if found is None else (standing.text_of(reader, found),)
    transcript = transcripts.get(reader, source.transcript_id, at)
    if transcript is None:
        return ()
    return transcripts.excerpts_of(transcripts.load(reader, transcript), source.spans)
