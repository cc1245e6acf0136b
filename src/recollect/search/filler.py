"""The filler: indexes behind the commits, in the thread that has just written some.

Whoever waits for these commits has been told by then. What goes wrong here loses nothing: what is
not indexed stays on the list, is found all the same, and is tried again later.
"""

from __future__ import annotations

from recollect.errors import RecollectError
from recollect.log.failpoints import Failpoint, pass_by
from recollect.search import filling
from recollect.search.vectors import Vectors
from recollect.search.view import SearchView
from recollect.storage.port import Engine

EVERY = 256
"""How many commits have to come for the index to be filled some more.

What large ones bring, who searches first indexes: so that indexing slows no writer by much.
"""


class Filler:
    """Fills the index of an open store, a little at a time."""

    def __init__(
        self, engine: Engine, view: SearchView, vectors: Vectors, failpoint: Failpoint = pass_by
    ) -> None:
        self._engine = engine
        self._view = view
        self._vectors = vectors
        self._failpoint = failpoint
        self.failure: RecollectError | None = None
        """Why the last attempt came to nothing, if it did; told by `stats`."""

    def __call__(self) -> None:
        """Index some of what waits, if that is worth it, and let it be embedded."""
        if self._view.erased:
            self._view.erased = False
            self._vectors.forget()
        if self._view.waiting < EVERY:
            return
        self._view.waiting = 0  # also if it fails: then it is tried when as many have come
        try:
            filling.fill_some(self._engine, self._failpoint)
            self.failure = None
            self._vectors.wake()
        except RecollectError as error:
            self.failure = error
