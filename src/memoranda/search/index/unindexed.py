"""Scan the index queue: find documents that are committed and not indexed yet.

A search scans the queue itself, so a document is found as soon as it is committed, and a search
never has to write. The scan is one pass over the queue in batches. It holds the texts of one batch
at a time, and of the documents it has passed only counts, ids and the best matches.

The scan is equal to what the index would answer. In a short queue every document is tokenized. In
a long one a document is tokenized only if its folded text contains a prefix of a term, which every
text with that term does; only the average document length is then an estimate.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import islice
from math import log

import msgspec

from memoranda.model.intervals import NEWEST
from memoranda.search.index.documents import DerivedDocument, DocumentInfo, DocumentText, Sources
from memoranda.search.index.indexer import MAX_PLAN_DOCUMENTS, difference, read_inputs
from memoranda.search.index.partitions import Partition, PartitionKey, Visibility
from memoranda.search.text import tokenizer
from memoranda.search.text.language import IndexLanguage
from memoranda.search.text.tokenizer import fold, keep_cpu
from memoranda.search.text.transcript_chunks import ChunkCache, ChunkLoader
from memoranda.storage.port import Reader, Row

SCAN_ALL_DOCUMENTS = 512
"""Documents of the longest queue in which every one is tokenized: some ten milliseconds."""
NEWEST_DOCUMENTS = 256
"""Newest documents that are remembered for embedding: as many as one search embeds."""
MAX_MATCHES = 100_000
"""Matches that are held; beyond that the better half by preliminary scores is kept. A match takes
some hundred bytes, and a search asks for 20,000 at most."""
_PAGE_COMMITS = 1_024
"""Commits of the queue that are read at once."""
FIELD_WEIGHTS = (1.0, 0.5, 0.3)
"""Weight of a token in the document, before it and after it; `fulltext_search` has the same."""


class Match(msgspec.Struct, frozen=True):
    """An unindexed document with terms of the query."""

    document: DocumentInfo
    frequencies: dict[str, float]
    """Weighted frequencies of the query's terms."""
    length: int
    """Tokens, its context included."""


class UnindexedDocuments(msgspec.Struct):
    """The result of a scan, as far as the viewer may see it."""

    count: int = 0
    """All visible documents of the queue."""
    matches: list[Match] = []
    document_counts: Counter[str] = msgspec.field(default_factory=Counter)
    """Documents with each term of the query, past ones included."""
    tokenized: int = 0
    """Documents that were tokenized, and the number of their tokens."""
    tokenized_length: int = 0
    newest: tuple[DocumentInfo, ...] = ()
    outdated: frozenset[int] = frozenset()
    """Ids of indexed documents that the queue replaces or removes: a search skips them."""


def scan(
    reader: Reader,
    visibility: Visibility,
    *,
    terms: Sequence[str] = (),
    language: IndexLanguage | None = None,
    as_of: int = NEWEST,
    cache: ChunkCache | None = None,
) -> UnindexedDocuments:
    """Scan the queue for terms, in the snapshot in which the partitions are read."""
    if not reader.cached(_first_page):
        return UnindexedDocuments()
    scanner = _Scanner(terms, language or IndexLanguage(), as_of)
    documents = _visible_documents(reader, visibility, cache, scanner)
    head = [*islice(documents, SCAN_ALL_DOCUMENTS + 1)]
    scanner.prefilter = len(head) > SCAN_ALL_DOCUMENTS
    for derived, loader in head:
        scanner.add(derived, loader)
    head.clear()
    for derived, loader in documents:
        scanner.add(derived, loader)
    return scanner.finish()


def _visible_documents(
    reader: Reader, visibility: Visibility, cache: ChunkCache | None, scanner: _Scanner
) -> Iterator[tuple[DerivedDocument, ChunkLoader]]:
    """Yield the documents that the index lacks, batch by batch; note the outdated ones.

    All documents of a source are derived with its first commit in the queue, so its later commits
    are skipped: `scanned` holds the ids.
    """
    scanned = Sources()
    for commits in _batches(reader):
        loader = ChunkLoader(reader, cache)
        inputs = read_inputs(loader, commits, scanned)
        scanned.update(inputs.sources)
        changes = difference(inputs.derived, inputs.indexed)
        scanner.outdated.update(document.id for document in changes.outdated)
        for derived in changes.missing:
            if visibility.includes(derived.partition_key):
                yield derived, loader


