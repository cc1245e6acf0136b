"""Searching by meaning: vectors of the passages somebody may see, compared with a query's.

Vectors of a shelf are read once, remembered, and added to as more are kept. Whatever is found
through what is remembered is looked up in the reader's own snapshot before it is told, so nothing
that was erased, moved or is not there yet can come out of it. When something on a shelf was erased,
all that is remembered of the shelf is dropped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from heapq import nlargest
from typing import TYPE_CHECKING, Any

import msgspec

from memoranda.errors import MemorandaError
from memoranda.memory.standing import NEWEST
from memoranda.model.clock import Clock, SystemClock
from memoranda.search import filling, vector_filling
from memoranda.search import kept as vectors_kept
from memoranda.search.behind import PATIENCE, Behind
from memoranda.search.embedding import Embedder, embed
from memoranda.search.floors import floor_of
from memoranda.search.kept import Kept
from memoranda.search.lexical import Found
from memoranda.search.passages import Passage
from memoranda.search.remembered import Remembered, exactly
from memoranda.search.shelves import Shelf
from memoranda.search.tail import Tail
from memoranda.search.transcripts import RememberedCuttings
from memoranda.search.waiting import Waiting, waiting
from memoranda.storage.locks import new_lock
from memoranda.storage.port import Engine, Progress, Reader

if TYPE_CHECKING:
    from memoranda.search.matrices import Floats

_MOST_QUERY = 8_000
"""How many characters of a query are embedded."""
_REST = 5.0
"""How many seconds an embedder that failed is not asked again by those who search."""
_TRIES = 8
_log = logging.getLogger("memoranda.search")


class Figures(msgspec.Struct, frozen=True):
    """How many vectors a store has, of which model, how many it lacks, and what is amiss."""

    model: str | None = None
    made: int = 0
    backlog: int = 0
    warnings: tuple[str, ...] = ()


class Vectors:
    """The vectors of an open store: finding by them, and filling them. Threads may share it."""

    def __init__(
        self,
        engine: Engine,
        embedder: Embedder | None,
        *,
        eager: bool,
        clock: Clock | None = None,
        behind: Behind | None = None,
    ) -> None:
        self._engine = engine
        self.embedder = embedder
        self.wanted = eager
        """Whether passages are embedded unasked: else only once somebody has searched."""
        self.searched = False
        """Whether anybody has searched by vectors."""
        self.index_soon: Callable[[], object] = _nobody
        """Lets passages that wait for it be indexed: only what is in the index gets a vector."""
        self._clock = clock or SystemClock()
        self.remembered = RememberedCuttings()
        """Transcripts that were cut lately: texts are read from them."""
        self.behind = behind or (None if embedder is None else self._behind_commits(embedder))
        self._lock = new_lock()
        self._remembered = Remembered()
        self._waiting = Waiting()
        self._rests_until = float("-inf")
        self._said: set[str] = set()
        self._last: tuple[str, Floats] | None = None
        """The last query and its vector: the same is often asked again."""

    def _behind_commits(self, embedder: Embedder) -> Behind:
        """Return who embeds behind the commits."""
        work = partial(
            vector_filling.fill_some,
            self._engine,
            embedder,
            wait=PATIENCE,
            remembered=self.remembered,
        )
        return Behind(work, name="memoranda-embedder")

    def start(self) -> None:
        """Go on filling where somebody left off, if that is wanted or was begun with this model."""
        if self.embedder is None:
            return
        with self._engine.reading() as reader:
            kept = vectors_kept.read(reader)
            if kept is not None:
                self.wanted = kept.are_of(self.embedder)
            due = self.wanted and not vectors_kept.is_complete(reader, kept)
        if due:
            self.wake()

    def wake(self) -> None:
        """Let passages be embedded that have no vector yet, if that is wanted."""
        if self.wanted and self.behind is not None:
            self.behind.wake()

    def want(self) -> None:
        """Let vectors be filled from now on: somebody asks for them."""
        self.wanted = True
        self.wake()

    def forget(self) -> None:
        """Drop whatever is remembered: something was erased."""
        with self._lock:
            self._remembered.drop()
            self._waiting.drop()
            self.remembered.drop()
            self._last = None

    def close(self) -> None:
        """Fill no more."""
        if self.behind is not None:
            self.behind.close()
        self.forget()

    def fill(self, progress: Progress | None = None) -> tuple[str | None, int]:
        """Give every passage a vector of the embedder's, at once and whatever there was before.

        Return the model whose vectors were dropped for that, if any, and how many were made.
        """
        assert self.embedder is not None, "there is nothing to fill by"
        assert self.behind is not None, "nor anybody"
        with self.behind.turn:
            dropped = vector_filling.begin_anew(self._engine, self.embedder)
            done = vector_filling.fill(
                self._engine, self.embedder, progress=progress, remembered=self.remembered
            )
            self.behind.failure = None
        self.want()
        return dropped, done

    def figures(self, reader: Reader) -> Figures:
        """Return how many vectors there are, and what is amiss."""
        kept = vectors_kept.read(reader)
        if kept is None and not self.wanted:
            return Figures()
        made, backlog = vectors_kept.counted(reader, kept)
        backlog += filling.work(reader)
        return Figures(kept.model if kept else None, made, backlog, tuple(self._amiss(kept)))

    def _amiss(self, kept: Kept | None) -> Iterator[str]:
        if self.embedder is None:
            return
        if kept is not None and not kept.are_of(self.embedder):
            yield vectors_kept.other_model(kept, self.embedder)
        elif self.behind is not None and self.behind.failure is not None:
            yield f"passages are not being embedded: {self.behind.failure}"

    def prepare(self, query: str) -> Prepared:
        """Embed a query, while nothing is held open: a model may take its time."""
        with self._engine.reading() as reader:
            embedder = self._usable(vectors_kept.read(reader))
        return Prepared(self, None if embedder is None else self._sought(embedder, query))

    def near(
        self,
        reader: Reader,
        shelves: Sequence[Shelf],
        sought: Floats,
        *,
        most: int,
        known: int | None,
        tail: Tail,
        also: Sequence[Passage],
    ) -> list[Found] | None:
        """Search for the vector of a query, as `Prepared.search` says."""
        kept = vectors_kept.read(reader)
        embedder = self._usable(kept, len(sought))
        if embedder is None:
            return None
        self.wanted = self.searched = True
        found = [*self._of_index(reader, shelves, kept, sought, most, known, tail.outdated)]
        at = NEWEST if known is None else known
        texts = waiting(reader, shelves, kept, tail, at)
        found += self._waiting.near(embedder, texts, sought)
        self._let_be_kept(reader, kept)
        nearest = nlargest(most, found, key=_rank)
        told = {each.passage.id for each in nearest}
        others = [each for each in also if each.id not in told]
        return nearest + _scored(reader, kept, others, sought)

    def _let_be_kept(self, reader: Reader, kept: Kept | None) -> None:
        """See that what has no vector gets one soon, so that nobody embeds it again."""
        if filling.backlog(reader):
            self.index_soon()
        if not vectors_kept.is_complete(reader, kept):
            self.wake()

    def _usable(self, kept: Kept | None, dimension: int = 0) -> Embedder | None:
        """Return the embedder whose vectors the store has; say once why there is none."""
        if self.embedder is None:
            self._say_once(
                "off",
                "there is no embedder, so recall goes by words and facts alone: "
                "pip install 'memoranda[embeddings]', or open the store with embedder=…",
            )
            return None
        if kept is not None and not kept.are_of(self.embedder, dimension):
            told = vectors_kept.other_model(kept, self.embedder, dimension)
            self._say_once("other", f"recall goes by words and facts alone: {told}")
            return None
        self._said.discard("other")
        return self.embedder

    def _sought(self, embedder: Embedder, query: str) -> Floats | None:
        last = self._last
        if last is not None and last[0] == query:
            return last[1]
        if self._clock.monotonic() < self._rests_until:
            return None
        try:
            found: Any = embed(embedder, [query[:_MOST_QUERY]], query=True)[0]
        except MemorandaError as error:
            self._rests_until = self._clock.monotonic() + _REST
            self._say_once("failing", f"recall goes by words and facts alone: {error}")
            return None
        self._said.discard("failing")
        self._last = (query, found)
        return found  # type: ignore[no-any-return]

    def _say_once(self, what: str, told: str) -> None:
        if what not in self._said:
            self._said.add(what)
            _log.warning(told)

    def _of_index(
        self,
        reader: Reader,
        shelves: Sequence[Shelf],
        kept: Kept | None,
        sought: Floats,
        most: int,
        known: int | None,
        outdated: frozenset[int],
    ) -> Iterator[Found]:
        """Yield what is nearest of what has a vector, as it stands in the reader's snapshot."""
        with self._lock:
            if self._remembered.drop_erased(reader):
                self._waiting.drop()
            if kept is None:
                return
            looking = self._remembered.looking(reader, shelves, kept)
        there: dict[int, Passage] = {}
        best: list[tuple[float, int]] = []
        for _ in range(_TRIES):
            best = looking.best(sought, most + len(outdated), known)
            there = _there(reader, shelves, [number for _, number in best])
            if not looking.leave_out(number for _, number in best if number not in there):
                break
        for score, number in best:
            if number in there and number not in outdated:
                yield Found(there[number], score)


