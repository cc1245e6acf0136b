"""Exporting facts: what is believed, as a file that can be imported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memoranda.cli import fact_inputs
from memoranda.cli.fact_options import form_of, takes_form, takes_known_at
from memoranda.cli.options import Target, takes_target
from memoranda.cli.output import note, write_json
from memoranda.cli.progress import meter
from memoranda.cli.text import counted, safe

if TYPE_CHECKING:
    from memoranda.graph.records import Fact
    from memoranda.sdk.store import Store


@click.command(name="export")
@click.argument("file", metavar="FILE", type=click.Path())
@takes_form
@click.option("--valid-at", metavar="TIME", help="Only what held then; not given, all there was.")
@takes_known_at
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@takes_target
def export_file(
    target: Target,
    *,
    file: str,
    form: str | None,
    valid_at: str | None,
    known_at: str | None,
    force: bool,
) -> None:
    """Write facts to a file that `import` reads: CSV or JSON Lines; `-` is stdout.

    It has every fact with its times, also those that have ended. It has not: which relations are
    single-valued, aliases, and sources, which another store does not know. What held for no time
    at all is left out.

    Example: memoranda fact export people.csv
    """
    from memoranda.cli.fact_rows import WRITERS

    writer = WRITERS[form_of(file, form or ("csv" if file == "-" else None))]
    with target.agents_store() as store, ExitStack() as stack:
        found = store.iter_facts(
            valid_at=fact_inputs.instant(valid_at),
            known_at=fact_inputs.moment(known_at),
            include_closed=valid_at is None,
        )
        progress = stack.enter_context(meter("Exporting", beside_output=file != "-"))
        write = _to_stdout if file == "-" else stack.enter_context(_written(file, force=force))
        count = _write_all(progress.counting(found), write, writer.begin, writer.line)
        _tell_what_is_missing(target, store)
    if file == "-":
        return
    if target.as_json:
        write_json({"path": file, "facts": count})
    else:
        click.echo(f"Exported {counted(count, 'fact')} to {safe(file)}.")


def _tell_what_is_missing(target: Target, store: Store) -> None:
    from memoranda.graph.resolution import RelationCardinality

    if target.as_json:
        return
    for relation, kind in store.cardinalities().items():
        if kind is RelationCardinality.SINGLE_VALUED:
            said = f"memoranda fact cardinality {relation!r} single"
            note(f"not in the file: {relation!r} has one object at a time; say so with `{said}`")


def _write_all(
    facts: Iterator[Fact],
    write: Callable[[str], object],
    begin: str,
    line: Callable[[dict[str, object]], str],
) -> int:
    """Write facts, and return how many."""
    from memoranda.cli import fact_shapes

    count = 0
    write(begin)
    for fact in facts:
        if fact.valid_from != fact.valid_to:
            write(line(fact_shapes.row(fact)))
            count += 1
    return count


@contextmanager
def _written(file: str, *, force: bool) -> Iterator[Callable[[str], object]]:
    """Lend a way to write to a file, which is there once it is whole."""
    from memoranda.storage.newfiles import appearing, check_free

    path = Path(file)
    if not force:
        check_free("path", path)
    with (
        appearing("path", path, put=_replace if force else None) as draft,
        draft.open("w", encoding="utf-8", newline="") as opened,
    ):
        yield opened.write


def _replace(draft: Path, path: Path) -> None:
    draft.replace(path)


def _to_stdout(text: str) -> None:
    """Write in UTF-8; a terminal is not sent control characters."""
    if sys.stdout.isatty():
        text = "".join(f"{safe(line)}\n" for line in text.splitlines())
    sys.stdout.buffer.write(text.encode())
