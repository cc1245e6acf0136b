"""Taking what a compaction erases out of the graph.

It erases what was taken back, on which nothing that holds rests, and leaves names where they came
up: so what follows from the statements that stand, and what names mean, is as it was.
"""

from __future__ import annotations

from memoranda.log.views import Eraser, Rewritten
from memoranda.model.operations import Assert, End
from memoranda.storage.port import Writer


class GraphTrimmer(Eraser):
    """Drops the statements that are no longer in the log."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def take(self, rewritten: Rewritten, /) -> None:
        """Drop what the event says no more."""
        for position, before, after in rewritten.changes():
            if isinstance(before, (Assert, End)) and not isinstance(after, (Assert, End)):
                self._writer.run(
                    "graph_statement_drop",
                    assertion_id=before.assertion_id,
                    commit_ts=rewritten.before.commit_ts,
                    position=position,
                )
