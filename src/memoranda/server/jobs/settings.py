"""The settings of scheduled jobs: a job runs if it says how often."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from memoranda.errors import InvalidInput
from memoranda.model.clock import check_duration
from memoranda.model.limits import short_repr

_TIME_OF_DAY = re.compile(r"([01]\d|2[0-3]):([0-5]\d)", re.ASCII)
_DAY = 86_400 * 1_000_000
"""In microseconds."""
_MIN_INTERVAL = 1_000_000
"""A second, in microseconds: a job that runs more often than that is a mistake."""

Text = str | None
Count = Annotated[int, Meta(ge=1)] | None
FilePath = Annotated[str | None, Meta(extra={"is_path": True})]


class Schedule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often a job runs, and at what time of the day."""

    name: ClassVar[str]
    starts_at_once: ClassVar[bool] = True
    """Whether its first run is due when the server first knows of it; else one interval later."""

    every: Annotated[
        Text, Meta(description="How often it runs, such as 6h or 1d; without it, it does not run.")
    ] = None
    at: Annotated[
        Text, Meta(description="At what time of the day in UTC, such as 03:00; for whole days.")
    ] = None

    def __post_init__(self) -> None:
        interval = self.interval
        if interval is not None and interval < _MIN_INTERVAL:
            raise self._error("every", f"{short_repr(self.every)} is under a second: give more")
        if self.at is None:
            return
        if _TIME_OF_DAY.fullmatch(self.at) is None:
            raise self._error("at", f"{short_repr(self.at)} is no time of the day: give HH:MM")
        if interval is None:
            raise self._error("at", "is given without `every`: give both, such as every = '1d'")
        if interval % _DAY:
            raise self._error(
                "at", f"needs whole days, and `every` is {short_repr(self.every)}: give 1d, 7d, …"
            )

    @property
    def interval(self) -> int | None:
        """The time between two runs, in microseconds; None: the job does not run."""
        return self._micros("every", self.every)

    @property
    def time_of_day(self) -> int | None:
        """When it runs, in microseconds since midnight UTC; None: whenever it is due."""
        if self.at is None:
            return None
        hours, minutes = self.at.split(":")
        return (int(hours) * 60 + int(minutes)) * 60_000_000

    def _micros(self, field: str, text: str | None) -> int | None:
        return check_duration(f"jobs.{self.name}.{field}", text)

    def _error(self, field: str, problem: str) -> InvalidInput:
        return InvalidInput(f"jobs.{self.name}.{field}", problem)

    def _require(self, field: str, remedy: str) -> None:
        if self.every is not None and getattr(self, field) is None:
            raise self._error(field, f"is missing: {remedy}")


class SweepSettings(Schedule, frozen=True, kw_only=True):
    """Erases expired memories and transcripts that nothing cites."""

    name = "sweep"

    expired_for: Annotated[str, Meta(description="How long they must have been expired.")] = "30d"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._micros("expired_for", self.expired_for)


class CompactSettings(Schedule, frozen=True, kw_only=True):
    """Compacts the namespaces that have a `log_retention`, each up to it."""

    name = "compact"


class PurgeSettings(Schedule, frozen=True, kw_only=True):
    """Removes the bytes of erased data from the files, if any are left."""

    name = "purge"


class CheckpointSettings(Schedule, frozen=True, kw_only=True):
    """Signs a checkpoint of the log, if it has grown, and publishes it."""

    name = "checkpoint"

    signer: Annotated[
        FilePath,
        Meta(description="The key file that signs; `memoranda signer create` makes it."),
    ] = None
    publish: Annotated[
        FilePath,
        Meta(description="A folder that gets the newest signed note, as `STORE.checkpoint`."),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require("signer", "name the key file that signs")


class BackupSettings(Schedule, frozen=True, kw_only=True):
    """Backs every store up, and the server's control store with the tokens."""

    name = "backup"

    to: Annotated[FilePath, Meta(description="The folder of the backups; it must exist.")] = None
    keep: Annotated[Count, Meta(description="How many backups of a store stay.")] = None
    keep_for: Annotated[
        Text, Meta(description="How long backups stay; those of `keep` stay in any case.")
    ] = None
    verify: Annotated[
        bool, Meta(description="Whether each backup is restored and verified before old ones go.")
    ] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require("to", "name a folder for the backups")
        self._micros("keep_for", self.keep_for)

    @property
    def kept_micros(self) -> int | None:
        """For how long backups stay, in microseconds."""
        return self._micros("keep_for", self.keep_for)


class DrillSettings(Schedule, frozen=True, kw_only=True):
    """Restores the newest backup to a scratch folder, and verifies it with all its views."""

    name = "restore_drill"
    starts_at_once = False  # there is no backup yet

    scratch: Annotated[
        FilePath, Meta(description="Where to restore; default: among the temporary files.")
    ] = None


class ReindexSettings(Schedule, frozen=True, kw_only=True):
    """Brings the full-text index and the vectors up to date."""

    name = "reindex"


class JobSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The scheduled jobs of a server."""

    sweep: SweepSettings = SweepSettings()
    compact: CompactSettings = CompactSettings()
    purge: PurgeSettings = PurgeSettings()
    checkpoint: CheckpointSettings = CheckpointSettings()
    backup: BackupSettings = BackupSettings()
    restore_drill: DrillSettings = DrillSettings()
    reindex: ReindexSettings = ReindexSettings()

    def __post_init__(self) -> None:
        if self.restore_drill.every is not None and self.backup.to is None:
            raise InvalidInput(
                "jobs.restore_drill.every",
                "there are no backups to restore: set jobs.backup.to to their folder",
            )

    @property
    def folders(self) -> list[Path]:
        """The folders of the server that jobs use, which its callers need not know."""
        paths = (
            self.backup.to,
            self.checkpoint.publish,
            self.checkpoint.signer,
            self.restore_drill.scratch,
        )
        folders = [Path(path) for path in paths if path is not None]
        return [*folders, *(path.parent for path in folders)]

    @property
    def scheduled(self) -> list[Schedule]:
        """The jobs that run."""
        jobs: list[Schedule] = [getattr(self, name) for name in self.__struct_fields__]
        return [job for job in jobs if job.every is not None]
