"""Transcripts: validation, reads, citations, and quotations of byte ranges."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from memoranda.errors import Corruption, InvalidInput
from memoranda.log import blobs
from memoranda.log.compaction import horizon
from memoranda.log.pages import Position, ResumablePages
from memoranda.log.read.as_of import AsOf
from memoranda.memory import snapshots
from memoranda.memory.messages import (
    MESSAGES,
    TEXT,
    Rendering,
    plain_messages,
    render,
    render_stored,
)
from memoranda.memory.messages import decode as decode_messages
from memoranda.memory.messages import encode as encode_messages
from memoranda.memory.reads import Filters, check_range
from memoranda.memory.records import TranscriptLink, time_of
from memoranda.memory.speakers import check_names, name_speakers, names_of_a_text
from memoranda.model.clock import to_datetime
from memoranda.model.codec import digest_of
from memoranda.model.document import Document
from memoranda.model.limits import Limits, check_text, short_repr
from memoranda.model.memory import Span, indent_continuation_lines
from memoranda.model.refs import Evidence, MemoryRef
from memoranda.model.scope import Scope
from memoranda.storage.port import Engine, Reader, Row

# Validation: a caller's text or messages become the bytes to store.


class TranscriptContent(msgspec.Struct, frozen=True):
    """A transcript before it is staged: a text, or messages with their rendering."""

    content: bytes
    """The bytes to store and hash: the text's UTF-8, or the messages' JSON."""
    text: bytes
    form: int = TEXT
    rendering: Rendering | None = None

    @property
    def digest(self) -> bytes:
        """The hash of the stored bytes."""
        return digest_of(self.content)

    @property
    def digests(self) -> tuple[bytes, ...]:
        """The hashes that it may be stored under: earlier versions kept only messages' text."""
        return tuple(dict.fromkeys((self.digest, digest_of(self.text))))


def check_transcript(value: object, limits: Limits, names: object = None) -> TranscriptContent:
    """Return the content of a text or of messages; raise `InvalidInput` if it is neither.

    `names` are the names of speakers by role.
    """
    speakers = check_names(names, limits)
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, bytearray)):
        messages = plain_messages("text", value, limits)
        return transcript_of_messages(name_speakers(messages, speakers), limits)
    if speakers:
        raise names_of_a_text()
    text = check_text("text", value, max_bytes=limits.transcript_bytes).encode()
    return TranscriptContent(text, text)


def transcript_of_messages(messages: list[Document], limits: Limits) -> TranscriptContent:
    """Return the content of messages that are plain JSON."""
    content = encode_messages(messages)
    rendering = render(MESSAGES, messages, "text, message")
    for form, size in (("as JSON", len(content)), ("as text", len(rendering.text))):
        if size > limits.transcript_bytes:
            raise InvalidInput(
                "text", f"has {size} bytes {form}, and the limit is {limits.transcript_bytes}"
            )
    return TranscriptContent(content, rendering.text, MESSAGES, rendering)


def rendering_of(form: int, content: bytes) -> Rendering | None:
    """Return the rendering of stored messages; None if the transcript was given as text."""
    return None if form == TEXT else render_stored(form, decode_messages(content))


# Reads: transcripts as of a commit, and the citations of memories.

WHOLE_TRANSCRIPT: Span = (0, 0)
"""The span that the tables have for a citation of the whole transcript."""
_NEVER = -(2**63)
"""Stands for an unknown time in a comparison, as NULL is never equal; no clock returns it."""


class TranscriptInfo(msgspec.Struct, frozen=True):
    """A transcript's row, without its text. Times are in microseconds."""

    id: str
    namespace: str
    agent_id: str
    commit_ts: int
    position: int
    created_micros: int
    occurred_micros: int | None
    expires_micros: int | None
    original_size: int
    digest: bytes
    compressed_size: int
    form: int = TEXT
    messages_size: int = 0
    """Size of its messages as JSON, in bytes; 0 if it was given as text."""

    @property
    def content_size(self) -> int:
        """Number of bytes that are stored and hashed."""
        return self.original_size if self.form == TEXT else self.messages_size

    @property
    def created_at(self) -> datetime:
        """Time of the commit that stored it."""
        return to_datetime(self.created_micros)

    @property
    def occurred_at(self) -> datetime | None:
        """Time of the conversation, if the caller gave it."""
        return time_of(self.occurred_micros)

    @property
    def expires_at(self) -> datetime | None:
        """End of its retention; after that it stays only while a memory cites it."""
        return time_of(self.expires_micros)

    @property
    def instant(self) -> int:
        """Time to order transcripts by: of the conversation if known, else of the commit."""
        return self.created_micros if self.occurred_micros is None else self.occurred_micros

    @property
    def erased(self) -> bool:
        """Whether its text was erased; its citations stay."""
        return not self.digest

    def expired(self, now: int) -> bool:
        """Say whether its retention has ended."""
        return self.expires_micros is not None and self.expires_micros <= now


class StoredTranscript(NamedTuple):
    """The id of a transcript, and the commit that stored it, with its time in microseconds."""

    id: str
    commit_ts: int
    created_micros: int


