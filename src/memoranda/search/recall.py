"""Recall: from a question to hits, in one snapshot.

The words, the vectors and the graph each say what they would show. What may be shown of that is
given a score, the newer of what answers the same question comes first, and nothing is said twice.
If too much of what was found could not be shown, more is looked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from memoranda.graph.lookup import When
from memoranda.log import horizons
from memoranda.memory import transcripts
from memoranda.model.memory import Span
from memoranda.search import contests, fusion, lexical, naming, showing, sifting, thinning
from memoranda.search.candidates import Candidate, Key
from memoranda.search.hits import Hit
from memoranda.search.lexical import Found
from memoranda.search.naming import Nearby, Where
from memoranda.search.passages import Passage
from memoranda.search.questions import Question
from memoranda.search.shelves import FACT, MEMORY, PASSAGE, Shelf, visible
from memoranda.search.tail import Tail
from memoranda.search.transcripts import RememberedCuttings
from memoranda.search.words import terms
from memoranda.storage.port import Reader

_FIRST: Final = 5
"""How many are looked for at first, for each that is wanted."""
_LEAST: Final = 50
_MOST: Final = 20_000
"""How many are looked for at last: what comes behind that has little to do with the query."""
_FURTHER: Final = 4
_AMONG: Final = 20
"""Among how many more than are wanted what says the same is looked for."""


class ByMeaning(Protocol):
    """What searches vectors for the query."""

    @property
    def floor(self) -> float:
        """How near something has to be if nothing else speaks for it."""
        ...

    def search(
        self,
        reader: Reader,
        shelves: Sequence[Shelf],
        *,
        most: int,
        known: int | None,
        tail: Tail,
        also: Sequence[Passage],
    ) -> list[Found] | None:
        """Return the nearest passages, and others that are to be scored; None: it cannot."""
        ...


def recall(
    reader: Reader,
    question: Question,
    vectors: ByMeaning,
    remembered: RememberedCuttings | None = None,
) -> list[Hit]:
    """Return the best hits there are, best first."""
    if question.known is not None:
        horizons.check(reader, question.namespaces, question.known)
    search = _Search(reader, question, vectors, remembered)
    most = max(_FIRST * question.asked.k, _LEAST)
    while True:
        kept = search.best(most)
        if len(kept) == question.asked.k or search.exhausted or most >= _MOST:
            return showing.hits(reader, question, kept, search.tail)
        most = min(most * _FURTHER, _MOST)


class _Search:
    """One question, and what is the same however far one looks."""

    def __init__(
        self,
        reader: Reader,
        question: Question,
        vectors: ByMeaning,
        remembered: RememberedCuttings | None,
    ) -> None:
        self._reader = reader
        self._question = question
        self._vectors = vectors
        namespaces, kinds = sorted(question.namespaces), question.asked.kinds.hits
        viewer, past = question.asked.viewer, question.known is not None
        self._shelves = visible(
            reader, namespaces=namespaces, viewer=viewer, kinds=kinds, past=past
        )
        self.tail = Tail.read(
            reader,
            namespaces=namespaces,
            viewer=viewer,
            kinds=kinds,
            past=past,
            remembered=remembered,
        )
        self._nearby = self._look_around(namespaces)
        self.exhausted = False
        """Whether nothing more can be found."""

    def best(self, most: int) -> list[Candidate]:
        """Return the best candidates among so many that each way of searching finds."""
        question = self._question
        found = sifting.sift(self._reader, question, self._found(most), self._nearby.facts)
        fusion.fuse(found, question.instant)
        ranked = sorted(found, key=Candidate.rank)
        settled = self._settled(ranked)
        return thinning.thin(settled, question.asked.k, self._cited(settled))

    def _found(self, most: int) -> Iterable[Candidate]:
        """Return everything that was found, each once."""
        query, known = self._question.asked.query, self._question.known
        place = (self._reader, self._shelves)
        found: dict[Key, Candidate] = {}
        texts = lexical.search(*place, query, most=most, known=known, tail=self.tail)
        for each in texts:
            _candidate(found, each).lexical = each.score
        self._add_nearby(found)
        by_words = [each.passage for each in texts]
        near = self._vectors.search(*place, most=most, known=known, tail=self.tail, also=by_words)
        floor = self._vectors.floor
        for each in near or ():
            if each.score >= floor or _key(each.passage) in found:
                _candidate(found, each).cosine = each.score
        enough = near is not None and len(near) >= most and near[most - 1].score >= floor
        self.exhausted = len(texts) < most and not enough
        return found.values()

    def _look_around(self, namespaces: Iterable[str]) -> Nearby:
        question = self._question
        if FACT not in question.asked.kinds.hits and MEMORY not in question.asked.kinds.hits:
            return Nearby()
        when = When(question.known, question.instant, question.asked.superseded)
        where = Where(tuple(namespaces), question.asked.agent_id, question.asked.viewer)
        return naming.nearby(self._reader, question.asked.query, where, when)

    def _add_nearby(self, found: dict[Key, Candidate]) -> None:
        kinds = self._question.asked.kinds.hits
        near = self._nearby
        told = [(FACT, near.weights), (MEMORY, near.sources())]
        for kind, weights in told:
            for name, weight in weights.items() if kind in kinds else ():
                key = (kind, name, 0)
                found.setdefault(key, Candidate(key)).graph = weight

    def _settled(self, ranked: list[Candidate]) -> list[Candidate]:
        """Return the candidates with those first that are newer, as far as it can matter."""
        among = self._question.asked.k + _AMONG
        wanted = frozenset(terms(self._question.asked.query))
        return [*contests.settle(ranked[:among], wanted), *ranked[among:]]

    def _cited(self, ranked: list[Candidate]) -> thinning.Cited:
        """Return what the memories cite that could stand for a piece of a transcript."""
        among = ranked[: self._question.asked.k + _AMONG]
        if not any(each.kind == PASSAGE for each in among):
            return {}
        showing.load_texts(self._reader, among, self.tail)
        ids = [each.id for each in among if each.kind == MEMORY]
        cited: dict[str, list[tuple[str, Span]]] = {}
        commit = self._question.commit
        for memory_id, _, span, row in transcripts.cited_by(self._reader, ids, commit):
            cited.setdefault(memory_id, []).append((row[0], span))
        return cited


def _candidate(found: dict[Key, Candidate], each: Found) -> Candidate:
    key = _key(each.passage)
    known = found.setdefault(key, Candidate(key))
    known.passage = known.passage or each.passage
    return known


def _key(passage: Passage) -> Key:
    return passage.kind, passage.source, passage.first if passage.kind == PASSAGE else 0
