"""Documents of the full-text index, derived from memories, facts and transcripts.

A memory has one document for each range of commits in which its text and its citations stay the
same, a fact one for each assertion until that is withdrawn, a transcript one for each chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from typing import NamedTuple

import msgspec

from memoranda.log import blobs, pages
from memoranda.memory import transcripts
from memoranda.memory.transcripts import TranscriptInfo
from memoranda.model import codec
from memoranda.model.intervals import NEWEST, OPEN_END
from memoranda.model.memory import Span
from memoranda.model.operations import (
    AnyOperation,
    Assert,
    AssertPrivately,
    ChangeResidue,
    Cite,
    KeepTranscript,
    Notify,
    NotifyStale,
    Remember,
    RememberResidue,
    Retract,
    Revise,
    StateResidue,
    Withdraw,
    WithdrawPrivately,
)
from memoranda.search.index.partitions import (
    EVERYBODY,
    FACT,
    MEMORY,
    PASSAGE,
    Partition,
    PartitionKey,
)
from memoranda.search.text.tokenizer import MAX_INDEXED_CHARACTERS
from memoranda.search.text.transcript_chunks import Chunk, ChunkCache, ChunkedText, ChunkLoader
from memoranda.storage.port import Reader, Row

Key = tuple[str, str, int, int]
"""Identifies a document: kind, source id, start in its transcript, first commit."""


class DocumentText(msgspec.Struct, frozen=True):
    """The text of a document as it was written, and its context in a transcript."""

    own: str
    before: str = ""
    after: str = ""


class DocumentInfo(msgspec.Struct, frozen=True, gc=False):
    """A searchable document without its text, valid from one commit to another."""

    id: int | None
    """None: it is not indexed yet. An id is never reused, nor moved to another partition."""
    partition: Partition
    source: str
    """The id of a memory, an assertion or a transcript."""
    start: int
    """Byte offset of a chunk in its transcript; 0 for memories and facts."""
    end: int
    from_commit: int
    to_commit: int
    """The first commit at which it is no longer current."""
    length: int = 0
    """Tokens, its context included; 0: not known."""

    @property
    def kind(self) -> str:
        """Whether it is of a memory, a fact or a transcript."""
        return self.partition.kind

    @property
    def key(self) -> Key:
        """Its identity, whether it is indexed or not."""
        return (self.partition.kind, self.source, self.start, self.from_commit)

    def exists_at(self, commit: int) -> bool:
        """Say whether it was current at a commit."""
        return self.from_commit <= commit < self.to_commit


class DerivedDocument(msgspec.Struct, frozen=True):
    """A document as it follows from the views; its text is loaded on demand."""

    partition_key: PartitionKey
    source: str
    start: int
    end: int
    from_commit: int
    to_commit: int
    load_text: Callable[[ChunkLoader], DocumentText]
    """Reads the text in the loader's snapshot, which may be later than the derivation."""
    chunk: Chunk | None = None
    """The chunk of a transcript, if it is one."""

    @property
    def key(self) -> Key:
        """Its identity."""
        return (self.partition_key[2], self.source, self.start, self.from_commit)


class IndexedDocument(msgspec.Struct, frozen=True):
    """A document as the index has it."""

    id: int
    partition: int
    partition_key: PartitionKey
    source: str
    start: int
    end: int
    from_commit: int
    to_commit: int
    length: int
    """Tokens, its context included."""

    @property
    def key(self) -> Key:
        """Its identity."""
        return (self.partition_key[2], self.source, self.start, self.from_commit)

    def equals(self, derived: DerivedDocument) -> bool:
        """Say whether the index is up to date with the derived document."""
        return (self.partition_key, self.end, self.to_commit) == (
            derived.partition_key,
            derived.end,
            derived.to_commit,
        )


def indexed_documents(reader: Reader, sources: Iterable[str]) -> list[IndexedDocument]:
    """Return the indexed documents of some sources."""
    rows = reader.rows("documents_of_sources", sources=list(sources))
    return [_indexed_document(row) for row in rows]


def _indexed_document(row: Row) -> IndexedDocument:
    document_id, partition, namespace, owner, kind, past, *columns = row
    return IndexedDocument(document_id, partition, (namespace, owner, kind, bool(past)), *columns)


# Sources: the memories, facts and transcripts whose documents a commit may change.

