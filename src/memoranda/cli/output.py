"""Output: data on stdout as text or JSON, messages on stderr, no control characters anywhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable
from typing import TypeVar

import click

# Safe text.
#
# Other programs write the content of a store. A key may contain an escape sequence, and a value a
# character that reverses the reading direction. Such characters are printed as escapes (U+009B as
# \u009b) and never sent to a terminal.

_UNSAFE_IN_JSON = re.compile(
    "[\x7f-\x9f"  # U+009B starts an escape sequence, as ESC [ does
    "\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_UNSAFE = re.compile(f"[\x00-\x1f]|{_UNSAFE_IN_JSON.pattern}")
_ID_CHARACTERS = 20
"""Ids up to this length are printed in full; a UUID has 36 characters."""


def safe(text: str) -> str:
    """Return the text with every control character escaped."""
    return _UNSAFE.sub(_escape, text)


def safe_json(encoded: str) -> str:
    """Return equal JSON in which only the newlines between tokens are control characters."""
    return _UNSAFE_IN_JSON.sub(_escape, encoded)


def compact(value: object) -> str:
    """Return a value as JSON on one line."""
    return safe_json(json.dumps(value, ensure_ascii=False))


def pretty(value: object) -> str:
    """Return a value as indented JSON."""
    return safe_json(json.dumps(value, ensure_ascii=False, indent=2))


def abbreviate(name: str) -> str:
    """Return both ends of a long id: ids of the same minute share their first characters."""
    is_whole = len(name) <= _ID_CHARACTERS or _is_wide()
    return safe(name if is_whole else f"{name[:8]}…{name[-8:]}")


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """Return a count with its noun: `1 event`, `2 events`."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def byte_size(count: int) -> str:
    """Return a number of bytes with its unit: `512 bytes`, `1.5 MiB`."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return plural(count, "byte")


def _escape(character: re.Match[str]) -> str:
    return f"\\u{ord(character.group()):04x}"


# Writing: data goes to stdout, as text or JSON; messages go to stderr.

Item = TypeVar("Item")
_MIN_COLUMNS = 10
"""Columns a text keeps on a narrow terminal; its line then wraps."""


def write_json(result: object) -> None:
    """Write a result as one line of JSON, in UTF-8 whatever the terminal's encoding is."""
    import msgspec

    from memoranda.calls.as_json import to_json

    text = safe_json(msgspec.json.encode(to_json(result)).decode())
    sys.stdout.buffer.write(f"{text}\n".encode())


def write_each(
    items: Iterable[Item],
    *,
    as_json: bool,
    text: Callable[[Item], str],
    if_empty: str,
    json_form: Callable[[Item], object] | None = None,
) -> None:
    """Write items as they arrive, each as one line of JSON or as a block of text.

    If there are none, text output says so on stderr. `json_form` replaces an item's usual JSON.
    """
    empty = True
    for item in items:
        empty = False
        if as_json:
            write_json(item if json_form is None else json_form(item))
        else:
            click.echo(text(item))
    if empty and not as_json:
        note(if_empty)


def write_value(value: object) -> None:
    """Write a value as JSON: indented and coloured on a terminal, on one line elsewhere."""
    if not sys.stdout.isatty():
        click.echo(compact(value))
        return
    from rich.console import Console
    from rich.highlighter import JSONHighlighter

    text = JSONHighlighter()(pretty(value))
    Console(no_color=not use_colour()).print(text, soft_wrap=True)


def write_fields(fields: Iterable[tuple[str, str]]) -> None:
    """Write names and values in two aligned columns."""
    rows = list(fields)
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        click.echo(f"{click.style(name.ljust(width), dim=True)}  {safe(value)}")


def note(message: str) -> None:
    """Write a message that is not data to stderr."""
    click.secho(safe(message), err=True, dim=True)


def warn(message: str) -> None:
    """Write a warning to stderr."""
    click.echo(f"{click.style('Warning:', fg='yellow')} {safe(message)}", err=True)


def write_error(kind: str, message: str, *, as_json: bool) -> None:
    """Write to stderr why a command failed, as text or JSON."""
    if as_json:
        import msgspec

        text = msgspec.json.encode({"error": kind, "message": safe(message)}).decode()
        click.echo(text, err=True)
        return
    if kind == "Interrupted":  # not an error; the terminal has printed ^C without a newline
        click.echo(f"\n{message}" if sys.stderr.isatty() else message, err=True)
        return
    click.echo(f"{click.style('Error:', fg='red')} {safe(message)}", err=True)


def use_colour() -> bool:
    """Return whether a terminal gets colours: not with `NO_COLOR` or `TERM=dumb`."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


# The width of a terminal.

_WIDE = "memoranda.cli.wide"
"""Key in a context's `meta`: whether `--wide` is set."""


def _set_wide(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001
    ctx.meta[_WIDE] = value


takes_wide = click.option(
    "--wide",
    is_flag=True,
    expose_value=False,
    callback=_set_wide,
    help="Print whole texts, however wide the terminal is.",
)


def _is_wide() -> bool:
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get(_WIDE))


def max_columns() -> int | None:
    """Return the width of the terminal; None if lines are not cut: elsewhere, or with `--wide`."""
    is_cut = sys.stdout.isatty() and not _is_wide()
    return shutil.get_terminal_size().columns if is_cut else None


def fit(text: str, *, beside: str) -> str:
    """Cut a text to the columns that `beside` leaves on a terminal's line; elsewhere, keep it."""
    width = max_columns()
    if width is None:
        return text
    from rich.cells import cell_len, set_cell_size

    columns = max(width - cell_len(beside), _MIN_COLUMNS)
    return text if cell_len(text) <= columns else f"{set_cell_size(text, columns - 1).rstrip()}…"


def discard_stdout() -> None:
    """Drop buffered output: nobody reads it, and the interpreter's last flush would fail."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # not a real file
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)
