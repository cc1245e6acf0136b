"""Importing facts: what a file says, asserted; what cannot be, set aside."""

from __future__ import annotations

import filecmp
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from memoranda.cli import exits
from memoranda.cli.fact_options import form_of, takes_form
from memoranda.cli.options import Target, takes_target
from memoranda.cli.output import note, warn, write_json
from memoranda.cli.progress import meter
from memoranda.cli.source_files import opened_file
from memoranda.cli.text import counted
from memoranda.errors import MemorandaError

if TYPE_CHECKING:
    from memoranda.cli.fact_rows import Row, Rows
    from memoranda.sdk.bulk import AssertedFacts

_BLOCK = 2**20


class _Aside:
    """The file of the rows that could not be taken. It is there once it is whole, if at all."""

    def __init__(self, rows: Rows, path: Path, stack: ExitStack) -> None:
        self._rows = rows
        self._stack = stack
        self._pending: list[tuple[int, str]] = []
        self._file: TextIO | None = None
        self.path = path
        self.count = 0

    def add(self, row: Row, error: MemorandaError) -> None:
        """Set a row aside."""
        self._pending.append((row.line, self._rows.set_aside(row, str(error))))
        self.count += 1

    def write(self) -> None:
        """Write what was set aside since the last time, in the order of the lines."""
        if not self._pending:
            return
        if self._file is None:
            self._file = self._open()
        self._file.writelines(f"{text}\n" for _, text in sorted(self._pending))
        self._pending.clear()

    def _open(self) -> TextIO:
        from memoranda.storage.newfiles import appearing

        draft = self._stack.enter_context(appearing("path", self.path, put=self._put))
        file = self._stack.enter_context(draft.open("w", encoding="utf-8", newline=""))
        if header := self._rows.header():
            file.write(f"{header}\n")
        return file

    def _put(self, draft: Path, path: Path) -> None:
        """Put it beside an earlier one, which somebody may be mending, unless both are alike."""
        number = 1
        while path.exists() and not filecmp.cmp(draft, path, shallow=False):
            number += 1
            path = self.path.with_name(f"{self.path.name}.{number}")
        draft.replace(path)
        self.path = path


@click.command(name="import")
@click.argument("file", metavar="FILE", type=click.Path())
@takes_form
@click.option("--batch", metavar="N", type=int, default=500, help="Rows a transaction.")
@click.option(
    "--once",
    metavar="NAME",
    default="import",
    show_default=True,
    help="Under one name a row is said once; under another it is said anew.",
)
@click.option(
    "--rejected",
    metavar="FILE",
    type=click.Path(),
    help="Where to put rows that cannot be taken; not given, FILE.rejected.",
)
@takes_target
def import_file(
    target: Target, *, file: str, form: str | None, batch: int, once: str, rejected: str | None
) -> None:
    """Assert what a file says: CSV with a header, or JSON Lines; `-` is stdin.

    Columns are subject, relation and object, and if you like object_kind (number, boolean, date,
    time or text: the object is a value, not a name), valid_from, valid_to, confidence and source.

    A row is known by what it says. Import a file again, whole, mended or longer, after Ctrl-C or a
    crash: what is in is not said twice, whatever --batch is. Rows that cannot be taken are put in
    FILE.rejected, with their lines and reasons; mend that file and import it. The exit code is 1
    then.

    Example: memoranda fact import people.csv
    """
    from memoranda.cli.fact_rows import FORMS, Lines

    with ExitStack() as stack:
        lines = Lines(stack.enter_context(opened_file(file)), "stdin" if file == "-" else file)
        kind = form_of(file, form)
        rows = FORMS[kind](lines)
        path = Path(rejected or f"{f'stdin.{kind}' if file == '-' else file}.rejected")
        aside = _Aside(rows, path, stack)
        progress = stack.enter_context(meter("Importing"))
        total = _count_lines(file)
        with target.agents_store(create=True) as store, _telling_how_far() as done:

            def tell(count: int, _: int) -> None:
                aside.write()
                done(count)
                progress(lines.number, total)

            found = store.assert_facts(
                _good(rows, aside), batch=batch, once=once, reject=_adding(aside), progress=tell
            )
        aside.write()
    _report(target, found, aside)


def _good(rows: Rows, aside: _Aside) -> Iterator[Row]:
    """Yield the rows that can be understood; whether they can be taken, the store says."""
    for row in rows.read():
        if row.problem is None:
            yield row
        else:
            aside.add(row, row.problem)


def _adding(aside: _Aside) -> Callable[[int, object, MemorandaError], None]:
    def reject(_: int, row: object, error: MemorandaError) -> None:
        aside.add(row, error)  # type: ignore[arg-type] # the store gives back what it was given

    return reject


@contextmanager
def _telling_how_far() -> Iterator[Callable[[int], None]]:
    """Say what is in, if it comes to an end before its time."""
    last = [0]
    try:
        yield lambda count: last.__setitem__(0, count)
    except (KeyboardInterrupt, MemorandaError):
        if last[0]:
            note(f"{counted(last[0], 'row')} were done: import it again, and it goes on")
        raise


def _report(target: Target, found: AssertedFacts, aside: _Aside) -> None:
    if target.as_json:
        counts = {
            "imported": found.asserted,
            "unchanged": found.unchanged,
            "retracted": found.retracted,
            "rejected": aside.count,
        }
        write_json({**counts, "rejected_file": str(aside.path) if aside.count else None})
    else:
        parts = [f"Imported {counted(found.asserted, 'fact')}, {found.unchanged:,} unchanged"]
        if found.retracted:
            parts.append(f"{found.retracted:,} left as they are, retracted")
        parts.append(f"{aside.count:,} rejected")
        click.echo(", ".join(parts) + ".")
    if aside.count:
        if not target.as_json:
            warn(f"what was rejected is in {aside.path}: mend it and import it")
        click.get_current_context().exit(exits.FAILED)


def _count_lines(file: str) -> int | None:
    """Return how many lines there are to go, if anybody is looking."""
    if file == "-" or not sys.stderr.isatty():
        return None
    with Path(file).open("rb") as opened:
        return sum(block.count(b"\n") for block in iter(lambda: opened.read(_BLOCK), b""))
