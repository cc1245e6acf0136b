"""The filler: indexes behind the commits, in a thread of its own.

Who commits only wakes it, once enough has come. It lets others through all the time, and its writes
are short; what goes wrong loses nothing: what is not indexed stays on the list, is found all the
same, and is tried again later.
"""

from __future__ import annotations

from memoranda.errors import MemorandaError
from memoranda.log.failpoints import Failpoint, pass_by
from memoranda.search import filling, kept
from memoranda.search.behind import DRAIN_SECONDS, PATIENCE, Behind
from memoranda.search.breathing import Breather
from memoranda.search.filling import Indexer
from memoranda.search.vectors import Vectors
from memoranda.search.view import SearchView
from memoranda.storage.port import Engine

EVERY = 256
"""How many commits have to come, or passages with them, for the index to be filled some more."""

_LAST_SECONDS = 0.25
"""How long a store that is closed is kept waiting for what is being indexed."""


class Filler:
    """Fills the index of an open store, a little at a time."""

    def __init__(
        self, engine: Engine, view: SearchView, vectors: Vectors, failpoint: Failpoint = pass_by
    ) -> None:
        self._engine = engine
        self._view = view
        self._vectors = vectors
        self._commits = 0
        """How often somebody committed: as long as that grows, they are busy."""
        breather = Breather(lambda: self._commits)
        self.indexer = Indexer(
            engine, failpoint=failpoint, breathe=breather, remembered=vectors.remembered
        )
        self._behind = Behind(self._index_some, name="memoranda-indexer")
        vectors.index_soon = self._behind.nudge

    @property
    def failure(self) -> MemorandaError | None:
        """Why the last attempt came to nothing, if it did; told by `stats`."""
        return self._behind.failure

    def __call__(self) -> None:
        """Let what waits be indexed, if that is worth it."""
        self._commits += 1
        if self._view.erased:
            self._view.erased = False
            self.indexer.remembered.drop()
            self._vectors.forget()
        if max(self._view.waiting, self._view.passages) >= EVERY:
            self._view.waiting = self._view.passages = 0  # also if it fails: it is tried again
            self._behind.wake()

    def start(self) -> None:
        """Go on where somebody left off: if much waits, or if the store has vectors, too.

        Who only writes to a store without vectors loads no model.
        """
        embedded = self._vectors.wanted and self._vectors.embedder is not None
        with self._engine.reading() as reader:
            has_vectors = embedded and kept.read(reader) is not None
            due = filling.work(reader) >= (1 if has_vectors else EVERY)
        if due:
            self._behind.wake()

    def catch_up(self) -> None:
        """Index what waits, if it is more than a search should look through, for a while.

        What is left then is indexed behind, at once. Raises `StoreBusy` if others write for long.
        """
        with self._engine.reading() as reader:
            much = filling.work(reader) > filling.MUCH
        if much:
            self._behind.nudge()
            self.indexer.catch_up()

    def close(self) -> None:
        """Index no more but what is begun, and not for long; what is left stays on the list.

        But who has searched by vectors had some made of what is left, and is to find them kept.
        """
        begun = _LAST_SECONDS if self._behind.busy else 0
        self._behind.close(DRAIN_SECONDS if self._vectors.searched else begun)

    def _index_some(self) -> bool:
        """Index some of what waits, and say whether anything is left."""
        if self.indexer.fill_some(wait=PATIENCE) is None:
            return False
        self._vectors.wake()
        return True
