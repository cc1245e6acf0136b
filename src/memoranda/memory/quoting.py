"""Quoting: the words behind a reference."""

from __future__ import annotations

from memoranda.memory import standing, transcripts, versions
from memoranda.model.refs import Evidence, MemoryRef
from memoranda.storage.port import Reader


def quotes(reader: Reader, source: Evidence | None, at: int, viewer: str) -> tuple[str, ...]:
    """Return the words something comes from, as far as somebody may see them.

    Those of a memory are its content at the version that is named, or at the newest; those of a
    transcript the spans that are named, or all of it.
    """
    if source is None:
        return ()
    if isinstance(source, MemoryRef):
        return tuple(
            standing.text_of(reader, each.found)
            for each in versions.find_versions(reader, [source], at, viewer)
            if each.found is not None and each.current is not None
        )
    transcript = transcripts.get(reader, source.transcript_id, at)
    if transcript is None or transcript.erased:
        return ()
    return transcripts.excerpts_of(transcripts.load(reader, transcript), source.spans)
