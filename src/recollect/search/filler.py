"""The filler: indexes behind the commits.

Now and then the thread that has just written some does a bounded part of it; whoever waits for its
commits has been told by then. What large commits bring would keep writers waiting for long, so it
is left for when they pause. What goes wrong loses nothing: what is not indexed stays on the list,
is found all the same, and is tried again later.
"""

from __future__ import annotations

from recollect.errors import RecollectError
from recollect.log.failpoints import Failpoint, pass_by
from recollect.search import filling
from recollect.search.behind import DRAIN_SECONDS, PATIENCE, Behind
from recollect.search.vectors import Vectors
from recollect.search.view import SearchView
from recollect.storage.port import Engine

EVERY = 256
"""How many commits have to come for the index to be filled some more, and with how many passages
waiting a pause is used for it."""
LULL = 0.1
"""How many seconds without a commit are a pause."""


class Filler:
    """Fills the index of an open store, a little at a time."""

    def __init__(
        self, engine: Engine, view: SearchView, vectors: Vectors, failpoint: Failpoint = pass_by
    ) -> None:
        self._engine = engine
        self._view = view
        self._vectors = vectors
        self._failpoint = failpoint
        self._paused = Behind(self._use_pause, name="recollect-indexer", lull=LULL)
        self._failure: RecollectError | None = None
        vectors.index_soon = self._paused.nudge

    @property
    def failure(self) -> RecollectError | None:
        """Why the last attempt came to nothing, if it did; told by `stats`."""
        return self._failure or self._paused.failure

    def __call__(self) -> None:
        """Index some of what waits, if that is worth it, and let it be embedded."""
        if self._view.erased:
            self._view.erased = False
            self._vectors.forget()
        self._paused.stir()
        if self._view.passages >= EVERY:
            self._paused.wake()
        if self._view.waiting < EVERY:
            return
        self._view.waiting = 0  # also if it fails: then it is tried when as many have come
        try:
            filling.fill_some(self._engine, self._failpoint)
            self._view.passages = 0  # a hint, and who was woken looks for itself
            self._failure = self._paused.failure = None
            self._vectors.wake()
        except RecollectError as error:
            self._failure = error

    def close(self) -> None:
        """Use no more pauses; what is left on the list stays there.

        But who has searched by vectors had some made of what is left, and is to find them kept.
        """
        self._paused.close(DRAIN_SECONDS if self._vectors.searched else 0)

    def _use_pause(self) -> bool:
        """Index some of what waits, and say whether anything is left."""
        with self._engine.reading() as reader:
            left = filling.work(reader) > 0
        if left:
            filling.fill_some(self._engine, self._failpoint, wait=PATIENCE)
            self._vectors.wake()
            filling.give_way()
        else:
            self._view.waiting = self._view.passages = 0
        return left
