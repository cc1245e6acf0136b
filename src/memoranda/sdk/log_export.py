"""Exporting a store's log to a file of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from memoranda.audit.export import ErasedMeanwhile, ExportedLog, export
from memoranda.errors import InvalidInput
from memoranda.model.limits import shown
from memoranda.sdk.core import Core
from memoranda.sdk.urls import Url, file_of
from memoranda.storage.newfiles import OWNER_ONLY, appearing, check_free, told_as_ours
from memoranda.storage.port import Progress
from memoranda.storage.workfolders import tag_of


class Sink(Protocol):
    """What can be written to, such as a file that is open for writing bytes."""

    def write(self, data: bytes, /) -> object:
        """Take bytes: a line each time."""
        ...


_TRIES = 5
"""How often an export is begun, should something be erased meanwhile."""
_BUFFER = 1024 * 1024


def export_log(core: Core, path: Url | Sink, progress: Progress | None) -> ExportedLog:
    """Write the log as it is now to a new file, or to one that is open for writing bytes."""
    if not isinstance(path, (str, os.PathLike)):
        if not hasattr(path, "write"):
            raise InvalidInput("path", f"{shown(path)} is neither a path nor an open file")
        return export(core.engine, core.log_id, path.write, progress)
    target = file_of("path", path)
    check_free("path", target)
    with appearing("path", target, tag=tag_of(core.log_id)) as draft, told_as_ours(target):
        for _ in range(_TRIES - 1):
            try:
                return _export_to(core, draft, progress)
            except ErasedMeanwhile:
                draft.unlink()
        return _export_to(core, draft, progress)


def _export_to(core: Core, draft: Path, progress: Progress | None) -> ExportedLog:
    """Write to a file that only its owner can read: it has all that the store has."""
    draft.touch(OWNER_ONLY, exist_ok=False)
    with draft.open("wb", buffering=_BUFFER) as opened:
        return export(core.engine, core.log_id, opened.write, progress)
