"""Deriving: the passages that sources have, as they follow from what the views say.

A memory has one for each stretch of commits in which it says the same, and cites the same; a fact
one for each assertion, until that is withdrawn; a transcript one for each of its units.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

import msgspec

from memoranda.log import blobs
from memoranda.memory import transcripts
from memoranda.memory.standing import NEWEST, STILL
from memoranda.memory.transcripts import TranscriptInfo
from memoranda.model import codec
from memoranda.model.memory import Span
from memoranda.search.cutting import Cutting, Unit
from memoranda.search.folding import MOST_CHARACTERS
from memoranda.search.passages import Derived, Words
from memoranda.search.shelves import EVERYBODY, FACT, MEMORY, PASSAGE
from memoranda.search.sources import Sources
from memoranda.search.transcripts import Cuttings
from memoranda.storage.port import Reader, Row

Cited = tuple[str, Span]
"""A transcript, and the span of it that is cited."""


class Drawn(NamedTuple):
    """What sources have: passages, and transcripts that are still to be taken apart."""

    passages: list[Derived]
    transcripts: list[tuple[TranscriptInfo, Cutting]]

    def all(self) -> Iterator[Derived]:
        """Yield every passage; nothing is read for that."""
        yield from self.passages
        for info, cutting in self.transcripts:
            yield from _units(info, cutting)


def draw(cuttings: Cuttings, sources: Sources) -> Drawn:
    """Read what the passages of sources follow from; no text is taken apart yet."""
    passages = [*_memories(cuttings.reader, sources.memories)]
    passages += _facts(cuttings.reader, sources.facts)
    infos = transcripts.find(cuttings.reader, sources.transcripts, NEWEST)
    there = [infos[each] for each in sources.transcripts if each in infos]
    whole = [(info, cuttings.of_info(info)) for info in there if not info.erased]
    return Drawn(passages, whole)


def derive(cuttings: Cuttings, sources: Sources) -> list[Derived]:
    """Return the passages of sources."""
    return [*draw(cuttings, sources).all()]


class Content(NamedTuple):
    """A memory's content, or where it stands in the log."""

    commit_ts: int
    position: int
    digest: bytes | None
    size: int | None
    text: str | None

    @property
    def gone(self) -> bool:
        """Whether it was erased."""
        return self.digest is None and self.text is None

    def load(self, reader: Reader) -> str:
        """Return the text."""
        if self.digest is None:
            return self.text or ""
        place = (self.commit_ts, self.position)
        return blobs.load(reader, *place, size=self.size or 0, digest=self.digest).decode()


class _Said(NamedTuple):
    """What a memory says at a commit, as far as it can be found by that."""

    title: str | None
    tags: tuple[str, ...]
    content: int
    cited: tuple[Cited, ...]


def _memories(reader: Reader, memory_ids: Iterable[str]) -> Iterator[Derived]:
    listed = _listed(memory_ids)
    cited = citations(reader, listed)
    rows = reader.rows("search_memories", memory_ids=listed)
    for memory_id, group in groupby(rows, key=lambda row: str(row[0])):
        yield from _Memory([*group], cited.get(memory_id, [])).passages()


def citations(reader: Reader, memory_ids: str) -> dict[str, list[tuple[int, Cited]]]:
    """Return what memories cite, each since which commit, by the memories of a list in JSON."""
    cited: dict[str, list[tuple[int, Cited]]] = {}
    for memory_id, commit_ts, transcript_id, first, beyond in reader.rows(
        "search_citations", memory_ids=memory_ids
    ):
        cited.setdefault(memory_id, []).append((commit_ts, (transcript_id, (first, beyond))))
    return cited


