"""A folder of backups: file names, rotation, and the drill that restores the newest one.

A backup is a store in a file named by the store and its time in UTC: `acme-20261118T020000Z.db`.
It appears under its name when it is complete and synced, so a folder never shows half a backup.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import msgspec

from memoranda.calls.copies import Backup
from memoranda.errors import NotFound
from memoranda.model.clock import Clock, to_datetime
from memoranda.sdk.open import open_without_workers
from memoranda.sdk.restore import restore
from memoranda.sdk.store.store import Store
from memoranda.storage.files import (
    SIBLING_PREFIX,
    TEMP_PREFIX,
    path_exists,
    remove_abandoned,
    sync,
    translate_os_errors,
    work_folder,
)
from memoranda.storage.port import Progress

SUFFIX = ".db"
_STAMP = "%Y%m%dT%H%M%SZ"
_SECOND = 1_000_000
"""In microseconds."""


class BackupFile(msgspec.Struct, frozen=True):
    """A complete backup in a folder."""

    path: Path
    made_at: datetime


class Rotation(msgspec.Struct, frozen=True):
    """The rule that decides which backups are kept, by number and by age.

    Without limits, all backups are kept. With both limits, a backup is removed only if it exceeds
    both. The newest one is always kept.
    """

    keep: int | None = None
    """The number of backups to keep."""
    keep_for: int | None = None
    """The age up to which backups are kept, in microseconds."""

    def outdated(self, backups: Sequence[BackupFile], now: int) -> list[BackupFile]:
        """Return the backups to remove; `backups` has the newest first."""
        if self.keep is None and self.keep_for is None:
            return []
        surplus = backups[max(self.keep or 0, 1) :]
        if self.keep_for is None:
            return [*surplus]
        oldest = to_datetime(now - self.keep_for)
        return [file for file in surplus if file.made_at < oldest]


class RestoreDrill(msgspec.Struct, frozen=True):
    """The result of a drill: this backup can be restored, and its views match its log."""

    path: Path
    made_at: datetime
    log_id: str
    commits: int
    head_hash: str


class BackupFolder:
    """The backups of one store in a folder, which may have those of others too."""

    def __init__(self, folder: Path, name: str, clock: Clock) -> None:
        self._folder = folder
        self._name = name
        self._clock = clock
        self._pattern = re.compile(rf"{re.escape(name)}-(\d{{8}}T\d{{6}}Z){re.escape(SUFFIX)}")

    def files(self) -> list[BackupFile]:
        """Return the backups, the newest first."""
        if not path_exists(self._folder):
            raise NotFound(f"there is no folder {self._folder} for backups: make it, or mount it")
        files = []
        for path in self._folder.iterdir():
            match = self._pattern.fullmatch(path.name)
            if match is not None:
                with suppress(ValueError):  # digits that are no time: a file of another program
                    files.append(BackupFile(path, _parse_stamp(match[1])))
        return sorted(files, key=lambda file: file.made_at, reverse=True)

    def make(self, store: Store, progress: Progress | None = None) -> tuple[BackupFile, Backup]:
        """Make a backup of a store, after removing the leftovers of interrupted ones."""
        self._remove_drafts()
        used_times = {file.made_at for file in self.files()}
        micros = self._clock.now() // _SECOND * _SECOND
        while (made_at := to_datetime(micros)) in used_times:
            micros += _SECOND
        path = self._folder / f"{self._name}-{made_at.strftime(_STAMP)}{SUFFIX}"
        return BackupFile(path, made_at), store.backup(path, progress=progress)

    def rotate(self, rotation: Rotation) -> list[Path]:
        """Remove outdated backups, and return their paths."""
        paths = [file.path for file in rotation.outdated(self.files(), self._clock.now())]
        with translate_os_errors(self._folder):
            for path in paths:
                path.unlink(missing_ok=True)
            if paths:
                sync(self._folder)
        return paths

    def drill(
        self, progress: Progress | None = None, *, scratch: Path | None = None
    ) -> RestoreDrill:
        """Restore the newest backup into a scratch folder, and verify it with all its views.

        It raises what restoring or verifying raises, such as `ChainBroken`. The scratch folder is
        among the temporary files unless one is named, and is removed in any case.
        """
        newest = next(iter(self.files()), None)
        if newest is None:
            raise NotFound(f"there is no backup of {self._name} in {self._folder}: make one first")
        parent = Path(tempfile.gettempdir()) if scratch is None else scratch
        with work_folder(parent, TEMP_PREFIX) as folder:
            copy = folder / f"{self._name}{SUFFIX}"
            restore(newest.path, copy, progress=progress)
            with open_without_workers(copy) as store:
                verification = store.verify(deep=True, progress=progress)
        return RestoreDrill(
            newest.path,
            newest.made_at,
            verification.log_id,
            verification.commits,
            verification.head_hash,
        )

    def _remove_drafts(self) -> None:
        """Remove the drafts that killed processes left of backups of this store."""
        for draft in self._folder.glob(f"{SIBLING_PREFIX}*/{self._name}-*{SUFFIX}"):
            if self._pattern.fullmatch(draft.name):
                tag = draft.parent.name.removeprefix(SIBLING_PREFIX).partition("-")[0]
                remove_abandoned(self._folder, SIBLING_PREFIX, tag, draft.name)


def _parse_stamp(text: str) -> datetime:
    return datetime.strptime(f"{text[:-1]}+0000", "%Y%m%dT%H%M%S%z")