def get(reader: Reader, transcript_id: str, at: int) -> TranscriptInfo | None:
    """Return a transcript as of a commit."""
    row = reader.row("transcript_get", transcript_id=transcript_id, at=at)
    horizon.check(reader, (row[1],) if row else (), at)
    return TranscriptInfo(*row) if row else None


def exists(reader: Reader, transcript_id: str) -> bool:
    """Say whether a transcript exists and still has its text."""
    return reader.row("transcript_place", transcript_id=transcript_id) is not None


def find_duplicate(
    reader: Reader, scope: Scope, digests: Iterable[bytes], size: int, occurred_at: int | None
) -> StoredTranscript | None:
    """Return the scope's transcript with one of these hashes, a text of this size and this time."""
    for digest in digests:
        row = reader.row(
            "transcript_duplicate",
            namespace=scope.namespace,
            agent_id=scope.agent_id,
            size=size,
            digest=digest,
            occurred_at=_NEVER if occurred_at is None else occurred_at,
            never=_NEVER,
        )
        if row is not None:
            return StoredTranscript(*row)
    return None


def find(
    reader: Reader, transcript_ids: Iterable[str], at: int, *, within: Collection[str] | None = None
) -> dict[str, TranscriptInfo]:
    """Return the transcripts that existed at a commit, by their ids.

    `within` limits the result to these namespaces; the horizons of others are not checked.
    """
    rows = reader.rows("transcripts_at", transcript_ids=list(transcript_ids), at=at)
    if within is not None:
        rows = [row for row in rows if row[1] in within]
    horizon.check(reader, (row[1] for row in rows), at)
    return {row[0]: TranscriptInfo(*row) for row in rows}


def load(reader: Reader, transcript: TranscriptInfo) -> bytes:
    """Return a transcript's text as UTF-8."""
    content, rendering = load_rendered(reader, transcript)
    return content if rendering is None else rendering.text


def load_rendered(reader: Reader, transcript: TranscriptInfo) -> tuple[bytes, Rendering | None]:
    """Return the stored bytes of a transcript, and the rendering if they are messages."""
    content = load_content(reader, transcript)
    return content, rendered(transcript, content)


def load_content(reader: Reader, transcript: TranscriptInfo) -> bytes:
    """Return the stored bytes of a transcript: its text, or its messages as JSON."""
    return blobs.load(
        reader,
        transcript.commit_ts,
        transcript.position,
        size=transcript.content_size,
        digest=transcript.digest,
    )


def rendered(transcript: TranscriptInfo, content: bytes) -> Rendering | None:
    """Return the rendering of the stored bytes of a transcript; None if they are its text."""
    rendering = rendering_of(transcript.form, content)
    if rendering is not None and len(rendering.text) != transcript.original_size:
        raise Corruption(
            f"the messages of commit {transcript.commit_ts} do not render to the "
            f"{transcript.original_size} bytes of text that the log records: restore a backup"
        )
    return rendering


def messages_of(content: bytes, rendering: Rendering | None) -> list[Document]:
    """Return the stored messages; a transcript of text has none."""
    return [] if rendering is None else decode_messages(content)


class Transcripts(ResumablePages[TranscriptInfo]):
    """Reads a list of transcripts as of a commit, page by page."""

    def __init__(self, engine: Engine, as_of: AsOf, filters: Filters) -> None:
        self._engine = engine
        bounds = filters.bounds()
        self._range: dict[str, Any] = {
            "namespace": bounds["namespace"],
            "children": bounds["children"],
            "end": bounds["end"],
            "at": as_of.commit,
        }
        self._after = ("", 0)

    @property
    def position(self) -> Position:
        """The commit, and the namespace and the number of the last transcript."""
        return [self._range["at"], *self._after]

    @position.setter
    def position(self, position: Position) -> None:
        self._range["at"], namespace, number = position
        self._after = (namespace, number)

    def next_page(self) -> list[TranscriptInfo]:
        """Return the next transcripts; an empty page ends the list."""
        namespace, number = self._after
        with self._engine.snapshot() as reader:
            check_range(reader, self._range, self._range["at"])
            rows = reader.rows(
                "transcript_page",
                **self._range,
                after_namespace=namespace,
                after=number,
                limit=self.rows,
            )
        if rows:
            self._after = (rows[-1][1], rows[-1][-1])
        return [TranscriptInfo(*row[:-1]) for row in rows]


def citations_of(
    reader: Reader, memory_ids: Iterable[str], at: int
) -> list[tuple[str, int, Span, Row]]:
    """Return the citations of memories: memory id, transcript number, span, transcript row."""
    if not reader.cached(_is_any_cited):
        return []
    rows = reader.rows("citations_of_memories", memory_ids=list(memory_ids), at=at)
    return [(row[0], row[1], (row[2], row[3]), row[4:]) for row in rows]


def _is_any_cited(reader: Reader) -> bool:
    return reader.row("citation_any") is not None


