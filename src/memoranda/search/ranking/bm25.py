"""Full-text search: BM25 over the visible partitions and the unindexed documents.

The inverse document frequency counts visible documents only. A term in the context of a document
counts less than one in the document itself. FTS5 scores the indexed documents, for each term and
each partition; the unindexed ones are scored here with the same formula.

To score each term by itself takes twice as long as one FTS5 query for all of them. So where many
documents have a term, that one query gives the best by FTS5's score, whose idf counts all
documents of the store. These are scored here with our idf, and the result stands if no other
document can be better: a document's FTS5 score is a bound on its score by our idf.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum, log

import msgspec

from memoranda.search.index import partitions as index_partitions
from memoranda.search.index.documents import DocumentInfo
from memoranda.search.index.partitions import Partition
from memoranda.search.index.unindexed import FIELD_WEIGHTS, UnindexedDocuments
from memoranda.search.text.language import IndexLanguage
from memoranda.storage.port import Reader, Row

MAX_TERMS = 64
"""Terms of a query that are scored: the rarest."""
_MAX_LOOKUPS = 32_768
"""Lookups of a term in a partition: all terms of a query, unless it reads very many partitions."""
_MIN_LOOKED_UP_TERMS = 512
"""Terms that are looked up however many partitions there are."""
_K1 = 1.2
"""BM25's k1, term frequency saturation; FTS5 has the same constant."""
_B = 0.75
"""BM25's b, document length normalization; FTS5 has the same constant."""
HINT_WEIGHT = 0.2
"""Weight of a term that the query lacks, where one of its own counts 1."""
_MIN_IDF = 1e-6
"""FTS5's least inverse document frequency, for a token in more than half of all documents."""
_MIN_OCCURRENCES = 2_000
"""Documents with each token, added up, from which on one FTS5 query for all tokens pays."""
_MAX_ALTERNATIVES = 256
"""Tokens of one FTS5 query: for each document it goes through all of them."""
_SPARE_FACTOR = 4
"""Documents by FTS5's score, for each one that is wanted by ours."""
_NO_TERMS: frozenset[str] = frozenset()
_ROUNDING = 1 + 1e-9
"""Factor by which a bound is raised, far more than any error of rounding."""


class _Token(msgspec.Struct, frozen=True):
    """A term in one partition: to FTS5 a term of its own, whose idf counts all documents."""

    text: str
    partition: int
    count: int
    """Documents that have it."""
    idf: float
    """Ours, of the term in all visible documents."""
    fts5_idf: float


class ScoredDocument(msgspec.Struct, frozen=True, gc=False):
    """A document that a search found, and its score."""

    document: DocumentInfo
    score: float


