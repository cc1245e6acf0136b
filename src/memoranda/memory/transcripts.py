"""Transcripts: words kept as they were said, and the spans of them that memories name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from memoranda.errors import Corruption, InvalidInput
from memoranda.log import blobs, horizons, pages
from memoranda.log.moments import Asked
from memoranda.memory import chat_json
from memoranda.memory.queries import Filters
from memoranda.memory.records import TranscriptLink, time_of
from memoranda.memory.rendering import TEXT, Rendering
from memoranda.memory.spoken import Spoken, rendering_of
from memoranda.model.document import Document
from memoranda.model.instant import to_datetime
from memoranda.model.limits import shown
from memoranda.model.lines import continued
from memoranda.model.memory import Span
from memoranda.model.packing import digest_of
from memoranda.model.scope import Scope
from memoranda.storage.port import Engine, Reader, Row

WHOLE: Span = (0, 0)
"""How the tables say that a transcript is cited as a whole."""
_NEVER = -(2**63)
"""Before any time there is."""


class TranscriptInfo(msgspec.Struct, frozen=True):
    """What is known of a transcript without its text."""

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
    """How many bytes of JSON its messages have; 0, if it was given as text."""

    @property
    def content_size(self) -> int:
        """How many bytes are kept and hashed."""
        return self.original_size if self.form == TEXT else self.messages_size

    @property
    def created_at(self) -> datetime:
        """When it was stored."""
        return to_datetime(self.created_micros)

    @property
    def occurred_at(self) -> datetime | None:
        """When it was said, if that is known."""
        return time_of(self.occurred_micros)

    @property
    def expires_at(self) -> datetime | None:
        """From when on it is kept only if something rests on it."""
        return time_of(self.expires_micros)

    @property
    def instant(self) -> int:
        """When it was said, as far as is known."""
        return self.created_micros if self.occurred_micros is None else self.occurred_micros

    @property
    def erased(self) -> bool:
        """Whether its words were erased: that they are cited stays."""
        return not self.digest

    def expired(self, now: int) -> bool:
        """Say whether its time is over."""
        return self.expires_micros is not None and self.expires_micros <= now


def get(reader: Reader, transcript_id: str, at: int) -> TranscriptInfo | None:
    """Return a transcript that there was at a commit."""
    row = reader.row("transcript_get", transcript_id=transcript_id, at=at)
    horizons.check(reader, (row[1],) if row else (), at)
    return TranscriptInfo(*row) if row else None


def exists(reader: Reader, transcript_id: str) -> bool:
    """Say whether there is a transcript."""
    return reader.row("transcript_place", transcript_id=transcript_id) is not None


def same(reader: Reader, scope: Scope, words: Spoken, occurred_at: int | None) -> str | None:
    """Return the transcript of a scope that has these words, said at the same time.

    Messages are the same too as what was kept as their text: that is how they were kept once.
    """
    for digest in dict.fromkeys((words.digest, digest_of(words.text))):
        row = reader.row(
            "transcript_same",
            namespace=scope.namespace,
            agent_id=scope.agent_id,
            size=len(words.text),
            digest=digest,
            occurred_at=_NEVER if occurred_at is None else occurred_at,
            never=_NEVER,
        )
        if row is not None:
            return str(row[0])
    return None


def find(
    reader: Reader, transcript_ids: Iterable[str], at: int, *, within: Collection[str] | None = None
) -> dict[str, TranscriptInfo]:
    """Return those of the transcripts that there were at a commit, by their ids.

    `within`: only those of these namespaces, whatever is still known of others.
    """
    listed = msgspec.json.encode(list(transcript_ids)).decode()
    rows = reader.rows("transcripts_at", transcript_ids=listed, at=at)
    if within is not None:
        rows = [row for row in rows if row[1] in within]
    horizons.check(reader, (row[1] for row in rows), at)
    return {row[0]: TranscriptInfo(*row) for row in rows}


def load(reader: Reader, transcript: TranscriptInfo) -> bytes:
    """Return a transcript's text as UTF-8."""
    content, rendering = load_rendered(reader, transcript)
    return content if rendering is None else rendering.text


def load_rendered(reader: Reader, transcript: TranscriptInfo) -> tuple[bytes, Rendering | None]:
    """Return what is kept of a transcript, and messages as text if it is messages."""
    content = blobs.load(
        reader,
        transcript.commit_ts,
        transcript.position,
        size=transcript.content_size,
        digest=transcript.digest,
    )
    rendering = rendering_of(transcript.form, content)
    if rendering is not None and len(rendering.text) != transcript.original_size:
        raise Corruption(
            f"the messages of commit {transcript.commit_ts} do not become the "
            f"{transcript.original_size} bytes of text the log says they do: restore a backup"
        )
    return content, rendering


def messages_of(content: bytes, rendering: Rendering | None) -> list[Document]:
    """Return the messages that are kept; a text has none."""
    return [] if rendering is None else chat_json.decode(content)


