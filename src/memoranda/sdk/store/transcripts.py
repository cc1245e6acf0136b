"""The store's calls about transcripts, and the transcripts it returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from memoranda.calls.as_json import JsonObject, to_json
from memoranda.calls.core import check_optional_integer
from memoranda.calls.plain import plain_messages, plain_spans
from memoranda.calls.requests import check_memory_id, check_transcript_ref
from memoranda.calls.transcript_writes import LinkTranscript, StoreTranscript
from memoranda.calls.transcripts import (
    GetTranscript,
    ListTranscripts,
    LoadTranscript,
    MemoriesFor,
    Origins,
    ReplayTranscripts,
    TranscriptsFor,
)
from memoranda.errors import InvalidInput
from memoranda.log.read.as_of import Moment, plain_moment
from memoranda.memory.messages import TEXT, Rendering
from memoranda.memory.provenance import ReplayedTranscript
from memoranda.memory.records import Anchor, Origin, TranscriptLink
from memoranda.memory.requests import ChatMessage
from memoranda.memory.transcripts import (
    TranscriptInfo,
    check_spans,
    excerpts_of,
    messages_of,
    rendered,
    span_in,
    span_of,
)
from memoranda.model.clock import Duration, Instant, plain_duration, plain_instant
from memoranda.model.document import Document
from memoranda.model.limits import plain_text, short_repr
from memoranda.model.memory import Span
from memoranda.model.receipt import CommitFields, Outcome
from memoranda.model.refs import IdLike, TranscriptRef
from memoranda.model.scope import AllNamespaces
from memoranda.sdk.calls import Calls, listed_as
from memoranda.sdk.store.handle import Handle


class Transcript:
    """A stored conversation or text. Its content is read by the methods, not with the record.

    They raise `NotFound` once the transcript was forgotten.
    """

    def __init__(self, calls: Calls, info: TranscriptInfo, outcome: Outcome | None = None) -> None:
        self._calls = calls
        self._info = info
        self.outcome = outcome
        """What the call did that returned it, as for `Receipt`; None for a read."""

    @property
    def id(self) -> str:
        """The transcript's id."""
        return self._info.id

    @property
    def ref(self) -> TranscriptRef:
        """The reference to all of it."""
        return TranscriptRef(self.id)

    @property
    def namespace(self) -> str:
        """The namespace of the transcript."""
        return self._info.namespace

    @property
    def agent_id(self) -> str:
        """The agent that stored it."""
        return self._info.agent_id

    @property
    def created_at(self) -> datetime:
        """When it was stored."""
        return self._info.created_at

    @property
    def commit_ts(self) -> int:
        """The commit that stored it."""
        return self._info.commit_ts

    @property
    def committed_at(self) -> datetime:
        """The time of that commit."""
        return self._info.created_at

    @property
    def occurred_at(self) -> datetime | None:
        """When the conversation took place, or None if that is not known."""
        return self._info.occurred_at

    @property
    def expires_at(self) -> datetime | None:
        """When its time to live ends; then it is kept only while a memory or a fact cites it."""
        return self._info.expires_at

    @property
    def form(self) -> str:
        """Whether it was stored as `text` or as `messages`."""
        return "text" if self._info.form == TEXT else "messages"

    @property
    def original_size(self) -> int:
        """The size of the text, in bytes of UTF-8."""
        return self._info.original_size

    @property
    def compressed_size(self) -> int:
        """The stored size, in bytes."""
        return self._info.compressed_size

    def text(self) -> str:
        """Return the text; messages are rendered one after another, with indented lines."""
        return self._words().decode()

    def messages(self) -> list[Document]:
        """Return the stored messages as JSON; an empty list for a text."""
        content = self._calls.ask(LoadTranscript(self.id))
        return self._calls.run(self._messages, content)

    def message_spans(self) -> tuple[Span, ...]:
        """Return the span of each message in the text, in order."""
        rendering = self._rendering()
        return () if rendering is None else rendering.spans

    def message_at(self, offset: int) -> int | None:
        """Return the index of the message that has this byte offset, or None."""
        place = check_optional_integer("offset", offset, minimum=0) or 0
        rendering = self._rendering()
        return None if rendering is None else rendering.message_at(place)

    def find(self, quote: str, *, after: int = 0) -> Span:
        """Return the span of the first exact match after an offset, or raise `InvalidInput`."""
        text = plain_text("quote", quote)
        start = check_optional_integer("after", after, minimum=0) or 0
        content = self._calls.ask(LoadTranscript(self.id))
        span = self._calls.run(self._find, content, text, start)
        if span is None:
            raise InvalidInput("quote", f"{short_repr(text)} is not in transcript {self.id!r}")
        return span

    def excerpts(self, spans: tuple[Span, ...]) -> tuple[str, ...]:
        """Return the text of these spans, or the whole text if there are none."""
        text = self._words()
        return excerpts_of(text, check_spans(spans, text))

    def _words(self) -> bytes:
        """Return the text, in UTF-8."""
        content = self._calls.ask(LoadTranscript(self.id))
        rendering = self._calls.run(rendered, self._info, content)
        return content if rendering is None else rendering.text

    def _rendering(self) -> Rendering | None:
        """Return the rendering of the messages; None for a text."""
        content = self._calls.ask(LoadTranscript(self.id))
        return self._calls.run(rendered, self._info, content)

    def _messages(self, content: bytes) -> list[Document]:
        return messages_of(content, rendered(self._info, content))

    def _find(self, content: bytes, quote: str, after: int) -> Span | None:
        rendering = rendered(self._info, content)
        if rendering is None:
            return span_of(content, quote, after=after)
        return span_in(rendering, quote, after=after)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._info == other._info

    def __hash__(self) -> int:
        return hash(self._info)

    def __repr__(self) -> str:
        return f"Transcript(id={self.id!r}, original_size={self.original_size})"