_MEMORY_OPERATIONS = (
    Remember,
    Revise,
    Retract,
    Cite,
    Notify,
    NotifyStale,
    RememberResidue,
    StateResidue,
    ChangeResidue,
)
_FACT_OPERATIONS = (Assert, AssertPrivately, Withdraw, WithdrawPrivately)
APPLIED = frozenset((*_MEMORY_OPERATIONS, *_FACT_OPERATIONS, KeepTranscript))
"""The kinds of operation that change documents."""
_LONG_KINDS = frozenset((KeepTranscript, Remember, Revise))
"""The kinds of operation that can add more than one document."""
_BYTES_PER_DOCUMENT = 800
"""Estimate: the bytes of text that cost as much to index as one short document."""


class Sources:
    """The ids of changed sources, each once, in commit order."""

    def __init__(self, operations: Iterable[AnyOperation] = ()) -> None:
        self.memories: dict[str, None] = {}
        self.facts: dict[str, None] = {}
        self.transcripts: dict[str, None] = {}
        for operation in operations:
            self.add(operation)

    def add(self, operation: AnyOperation) -> None:
        """Add the source that an operation changes."""
        if isinstance(operation, _MEMORY_OPERATIONS):
            self.memories[operation.memory_id] = None
        elif isinstance(operation, _FACT_OPERATIONS):
            self.facts[operation.assertion_id] = None
        elif isinstance(operation, KeepTranscript):
            self.transcripts[operation.transcript_id] = None

    @property
    def all(self) -> list[str]:
        """The ids of all kinds."""
        return [*self.memories, *self.facts, *self.transcripts]

    def without(self, excluded: Sources) -> Sources:
        """Return the sources that another set does not have."""
        remaining = Sources()
        remaining.memories = {key: None for key in self.memories if key not in excluded.memories}
        remaining.facts = {key: None for key in self.facts if key not in excluded.facts}
        remaining.transcripts = {
            key: None for key in self.transcripts if key not in excluded.transcripts
        }
        return remaining

    def update(self, sources: Sources) -> None:
        """Add the sources of another set."""
        self.memories |= sources.memories
        self.facts |= sources.facts
        self.transcripts |= sources.transcripts

    @classmethod
    def of_commits(cls, reader: Reader, commits: Sequence[int]) -> Sources:
        """Return the sources that commits change, as the log has these commits now."""
        events = pages.events_of(reader, commits)
        return cls(
            chain.from_iterable(codec.decode_effective(event.operations) for event in events)
        )


def weight(operations: Iterable[AnyOperation]) -> int:
    """Estimate the documents of some operations; a long text counts as several."""
    documents = 0
    for operation in operations:
        kind = type(operation)
        if kind in _LONG_KINDS:
            documents += 1 + _size(operation) // _BYTES_PER_DOCUMENT
        elif kind in APPLIED:
            documents += 1
    return documents


def _size(operation: AnyOperation) -> int:
    """Estimate the bytes of text that an operation adds to the index."""
    if isinstance(operation, KeepTranscript):
        return operation.size
    if isinstance(operation, (Remember, Revise)) and operation.content is not None:
        content = operation.content
        return min(content.size or len(content.text or ""), MAX_INDEXED_CHARACTERS)
    return 0


# Deriving documents from the views.

Citation = tuple[str, Span]
"""A transcript's id and the cited span."""


class DerivedDocuments(NamedTuple):
    """The documents of some sources; transcripts are chunked while iterating."""

    documents: list[DerivedDocument]
    transcripts: list[tuple[TranscriptInfo, ChunkedText]]

    def all(self) -> Iterator[DerivedDocument]:
        """Yield every document; no text is loaded but that of the transcripts."""
        yield from self.documents
        for info, chunked in self.transcripts:
            yield from _chunk_documents(info, chunked)


def derive_documents(loader: ChunkLoader, sources: Sources) -> DerivedDocuments:
    """Read the rows that the documents of sources follow from; tokenize nothing."""
    documents = [*_memory_documents(loader.reader, sources.memories)]
    documents += _fact_documents(loader.reader, sources.facts)
    infos = transcripts.find(loader.reader, sources.transcripts, NEWEST)
    chunked = [
        (infos[transcript_id], loader.of_info(infos[transcript_id]))
        for transcript_id in sources.transcripts
        if transcript_id in infos and not infos[transcript_id].erased
    ]
    return DerivedDocuments(documents, chunked)


class Content(NamedTuple):
    """A memory's content, or its place in the log."""

    commit_ts: int
    position: int
    digest: bytes | None
    size: int | None
    text: str | None

    @property
    def erased(self) -> bool:
        """Whether neither the text nor its digest is left."""
        return self.digest is None and self.text is None

    def load(self, reader: Reader) -> str:
        """Return the text."""
        if self.digest is None:
            return self.text or ""
        position = (self.commit_ts, self.position)
        return blobs.load(reader, *position, size=self.size or 0, digest=self.digest).decode()