def query_terms(
    language: IndexLanguage, namespaces: Iterable[str], partitions: Sequence[Partition], query: str
) -> list[str]:
    """Return the terms of a query that are looked up in these partitions."""
    limit = max(_MAX_LOOKUPS // max(len(partitions), 1), _MIN_LOOKED_UP_TERMS)
    return language.query_terms(query, namespaces)[:limit]


class TermSearch:
    """One search: its terms, its partitions, and the idf of the terms there.

    Partitions and unindexed documents are of the reader's snapshot; the scan was for these terms.
    """

    def __init__(
        self,
        reader: Reader,
        partitions: Sequence[Partition],
        terms: Sequence[str],
        unindexed: UnindexedDocuments,
        *,
        hints: Sequence[str] = (),
    ) -> None:
        """Look up the terms; `hints` are terms that the query lacks and that count little."""
        self._reader = reader
        self._partitions = {
            partition.id: partition for partition in partitions if partition.id is not None
        }
        self._unindexed = unindexed
        self._size, self._length = index_partitions.fulltext_totals(reader)
        """The documents and tokens of the whole index, by which FTS5 scores."""
        self._covered_size, self._covered_length = index_partitions.totals(reader)
        """Those that the reader covers, by which we do: a score tells nothing of others."""
        self._document_counts = self._count_documents([*terms, *hints])
        self._idf = self._rarest_idf(terms)
        self.total_idf = sum(self._idf.values())
        """The score of a document of average length that has each term of the query once."""
        self._idf |= {term: HINT_WEIGHT * idf for term, idf in self._rarest_idf(hints).items()}

    @property
    def _mean_length(self) -> float:
        """The average length of a covered document in the index."""
        return self._covered_length / max(self._covered_size, 1)

    @property
    def common_terms(self) -> frozenset[str]:
        """The terms that each document it finds has: the only one, or none for certain.

        A single character of a script without spaces is a token of the index, and no term of a
        text.
        """
        if len(self._idf) != 1:
            return _NO_TERMS
        (term,) = self._idf
        return frozenset((term,)) if term.isascii() else _NO_TERMS

    def best(self, limit: int, as_of_commit: int | None) -> list[ScoredDocument]:
        """Return the best documents, best first, as of a commit or now."""
        if not self._idf or limit < 1:
            return []
        documents = [*self._search_unindexed(), *self._search_index(limit, as_of_commit)]
        return sorted(documents, key=_rank)[:limit]

    def _count_documents(self, terms: Sequence[str]) -> Mapping[str, int]:
        """Return the number of indexed documents with each term, by `partition.term`."""
        tokens = [f"{partition}.{term}" for partition in self._partitions for term in terms]
        if len(tokens) == 1:  # without the list, which takes as long as the lookup
            return dict(self._reader.rows("fulltext_document_count", token=tokens[0]))
        return dict(self._reader.rows("fulltext_document_counts", tokens=tokens)) if tokens else {}

    def _rarest_idf(self, terms: Sequence[str]) -> dict[str, float]:
        """Return the idf of the rarest terms that occur in any visible document."""
        visible = self._partitions.values()
        total = sum(partition.size for partition in visible) + self._unindexed.count
        counts = {
            term: self._unindexed.document_counts[term]
            + sum(
                self._document_counts.get(f"{partition}.{term}", 0)
                for partition in self._partitions
            )
            for term in terms
        }
        rarest = sorted((count, term) for term, count in counts.items() if count)[:MAX_TERMS]
        return {term: log(1 + (total - count + 0.5) / (count + 0.5)) for count, term in rarest}

    def _search_index(self, limit: int, as_of_commit: int | None) -> list[ScoredDocument]:
        outdated, partitions = self._unindexed.outdated, self._partitions
        rows = self._search_tokens([*self._tokens()], limit + len(outdated), as_of_commit)
        return [
            ScoredDocument(DocumentInfo(row[0], partitions[row[1]], *row[2:-1]), row[-1])
            for row in rows
            if row[0] not in outdated
        ]

    def _search_tokens(
        self, tokens: Sequence[_Token], limit: int, as_of_commit: int | None
    ) -> Sequence[Row]:
        """Return the best indexed documents, each with its score behind its columns."""
        covers_all = self._reader.coverage is None
        if covers_all and len(tokens) == 1 and as_of_commit is None:  # nothing to add up or group
            (token,) = tokens
            return self._reader.rows(
                "fulltext_search_one",
                token=f'"{token.text}"',
                weight=token.idf / token.fts5_idf,
                limit=limit,
            )
        search = self._search_several if covers_all else self._search_covered
        scores = dict(search(tokens, limit, as_of_commit))
        rows = self._reader.rows("documents_by_id", ids=[*scores])
        return [(*row, scores[row[0]]) for row in rows]

    def _search_covered(
        self, tokens: Sequence[_Token], limit: int, as_of_commit: int | None
    ) -> Sequence[tuple[int, float]]:
        """Return the ids and scores of the best indexed documents, by their own average length.

        FTS5 compares lengths with the average of the whole index. If that is shorter than ours by
        some factor, our score of a document is at most FTS5's times this factor: so once the worst
        of the best is above that bound of all that FTS5 did not return, none of those is better.
        """
        if not tokens:
            return ()
        idf = {token.text: token.idf for token in tokens}
        factor = max(self._mean_length * self._size / self._length, 1.0) * _ROUNDING
        spare = _SPARE_FACTOR * limit
        while True:
            rows = self._search_each(tokens, spare, as_of_commit)
            best = self._exact_scores(rows, idf)[:limit]
            if len(rows) < spare or best[-1][1] > rows[-1][1] * factor:
                return best
            spare *= _SPARE_FACTOR

    def _search_several(
        self, tokens: Sequence[_Token], limit: int, as_of_commit: int | None
    ) -> Sequence[tuple[int, float]]:
        """Return the ids and scores of the best indexed documents."""
        if (
            as_of_commit is None
            and len(tokens) <= _MAX_ALTERNATIVES
            and sum(token.count for token in tokens) >= _MIN_OCCURRENCES
        ):
            rows = self._search_by_bound(tokens, limit)
            if rows is not None:
                return rows
        return self._search_each(tokens, limit, as_of_commit)

    def _search_each(
        self, tokens: Sequence[_Token], limit: int, as_of_commit: int | None
    ) -> Sequence[Row]:
        """Return the ids and scores of the best documents, scored token by token by FTS5."""
        terms = [(f'"{token.text}"', token.idf / token.fts5_idf) for token in tokens]
        if as_of_commit is None:
            return self._reader.rows("fulltext_search", terms=terms, limit=limit)
        return self._reader.rows(
            "fulltext_search_as_of", terms=terms, limit=limit, as_of_commit=as_of_commit
        )

    def _search_by_bound(
        self, tokens: Sequence[_Token], limit: int
    ) -> list[tuple[int, float]] | None:
        """Return the same as `fulltext_search`; None: another document may be better."""
        spare = _SPARE_FACTOR * limit
        alternatives = " OR ".join(f'"{token.text}"' for token in tokens)
        rows = self._reader.rows("fulltext_search_any", tokens=alternatives, limit=spare)
        idf = {token.text: token.idf for token in tokens}
        best = self._exact_scores(rows[:limit], idf)
        if len(rows) <= limit:
            return best
        worst = best[-1][1]
        # The rows are in the order of their bounds: find the first that cannot be among the best.
        end = bisect_left(
            rows, True, lo=limit, key=lambda row: _highest_score(tokens, row[1]) < worst
        )
        if end == spare:
            return None
        best += self._exact_scores(rows[limit:end], idf)
        return sorted(best, key=_by_score)[:limit]

    def _exact_scores(
        self, rows: Sequence[Row], idf: Mapping[str, float]
    ) -> list[tuple[int, float]]:
        """Return documents with their scores, best first; `idf` is by token."""
        average_length = self._mean_length
        columns = self._reader.rows("fulltext_columns", ids=[row[0] for row in rows])
        scores = []
        for document_id, *texts in columns:
            frequencies: dict[str, float] = {}
            length = 0
            for text, weight in zip(texts, FIELD_WEIGHTS, strict=True):
                tokens = text.split(" ") if text else ()
                length += len(tokens)
                for token in tokens:
                    if token in idf:
                        frequencies[token] = frequencies.get(token, 0.0) + weight
            scores.append((document_id, _score(frequencies, idf, length / average_length)))
        return sorted(scores, key=_by_score)

    def _tokens(self) -> Iterator[_Token]:
        """Yield the tokens of the terms in the partitions that have them."""
        for term, idf in self._idf.items():
            for partition in self._partitions:
                count = self._document_counts.get(f"{partition}.{term}")
                if count:
                    fts5_idf = max(log((self._size - count + 0.5) / (count + 0.5)), _MIN_IDF)
                    yield _Token(f"{partition}.{term}", partition, count, idf, fts5_idf)

    def _search_unindexed(self) -> Iterator[ScoredDocument]:
        average_length = self._average_length()
        for match in self._unindexed.matches:
            score = _score(match.frequencies, self._idf, match.length / average_length)
            if score > 0:
                yield ScoredDocument(match.document, score)

    def _average_length(self) -> float:
        """Return the average document length, as the index will have it after the queue.

        Documents that were not tokenized are taken to be as long as the others.
        """
        length = self._covered_length + self._unindexed.tokenized_length
        return max(length / max(self._covered_size + self._unindexed.tokenized, 1), 1.0)


def _score(frequencies: Mapping[str, float], idf: Mapping[str, float], length: float) -> float:
    """Return the BM25 score of a document; its length is in average lengths."""
    saturation = _K1 * (1 - _B + _B * length)
    return fsum(
        idf[term] * frequency * (_K1 + 1) / (frequency + saturation)
        for term, frequency in frequencies.items()
        if term in idf
    )


def _highest_score(tokens: Sequence[_Token], fts5_score: float) -> float:
    """Return a bound on the score of a document, by its score in FTS5.

    Both scores add up the same saturated frequencies, each at most k1 + 1, by different idf. The
    bound is the highest sum by our idf among the frequencies whose sum by FTS5's is the score: it
    spends the score on the tokens whose idf grows most. A document has tokens of one partition.
    """
    by_partition: dict[int, list[_Token]] = {}
    for token in tokens:
        by_partition.setdefault(token.partition, []).append(token)
    return max(_spend(part, fts5_score) for part in by_partition.values()) * _ROUNDING


def _spend(tokens: Sequence[_Token], fts5_score: float) -> float:
    bound = 0.0
    for token in sorted(tokens, key=lambda token: token.fts5_idf / token.idf):
        frequency = min(fts5_score / token.fts5_idf, _K1 + 1)
        bound += frequency * token.idf
        fts5_score = max(fts5_score - frequency * token.fts5_idf, 0.0)
    return bound


def _by_score(row: tuple[int, float]) -> tuple[float, int]:
    """Order as `fulltext_search` does: by score, and of equal scores the newer document first."""
    return -row[1], -row[0]


def _rank(scored: ScoredDocument) -> tuple[float, int, str, int]:
    """Order by score, and of equal scores the newer first."""
    document = scored.document
    return -scored.score, -document.from_commit, document.source, document.start
