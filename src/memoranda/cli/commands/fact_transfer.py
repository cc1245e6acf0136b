"""Commands that import and export facts."""

from __future__ import annotations

import filecmp
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from memoranda.cli import exit_codes, inputs
from memoranda.cli.inputs import open_input
from memoranda.cli.options import Target, form_of, takes_form, takes_known_at, takes_target
from memoranda.cli.output import note, plural, safe, warn, write_json
from memoranda.cli.progress import meter
from memoranda.errors import MemorandaError

if TYPE_CHECKING:
    from memoranda.calls.results import AssertedFacts
    from memoranda.cli.formats.fact_files import Row, Rows
    from memoranda.graph.records import Fact
    from memoranda.sdk.store.store import Store

_BLOCK_BYTES = 2**20
"""Bytes that are read at a time to count lines."""


class _RejectedRows:
    """The file of rejected rows; it appears when it is complete, and only if there are any."""

    def __init__(self, rows: Rows, path: Path, stack: ExitStack) -> None:
        self._rows = rows
        self._stack = stack
        self._pending: list[tuple[int, str]] = []
        self._file: TextIO | None = None
        self.path = path
        self.count = 0

    def add(self, row: Row, error: MemorandaError) -> None:
        """Queue a row that cannot be imported."""
        self._pending.append((row.line, self._rows.rejected_line(row, str(error))))
        self.count += 1

    def write(self) -> None:
        """Write the queued rows in the order of their lines."""
        if not self._pending:
            return
        if self._file is None:
            self._file = self._open()
        self._file.writelines(f"{text}\n" for _, text in sorted(self._pending))
        self._pending.clear()

    def _open(self) -> TextIO:
        from memoranda.storage.files import atomic_file

        draft = self._stack.enter_context(atomic_file("path", self.path, put=self._put))
        file = self._stack.enter_context(draft.open("w", encoding="utf-8", newline=""))
        if header := self._rows.header():
            file.write(f"{header}\n")
        return file

    def _put(self, draft: Path, path: Path) -> None:
        """Keep an earlier file with other content: the user may be editing it."""
        number = 1
        while path.exists() and not filecmp.cmp(draft, path, shallow=False):
            number += 1
            path = self.path.with_name(f"{self.path.name}.{number}")
        draft.replace(path)
        self.path = path


@click.command(name="import")
@click.argument("file", metavar="FILE", type=click.Path())
@takes_form
@click.option("--batch", metavar="N", type=int, default=500, help="Rows in one transaction.")
@click.option(
    "--once",
    metavar="NAME",
    default="import",
    show_default=True,
    help="Idempotency key: rows are imported once for each name.",
)
@click.option(
    "--rejected",
    metavar="FILE",
    type=click.Path(),
    help="File for rejected rows; default: FILE.rejected.",
)
@takes_target
def import_file(
    target: Target, *, file: str, form: str | None, batch: int, once: str, rejected: str | None
) -> None:
    """Assert the facts in a file.

    FILE is CSV with a header, or JSON Lines; `-` is stdin.

    The columns are subject, relation and object; optional ones are object_kind (number, boolean,
    date, time or text: the object is a literal, not an entity), valid_from, valid_to, confidence,
    visibility (private or namespace) and source.

    A row is identified by its content. A file can be imported again, whole, corrected or longer,
    also after Ctrl-C or a crash: rows that are in the store are not asserted twice, whatever
    --batch is. Rejected rows go to FILE.rejected with their line numbers and reasons, and the exit
    code is 1; correct that file and import it.

    Example: memoranda fact import people.csv
    """
    from memoranda.cli.formats.fact_files import FORMS, Lines

    with ExitStack() as stack:
        lines = Lines(stack.enter_context(open_input(file)), "stdin" if file == "-" else file)
        kind = form_of(file, form)
        rows = FORMS[kind](lines)
        path = Path(rejected or f"{f'stdin.{kind}' if file == '-' else file}.rejected")
        rejections = _RejectedRows(rows, path, stack)
        progress = stack.enter_context(meter("Importing facts"))
        total = _count_lines(file)
        with target.agent_store(create=True) as store, _noting_interruption() as record_count:

            def report_progress(count: int, _: int) -> None:
                rejections.write()
                record_count(count)
                progress(lines.number, total)

            result = store.assert_facts(
                _valid_rows(rows, rejections),
                batch=batch,
                once=once,
                reject=_reject_into(rejections),
                progress=report_progress,
            )
        rejections.write()
    _report(target, result, rejections)


def _valid_rows(rows: Rows, rejections: _RejectedRows) -> Iterator[Row]:
    """Yield the rows that can be parsed; the store may still reject them."""
    for row in rows.read():
        if row.problem is None:
            yield row
        else:
            rejections.add(row, row.problem)


def _reject_into(rejections: _RejectedRows) -> Callable[[int, object, MemorandaError], None]:
    def reject(_: int, row: object, error: MemorandaError) -> None:
        rejections.add(row, error)  # type: ignore[arg-type] # the store returns the row it got

    return reject


