"""The store's calls about transcripts, and the transcripts it returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from memoranda.errors import Corruption, InvalidInput, NotFound
from memoranda.log.commit.outcome import Committed
from memoranda.log.pages import MappedPages
from memoranda.log.read.as_of import Moment, resolve_as_of
from memoranda.memory import provenance, snapshots, transcripts
from memoranda.memory.messages import TEXT, Rendering
from memoranda.memory.provenance import ReplayedTranscript
from memoranda.memory.reads import Filters
from memoranda.memory.records import Anchor, Origin, TranscriptLink
from memoranda.memory.requests import ChatMessage
from memoranda.memory.transcripts import TranscriptInfo, Transcripts, excerpts_of, span_in, span_of
from memoranda.model.clock import Duration, Instant
from memoranda.model.document import Document
from memoranda.model.limits import plain_text, short_repr
from memoranda.model.memory import Span
from memoranda.model.operations import Cite
from memoranda.model.receipt import Outcome
from memoranda.model.refs import IdLike, TranscriptRef
from memoranda.model.scope import AllNamespaces
from memoranda.sdk.calls import Calls, paged
from memoranda.sdk.components import Core, check_optional_integer
from memoranda.sdk.requests import check_memory_id, check_transcript_ref
from memoranda.sdk.store.handle import Handle
from memoranda.sdk.transaction.transaction import Transaction


class Transcript:
    """A stored conversation or text. Its content is read by the methods, not with the record.

    They raise `NotFound` once the transcript was forgotten.
    """

    def __init__(
        self, core: Core, calls: Calls, info: TranscriptInfo, outcome: Outcome | None = None
    ) -> None:
        self._core = core
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
        return self._calls.run(self._load).decode()

    def messages(self) -> list[Document]:
        """Return the stored messages as JSON; an empty list for a text."""
        return self._calls.run(self._messages)

    def message_spans(self) -> tuple[Span, ...]:
        """Return the span of each message in the text, in order."""
        rendering = self._calls.run(self._rendering)
        return () if rendering is None else rendering.spans

    def message_at(self, offset: int) -> int | None:
        """Return the index of the message that has this byte offset, or None."""
        place = check_optional_integer("offset", offset, minimum=0) or 0
        rendering = self._calls.run(self._rendering)
        return None if rendering is None else rendering.message_at(place)

    def find(self, quote: str, *, after: int = 0) -> Span:
        """Return the span of the first exact match after an offset, or raise `InvalidInput`."""
        text = plain_text("quote", quote)
        start = check_optional_integer("after", after, minimum=0) or 0
        span = self._calls.run(self._find, text, start)
        if span is None:
            raise InvalidInput("quote", f"{short_repr(text)} is not in transcript {self.id!r}")
        return span

    def excerpts(self, spans: tuple[Span, ...]) -> tuple[str, ...]:
        """Return the text of these spans, or the whole text if there are none."""
        text = self._calls.run(self._load)
        return excerpts_of(text, transcripts.check_spans(spans, text))

    def _find(self, quote: str, after: int) -> Span | None:
        content, rendering = self._content()
        if rendering is None:
            return span_of(content, quote, after=after)
        return span_in(rendering, quote, after=after)

    def _messages(self) -> list[Document]:
        return transcripts.messages_of(*self._content())

    def _rendering(self) -> Rendering | None:
        return self._content()[1]

    def _load(self) -> bytes:
        content, rendering = self._content()
        return content if rendering is None else rendering.text

    def _content(self) -> tuple[bytes, Rendering | None]:
        """Return the stored bytes, and the rendering if they are messages."""
        with self._core.engine.reading() as reader:
            try:
                return transcripts.load_rendered(reader, self._info)
            except Corruption:
                if transcripts.exists(reader, self.id):
                    raise
        raise NotFound(f"transcript {self.id!r} was forgotten: its words are erased")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._info == other._info

    def __hash__(self) -> int:
        return hash(self._info)

    def __repr__(self) -> str:
        return f"Transcript(id={self.id!r}, original_size={self.original_size})"


class ReplayEntry:
    """A transcript in the provenance of a memory, with the memories that cite it."""

    def __init__(self, core: Core, calls: Calls, replayed: ReplayedTranscript) -> None:
        self._replayed = replayed
        self.transcript = Transcript(core, calls, replayed.transcript)
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
        words = text if isinstance(text, str) or not isinstance(text, Iterable) else tuple(text)

        def work(transaction: Transaction) -> str:
            return transaction.store_transcript(
                words,
                names=names,
                occurred_at=occurred_at,
                ttl=ttl,
                agent_id=agent_id,
                namespace=namespace,
            )

        _, transcript_id = self._commit(work, txn_id)
        info = self._calls.run(self._transcript, transcript_id, None)
        if info is None:  # it is a retry, and comes behind an erasure
            raise NotFound(f"transcript {transcript_id!r} was forgotten")
        return Transcript(self._core, self._calls, info, "created")

    def get_transcript(
        self, transcript_id: IdLike, *, at: Moment | None = None
    ) -> Transcript | None:
        """Return a transcript, or None; its methods read the text."""
        checked = check_transcript_ref("transcript_id", transcript_id).transcript_id
        info = self._calls.run(self._transcript, checked, at)
        return None if info is None else Transcript(self._core, self._calls, info)

    def list_transcripts(
        self,
        *,
        namespace: str | AllNamespaces | None = None,
        children: bool = True,
        at: Moment | None = None,
    ) -> Iterator[Transcript]:
        """Yield the transcripts of a namespace and its children, in the order of storing."""
        filters = Filters(
            namespace=self._namespace(namespace),
            children=children,
            agent_id=None,
            kind=None,
            tier=None,
            tags=frozenset(),
            metadata={},
            viewer=self._defaults.actor,
        )
        pages = Transcripts(self._core.engine, self._as_of(at), filters)
        return paged(
            self._calls,
            MappedPages(pages, lambda info: Transcript(self._core, self._calls, info)),
        )

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
        source = check_transcript_ref("transcript_id", transcript_id)

        def work(transaction: Transaction) -> None:
            transaction.link_transcript(
                memory_id=memory, transcript_id=source, spans=spans, agent_id=agent_id
            )

        transaction, _ = self._commit(work, txn_id)
        committed = self._outcome(transaction, self._viewer(agent_id))
        return self._calls.run(self._written_citation, memory, source.transcript_id, committed)

    def transcripts_for(
        self, memory_id: IdLike, *, at: Moment | None = None, agent_id: str | None = None
    ) -> list[TranscriptLink]:
        """Return the transcripts that a memory itself cites, and the spans."""
        viewer = self._viewer(agent_id)
        return self._calls.run(self._cited, check_memory_id("memory_id", memory_id), at, viewer)

    def memories_for(
        self, transcript_id: IdLike, *, at: Moment | None = None, agent_id: str | None = None
    ) -> list[TranscriptLink]:
        """Return the memories that cite a transcript, in the order of their ids."""
        viewer = self._viewer(agent_id)
        checked = check_transcript_ref("transcript_id", transcript_id).transcript_id
        return self._calls.run(self._citing, checked, at, viewer)

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
        viewer, memory_id = self._viewer(agent_id), check_memory_id("memory_id", memory_id)
        hops = check_optional_integer("depth", depth, minimum=0)
        replayed = self._calls.run(self._replay, memory_id, hops, at, viewer)
        return [ReplayEntry(self._core, self._calls, entry) for entry in replayed]

    def origins(
        self, memory_id: IdLike, *, at: Moment | None = None, agent_id: str | None = None
    ) -> Origin | None:
        """Return the provenance of a memory, as a tree of memories with the words they cite."""
        viewer, memory_id = self._viewer(agent_id), check_memory_id("memory_id", memory_id)
        return self._calls.run(self._origins, memory_id, at, viewer)

    def _transcript(self, transcript_id: str, at: Moment | None) -> TranscriptInfo | None:
        with self._core.engine.snapshot() as reader:
            commit = resolve_as_of(reader, self._core.clock, at).commit
            return transcripts.get(reader, transcript_id, commit)

    def _cited(self, memory_id: str, at: Moment | None, viewer: str) -> list[TranscriptLink]:
        with self._core.engine.snapshot() as reader:
            commit = resolve_as_of(reader, self._core.clock, at).commit
            if snapshots.find_one(reader, memory_id, commit, viewer=viewer) is None:
                return []
            return transcripts.links_of_memory(reader, memory_id, commit)

    def _written_citation(
        self, memory_id: str, transcript_id: str, committed: Committed
    ) -> TranscriptLink:
        for link in self._cited(memory_id, None, committed.viewer):
            if link.transcript_id == transcript_id:
                break
        else:  # it is a retry, and comes behind an erasure
            raise NotFound(f"memory {memory_id!r} or transcript {transcript_id!r} was forgotten")
        with self._core.engine.reading() as reader:
            outcome: Outcome = "unchanged"
            for operation in committed.own_operations(reader):
                if isinstance(operation, Cite):  # there may have been other spans before
                    outcome = "created" if {*operation.spans} == {*link.spans} else "updated"
            return replace(link, **committed.answer(reader, outcome))

    def _citing(self, transcript_id: str, at: Moment | None, viewer: str) -> list[TranscriptLink]:
        with self._core.engine.snapshot() as reader:
            commit = resolve_as_of(reader, self._core.clock, at).commit
            info = transcripts.find(reader, [transcript_id], commit).get(transcript_id)
            if info is None:
                return []
            return transcripts.links_of_transcript(reader, info, commit, viewer)

    def _replay(
        self, memory_id: str, depth: int | None, at: Moment | None, viewer: str
    ) -> list[ReplayedTranscript]:
        with self._core.engine.snapshot() as reader:
            as_of = resolve_as_of(reader, self._core.clock, at)
            return provenance.replay_transcripts(reader, memory_id, depth, as_of, viewer)

    def _origins(self, memory_id: str, at: Moment | None, viewer: str) -> Origin | None:
        with self._core.engine.snapshot() as reader:
            as_of = resolve_as_of(reader, self._core.clock, at)
            return provenance.origins(reader, memory_id, as_of, viewer)
