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


def set_message_fields(loader: ChunkLoader, passages: Iterable[Candidate]) -> None:
    """Set the time of each passage to that of its message, where that has one, and its speaker.

    The texts are loaded by now, so nothing is read.
    """
    for passage in passages:
        info, span = _span_of(passage)
        utterances = tuple(loader.of_info(info).utterances_in(span))
        if utterances and utterances[0].at is not None:
            passage.time = to_micros("at", utterances[0].at)
        names = {utterance.speaker for utterance in utterances}
        if len(names) == 1:
            passage.message_speaker = names.pop() or None


def _span_of(passage: Candidate) -> tuple[TranscriptInfo, Span]:
    info, document = passage.record, passage.document
    assert isinstance(info, TranscriptInfo), "the filters have looked it up"
    assert document is not None, "a passage is found by its document"
    return info, (document.start, document.end)
