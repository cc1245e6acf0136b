"""What a store hands out for others to keep and check: its log."""

from __future__ import annotations

from recollect.audit.export import ExportedLog
from recollect.model.limits import check_callable
from recollect.sdk.handle import Handle
from recollect.sdk.log_export import Sink, export_log
from recollect.sdk.urls import Url
from recollect.storage.port import Progress


class ExportCalls(Handle):
    """Exporting the log."""

    def export_log(self, path: Url | Sink, *, progress: Progress | None = None) -> ExportedLog:
        """Write the log as it is now to a new file, as JSON Lines, while others go on writing.

        `path` may also be a file that is open for writing bytes. `recollect.import_log` makes a
        store of it again; `recollect-verify log` checks it without Recollect.
        """
        check_callable("progress", progress)
        return self._calls.run(export_log, self._core, path, progress)