class _SearchableState(NamedTuple):
    """The parts of a memory's state that its document depends on."""

    title: str | None
    tags: tuple[str, ...]
    content_state: int
    citations: tuple[Citation, ...]


def _memory_documents(reader: Reader, memory_ids: Iterable[str]) -> Iterator[DerivedDocument]:
    ids = list(memory_ids)
    citations = memory_citations(reader, ids)
    rows = reader.rows("search_memories", memory_ids=ids)
    for memory_id, group in groupby(rows, key=itemgetter(0)):
        states = [*group]
        if len(states) == 1 and memory_id not in citations:
            yield from _single_state_document(states[0])
        else:
            yield from _MemoryHistory(states, citations.get(memory_id, [])).documents()


# Most memories have one state and no citation. `_MemoryHistory` would give the same document, but a
# scan of a long queue takes a third less time without it.


def _single_state_document(row: Row) -> Iterator[DerivedDocument]:
    memory_id, namespace, owner, _, commit_ts, position, is_current = row[:7]
    content = Content(commit_ts, position, *row[11:14])
    if is_current and not content.erased:
        key = (namespace, owner, MEMORY, False)
        load = partial(_load_single_state, row[7], content, row[10])
        yield DerivedDocument(key, memory_id, 0, 0, commit_ts, OPEN_END, load)


def _load_single_state(
    title: str | None, content: Content, details: bytes, loader: ChunkLoader
) -> DocumentText:
    tags = codec.decode_details(details).tags
    return memory_text(title, content.load(loader.reader), tags, (), loader)


def memory_citations(
    reader: Reader, memory_ids: list[str]
) -> dict[str, list[tuple[int, Citation]]]:
    """Return the citations of memories, each with its commit."""
    citations: dict[str, list[tuple[int, Citation]]] = {}
    for memory_id, commit_ts, transcript_id, start, end in reader.rows(
        "search_citations", memory_ids=memory_ids
    ):
        citations.setdefault(memory_id, []).append((commit_ts, (transcript_id, (start, end))))
    return citations


class _MemoryHistory:
    """All states and all citations of one memory."""

    def __init__(self, rows: Sequence[Row], citations: Sequence[tuple[int, Citation]]) -> None:
        self._rows = rows
        self._citations = citations
        self._tags: dict[int, tuple[str, ...]] = {}
        self._contents: dict[int, Content] = {}
        for row in rows:
            if row[3] == row[8]:
                self._tags[row[3]] = codec.decode_details(row[10]).tags
            if row[3] == row[9]:
                self._contents[row[3]] = Content(row[4], row[5], *row[11:14])

    def documents(self) -> Iterator[DerivedDocument]:
        """Yield a document for each range of commits with the same text and citations."""
        from_commit, current = 0, None
        for commit_ts, state in self._states():
            if state != current:
                yield from self._document(from_commit, current, commit_ts)
                from_commit, current = commit_ts, state
        yield from self._document(from_commit, current, OPEN_END)

    def _states(self) -> Iterator[tuple[int, _SearchableState | None]]:
        """Yield the state after each commit that changes the memory or its citations."""
        rows = {row[4]: row for row in self._rows}  # of one commit, the last state
        row: Row | None = None
        for commit_ts in sorted({*rows, *(commit for commit, _ in self._citations)}):
            row = rows.get(commit_ts, row)
            yield commit_ts, None if row is None else self._state(row, commit_ts)

    def _state(self, row: Row, commit_ts: int) -> _SearchableState | None:
        """Return the state; None: the memory is retracted or forgotten, or its content erased."""
        content = self._contents[row[9]]
        if not row[6] or content.erased:
            return None
        citations = tuple(citation for since, citation in self._citations if since <= commit_ts)
        return _SearchableState(row[7], self._tags[row[8]], row[9], citations)

    def _document(
        self, from_commit: int, state: _SearchableState | None, to_commit: int
    ) -> Iterator[DerivedDocument]:
        if state is not None:
            memory_id, namespace, owner = self._rows[0][:3]
            key = (namespace, owner, MEMORY, to_commit < OPEN_END)
            load = partial(self._load_text, state)
            yield DerivedDocument(key, memory_id, 0, 0, from_commit, to_commit, load)

    def _load_text(self, state: _SearchableState, loader: ChunkLoader) -> DocumentText:
        content = self._contents[state.content_state].load(loader.reader)
        return memory_text(state.title, content, state.tags, state.citations, loader)


