"""The search view: notes what is to be indexed, and takes out of the index what is erased.

The index itself is no view: it may be behind. What is exact is the list of commits it lacks, which
is written with them; so after a rebuild the index is empty and the list is full.
"""

from __future__ import annotations

import msgspec

from memoranda.log.views import Commit, Eraser, Rewritten, View
from memoranda.search.index import Index
from memoranda.search.passages import indexed
from memoranda.search.sources import APPLIED, Sources, weight
from memoranda.storage.port import Writer


class SearchView(View):
    """The list of what is to be indexed. It comes last: the index is derived from other views."""

    name = "search"
    version = 2
    applied = APPLIED
    clear = (
        "to_index_clear",
        "vector_clear",
        "vectors_restart",
        "words_empty",
        "words_rebuild",
        "passage_clear",
        "shelf_clear",
        "index_restamp",
    )
    rows = ()

    def __init__(self) -> None:
        self.waiting = 0
        """How many commits were listed since the index was filled: a hint."""
        self.passages = 0
        """About how many passages these have: another."""
        self.erased = False
        """Whether anything was erased since somebody looked: a hint, too."""

    def apply(self, writer: Writer, commit: Commit, /) -> None:
        """List a commit."""
        size = weight(commit.operations)
        writer.put("to_index_add", commit.commit_ts, size)
        self.waiting += 1
        self.passages += size

    def eraser(self, writer: Writer, /) -> SearchEraser:
        """Return what takes erased passages out of the index."""
        return SearchEraser(writer, self)


class SearchEraser(Eraser):
    """Takes out whatever is of something that was changed, and lists it anew if it is there."""

    def __init__(self, writer: Writer, view: SearchView) -> None:
        self._writer = writer
        self._view = view
        self._sources = Sources()

    def take(self, rewritten: Rewritten, /) -> None:
        """Note what is concerned."""
        for _, before, _ in rewritten.changes():
            self._sources.add(before)

    def finish(self) -> None:
        """Take it out, and with it the memories that stood in the context of what is gone."""
        sources = self._sources
        self._view.erased = True
        listed = msgspec.json.encode([*sources.transcripts]).decode()
        for (memory_id,) in self._writer.rows("search_citing", transcript_ids=listed):
            sources.memories[memory_id] = None
        Index(self._writer).erase(indexed(self._writer, sources.all))
        left = msgspec.json.encode(sources.all).decode()
        for (commit_ts,) in self._writer.rows("search_begun", sources=left):
            self._writer.put("to_index_add", commit_ts, 1)
            self._view.waiting += 1
            self._view.passages += 1
