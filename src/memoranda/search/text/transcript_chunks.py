"""Chunk transcripts: each chunk is indexed as one document.

A chunk is a line, which is a message or a part of a longer message. A line of more than about a
thousand characters is split at the end of a sentence. In very long transcripts several lines make
one chunk, so that there are not too many documents.

Where messages were stored as such, a chunk that begins inside a message is shown with its speaker's
name before it. Otherwise a line inside a message could imitate the name of another speaker.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from memoranda.memory import transcripts
from memoranda.memory.messages import Utterance
from memoranda.memory.transcripts import TranscriptInfo
from memoranda.model.intervals import NEWEST
from memoranda.model.memory import Span, speaker_label
from memoranda.search.text.tokenizer import YieldCpu, fold, keep_cpu
from memoranda.storage.memory_budget import CacheShare, MemoryBudget
from memoranda.storage.port import Reader

MAX_CHUNK_CHARACTERS = 1_000
"""Characters of a chunk at most: a paragraph, short enough to be shown as a hit."""
_LONG_TRANSCRIPT_BYTES = 1024 * 1024
"""Bytes of a long transcript: its lines are joined to chunks."""
_LONG_TRANSCRIPT_LINES = 20_000
"""Lines of a long transcript; joined chunks have about `_JOINED_BYTES`."""
_JOINED_BYTES = 800
"""Bytes of lines that make one chunk of a long transcript."""
_CONTEXT_CHUNKS = 2
"""Chunks before a span, and after it, that are its context."""
_MAX_CONTEXT_SPANS = 16
"""Cited spans of a memory whose context is indexed; more would make its document too long."""
_MAX_CONTEXT_CHARACTERS = 1_000
"""Characters of context on each side of a span: the nearest ones."""
_CHUNKS_PER_YIELD = 64
"""Chunks that are split between two calls of `yield_cpu`."""
_SENTENCE_END = re.compile(r"(?s:.*)(?:[.!?…。！？]['\")\]»”’]*\s+|[\n;]\s*)")  # noqa: RUF001
"""Matches up to the last end of a sentence: `.*` is greedy, so it searches backwards."""
_WHITESPACE = re.compile(r"\s*")
_WHITESPACE_BYTES = re.compile(rb"\s*")


class ChunkedText:
    """The text of one transcript, and its chunks."""

    def __init__(
        self,
        text: bytes,
        yield_cpu: YieldCpu = keep_cpu,
        utterances: Sequence[Utterance] = (),
    ) -> None:
        self._text = text
        self._utterances = utterances
        self._yield_cpu = yield_cpu
        self._folded: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._text)

    @cached_property
    def chunks(self) -> list[Span]:
        """The chunks as spans of bytes, split on first use: that takes some time."""
        return split_chunks(self._text, self._yield_cpu)

    @cached_property
    def _starts(self) -> list[int]:
        return [start for start, _ in self.chunks]

    def text_at(self, span: Span) -> str:
        """Return the text of a span, with the speaker's name if it begins inside a message."""
        text = self._text[slice(*span)].decode("utf-8", "replace")
        return self._speaker_prefix(span[0]) + text

    def utterances_in(self, span: Span) -> Iterator[Utterance]:
        """Yield the parts of messages that have text in a span."""
        number = bisect_right(self._utterances, span[0], key=lambda place: place.span[1])
        for utterance in self._utterances[number:]:
            if utterance.span[0] >= span[1]:
                return
            yield utterance

    def _speaker_prefix(self, offset: int) -> str:
        """Return the prefix for a byte offset; empty outside of messages."""
        number = bisect_right(self._utterances, offset, key=lambda place: place.span[0]) - 1
        if number < 0 or offset >= self._utterances[number].span[1]:
            return ""
        utterance = self._utterances[number]
        ellipsis = "" if offset == utterance.span[0] else "… "
        return f"{speaker_label(utterance.speaker)}: {ellipsis}"

    def fold(self, number: int) -> str:
        """Return a chunk's folded text, which is cached."""
        text = self._folded.get(number)
        if text is None:
            text = self._folded[number] = fold(self.text_at(self.chunks[number]))
        return text

    def number_at(self, start: int) -> int | None:
        """Return the number of the chunk that begins at a byte, if there is one."""
        number = bisect_left(self._starts, start)
        return number if self._starts[number : number + 1] == [start] else None

    def neighbours(self, number: int) -> tuple[str, str]:
        """Return the context before a chunk, and after it."""
        before = self.chunks[max(number - _CONTEXT_CHUNKS, 0) : number]
        after = self.chunks[number + 1 : number + 1 + _CONTEXT_CHUNKS]
        return self._last_characters(before), self._join(after)[:_MAX_CONTEXT_CHARACTERS]

    def around(self, spans: Iterable[Span]) -> tuple[str, str]:
        """Return the context before spans, and after them; a whole transcript has none."""
        before: dict[Span, None] = {}
        after: dict[Span, None] = {}
        for start, end in sorted(spans)[:_MAX_CONTEXT_SPANS]:
            if self.chunks and end:
                first, last = self._chunks_of(start, end)
                before |= dict.fromkeys(self._clip(first - _CONTEXT_CHUNKS, first + 1, (0, start)))
                text = (end, len(self._text))
                after |= dict.fromkeys(self._clip(last, last + _CONTEXT_CHUNKS + 1, text))
        return self._last_characters(before), self._join(after)[:_MAX_CONTEXT_CHARACTERS]

    def _chunks_of(self, start: int, end: int) -> tuple[int, int]:
        """Return the numbers of the first and the last chunk that a span touches."""
        first = max(bisect_right(self._starts, start) - 1, 0)
        return first, max(bisect_left(self._starts, end) - 1, first)

    def _clip(self, first: int, end: int, bounds: Span) -> Iterator[Span]:
        """Yield chunks, clipped to bounds."""
        for chunk in self.chunks[max(first, 0) : end]:
            start, stop = max(chunk[0], bounds[0]), min(chunk[1], bounds[1])
            if start < stop:
                yield start, stop

    def _last_characters(self, spans: Iterable[Span]) -> str:
        """Return the last characters of spans; an ellipsis marks text cut off its speaker."""
        text = self._join(spans)
        is_cut = self._utterances and len(text) > _MAX_CONTEXT_CHARACTERS
        return ("… " if is_cut else "") + text[-_MAX_CONTEXT_CHARACTERS:]

    def _join(self, spans: Iterable[Span]) -> str:
        return "\n".join(self.text_at(span) for span in spans)


