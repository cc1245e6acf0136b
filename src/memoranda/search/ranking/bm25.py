"""Searching by words: BM25 over the shelves that somebody may see, and over the tail alike.

How rare a word is counts within those shelves only. A word of the context counts less than one of
the passage itself. What the index has is scored by the engine, a word and a shelf at a time; what
it lacks is scored here, with the same formula.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log

import msgspec

from memoranda.memory.standing import NEWEST
from memoranda.search import shelves as stacks
from memoranda.search import words
from memoranda.search.passages import Passage, Words
from memoranda.search.shelves import Shelf
from memoranda.search.tail import Tail
from memoranda.storage.port import Reader

MUCH = 512
"""Of how many passages that the index lacks every one is taken apart."""
MOST_TERMS = 64
"""How many words of a query count: the rarest."""
_LEAST_LOOKED_AT = 512
_LOOKS = 32_768
"""How many words are looked up, each on each shelf: all of a query, unless it is on very many."""
_SATURATION = 1.2
_LENGTH_WEIGHT = 0.75
_WEIGHTS = (1.0, 0.5, 0.3)
"""What a word counts in a passage itself, before it, and behind it; `words_search` has the same."""
_LEAST_RARITY = 1e-6


class Found(msgspec.Struct, frozen=True):
    """A passage that a search came to, and how well it fits."""

    passage: Passage
    score: float


def search(
    reader: Reader,
    shelves: Sequence[Shelf],
    query: str,
    *,
    most: int,
    known: int | None,
    tail: Tail,
) -> list[Found]:
    """Return the passages on these shelves that fit best, best first, as of a commit or now.

    Shelves and tail are those of the same reader, in one snapshot.
    """
    looked_at = max(_LOOKS // max(len(shelves), 1), _LEAST_LOOKED_AT)
    terms = words.terms(query)[:looked_at]
    if not terms or most < 1:
        return []
    at = NEWEST if known is None else known
    return _Search(reader, shelves, terms, tail).best(most, at, current=known is None)


class _Scored(msgspec.Struct, frozen=True):
    """A passage of the tail, taken apart."""

    passage: Passage
    frequencies: dict[str, float]
    length: int


class _Search:
    """One search: what is looked for, where, and how rare it is there."""

    def __init__(
        self, reader: Reader, shelves: Sequence[Shelf], terms: Sequence[str], tail: Tail
    ) -> None:
        self._reader = reader
        self._shelves = {shelf.id: shelf for shelf in shelves if shelf.id is not None}
        self._tail_size = len(tail.unindexed)
        self._tail = [*_tail_with(tail, terms)]
        self._outdated = tail.outdated
        self._size, self._length = stacks.totals(reader)
        self._counts = self._counted(terms)
        self._rarity = self._rarities(terms)

    def best(self, most: int, at: int, *, current: bool) -> list[Found]:
        """Return what fits best."""
        found = [*self._of_tail(at), *self._of_index(most, at, current=current)]
        return sorted(found, key=_order)[:most]

    def _counted(self, terms: Sequence[str]) -> Mapping[str, int]:
        """Return in how many indexed passages each word stands, by shelf and word."""
        tokens = [f"{shelf}.{term}" for shelf in self._shelves for term in terms]
        listed = msgspec.json.encode(tokens).decode()
        return dict(self._reader.rows("words_count", tokens=listed)) if tokens else {}

    def _rarities(self, terms: Sequence[str]) -> dict[str, float]:
        """Return how much each word tells, of the rarest that are anywhere."""
        whole = sum(shelf.size for shelf in self._shelves.values()) + self._tail_size
        in_tail = Counter(term for each in self._tail for term in each.frequencies)
        counts = {
            term: in_tail[term]
            + sum(self._counts.get(f"{shelf}.{term}", 0) for shelf in self._shelves)
            for term in terms
        }
        rarest = sorted((count, term) for term, count in counts.items() if count)[:MOST_TERMS]
        return {term: log(1 + (whole - count + 0.5) / (count + 0.5)) for count, term in rarest}

    def _of_index(self, most: int, at: int, *, current: bool) -> Iterator[Found]:
        listed = msgspec.json.encode([*self._weighted()]).decode()
        most += len(self._outdated)
        if current:
            rows = self._reader.rows("words_search", terms=listed, most=most)
        else:
            rows = self._reader.rows("words_search_known", terms=listed, most=most, known=at)
        scores = {number: score for number, score in rows if number not in self._outdated}
        ids = msgspec.json.encode([*scores]).decode()
        for number, shelf, *rest in self._reader.rows("passages_by_id", ids=ids):
            passage = Passage(number, self._shelves[shelf], *rest)
            yield Found(passage, scores[number])

    def _weighted(self) -> Iterator[tuple[str, float]]:
        """Yield each word on each shelf, with what its score there has to be multiplied by.

        The engine takes a word for as rare as that one token is among all passages.
        """
        for term, rarity in self._rarity.items():
            for shelf in self._shelves:
                count = self._counts.get(f"{shelf}.{term}")
                if count:
                    taken_for = log((self._size - count + 0.5) / (count + 0.5))
                    yield f'"{shelf}.{term}"', rarity / max(taken_for, _LEAST_RARITY)

    def _of_tail(self, at: int) -> Iterator[Found]:
        average = self._average()
        for each in self._tail:
            if each.passage.known_at(at):
                score = self._score(each, average)
                if score > 0:
                    yield Found(each.passage, score)

    def _average(self) -> float:
        """Return how long a passage is, as the index will say when it has the tail.

        What was not taken apart, of a long tail, is taken to be as long as the others.
        """
        length = self._length + sum(each.length for each in self._tail)
        return max(length / max(self._size + len(self._tail), 1), 1.0)

    def _score(self, each: _Scored, average: float) -> float:
        long = 1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * each.length / average
        score = 0.0
        for term, rarity in self._rarity.items():
            often = each.frequencies.get(term)
            if often:
                score += rarity * often * (_SATURATION + 1) / (often + _SATURATION * long)
        return score


def _tail_with(tail: Tail, terms: Sequence[str]) -> Iterator[_Scored]:
    """Yield the passages of the tail, taken apart; of many, only those that may have a word."""
    roots = {words.root(term) for term in terms}
    many = len(tail.unindexed) > MUCH
    for each in tail.unindexed:
        if not many or each.may_have(roots):
            yield _taken_apart(each.passage, each.words())


def _taken_apart(passage: Passage, text: Words) -> _Scored:
    frequencies: dict[str, float] = {}
    length = 0
    for part, weight in zip((text.own, text.before, text.after), _WEIGHTS, strict=True):
        found = words.indexed_tokens(part)
        length += len(found)
        _count(frequencies, found, weight)
    return _Scored(passage, frequencies, length)


def _count(frequencies: dict[str, float], found: Iterable[str], weight: float) -> None:
    for term in found:
        frequencies[term] = frequencies.get(term, 0.0) + weight


def _order(found: Found) -> tuple[float, int, str, int]:
    """Best first; of what fits alike, the newer one."""
    passage = found.passage
    return -found.score, -passage.since, passage.source, passage.first
