"""Look up who said what a candidate is from, and when, in the messages of its transcript."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memoranda.memory.transcripts import WHOLE_TRANSCRIPT, TranscriptInfo
from memoranda.model.clock import to_micros
from memoranda.model.memory import Span
from memoranda.search.index.partitions import MEMORY, PASSAGE
from memoranda.search.ranking.candidates import Candidate
from memoranda.search.ranking.dedupe import Citations
from memoranda.search.text.transcript_chunks import ChunkLoader


def load_speakers(
    loader: ChunkLoader, candidates: Iterable[Candidate], citations: Citations
) -> None:
    """Set who said each candidate, by name and by role; a memory has those of all it cites."""
    for candidate in candidates:
        spans: Sequence[tuple[TranscriptInfo, Span]] = ()
        if candidate.kind == MEMORY:
            spans = citations.get(candidate.id, ())
        elif candidate.kind == PASSAGE:
            spans = [_span_of(candidate)]
        speakers = {
            name.casefold()
            for info, span in spans
            if span != WHOLE_TRANSCRIPT
            for utterance in loader.of_info(info).utterances_in(span)
            for name in (utterance.speaker, utterance.role)
            if name
        }
        if not speakers and candidate.speaker:
            speakers = {candidate.speaker.casefold()}
        candidate.speakers = frozenset(speakers)


def set_message_times(loader: ChunkLoader, passages: Iterable[Candidate]) -> None:
    """Set the time of each passage to that of its message, where the message has one."""
    for passage in passages:
        info, span = _span_of(passage)
        times = (utterance.at for utterance in loader.of_info(info).utterances_in(span))
        at = next(times, None)
        if at is not None:
            passage.time = to_micros("at", at)


def _span_of(passage: Candidate) -> tuple[TranscriptInfo, Span]:
    info, document = passage.record, passage.document
    assert isinstance(info, TranscriptInfo), "the filters have looked it up"
    assert document is not None, "a passage is found by its document"
    return info, (document.start, document.end)