class Prepared:
    """A query whose vector is known, if it can be: what is left to do is quick."""

    def __init__(self, vectors: Vectors, sought: Floats | None) -> None:
        self._vectors = vectors
        self._sought = sought

    @property
    def floor(self) -> float:
        """How near something has to be if nothing else speaks for it."""
        return floor_of(self._vectors.embedder)

    def search(
        self,
        reader: Reader,
        shelves: Sequence[Shelf],
        *,
        most: int,
        known: int | None,
        tail: Tail,
        also: Sequence[Passage] = (),
    ) -> list[Found] | None:
        """Return the passages whose meaning is nearest, best first; None: there are no vectors.

        Shelves and tail are those of the same reader, in one snapshot. Behind the nearest come
        those of `also` that are not among them: found by other ways, and to be scored too.
        """
        if self._sought is None:
            return None
        return self._vectors.near(
            reader, shelves, self._sought, most=most, known=known, tail=tail, also=also
        )


def _nobody() -> None:
    """Index nothing."""


def _scored(
    reader: Reader, kept: Kept | None, passages: Sequence[Passage], sought: Floats
) -> list[Found]:
    """Return how near passages are that have a vector."""
    if kept is None or not passages:
        return []
    by_id = {passage.id: passage for passage in passages if passage.id is not None}
    near = exactly(reader, [*by_id], sought, kept.dimension)
    return [Found(by_id[number], score) for score, number in near if score > 0]


def _there(reader: Reader, shelves: Sequence[Shelf], numbers: Sequence[int]) -> dict[int, Passage]:
    """Return those of the passages that stand on one of the shelves."""
    by_id = {shelf.id: shelf for shelf in shelves}
    ids = msgspec.json.encode(numbers).decode()
    return {
        number: Passage(number, by_id[shelf], *rest)
        for number, shelf, *rest in reader.rows("passages_by_id", ids=ids)
        if shelf in by_id
    }


def _rank(found: Found) -> tuple[float, int]:
    """Let what is nearer come first, and of what is as near the newer."""
    return found.score, found.passage.since
