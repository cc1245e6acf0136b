"""Transcripts as a store gives them: what is known of them at once, their text when asked for."""

from __future__ import annotations

from datetime import datetime

from memoranda.errors import InvalidInput
from memoranda.memory import transcripts
from memoranda.memory.provenance import Replayed
from memoranda.memory.records import Anchor
from memoranda.memory.rendering import TEXT, Rendering
from memoranda.memory.transcripts import TranscriptInfo, excerpts_of, span_in, span_of
from memoranda.model.document import Document
from memoranda.model.limits import plain_text, shown
from memoranda.model.memory import Span
from memoranda.sdk.calls import Calls
from memoranda.sdk.core import Core, check_version


class Transcript:
    """Words as they were said."""

    def __init__(self, core: Core, calls: Calls, info: TranscriptInfo) -> None:
        self._core = core
        self._calls = calls
        self._info = info

    @property
    def id(self) -> str:
        """The transcript's id."""
        return self._info.id

    @property
    def namespace(self) -> str:
        """Where it was stored."""
        return self._info.namespace

    @property
    def agent_id(self) -> str:
        """Who stored it."""
        return self._info.agent_id

    @property
    def created_at(self) -> datetime:
        """When it was stored."""
        return self._info.created_at

    @property
    def occurred_at(self) -> datetime | None:
        """When it was said, if that is known."""
        return self._info.occurred_at

    @property
    def expires_at(self) -> datetime | None:
        """From when on it is kept only if something rests on it."""
        return self._info.expires_at

    @property
    def form(self) -> str:
        """What was given: `text`, or `messages`, of which the text is only a rendering."""
        return "text" if self._info.form == TEXT else "messages"

    @property
    def original_size(self) -> int:
        """How many bytes of UTF-8 the text has."""
        return self._info.original_size

    @property
    def compressed_size(self) -> int:
        """How many bytes it takes up."""
        return self._info.compressed_size

    def text(self) -> str:
        """Return the text; messages stand one below the other in it, their lines indented."""
        return self._calls.run(self._load).decode()

    def messages(self) -> list[Document]:
        """Return the messages as they were given, as plain JSON; of a text there are none."""
        return self._calls.run(self._messages)

    def message_spans(self) -> tuple[Span, ...]:
        """Return where each message stands in the text, in the order of the messages."""
        rendering = self._calls.run(self._rendering)
        return () if rendering is None else rendering.spans

    def message_at(self, offset: int) -> int | None:
        """Return the number, from 0 on, of the message that a byte of the text belongs to."""
        place = check_version("offset", offset, least=0) or 0
        rendering = self._calls.run(self._rendering)
        return None if rendering is None else rendering.message_at(place)

    def find(self, quote: str, *, after: int = 0) -> Span:
        """Return the span of exact words: the first behind an offset, or `InvalidInput`."""
        wanted = plain_text("quote", quote)
        behind = check_version("after", after, least=0) or 0
        span = self._calls.run(self._find, wanted, behind)
        if span is None:
            raise InvalidInput("quote", f"{shown(wanted)} does not stand in transcript {self.id!r}")
        return span

    def excerpts(self, spans: tuple[Span, ...]) -> tuple[str, ...]:
        """Return what stands at these spans; at none, the whole text."""
        text = self._calls.run(self._load)
        return excerpts_of(text, transcripts.check_spans(spans, text))

    def _find(self, quote: str, after: int) -> Span | None:
        with self._core.engine.reading() as reader:
            content, rendering = transcripts.load_rendered(reader, self._info)
        if rendering is None:
            return span_of(content, quote, after=after)
        return span_in(rendering, quote, after=after)

    def _messages(self) -> list[Document]:
        with self._core.engine.reading() as reader:
            return transcripts.messages_of(*transcripts.load_rendered(reader, self._info))

    def _rendering(self) -> Rendering | None:
        with self._core.engine.reading() as reader:
            return transcripts.load_rendered(reader, self._info)[1]

    def _load(self) -> bytes:
        with self._core.engine.reading() as reader:
            return transcripts.load(reader, self._info)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._info == other._info

    def __hash__(self) -> int:
        return hash(self._info)

    def __repr__(self) -> str:
        return f"Transcript(id={self.id!r}, original_size={self.original_size})"


class ReplayEntry:
    """A transcript that a memory is made of, where it was met first, and all who cite it."""

    def __init__(self, core: Core, calls: Calls, found: Replayed) -> None:
        self._found = found
        self.transcript = Transcript(core, calls, found.transcript)
        """What is known of the transcript."""

    @property
    def memory_id(self) -> str:
        """The memory through which the transcript was met first."""
        return self._found.memory_id

    @property
    def spans(self) -> tuple[Span, ...]:
        """The spans that memory names; none: the whole transcript."""
        return self._found.spans

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """Every memory that cites it, how many links away that is, and the spans it names."""
        return self._found.anchors

    @property
    def expired(self) -> bool:
        """Whether the time of the transcript, or of the memory it was met through, is over."""
        return self._found.expired

    @property
    def retracted(self) -> bool:
        """Whether the memory it was met through was taken back."""
        return self._found.retracted

    def text(self) -> str:
        """Return the whole text."""
        return self.transcript.text()

    def excerpts(self) -> tuple[str, ...]:
        """Return what stands at the spans; at none, the whole text."""
        return self.transcript.excerpts(self.spans)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._found == other._found

    def __hash__(self) -> int:
        return hash(self._found)

    def __repr__(self) -> str:
        return f"ReplayEntry({self.transcript!r}, memory_id={self.memory_id!r})"
