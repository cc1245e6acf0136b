"""What a store hands out for others to keep and check: its log."""

from __future__ import annotations

from memoranda.audit.export import ExportedLog
from memoranda.model.limits import check_callable
from memoranda.sdk.handle import Handle
from memoranda.sdk.log_export import Sink, export_log
from memoranda.sdk.urls import Url
from memoranda.storage.port import Progress


class ExportCalls(Handle):
    """Exporting the log."""

    def export_log(self, path: Url | Sink, *, progress: Progress | None = None) -> ExportedLog:
        """Write the log as it is now to a new file, as JSON Lines, while others go on writing.

        `path` may also be a file that is open for writing bytes. `memoranda.import_log` makes a
        store of it again; `memoranda-verify log` checks it without Memoranda.
        """
        check_callable("progress", progress)
        return self._calls.run(export_log, self._core, path, progress)