class Transcripts:
    """A list of transcripts as of a commit, a page at a time."""

    def __init__(self, engine: Engine, asked: Asked, filters: Filters) -> None:
        self._engine = engine
        bounds = filters.bounds()
        self._range: dict[str, Any] = {
            "namespace": bounds["namespace"],
            "children": bounds["children"],
            "beyond": bounds["beyond"],
            "at": asked.commit,
            "most": pages.PAGE_ROWS,
        }
        self._after = ("", 0)

    def next_page(self) -> list[TranscriptInfo]:
        """Return the next transcripts."""
        namespace, number = self._after
        with self._engine.snapshot() as reader:
            bounds = {name: self._range[name] for name in ("namespace", "children", "beyond")}
            horizons.check_below(reader, self._range["at"], **bounds)
            rows = reader.rows(
                "transcript_page", **self._range, after_namespace=namespace, after=number
            )
        if rows:
            self._after = (rows[-1][1], rows[-1][-1])
        return [TranscriptInfo(*row[:-1]) for row in rows]


def cited_by(
    reader: Reader, memory_ids: Iterable[str], at: int
) -> list[tuple[str, int, Span, Row]]:
    """Return what these memories cite: memory, transcript's number, span, transcript's row."""
    listed = msgspec.json.encode(list(memory_ids)).decode()
    rows = reader.rows("citations_of_memories", memory_ids=listed, at=at)
    return [(row[0], row[1], (row[2], row[3]), row[4:]) for row in rows]


def links_of_memory(reader: Reader, memory_id: str, at: int) -> list[TranscriptLink]:
    """Return the transcripts a memory comes from, in the order of their ids."""
    spans: dict[str, list[Span]] = {}
    known: dict[str, TranscriptInfo] = {}
    for _, _, span, row in cited_by(reader, [memory_id], at):
        if row[0] is not None:
            spans.setdefault(row[0], []).append(span)
            known[row[0]] = TranscriptInfo(*row)
    return [_link(memory_id, known[each], found) for each, found in spans.items()]


def _link(memory_id: str, cited: TranscriptInfo, spans: Sequence[Span]) -> TranscriptLink:
    plain = plain_spans(spans, cited.original_size)
    return TranscriptLink(memory_id, cited.id, plain, cited.erased)


def links_of_transcript(
    reader: Reader, transcript: TranscriptInfo, at: int, viewer: str
) -> list[TranscriptLink]:
    """Return the memories that come from a transcript, as far as an agent may see them."""
    spans: dict[str, list[Span]] = {}
    for memory_id, first, beyond in reader.rows(
        "citations_of_transcript", transcript_id=transcript.id, at=at, viewer=viewer
    ):
        spans.setdefault(memory_id, []).append((first, beyond))
    return [_link(memory_id, transcript, found) for memory_id, found in spans.items()]


def plain_spans(spans: Sequence[Span], size: int) -> tuple[Span, ...]:
    """Return spans as callers see them: none means the whole, which beside others is a span too."""
    if set(spans) == {WHOLE}:
        return ()
    return tuple(sorted((0, size) if span == WHOLE else span for span in spans))


def check_spans(spans: object, text: bytes) -> tuple[Span, ...]:
    """Return the spans of a text, or say what is wrong with one."""
    if spans is None:
        return ()
    if not isinstance(spans, list) and (
        isinstance(spans, (str, bytes)) or not isinstance(spans, Iterable)
    ):
        raise InvalidInput("spans", f"{shown(spans)} is not a list of (start, end) pairs")
    return tuple(dict.fromkeys([_check_span(span, text) for span in spans]))


def _check_span(span: object, text: bytes) -> Span:
    if not isinstance(span, (tuple, list)) or len(span) != 2:
        raise _no_pair(span)
    start, end = span
    if type(start) is not int or type(end) is not int:
        raise _no_pair(span)
    if not 0 <= start < end:
        raise InvalidInput("spans", f"{shown(span)} is not a span: 0 ≤ start < end must hold")
    if end > len(text):
        raise InvalidInput(
            "spans", f"{shown(span)} ends past the text, which has {len(text)} bytes"
        )
    for offset in (start, end):
        if offset < len(text) and text[offset] & 0xC0 == 0x80:
            raise InvalidInput("spans", f"{shown(span)} cuts a character in two at byte {offset}")
    return (start, end)


def _no_pair(span: object) -> InvalidInput:
    return InvalidInput("spans", f"{shown(span)} is not a pair of byte offsets (start, end)")


def excerpts_of(text: bytes, spans: Sequence[Span]) -> tuple[str, ...]:
    """Return what stands at these spans; at none, the whole text."""
    return tuple(text[start:end].decode() for start, end in spans) or (text.decode(),)


def span_of(text: bytes, quote: str, *, after: int = 0) -> Span | None:
    """Return where exact words stand in a text."""
    wanted = quote.encode()
    start = text.find(wanted, after)
    return (start, start + len(wanted)) if wanted and start >= 0 else None


def span_in(rendering: Rendering, quote: str, *, after: int = 0) -> Span | None:
    """Return where exact words stand in messages; their further lines are indented there."""
    spans = (span_of(rendering.text, each, after=after) for each in {quote, continued(quote)})
    return min((span for span in spans if span is not None), default=None)