def links_of_memory(reader: Reader, memory_id: str, at: int) -> list[TranscriptLink]:
    """Return the transcripts that a memory cites, in the order of their ids."""
    spans: dict[str, list[Span]] = {}
    infos: dict[str, TranscriptInfo] = {}
    for _, _, span, row in citations_of(reader, [memory_id], at):
        if row[0] is not None:
            spans.setdefault(row[0], []).append(span)
            infos[row[0]] = TranscriptInfo(*row)
    return [_link(memory_id, infos[name], cited_spans) for name, cited_spans in spans.items()]


def _link(memory_id: str, transcript: TranscriptInfo, spans: Sequence[Span]) -> TranscriptLink:
    plain = plain_spans(spans, transcript.original_size)
    return TranscriptLink(memory_id, transcript.id, plain, transcript.erased)


def links_of_transcript(
    reader: Reader, transcript: TranscriptInfo, at: int, viewer: str
) -> list[TranscriptLink]:
    """Return the memories that cite a transcript and that the viewer may see."""
    spans: dict[str, list[Span]] = {}
    for memory_id, start, end in reader.rows(
        "citations_of_transcript", transcript_id=transcript.id, at=at, viewer=viewer
    ):
        spans.setdefault(memory_id, []).append((start, end))
    return [_link(memory_id, transcript, cited_spans) for memory_id, cited_spans in spans.items()]


def plain_spans(spans: Sequence[Span], size: int) -> tuple[Span, ...]:
    """Return spans in the form of the public API.

    No spans stand for the whole transcript. If others are cited too, the whole is one more span.
    """
    if set(spans) == {WHOLE_TRANSCRIPT}:
        return ()
    return tuple(sorted((0, size) if span == WHOLE_TRANSCRIPT else span for span in spans))


def check_spans(spans: object, text: bytes, field: str = "spans") -> tuple[Span, ...]:
    """Return spans without duplicates; raise `InvalidInput` if one is not a range of the text."""
    pairs = check_span_pairs(spans, field)
    for span in pairs:
        _check_in_text(span, text, field)
    return tuple(pairs if len(pairs) == 1 else dict.fromkeys(pairs))


def check_span_pairs(spans: object, field: str = "spans") -> list[Span]:
    """Return spans as pairs of offsets; whether a text has them is not known here."""
    if spans is None:
        return []
    if not isinstance(spans, list) and (
        isinstance(spans, (str, bytes)) or not isinstance(spans, Iterable)
    ):
        raise InvalidInput(field, f"{short_repr(spans)} is not a list of (start, end) pairs")
    return [_check_span(span, field) for span in spans]


def _check_span(span: object, field: str) -> Span:
    if not isinstance(span, (tuple, list)) or len(span) != 2:
        raise _not_a_pair(span, field)
    start, end = span
    if type(start) is not int or type(end) is not int:
        raise _not_a_pair(span, field)
    if not 0 <= start < end:
        raise InvalidInput(field, f"{short_repr(span)} is not a span: 0 ≤ start < end must hold")
    return (start, end)


def _check_in_text(span: Span, text: bytes, field: str) -> None:
    start, end = span
    if end > len(text):
        raise InvalidInput(
            field, f"{short_repr(span)} ends past the text, which has {len(text)} bytes"
        )
    if text[start] & 0xC0 == 0x80 or (end < len(text) and text[end] & 0xC0 == 0x80):
        offset = start if text[start] & 0xC0 == 0x80 else end
        raise InvalidInput(field, f"{short_repr(span)} cuts a character in two at byte {offset}")


def _not_a_pair(span: object, field: str) -> InvalidInput:
    return InvalidInput(field, f"{short_repr(span)} is not a pair of byte offsets (start, end)")


def excerpts_of(text: bytes, spans: Sequence[Span]) -> tuple[str, ...]:
    """Return the texts of these spans; without spans, the whole text."""
    return tuple(text[start:end].decode() for start, end in spans) or (text.decode(),)


def span_of(text: bytes, quote: str, *, after: int = 0) -> Span | None:
    """Return the span of the first exact match of a quote, from an offset on."""
    encoded = quote.encode()
    start = text.find(encoded, after)
    return (start, start + len(encoded)) if encoded and start >= 0 else None


def span_in(rendering: Rendering, quote: str, *, after: int = 0) -> Span | None:
    """Return the first span of a quote in rendered messages, where further lines are indented."""
    spans = (
        span_of(rendering.text, text, after=after)
        for text in {quote, indent_continuation_lines(quote)}
    )
    return min((span for span in spans if span is not None), default=None)


# Quotations: the text behind a reference.


def quotes(reader: Reader, source: Evidence | None, at: int, viewer: str) -> tuple[str, ...]:
    """Return the texts of a piece of evidence that the viewer may see.

    For a memory it is the content of the referenced version, or of the newest one. For a transcript
    it is the text of the referenced spans, or all of it.
    """
    if source is None:
        return ()
    if isinstance(source, MemoryRef):
        return tuple(
            snapshots.text_of(reader, version.snapshot)
            for version in snapshots.find_versions(reader, [source], at, viewer)
            if version.snapshot is not None and version.current is not None
        )
    transcript = get(reader, source.transcript_id, at)
    if transcript is None or transcript.erased:
        return ()
    return excerpts_of(load(reader, transcript), source.spans)
