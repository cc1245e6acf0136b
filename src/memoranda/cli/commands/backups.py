"""The command that backs a store up: to a file, or to a folder of backups, once or regularly."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from memoranda.cli.options import Target, takes_store
from memoranda.cli.output import byte_size, plural, safe, write_error, write_json
from memoranda.cli.progress import meter
from memoranda.errors import InvalidInput, MemorandaError

_WAIT_SECONDS = 1.0
"""Seconds of one wait for the next backup: a change of the clock is noticed after it."""


@click.command()
@click.argument("file", metavar="[FILE]", required=False, type=click.Path())
@click.option(
    "--to",
    metavar="FOLDER",
    type=click.Path(),
    help="Back up to a new file in this folder, named by the store and the time.",
)
@click.option(
    "--every",
    metavar="DURATION",
    help="With --to: go on until Ctrl-C, one backup in each such time, such as 1d.",
)
@click.option(
    "--keep",
    metavar="N",
    type=click.IntRange(min=1),
    help="With --to: remove all but the N newest backups.",
)
@click.option(
    "--keep-for",
    metavar="DURATION",
    help="With --to: remove older backups; those of --keep stay, and always the newest.",
)
@click.option(
    "--verify",
    is_flag=True,
    help="With --to: restore the backup to a scratch folder and verify it with all its views.",
)
@takes_store
def backup(
    target: Target,
    *,
    file: str | None,
    to: str | None,
    every: str | None,
    keep: int | None,
    keep_for: str | None,
    verify: bool,
) -> None:
    """Copy the store to a new file while others write.

    FILE holds every commit up to the start of the backup, of all agents. It appears when it is
    complete, and it is a store: every command can open it with --db.

    With --to, a folder gets a new file, and --keep and --keep-for remove old ones, once the new
    one is there and, with --verify, restored and verified. With --every, the first backup is due
    that long after the newest one in the folder; one that fails is reported, and the next is made
    in its time.

    Example: memoranda backup --to /mnt/backups --every 1d --keep 7 --verify
    """
    if (file is None) == (to is None):
        raise click.UsageError("give either FILE or --to FOLDER")
    if file is not None:
        _check_no_folder_options(every=every, keep=keep, keep_for=keep_for, verify=verify)
        _back_up_to_file(target, file)
        return
    plan = _Plan(target, Path(to or ""), keep, keep_for, verify=verify)
    if every is None:
        plan.back_up()
    else:
        plan.back_up_every(every)


def _check_no_folder_options(**options: object) -> None:
    for name, value in options.items():
        if value:
            raise click.UsageError(f"--{name.replace('_', '-')} needs --to FOLDER")


def _back_up_to_file(target: Target, file: str) -> None:
    from memoranda.calls.as_json import to_json

    with target.reader() as store, meter("Backing up") as progress:
        report = store.backup(file, progress=progress)
    if target.as_json:
        write_json({"path": file, **to_json(report)})
        return
    commits, size = plural(report.commits, "commit"), byte_size(report.bytes)
    click.echo(f"Backed up {commits} to {safe(file)}, {size}.")


class _Plan:
    """Backups of one store in one folder."""

    def __init__(
        self, target: Target, folder: Path, keep: int | None, keep_for: str | None, *, verify: bool
    ) -> None:
        from memoranda.model.clock import SystemClock, check_duration
        from memoranda.sdk.backup_folder import SUFFIX, BackupFolder, Rotation
        from memoranda.storage.store_url import file_of

        if target.is_remote:
            raise InvalidInput("url", "a server backs its stores up itself: see jobs.backup")
        path = file_of("url", target.location)
        self._target = target
        self._clock = SystemClock()
        self._backups = BackupFolder(folder, path.name.removesuffix(SUFFIX), self._clock)
        self._rotation = Rotation(keep, check_duration("keep_for", keep_for))
        self._verify = verify

    def back_up(self) -> None:
        """Make a backup, verify it, and remove those that need not stay."""
        with self._target.reader() as store, meter("Backing up") as progress:
            backup, report = self._backups.make(store, progress)
        if self._verify:
            with meter("Verifying") as progress:
                self._backups.drill(progress)
        removed = self._backups.rotate(self._rotation)
        if self._target.as_json:
            write_json(
                {
                    "path": str(backup.path),
                    "commits": report.commits,
                    "bytes": report.bytes,
                    "verified": self._verify,
                    "removed": [str(path) for path in removed],
                }
            )
            return
        commits, size = plural(report.commits, "commit"), byte_size(report.bytes)
        verified = ", restored and verified" if self._verify else ""
        click.echo(f"Backed up {commits} to {safe(str(backup.path))}, {size}{verified}.")
        for path in removed:
            click.echo(f"Removed {safe(str(path))}.")

    def back_up_every(self, every: str) -> None:
        """Make backups until an interrupt; SIGTERM is one too, so that no draft is left."""
        from memoranda.model.clock import check_duration, to_micros

        interval = check_duration("every", every)
        if interval is None:
            raise InvalidInput("every", "is missing: give a length of time, such as 1d")
        newest = next(iter(self._backups.files()), None)
        due_at = 0 if newest is None else to_micros("made_at", newest.made_at) + interval
        with _interrupted_by_sigterm():
            while True:
                self._wait_until(due_at)
                due_at = self._clock.now() + interval
                try:
                    self.back_up()
                except (MemorandaError, OSError) as error:
                    kind = type(error).__name__
                    write_error(kind, str(error), as_json=self._target.as_json)
                sys.stdout.flush()

    def _wait_until(self, micros: int) -> None:
        while (seconds := (micros - self._clock.now()) / 1_000_000) > 0:
            self._clock.sleep(min(seconds, _WAIT_SECONDS))


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # it gets no signals
        yield
        return
    former = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)
