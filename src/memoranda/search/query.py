"""Plans: what the index lacks of some commits, derived once and put in part by part.

A plan is made and its texts are taken apart while no lock is held. It is good as long as the index
has the stamp the plan was made by: nobody else has filled it since, nothing was erased, no view was
rebuilt. What was committed since is on the list, and is derived when its turn comes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from memoranda.search.deriving import Drawn, draw
from memoranda.search.folding import Breathe, go_on
from memoranda.search.index import Entry, Index, Step, new_stamp, stamp
from memoranda.search.passages import Derived, Indexed, Words, indexed
from memoranda.search.sources import Sources
from memoranda.search.transcripts import Cuttings
from memoranda.storage.port import Reader, Writer

AT_ONCE = 256
"""Of how many commits a plan is made at most."""
MOST_PASSAGES = 2_048
"""Of how many passages, about; what one commit brings is not divided."""
_READ_AT_ONCE = 64
_READ_BYTES = 256 * 1024
"""How much text is read in one short snapshot."""
_SOME = 256


class Stale(Exception):
    """What was derived may not be so any more, and is derived anew."""


class Difference(msgspec.Struct, frozen=True):
    """What the index lacks, and what it has that is not so any more."""

    lacking: list[Derived]
    outdated: list[Indexed]


def difference(drawn: Drawn, known: Iterable[Indexed], breathe: Breathe = go_on) -> Difference:
    """Return how the index differs from what follows from the views."""
    left = {each.key: each for each in known}
    lacking: list[Derived] = []
    for count, derived in enumerate(drawn.all()):
        there = left.get(derived.key)
        if there is not None and there.is_as(derived):
            del left[derived.key]
        else:
            lacking.append(derived)
        if not count % _SOME:
            breathe()
    return Difference(lacking, [*left.values()])


class Found(msgspec.Struct, frozen=True):
    """What one snapshot says of some commits on the list."""

    stamp: str
    commits: list[int]
    drawn: Drawn
    known: list[Indexed]


def look(cuttings: Cuttings, commits: Sequence[int]) -> Found:
    """Read what commits speak of, and what the index has of that."""
    reader = cuttings.reader
    sources = Sources.of_commits(reader, commits)
    known = indexed(reader, sources.all)
    return Found(stamp(reader), [*commits], draw(cuttings, sources), known)


def first_listed(reader: Reader, most: int, through: int) -> list[int]:
    """Return the first commits on the list, up to one: as many as a plan is made of."""
    listed = [row for row in reader.rows("to_index_page", most=most) if row[0] <= through]
    commits: list[int] = []
    passages = 0
    for commit_ts, size in listed:
        passages += size
        if commits and passages > MOST_PASSAGES:
            break
        commits.append(commit_ts)
    return commits


class Plan:
    """The changes that some commits still need."""

    def __init__(self, found: Found, breathe: Breathe = go_on) -> None:
        self._stamp = found.stamp
        self.commits = found.commits
        self._breathe = breathe
        self._left = deque(_changes(difference(found.drawn, found.known, breathe)))
        self._read: deque[tuple[Indexed | None, Derived | None, Words | None]] = deque()
        self._part: list[Step] = []

    @property
    def done(self) -> bool:
        """Whether nothing is left but the part that is ready."""
        return not self._left and not self._read

    def prepare(self, size: int, cuttings: Callable[[], Iterable[Cuttings]]) -> None:
        """Have the next part ready: of about so many bytes, and of one change at least."""
        ready = sum(step.size for step in self._part)
        while not self.done and ready < size:
            if not self._read:
                for each in cuttings():
                    self._read_some(each)
            outdated, derived, words = self._read.popleft()
            entry = None
            if derived is not None and words is not None:
                entry = Entry.of(derived, words, self._breathe)
            self._part.append(Step(outdated, entry))
            ready += self._part[-1].size
            self._breathe()

    def _read_some(self, cuttings: Cuttings) -> None:
        """Read the texts of the next changes, in one short snapshot."""
        if stamp(cuttings.reader) != self._stamp:
            raise Stale
        size = 0
        while self._left and len(self._read) < _READ_AT_ONCE and size < _READ_BYTES:
            outdated, derived = self._left.popleft()
            words = None if derived is None else derived.words(cuttings)
            self._read.append((outdated, derived, words))
            size += 0 if words is None else len(words.own) + len(words.before) + len(words.after)

    def put(self, writer: Writer) -> str:
        """Write the part that is ready, if it is still good; return the stamp the index has then.

        The commits leave the list with the last part.
        """
        if stamp(writer) != self._stamp:
            raise Stale
        Index(writer).change(self._part)
        if self.done:
            for commit_ts in self.commits:
                writer.put("to_index_done", commit_ts)
        return new_stamp(writer)

    def go_on(self, stamped: str) -> None:
        """Take the part for written."""
        self._stamp = stamped
        self._part = []


def _changes(found: Difference) -> Iterator[tuple[Indexed | None, Derived | None]]:
    """Yield what is to be done: what only goes comes first, what is replaced stays one change."""
    moving = {each.key: each for each in found.outdated}
    replaced = [(moving.pop(each.key, None), each) for each in found.lacking]
    for outdated in moving.values():
        yield outdated, None
    yield from replaced
