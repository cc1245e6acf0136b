"""Words: what transcripts say where they are quoted."""

from __future__ import annotations

from collections.abc import Iterable

from memoranda.memory import transcripts
from memoranda.memory.transcripts import TranscriptInfo
from memoranda.model.refs import TranscriptRef
from memoranda.storage.port import Reader
from memoranda.why.reason import shortened

_MOST_BYTES = 2048
"""More than a quotation is shown of, whatever characters it consists of."""

Quotation = tuple[TranscriptRef, TranscriptInfo]


def quote(reader: Reader, quotations: Iterable[Quotation]) -> dict[TranscriptRef, str]:
    """Return what stands at one span of each, or how the whole begins; each text is read once."""
    by_transcript: dict[str, list[Quotation]] = {}
    for ref, info in quotations:
        by_transcript.setdefault(info.id, []).append((ref, info))
    found: dict[TranscriptRef, str] = {}
    for same in by_transcript.values():
        text = transcripts.load(reader, same[0][1])
        for ref, _ in same:
            first, beyond = ref.spans[0] if ref.spans else (0, len(text))
            piece = text[first : min(beyond, first + _MOST_BYTES)]
            found[ref] = shortened(piece.decode(errors="ignore"))
    return found
