"""Passages that have no vector yet: embedded when somebody searches, to be found at once.

Only so many are, the newest; the others are found by their words until they have one. So are all,
where the embedder is slow: a search holds a snapshot open, which is not to last.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from memoranda.errors import MemorandaError
from memoranda.model.clock import Clock, SystemClock
from memoranda.search import vector_filling
from memoranda.search.embedding import Embedder
from memoranda.search.kept import Kept, passage_of
from memoranda.search.lexical import Found
from memoranda.search.passages import Passage, Words
from memoranda.search.shelves import Shelf
from memoranda.search.tail import Tail
from memoranda.search.texts import text_of
from memoranda.storage.locks import new_lock
from memoranda.storage.port import Reader

if TYPE_CHECKING:
    from memoranda.search.matrices import Floats

MOST = 256
"""How many are embedded in one search."""
PATIENCE = 1.0
"""For how many seconds that is waited for."""
_REMEMBERED = 4 * MOST


class Waiting:
    """Vectors of what waits for its own, remembered by a digest of the text. Threads may share it.

    They are made by a thread of its own, which is waited for no longer than a search may take.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._lock = new_lock()
        self._vectors: dict[bytes, Any] = {}
        """Never changed, but replaced."""
        self._drops = 0
        self._job: _Job | None = None

    def drop(self) -> None:
        """Remember nothing, nor what is being embedded just now."""
        with self._lock:
            self._drops += 1
            self._vectors = {}

    def near(
        self, embedder: Embedder, texts: Sequence[tuple[Passage, Words]], sought: Floats
    ) -> list[Found]:
        """Return what is near of passages with their texts, as far as it can soon be known."""
        digests = [vector_filling.digest_of(words) for _, words in texts]
        words = {digest: each for digest, (_, each) in zip(digests, texts, strict=True)}
        vectors = self._of(words, embedder)
        pairs = zip(digests, texts, strict=True)
        scores = [
            (passage, vectors[each] @ sought) for each, (passage, _) in pairs if each in vectors
        ]
        return [Found(passage, float(score)) for passage, score in scores if score > 0]

    def _of(self, words: Mapping[bytes, Words], embedder: Embedder) -> Mapping[bytes, Any]:
        """Return the vectors of texts; those that cannot be had in time are left out."""
        known = self._vectors
        deadline = self._clock.monotonic() + PATIENCE
        while new := {digest: each for digest, each in words.items() if digest not in known}:
            job = self._job_of(new, embedder)
            if job is None or not job.is_done(deadline - self._clock.monotonic()):
                break
            known = known | job.found
        return known

    def _job_of(self, words: Mapping[bytes, Words], embedder: Embedder) -> _Job | None:
        """Return who embeds something, begun if nobody does; None: that takes too long just now."""
        with self._lock:
            if self._job is None:
                self._job = _Job(partial(self._embed, words, embedder, self._drops))
            return None if self._job.late else self._job

    def _embed(
        self, words: Mapping[bytes, Words], embedder: Embedder, drops: int
    ) -> dict[bytes, Any]:
        """Embed texts, and remember their vectors unless something was erased meanwhile."""
        found: dict[bytes, Any] = {}
        try:
            exact = vector_filling.embedded(embedder, [*words.values()])
            vectors = exact.astype("<f2").astype("<f4")  # as they will be once they are kept
            found = dict(zip(words, vectors, strict=True))
        finally:
            with self._lock:
                self._job = None
                if drops == self._drops:
                    whole = self._vectors | found
                    self._vectors = whole if len(whole) <= _REMEMBERED else found
        return found


class _Job:
    """One thread that embeds some texts."""

    def __init__(self, work: Callable[[], dict[bytes, Any]]) -> None:
        self.found: dict[bytes, Any] = {}
        self.late = False
        """Whether somebody has waited for it in vain: nobody else should."""
        self._work = work
        self._thread = threading.Thread(target=self._run, name="memoranda-waiting", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with suppress(MemorandaError):  # the search among vectors that are kept goes on
            self.found = self._work()

    def is_done(self, seconds: float) -> bool:
        """Wait so long, and say whether anything came of it."""
        self._thread.join(max(seconds, 0.0))
        self.late = self._thread.is_alive()
        return bool(self.found)


def waiting(
    reader: Reader, shelves: Sequence[Shelf], kept: Kept | None, tail: Tail, at: int
) -> list[tuple[Passage, Words]]:
    """Return what has no vector on these shelves and in the tail, as of a commit."""
    newest_of_tail = [each for each in tail.unindexed if each.passage.known_at(at)][-MOST:]
    texts = [(each.passage, each.words()) for each in newest_of_tail]
    found: list[Passage] = []
    after, most = 0 if kept is None else kept.upto, MOST - len(texts)
    for shelf in shelves:
        if most > 0 and shelf.id is not None:
            rows = reader.rows("vectors_missing_on", shelf=shelf.id, after=after, most=most)
            found += [passage_of(shelf, row) for row in rows]
    newest = sorted(found, key=lambda passage: passage.id or 0)[-most:] if most > 0 else []
    fitting = [each for each in newest if each.id not in tail.outdated and each.known_at(at)]
    told = text_of(reader, fitting, tail.remembered) if fitting else {}
    return texts + [(each, told[each.key]) for each in fitting if each.key in told]