@to_json.register(Transcript)
def _transcript_json(transcript: Transcript) -> JsonObject:
    """Return what a store lists of a transcript, and the commit if it was just stored."""
    members: JsonObject = to_json(transcript._info)  # noqa: SLF001  # a class of this file
    if transcript.outcome is None:
        return members
    commit = {name: getattr(transcript, name) for name in CommitFields.__annotations__}
    return members | {name: to_json(value) for name, value in commit.items()}


class ReplayEntry:
    """A transcript in the provenance of a memory, with the memories that cite it."""

    def __init__(self, calls: Calls, replayed: ReplayedTranscript) -> None:
        self._replayed = replayed
        self.transcript = Transcript(calls, replayed.transcript)
        """The transcript itself."""

    @property
    def ref(self) -> TranscriptRef:
        """The reference to the spans that the nearest memory cites."""
        return TranscriptRef(self.transcript.id, self.spans)

    @property
    def memory_id(self) -> str:
        """The nearest memory that cites the transcript."""
        return self._replayed.memory_id

    @property
    def spans(self) -> tuple[Span, ...]:
        """The spans that this memory cites; none: the whole transcript."""
        return self._replayed.spans

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """Every citing memory, its distance in links, and the spans it cites."""
        return self._replayed.anchors

    @property
    def expired(self) -> bool:
        """Whether the transcript or the nearest citing memory has expired."""
        return self._replayed.expired

    @property
    def retracted(self) -> bool:
        """Whether the nearest citing memory was retracted."""
        return self._replayed.retracted

    def text(self) -> str:
        """Return the whole text."""
        return self.transcript.text()

    def excerpts(self) -> tuple[str, ...]:
        """Return the text of the cited spans, or the whole text if there are none."""
        return self.transcript.excerpts(self.spans)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._replayed == other._replayed

    def __hash__(self) -> int:
        return hash(self._replayed)

    def __repr__(self) -> str:
        return f"ReplayEntry({self.transcript!r}, memory_id={self.memory_id!r})"


# Calls on the store.