class _Memory:
    """All states of one memory, and all it cites."""

    def __init__(self, rows: Sequence[Row], cited: Sequence[tuple[int, Cited]]) -> None:
        self._rows = rows
        self._cited = cited
        self._tags: dict[int, tuple[str, ...]] = {}
        self._contents: dict[int, Content] = {}
        for row in rows:
            if row[3] == row[8]:
                self._tags[row[3]] = codec.decode_details(row[10]).tags
            if row[3] == row[9]:
                self._contents[row[3]] = Content(row[4], row[5], *row[11:14])

    def passages(self) -> Iterator[Derived]:
        """Yield a passage for each stretch in which it says the same."""
        last: tuple[int, _Said | None] = (0, None)
        for commit_ts, said in self._sayings():
            if said != last[1]:
                yield from self._passage(*last, commit_ts)
                last = (commit_ts, said)
        yield from self._passage(*last, STILL)

    def _sayings(self) -> Iterator[tuple[int, _Said | None]]:
        """Yield what it says from each commit on that changes anything about it."""
        states = {row[4]: row for row in self._rows}  # of one commit, the last
        row: Row | None = None
        for commit_ts in sorted({*states, *(commit for commit, _ in self._cited)}):
            row = states.get(commit_ts, row)
            yield commit_ts, None if row is None else self._said(row, commit_ts)

    def _said(self, row: Row, commit_ts: int) -> _Said | None:
        """Return what it says; None: it is withdrawn or forgotten, or what it said is gone."""
        content = self._contents[row[9]]
        if not row[6] or content.gone:
            return None
        cited = tuple(each for since, each in self._cited if since <= commit_ts)
        return _Said(row[7], self._tags[row[8]], row[9], cited)

    def _passage(self, since: int, said: _Said | None, until: int) -> Iterator[Derived]:
        if said is not None:
            memory_id, namespace, owner = self._rows[0][:3]
            spot = (namespace, owner, MEMORY, until < STILL)
            yield Derived(spot, memory_id, 0, 0, since, until, partial(self._words, said))

    def _words(self, said: _Said, cuttings: Cuttings) -> Words:
        content = self._contents[said.content].load(cuttings.reader)
        return memory_words(said.title, content, said.tags, said.cited, cuttings)


def memory_words(
    title: str | None,
    content: str,
    tags: Iterable[str],
    cited: Iterable[Cited],
    cuttings: Cuttings,
) -> Words:
    """Return what a memory is found by, if it cites these spans, a transcript behind another."""
    title, tagged = title or "", " ".join(tags)
    room = MOST_CHARACTERS - len(title) - len(tagged) - 2  # they are found in any case
    own = "\n".join(filter(None, (title, content[: max(room, 0)], tagged)))
    before: list[str] = []
    after: list[str] = []
    for transcript_id, group in groupby(cited, key=lambda each: each[0]):
        around = cuttings.of(transcript_id).around(span for _, span in group)
        before.append(around[0])
        after.append(around[1])
    return Words(own, "\n".join(filter(None, before)), "\n".join(filter(None, after)))


def _facts(reader: Reader, assertion_ids: Iterable[str]) -> Iterator[Derived]:
    for row in reader.rows("search_facts", assertion_ids=_listed(assertion_ids)):
        assertion_id, namespace, owner, since, until, *names = row
        spot = (namespace, owner, FACT, until < STILL)
        text = " ".join(names).replace("_", " ")
        yield Derived(spot, assertion_id, 0, 0, since, until, partial(_fact_words, text))


def _fact_words(text: str, _: Cuttings) -> Words:
    return Words(text)


def _units(info: TranscriptInfo, cutting: Cutting) -> Iterator[Derived]:
    spot = (info.namespace, EVERYBODY, PASSAGE, False)
    for number, (first, beyond) in enumerate(cutting.units):
        words = partial(_unit_words, cutting, number)
        unit = Unit(cutting, number)
        yield Derived(spot, info.id, first, beyond, info.commit_ts, STILL, words, unit)


def _unit_words(cutting: Cutting, number: int, _: Cuttings) -> Words:
    return unit_words(cutting, number)


def unit_words(cutting: Cutting, number: int) -> Words:
    """Return what a piece of a transcript is found by."""
    return Words(cutting.of(cutting.units[number]), *cutting.neighbours(number))


def _listed(texts: Iterable[str]) -> str:
    return msgspec.json.encode(list(texts)).decode()
