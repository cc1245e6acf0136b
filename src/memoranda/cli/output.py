"""Where output goes: data to stdout, as lines for people or as JSON; messages to stderr."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable
from typing import TypeVar

import click

from memoranda.cli.text import compact, pretty, safe, safe_json

Item = TypeVar("Item")


def write_json(data: object) -> None:
    """Write one JSON object on a line of its own, in UTF-8 whatever the terminal speaks."""
    import msgspec

    text = safe_json(msgspec.json.encode(data).decode())
    sys.stdout.buffer.write(f"{text}\n".encode())


def write_each(
    items: Iterable[Item],
    *,
    as_json: bool,
    shape: Callable[[Item], object],
    lines: Callable[[Item], str],
    nothing: str,
) -> None:
    """Write items as they come, one JSON object or one block of lines each."""
    empty = True
    for item in items:
        empty = False
        if as_json:
            write_json(shape(item))
        else:
            click.echo(lines(item))
    if empty and not as_json:
        note(nothing)


def write_value(value: object) -> None:
    """Write a value for whoever reads: indented on a terminal, on one line elsewhere."""
    if not sys.stdout.isatty():
        click.echo(compact(value))
        return
    from rich.console import Console
    from rich.highlighter import JSONHighlighter

    text = JSONHighlighter()(pretty(value))
    Console(no_color=not colour_wanted()).print(text, soft_wrap=True)


def write_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Write names and what is known under them, aligned."""
    known = list(facts)
    width = max(len(name) for name, _ in known)
    for name, fact in known:
        click.echo(f"{click.style(name.ljust(width), dim=True)}  {safe(fact)}")


def note(message: str) -> None:
    """Tell a person something that is no data."""
    click.secho(safe(message), err=True, dim=True)


def warn(message: str) -> None:
    """Tell a person about something that deserves a look."""
    click.echo(f"{click.style('Warning:', fg='yellow')} {safe(message)}", err=True)


def write_error(kind: str, message: str, *, as_json: bool) -> None:
    """Say on stderr why a command ends, to a person or to a program."""
    if as_json:
        import msgspec

        text = msgspec.json.encode({"error": kind, "message": safe(message)}).decode()
        click.echo(text, err=True)
        return
    if kind == "Interrupted":  # no error, and the terminal has just shown ^C
        click.echo(f"\n{message}" if sys.stderr.isatty() else message, err=True)
        return
    click.echo(f"{click.style('Error:', fg='red')} {safe(message)}", err=True)


def colour_wanted() -> bool:
    """Say whether colours may be used where there is a terminal to show them."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def fit(text: str, *, beside: str) -> str:
    """Return what of a text fits on the terminal beside another; all, where there is none."""
    if not sys.stdout.isatty():
        return text
    from rich.cells import cell_len, set_cell_size

    room = max(shutil.get_terminal_size().columns - cell_len(beside), 10)
    return text if cell_len(text) <= room else f"{set_cell_size(text, room - 1).rstrip()}…"


def abandon_stdout() -> None:
    """Drop what was not written yet: nobody reads it, and the interpreter would fail on it."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # not a real file
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
