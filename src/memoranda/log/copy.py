"""Copies of a log in another database, page by page, with its views.

After each page the target is a whole store that ends at an earlier commit. So copying again
continues an interrupted copy, and brings a complete one up to date. No snapshot is held between two
pages. The last snapshot covers the remaining events, and the erasures in pages that were copied
before.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from memoranda.errors import InvalidInput, LogForked, StoreBusy
from memoranda.log import blobs, chain, pages
from memoranda.log.lineage import stored_log_id
from memoranda.log.read import cursors
from memoranda.log.rebuild import apply_log, apply_rows
from memoranda.log.views import Views
from memoranda.model.event import Head
from memoranda.storage.port import Engine, Progress, Reader, Row, Writer

_ERASED_COMMITS = 10_000
"""Commits whose erasures are compared at once."""


class LogCopy:
    """A copy of a log, which may have been begun earlier."""

    def __init__(
        self, source: Engine, target: Engine, views: Views, progress: Progress | None = None
    ) -> None:
        self._source = source
        self._target = target
        self._views = views
        self._progress = progress
        with source.reading() as reader:
            log_id = stored_log_id(reader)
        if log_id is None:
            raise InvalidInput("source", f"{source.name} has no log yet: write to it first")
        self.log_id = log_id
        self._last = self._resume()

    def _resume(self) -> Head:
        """Return the target's last event; refuse a target with another log."""
        self._target.write(self._begin)
        with self._target.reading() as reader:
            commit_ts = pages.head_commit(reader)
            row = reader.row("event_get", commit_ts=commit_ts)
        if row is None:
            return chain.genesis(self.log_id)
        last = chain.head_after(row)
        with self._source.reading() as reader:
            if reader.row("event_hash", commit_ts=commit_ts) != (last.hash,):
                raise LogForked(
                    f"{self._target.name} has a commit {commit_ts} that {self._source.name} does "
                    "not have: somebody wrote to it; copy to another place"
                )
        return last

    def _begin(self, writer: Writer) -> None:
        log_id = stored_log_id(writer)
        if log_id is None:
            writer.run("meta_set", name="log_id", value=self.log_id)
            self._views.record_versions(writer)
        elif log_id != self.log_id:
            raise InvalidInput(
                "target", f"{self._target.name} has another log: copy to a place without a store"
            )

    def run(self) -> Head:
        """Copy what the target lacks, and return the head of both."""
        try:
            with self._source.reading() as reader:
                head = pages.head_commit(reader)
            while self._last.commit_ts < head:
                with self._source.snapshot() as reader:
                    self._copy_page(reader, head)
            with self._source.snapshot() as reader:
                head = pages.head_commit(reader)
                while self._last.commit_ts < head:
                    self._copy_page(reader, head)
                self._target.write(partial(self._finish, reader))
        finally:  # also after an error
            self._views.drop_caches()
        return self._last

    def _copy_page(self, reader: Reader, head: int) -> None:
        after = self._last.commit_ts
        rows = pages.rows(reader, after=after, through=head)
        erased = reader.rows("erased_between", after=after, through=rows[-1][0])
        self._last = self._target.write(partial(self._append, reader, rows, erased, head))

    def _append(
        self,
        reader: Reader,
        rows: Sequence[Row],
        erased: Sequence[Row],
        total: int,
        writer: Writer,
    ) -> Head:
        """Add a page of verified events, and apply it to the views."""
        after, through = self._last.commit_ts, rows[-1][0]
        if pages.head_commit(writer) != after:
            raise StoreBusy(f"another process writes to {self._target.name}: let it end first")
        writer.put_all("event_append", rows)
        writer.put_all("erased_add", erased)
        contents = reader.rows("blob_places", after=after, through=through)
        for commit_ts in sorted({commit_ts for commit_ts, _ in contents}):
            blobs.copy(reader, writer, commit_ts)
        return apply_rows(writer, self._last, rows, self._views, self._progress, total)

    def _finish(self, reader: Reader, writer: Writer) -> None:
        """Erase what was erased since its page was copied; add the checkpoints and the cursors."""
        through = self._last.commit_ts
        if pages.head_commit(writer) != through:
            raise StoreBusy(f"another process writes to {self._target.name}: let it end first")
        writer.put_all(
            "checkpoint_add", reader.rows("checkpoints_between", after=-1, through=through)
        )
        cursors.copy_cursors(reader, writer)
        changes = [
            self._erase(reader, writer, after, min(after + _ERASED_COMMITS, through))
            for after in range(0, through, _ERASED_COMMITS)
        ]
        if any(changes):
            apply_log(writer, self.log_id, self._views, None)
            self._views.record_versions(writer)
        else:
            self._views.prune(writer)

    def _erase(self, reader: Reader, writer: Writer, after: int, through: int) -> bool:
        """Copy the events of a range again of which something was erased; say if there are any."""
        rows = {*reader.rows("erased_between", after=after, through=through)}
        rows -= {*writer.rows("erased_between", after=after, through=through)}
        for commit_ts in sorted({commit_ts for _, commit_ts, _, _ in rows}):
            event = reader.row("event_get", commit_ts=commit_ts)
            assert event is not None, "the range ends at the head"
            _, _, _, salts, envelope, operations = event
            writer.run(
                "event_rewrite",
                commit_ts=commit_ts,
                salts=salts,
                envelope=envelope,
                operations=operations,
            )
            for position, _ in writer.rows("blobs_of_commit", commit_ts=commit_ts):
                writer.run("blob_remove", commit_ts=commit_ts, position=position)
            blobs.copy(reader, writer, commit_ts)
        writer.put_all("erased_add", sorted(rows))
        return bool(rows)