class TranscriptCalls(Handle):
    """Storing and citing transcripts, and tracing memories to the words they come from."""

    def store_transcript(
        self,
        text: str | Iterable[ChatMessage],
        *,
        names: Mapping[str, str] | None = None,
        occurred_at: Instant | None = None,
        ttl: Duration | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        txn_id: str | None = None,
    ) -> Transcript:
        """Store a conversation: a text, or messages with a `role` and a `content`.

        Messages are stored unchanged, in the shapes of OpenAI, Anthropic and LangChain, as mappings
        or objects; `Transcript.messages` returns them. The text of the transcript is a rendering of
        them: the speaker of a message is read from the message, never from the text, so that no
        content can forge it. A plain text has no verified speakers.

        `names` are the names of speakers by role, such as `{"user": "Ann"}`: a message that has a
        role and no name is stored with this `name`, which is erased with it. So facts of several
        conversations are not about one person called "user".
        """
        call = StoreTranscript(
            *self._defaults.place(agent_id, namespace),
            plain_messages(text),
            names,
            plain_instant("occurred_at", occurred_at),
            plain_duration("ttl", ttl),
            txn_id=txn_id,
        )
        return Transcript(self._calls, self._write(call), "created")

    def get_transcript(
        self, transcript_id: IdLike, *, at: Moment | None = None
    ) -> Transcript | None:
        """Return a transcript, or None; its methods read the text."""
        checked = check_transcript_ref("transcript_id", transcript_id).transcript_id
        info = self._calls.ask(GetTranscript(checked, plain_moment("at", at)))
        return None if info is None else Transcript(self._calls, info)

    def list_transcripts(
        self,
        *,
        namespace: str | AllNamespaces | None = None,
        children: bool = True,
        at: Moment | None = None,
    ) -> Iterator[Transcript]:
        """Yield the transcripts of a namespace and its children, in the order of storing."""
        call = ListTranscripts(
            self._selected_namespace(namespace), children, plain_moment("at", at)
        )
        return listed_as(self._calls, call, lambda info: Transcript(self._calls, info))

    def link_transcript(
        self,
        *,
        memory_id: IdLike,
        transcript_id: IdLike,
        spans: Sequence[Span] | None = None,
        agent_id: str | None = None,
        txn_id: str | None = None,
    ) -> TranscriptLink:
        """Cite a transcript as the source of a memory: these spans of it, or all of it.

        Without `spans`, a passage that a search found is cited as such.
        """
        memory = check_memory_id("memory_id", memory_id)
        transcript = check_transcript_ref("transcript_id", transcript_id)
        return self._write(
            LinkTranscript(memory, transcript, plain_spans(spans), agent_id, txn_id=txn_id)
        )

    def transcripts_for(
        self, memory_id: IdLike, *, at: Moment | None = None, agent_id: str | None = None
    ) -> list[TranscriptLink]:
        """Return the transcripts that a memory itself cites, and the spans."""
        memory = check_memory_id("memory_id", memory_id)
        return self._calls.ask(TranscriptsFor(memory, plain_moment("at", at), agent_id))

    def memories_for(
        self, transcript_id: IdLike, *, at: Moment | None = None, agent_id: str | None = None
    ) -> list[TranscriptLink]:
        """Return the memories that cite a transcript, in the order of their ids."""
        transcript = check_transcript_ref("transcript_id", transcript_id).transcript_id
        return self._calls.ask(MemoriesFor(transcript, plain_moment("at", at), agent_id))

    def replay_transcripts(
        self,
        memory_id: IdLike,
        *,
        depth: int | None = None,
        at: Moment | None = None,
        agent_id: str | None = None,
    ) -> list[ReplayEntry]:
        """Return the transcripts that a memory comes from, in the order of `occurred_at`.

        For a reflection these are its own and those of the memories it reflects on, up to `depth`
        links away; 0 means its own only, None means any depth.
        """
        memory = check_memory_id("memory_id", memory_id)
        call = ReplayTranscripts(memory, depth, plain_moment("at", at), agent_id)
        replayed = self._calls.ask(call)
        return [ReplayEntry(self._calls, entry) for entry in replayed]

    def origins(
        self, memory_id: IdLike, *, at: Moment | None = None, agent_id: str | None = None
    ) -> Origin | None:
        """Return the provenance of a memory, as a tree of memories with the words they cite."""
        memory = check_memory_id("memory_id", memory_id)
        return self._calls.ask(Origins(memory, plain_moment("at", at), agent_id))