class Chunk(NamedTuple):
    """One chunk of a transcript."""

    chunked: ChunkedText
    number: int

    def may_contain(self, prefixes: Iterable[str]) -> bool:
        """Say whether the chunk or its context may contain a term with one of the prefixes."""
        first = max(self.number - _CONTEXT_CHUNKS, 0)
        end = min(self.number + _CONTEXT_CHUNKS + 1, len(self.chunked.chunks))
        texts = [self.chunked.fold(number) for number in range(first, end)]
        return any(prefix in text for prefix in prefixes for text in texts)


def split_chunks(text: bytes, yield_cpu: YieldCpu = keep_cpu) -> list[Span]:
    """Return the chunks as spans of bytes; between them is only white space."""
    is_long = len(text) > _LONG_TRANSCRIPT_BYTES or text.count(b"\n") > _LONG_TRANSCRIPT_LINES
    lines = _joined_lines(text) if is_long else _lines(text)
    chunks: list[Span] = []
    for line in lines:
        for chunk in _split_line(text, line):
            chunks.append(chunk)
            if not len(chunks) % _CHUNKS_PER_YIELD:
                yield_cpu()
    return chunks


def _lines(text: bytes) -> Iterator[Span]:
    start = 0
    for line in text.split(b"\n"):
        stripped = line.rstrip()
        if stripped:
            yield start + len(stripped) - len(stripped.lstrip()), start + len(stripped)
        start += len(line) + 1


def _joined_lines(text: bytes) -> Iterator[Span]:
    """Yield as many lines together as fit, or one longer line; each step moves forward."""
    start = _skip_whitespace(text, 0)
    while start < len(text):
        end = text.rfind(b"\n", start, start + _JOINED_BYTES + 1)
        if end < 0:
            end = text.find(b"\n", start + _JOINED_BYTES)
        if end < 0 or len(text) - start <= _JOINED_BYTES:
            end = len(text)
        yield start, start + len(text[start:end].rstrip())
        start = _skip_whitespace(text, end)


