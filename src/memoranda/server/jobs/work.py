"""The work of each job on one store; each function returns a short summary."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec

from memoranda.calls.core import Core
from memoranda.calls.defaults import Defaults
from memoranda.errors import Corruption, StoreBusy
from memoranda.log.erasure.purge import first_pending
from memoranda.memory import settings as namespace_settings
from memoranda.model.clock import to_datetime
from memoranda.model.erasure import RETENTION
from memoranda.model.scope import ALL_NAMESPACES
from memoranda.sdk.backup_folder import BackupFolder, RestoreDrill, Rotation
from memoranda.sdk.local.calls import LocalCalls
from memoranda.sdk.store.store import Store
from memoranda.server.jobs.settings import (
    BackupSettings,
    CheckpointSettings,
    CompactSettings,
    DrillSettings,
    JobSettings,
    PurgeSettings,
    ReindexSettings,
    Schedule,
    SweepSettings,
)
from memoranda.storage.files import atomic_file
from memoranda.storage.port import Progress

CHECKPOINT_SUFFIX = ".checkpoint"


class Place(msgspec.Struct, frozen=True):
    """The store that a job works on."""

    name: str
    core: Core

    @property
    def store(self) -> Store:
        """A handle of the store, which its owner closes."""
        return Store(LocalCalls(self.core), Defaults())


Work = Callable[[Place, Progress], str]
"""Does a job on a store, in a thread; `progress` raises when the server shuts down."""


class Job(msgspec.Struct, frozen=True):
    """A job with its schedule."""

    schedule: Schedule
    work: Work
    of_control: bool = False
    """Whether it is done with the server's control store too."""

    @property
    def name(self) -> str:
        """Its name, which is that of its settings."""
        return self.schedule.name


def scheduled_jobs(settings: JobSettings) -> list[Job]:
    """Return the jobs that are to run."""
    return [_job_of(schedule, settings) for schedule in settings.scheduled]


def _job_of(schedule: Schedule, settings: JobSettings) -> Job:
    match schedule:
        case SweepSettings():
            return Job(schedule, partial(_sweep, schedule))
        case CompactSettings():
            return Job(schedule, _compact)
        case PurgeSettings():
            return Job(schedule, _purge)
        case CheckpointSettings():
            return Job(schedule, partial(_checkpoint, schedule))
        case BackupSettings():
            return Job(schedule, partial(_back_up, schedule), of_control=True)
        case DrillSettings():
            work = partial(_drill, schedule, _folder(settings.backup))
            return Job(schedule, work, of_control=True)
        case ReindexSettings():
            return Job(schedule, _reindex)
    raise AssertionError(f"{schedule.name} has no work")


def _sweep(settings: SweepSettings, place: Place, _: Progress) -> str:
    certificate = place.store.sweep(
        namespace=ALL_NAMESPACES, expired_for=settings.expired_for, reason="scheduled sweep"
    )
    if certificate is None:
        return "nothing to erase"
    return f"erased {certificate.operations} operations, erasure {certificate.erasure_id}"


def _compact(place: Place, progress: Progress) -> str:
    erased = namespaces = 0
    for namespace in _with_retention(place):
        compaction = place.store.compact(
            namespace=namespace,
            before=RETENTION,
            confirm=True,
            reason="scheduled compaction",
            progress=progress,
        )
        erased += compaction.erased
        namespaces += 1
    return f"erased {erased} operations of {namespaces} namespaces with a retention"


def _with_retention(place: Place) -> Iterator[str]:
    """Yield the namespaces whose log is to be compacted."""
    with place.core.engine.reading() as reader:
        rows = namespace_settings.load(reader)
    for summary in [*place.store.namespaces()]:
        if namespace_settings.fold(rows, summary.namespace).log_retention is not None:
            yield summary.namespace


def _purge(place: Place, progress: Progress) -> str:
    with place.core.engine.reading() as reader:
        is_pending = first_pending(reader) is not None
    if not is_pending:
        return "nothing to purge"
    if not place.store.purge(progress=progress):
        raise StoreBusy("bytes of erased data are left, since a reader holds them: try again later")
    return "purged the bytes of erased data"


def _checkpoint(settings: CheckpointSettings, place: Place, _: Progress) -> str:
    assert settings.signer is not None, "the settings were checked"
    if not place.core.head():
        return "the log is empty"
    signed = place.store.checkpoint(signer=settings.signer)
    if settings.publish is not None:
        _publish(Path(settings.publish) / f"{place.name}{CHECKPOINT_SUFFIX}", signed.note)
    return f"signed {signed.size} commits"


def _publish(path: Path, note: str) -> None:
    """Replace a published note in one step: a reader sees the old one or the new one."""
    with atomic_file("publish", path, put=_replace) as draft:
        draft.write_text(note, "utf-8")


def _replace(draft: Path, path: Path) -> None:
    draft.replace(path)


def _folder(settings: BackupSettings) -> Path:
    assert settings.to is not None, "the settings were checked"
    return Path(settings.to)


def _back_up(settings: BackupSettings, place: Place, progress: Progress) -> str:
    backups = BackupFolder(_folder(settings), place.name, place.core.clock)
    backup, report = backups.make(place.store, progress)
    if settings.verify:
        _check_origin(place, backups.drill(progress))
    removed = backups.rotate(Rotation(settings.keep, settings.kept_micros))
    verified = ", restored and verified" if settings.verify else ""
    return f"{backup.path.name}: {report.commits} commits{verified}; {len(removed)} removed"


def _drill(settings: DrillSettings, folder: Path, place: Place, progress: Progress) -> str:
    scratch = None if settings.scratch is None else Path(settings.scratch)
    backups = BackupFolder(folder, place.name, place.core.clock)
    drill = backups.drill(progress, scratch=scratch)
    _check_origin(place, drill)
    return f"{drill.path.name}: restored and verified {drill.commits} commits"


def _check_origin(place: Place, drill: RestoreDrill) -> None:
    """Raise `Corruption` if a backup is not of this log, or of another history of it."""
    with place.core.engine.reading() as reader:
        row = reader.row("event_hash", commit_ts=drill.commits)
    is_same = row == (bytes.fromhex(drill.head_hash),) if drill.commits else True
    if drill.log_id != place.core.log_id or not is_same:
        made_at = to_datetime(place.core.clock.now()) - drill.made_at
        raise Corruption(
            f"{drill.path.name}, made {made_at} ago, has another history than the store: was the "
            "store restored, or replaced? Make a new backup"
        )


def _reindex(place: Place, progress: Progress) -> str:
    report = place.store.reindex(progress=progress)
    return f"indexed {report.commits} commits, embedded {report.vectors} documents"