def memory_text(
    title: str | None,
    content: str,
    tags: Iterable[str],
    citations: Iterable[Citation],
    loader: ChunkLoader,
) -> DocumentText:
    """Return the text a memory is indexed by; `citations` are grouped by transcript."""
    title, joined_tags = title or "", " ".join(tags)
    room = MAX_INDEXED_CHARACTERS - len(title) - len(joined_tags) - 2  # both are always indexed
    own = "\n".join(filter(None, (title, content[: max(room, 0)], joined_tags)))
    before: list[str] = []
    after: list[str] = []
    for transcript_id, group in groupby(citations, key=itemgetter(0)):
        context = loader.of(transcript_id).around(span for _, span in group)
        before.append(context[0])
        after.append(context[1])
    return DocumentText(own, "\n".join(filter(None, before)), "\n".join(filter(None, after)))


def _fact_documents(reader: Reader, assertion_ids: Iterable[str]) -> Iterator[DerivedDocument]:
    for row in reader.rows("search_facts", assertion_ids=list(assertion_ids)):
        assertion_id, namespace, owner, from_commit, to_commit, *names = row
        key = (namespace, owner, FACT, to_commit < OPEN_END)
        load = partial(_fact_text, " ".join(names).replace("_", " "))
        yield DerivedDocument(key, assertion_id, 0, 0, from_commit, to_commit, load)


def _fact_text(text: str, _: ChunkLoader) -> DocumentText:
    return DocumentText(text)


def _chunk_documents(info: TranscriptInfo, chunked: ChunkedText) -> Iterator[DerivedDocument]:
    key = (info.namespace, EVERYBODY, PASSAGE, False)
    for number, (start, end) in enumerate(chunked.chunks):
        load = partial(_load_chunk_text, chunked, number)
        chunk = Chunk(chunked, number)
        yield DerivedDocument(key, info.id, start, end, info.commit_ts, OPEN_END, load, chunk)


def _load_chunk_text(chunked: ChunkedText, number: int, _: ChunkLoader) -> DocumentText:
    return chunk_text(chunked, number)


def chunk_text(chunked: ChunkedText, number: int) -> DocumentText:
    """Return the text a chunk of a transcript is indexed by."""
    return DocumentText(chunked.text_at(chunked.chunks[number]), *chunked.neighbours(number))


# Loading the texts of known documents from the views.
#
# Only the state of the document's first commit is read, however often a memory was changed, and of
# a transcript only the needed chunks.


def load_texts(
    reader: Reader, documents: Iterable[DocumentInfo], cache: ChunkCache | None = None
) -> dict[Key, DocumentText]:
    """Return the texts of documents by key, indexed or not; an erased document has none."""
    keys: dict[str, list[Key]] = {MEMORY: [], FACT: [], PASSAGE: []}
    for document in documents:
        keys[document.kind].append(document.key)
    loader = ChunkLoader(reader, cache)
    texts = dict(_memory_texts(keys[MEMORY], loader))
    texts |= _fact_texts(keys[FACT], loader)
    texts |= _chunk_texts(keys[PASSAGE], loader)
    return texts


def _memory_texts(keys: Sequence[Key], loader: ChunkLoader) -> Iterator[tuple[Key, DocumentText]]:
    if not keys:
        return
    reader = loader.reader
    pairs = [(source, commit) for _, source, _, commit in keys]
    citations = memory_citations(reader, [*{source for _, source, _, _ in keys}])
    for memory_id, at, is_current, title, details, *columns in reader.rows(
        "search_memories_at", requested=pairs
    ):
        content = Content(*columns)
        if is_current and not content.erased:
            current = [citation for since, citation in citations.get(memory_id, ()) if since <= at]
            text, tags = content.load(reader), codec.decode_details(details).tags
            yield (MEMORY, memory_id, 0, at), memory_text(title, text, tags, current, loader)


def _fact_texts(keys: Sequence[Key], loader: ChunkLoader) -> dict[Key, DocumentText]:
    documents = _fact_documents(loader.reader, [source for _, source, _, _ in keys]) if keys else ()
    return {document.key: document.load_text(loader) for document in documents}


def _chunk_texts(keys: Sequence[Key], loader: ChunkLoader) -> dict[Key, DocumentText]:
    texts: dict[Key, DocumentText] = {}
    for key in keys:
        chunked = loader.of(key[1])
        number = chunked.number_at(key[2])
        if number is not None:
            texts[key] = chunk_text(chunked, number)
    return texts