def _skip_whitespace(text: bytes, offset: int) -> int:
    match = _WHITESPACE_BYTES.match(text, offset)
    return match.end() if match else offset


def _split_line(text: bytes, line: Span) -> Iterator[Span]:
    """Yield a line, or chunks of it that are short enough, in one pass."""
    offset, line_end = line
    if line_end - offset <= MAX_CHUNK_CHARACTERS:
        yield line
        return
    characters = text[offset:line_end].decode("utf-8", "replace")
    start = 0
    while len(characters) - start > MAX_CHUNK_CHARACTERS:
        end = _split_position(characters, start)
        piece = characters[start:end]
        if stripped := piece.rstrip():
            yield offset, offset + len(stripped.encode())
        whitespace = _WHITESPACE.match(characters, end)
        start = whitespace.end() if whitespace else end
        offset += len(piece.encode()) + len(characters[end:start].encode())
    if start < len(characters):
        yield offset, line_end


def _split_position(text: str, start: int) -> int:
    """Return the last end of a sentence that fits, else of a word, else the longest chunk."""
    shortest, longest = start + MAX_CHUNK_CHARACTERS // 2, start + MAX_CHUNK_CHARACTERS
    match = _SENTENCE_END.match(text, shortest, longest)
    return match.end() if match else text.rfind(" ", shortest, longest) + 1 or longest


# Caching chunked transcripts.
#
# The cache key is the digest and the form of the content itself, so an entry is never out of date.
# Whether such a transcript exists and is not erased is read from the views each time.

CHUNK_CACHE_BYTES = 32 * 1024 * 1024
"""Bytes of transcripts that are cached: indexing many of them does not displace all else."""


class ChunkCache:
    """A least-recently-used cache of chunked transcripts. Threads may share it."""

    def __init__(self, limit: int = CHUNK_CACHE_BYTES, budget: MemoryBudget | None = None) -> None:
        self._share: CacheShare[bytes, ChunkedText] = (budget or MemoryBudget(limit)).share(limit)
        self.loads = 0
        """Number of transcripts that had to be read."""

    def get(self, key: bytes) -> ChunkedText | None:
        """Return a cached transcript."""
        return self._share.get(key)

    def put(self, key: bytes, chunked: ChunkedText) -> None:
        """Cache a transcript, and evict the least recently used ones."""
        self.loads += 1
        self._share.put(key, chunked, len(chunked))

    def drop(self) -> None:
        """Empty the cache: something was erased, and its text must leave memory."""
        self._share.clear()


class ChunkLoader:
    """Loads chunked transcripts as one reader sees them."""

    def __init__(
        self,
        reader: Reader,
        cache: ChunkCache | None = None,
        yield_cpu: YieldCpu = keep_cpu,
    ) -> None:
        self.reader = reader
        self._cache = ChunkCache() if cache is None else cache
        self._yield_cpu = yield_cpu
        self._by_id: dict[str, ChunkedText] = {}

    def of(self, transcript_id: str) -> ChunkedText:
        """Return a transcript by its id; an erased one has no chunks."""
        chunked = self._by_id.get(transcript_id)
        if chunked is None:
            info = transcripts.find(self.reader, [transcript_id], NEWEST).get(transcript_id)
            chunked = self._by_id[transcript_id] = self.of_info(info)
        return chunked

    def of_info(self, info: TranscriptInfo | None) -> ChunkedText:
        """Return a transcript whose row is already read."""
        if info is None or info.erased:
            return ChunkedText(b"")
        # A plain text may equal the JSON of messages, so the form is part of the key.
        key = info.digest + str(info.form).encode()
        chunked = self._cache.get(key)
        if chunked is None:
            content, rendering = transcripts.load_rendered(self.reader, info)
            if rendering is None:
                chunked = ChunkedText(content, self._yield_cpu)
            else:
                chunked = ChunkedText(rendering.text, self._yield_cpu, rendering.utterances)
            self._cache.put(key, chunked)
        return chunked