def _batches(reader: Reader) -> Iterator[list[int]]:
    """Yield the commits of the queue in batches of a bounded number of documents."""
    batch: list[int] = []
    documents = 0
    rows = reader.cached(_first_page)
    while rows:
        for commit_ts, size in rows:
            if batch and documents + size > MAX_PLAN_DOCUMENTS:
                yield batch
                batch, documents = [], 0
            batch.append(commit_ts)
            documents += size
        rows = _next_page(reader, rows[-1][0])
    if batch:
        yield batch


def _first_page(reader: Reader) -> list[Row]:
    return _next_page(reader, 0)


def _next_page(reader: Reader, after: int) -> list[Row]:
    return reader.rows("index_queue_page", after=after, limit=_PAGE_COMMITS)


class _Scanner:
    """Collects the result of a scan."""

    def __init__(self, terms: Sequence[str], language: IndexLanguage, as_of: int) -> None:
        self._terms = frozenset(terms)
        self._language = language
        self._prefixes = [*{language.term_prefix(term) for term in terms}]
        self._as_of = as_of
        self._partitions: dict[PartitionKey, Partition] = {}
        self._newest: deque[DocumentInfo] = deque(maxlen=NEWEST_DOCUMENTS)
        self._result = UnindexedDocuments()
        self.outdated: set[int] = set()
        self.prefilter = False
        """Whether only documents that may contain a term are tokenized."""

    def add(self, derived: DerivedDocument, loader: ChunkLoader) -> None:
        """Count a document, and tokenize it if it may match."""
        result = self._result
        result.count += 1
        document = self._info(derived)
        exists = document.exists_at(self._as_of)
        if exists:
            self._newest.append(document)
        if not self._terms:
            return
        if self.prefilter and derived.chunk and not derived.chunk.may_contain(self._prefixes):
            return
        text = derived.load_text(loader)
        if self.prefilter and not derived.chunk and not _may_contain(text, self._prefixes):
            return
        language = self._language.of(derived.partition_key[0])
        frequencies, length = self._count_terms(text, language)
        result.tokenized += 1
        result.tokenized_length += length
        result.document_counts.update(frequencies.keys())
        if exists and frequencies:
            result.matches.append(Match(document, frequencies, length))
            if len(result.matches) > MAX_MATCHES:
                self._prune()

    def finish(self) -> UnindexedDocuments:
        """Return the result."""
        self._result.newest = tuple(self._newest)
        self._result.outdated = frozenset(self.outdated)
        return self._result

    def _info(self, derived: DerivedDocument) -> DocumentInfo:
        key = derived.partition_key
        partition = self._partitions.get(key)
        if partition is None:
            partition = self._partitions[key] = Partition(None, *key)
        return DocumentInfo(
            None,
            partition,
            derived.source,
            derived.start,
            derived.end,
            derived.from_commit,
            derived.to_commit,
        )

    def _count_terms(self, text: DocumentText, language: str) -> tuple[dict[str, float], int]:
        """Return the weighted frequencies of the terms, and the number of all tokens."""
        frequencies: dict[str, float] = {}
        length = 0
        for part, weight in zip((text.own, text.before, text.after), FIELD_WEIGHTS, strict=True):
            tokens = tokenizer.indexed_tokens(part, keep_cpu, language)
            length += len(tokens)
            for token in tokens:
                if token in self._terms:
                    frequencies[token] = frequencies.get(token, 0.0) + weight
        return frequencies, length

    def _prune(self) -> None:
        """Keep the better half of the matches, by the counts so far."""
        counts, total = self._result.document_counts, self._result.count
        idf = {term: log(1 + total / (counts[term] + 0.5)) for term in self._terms}

        def score(match: Match) -> tuple[float, int]:
            terms = match.frequencies.items()
            return sum(idf[term] * often for term, often in terms), match.document.from_commit

        self._result.matches = nlargest(MAX_MATCHES // 2, self._result.matches, key=score)


def _may_contain(text: DocumentText, prefixes: Iterable[str]) -> bool:
    """Say whether a text may contain a term with one of the prefixes."""
    parts = [fold(part) for part in (text.own, text.before, text.after) if part]
    return any(prefix in part for prefix in prefixes for part in parts)