@contextmanager
def _noting_interruption() -> Iterator[Callable[[int], None]]:
    """Note the number of committed rows if the import is interrupted or fails."""
    last = [0]
    try:
        yield lambda count: last.__setitem__(0, count)
    except (KeyboardInterrupt, MemorandaError):
        if last[0]:
            note(f"imported {plural(last[0], 'row')}: import the file again to continue")
        raise


def _report(target: Target, result: AssertedFacts, rejections: _RejectedRows) -> None:
    if target.as_json:
        counts = {
            "imported": result.asserted,
            "unchanged": result.unchanged,
            "retracted": result.retracted,
            "rejected": rejections.count,
        }
        write_json({**counts, "rejected_file": str(rejections.path) if rejections.count else None})
    else:
        parts = [f"Imported {plural(result.asserted, 'fact')}, {result.unchanged:,} unchanged"]
        if result.retracted:
            parts.append(f"{result.retracted:,} left retracted")
        parts.append(f"{rejections.count:,} rejected")
        click.echo(", ".join(parts) + ".")
    if rejections.count:
        if not target.as_json:
            warn(f"the rejected rows are in {rejections.path}: correct them and import that file")
        click.get_current_context().exit(exit_codes.FAILED)


def _count_lines(file: str) -> int | None:
    """Return the number of lines for a progress bar; None if there is no terminal to show one."""
    if file == "-" or not sys.stderr.isatty():
        return None
    count, last = 0, b"\n"
    with Path(file).open("rb") as stream:
        while block := stream.read(_BLOCK_BYTES):
            count, last = count + block.count(b"\n"), block[-1:]
    return count if last == b"\n" else count + 1


# Export.


@click.command(name="export")
@click.argument("file", metavar="FILE", type=click.Path())
@takes_form
@click.option("--valid-at", metavar="TIME", help="Only facts valid at this time; default: all.")
@takes_known_at
@click.option("--overwrite", is_flag=True, help="Overwrite an existing file.")
@takes_target
def export_file(
    target: Target,
    *,
    file: str,
    form: str | None,
    valid_at: str | None,
    known_at: str | None,
    overwrite: bool,
) -> None:
    """Export facts to a file that `import` reads.

    FILE is CSV or JSON Lines; `-` is stdout. It has every fact with its valid time, also past
    ones. It does not have cardinalities, aliases and sources, nor facts of zero length.

    The column visibility keeps private facts private in the importing store. A fact that other
    agents see with other times, because a private fact ended it, is private in the file.

    Example: memoranda fact export people.csv
    """
    from memoranda.cli.formats.fact_files import WRITERS

    writer = WRITERS[form_of(file, form or ("csv" if file == "-" else None))]
    with target.agent_reader() as store, ExitStack() as stack:
        facts = store.iter_shared_facts(
            valid_at=valid_at,
            known_at=inputs.moment(known_at),
            include_closed=valid_at is None,
        )
        progress = stack.enter_context(meter("Exporting facts", beside_output=file != "-"))
        write = (
            _to_stdout
            if file == "-"
            else stack.enter_context(_output_file(file, overwrite=overwrite))
        )
        count = _write_all(progress.counting(facts), write, writer.begin, writer.line)
        _note_cardinalities(target, store)
    if file == "-":
        return
    if target.as_json:
        write_json({"path": file, "facts": count})
    else:
        click.echo(f"Exported {plural(count, 'fact')} to {safe(file)}.")


def _note_cardinalities(target: Target, store: Store) -> None:
    """Note the single-valued relations, which the file cannot hold."""
    from memoranda.graph.edge_resolver import RelationCardinality

    if target.as_json:
        return
    for relation, kind in store.cardinalities().items():
        if kind is RelationCardinality.SINGLE_VALUED:
            command = f"memoranda fact cardinality {relation!r} single"
            note(f"not in the file: {relation!r} is single-valued; set it with `{command}`")


def _write_all(
    facts: Iterator[tuple[Fact, str]],
    write: Callable[[str], object],
    begin: str,
    line: Callable[[dict[str, object]], str],
) -> int:
    """Write facts and return their number."""
    from memoranda.cli.formats.fact_files import file_row

    count = 0
    write(begin)
    for fact, visibility in facts:
        if fact.valid_from != fact.valid_to:
            write(line(file_row(fact, visibility)))
            count += 1
    return count


@contextmanager
def _output_file(file: str, *, overwrite: bool) -> Iterator[Callable[[str], object]]:
    """Yield the `write` of a new file, which appears when the block ends."""
    from memoranda.storage.files import atomic_file, check_free

    path = Path(file)
    if not overwrite:
        check_free("path", path)
    with (
        atomic_file("path", path, put=_replace if overwrite else None) as draft,
        draft.open("w", encoding="utf-8", newline="") as stream,
    ):
        yield stream.write


def _replace(draft: Path, path: Path) -> None:
    draft.replace(path)


def _to_stdout(text: str) -> None:
    """Write UTF-8, without control characters on a terminal."""
    if sys.stdout.isatty():
        text = "".join(f"{safe(line)}\n" for line in text.splitlines())
    sys.stdout.buffer.write(text.encode())
