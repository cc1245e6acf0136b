"""Passages that have no vector yet: embedded when somebody searches, to be found at once.

Only so many are, the newest; the others are found by their words until they have one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from recollect.errors import RecollectError
from recollect.search import vector_filling
from recollect.search.embedding import Embedder
from recollect.search.kept import Kept, passage_of
from recollect.search.lexical import Found
from recollect.search.passages import Passage, Words
from recollect.search.shelves import Shelf
from recollect.search.tail import Tail
from recollect.search.texts import text_of
from recollect.storage.port import Reader

if TYPE_CHECKING:
    from recollect.search.matrices import Floats

MOST = 256
"""How many are embedded in one search."""
_REMEMBERED = 4 * MOST


class Waiting:
    """Vectors of what waits for its own, remembered by a digest of the text. Threads may share it.

    It takes no lock: what two threads embed at once is embedded twice, and of what they remember
    some may be lost.
    """

    def __init__(self) -> None:
        self._vectors: dict[bytes, Any] = {}
        self._drops = 0

    def drop(self) -> None:
        """Remember nothing, nor what is being embedded just now."""
        self._drops += 1
        self._vectors = {}

    def near(
        self, embedder: Embedder, texts: Sequence[tuple[Passage, Words]], sought: Floats
    ) -> list[Found]:
        """Return what is near of passages with their texts; nothing, if the embedder fails."""
        try:
            vectors = self._of([words for _, words in texts], embedder)
        except RecollectError:  # the search among vectors that are kept goes on
            return []
        scores = [float(vector @ sought) for vector in vectors]
        pairs = zip(texts, scores, strict=True)
        return [Found(passage, score) for (passage, _), score in pairs if score > 0]

    def _of(self, texts: Sequence[Words], embedder: Embedder) -> list[Any]:
        drops, known = self._drops, self._vectors
        digests = [vector_filling.digest_of(words) for words in texts]
        new = {
            digest: words
            for digest, words in zip(digests, texts, strict=True)
            if digest not in known
        }
        if new:
            exact = vector_filling.embedded(embedder, [*new.values()])
            vectors = exact.astype("<f2").astype("<f4")  # as they will be once they are kept
            known = known | dict(zip(new, vectors, strict=True))
        found = [known[digest] for digest in digests]
        if drops == self._drops:
            few = len(known) <= _REMEMBERED
            self._vectors = known if few else dict(zip(digests, found, strict=True))
        return found


def waiting(
    reader: Reader, shelves: Sequence[Shelf], kept: Kept | None, tail: Tail, at: int
) -> list[tuple[Passage, Words]]:
    """Return what has no vector on these shelves and in the tail, as of a commit."""
    texts = [each for each in tail.passages if each[0].known_at(at)][-MOST:]
    found: list[Passage] = []
    after, most = 0 if kept is None else kept.upto, MOST - len(texts)
    for shelf in shelves:
        if most > 0 and shelf.id is not None:
            rows = reader.rows("vectors_missing_on", shelf=shelf.id, after=after, most=most)
            found += [passage_of(shelf, row) for row in rows]
    newest = sorted(found, key=lambda passage: passage.id or 0)[-most:] if most > 0 else []
    fitting = [each for each in newest if each.id not in tail.outdated and each.known_at(at)]
    told = text_of(reader, fitting) if fitting else {}
    return texts + [(each, told[each.key]) for each in fitting if each.key in told]
