"""What the store answers to why, as the lines a person reads."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import click

from memoranda.cli.output import fit
from memoranda.cli.refs import spelled
from memoranda.cli.shapes import time_text
from memoranda.cli.text import safe, safe_json
from memoranda.model.refs import TranscriptRef

if TYPE_CHECKING:
    from memoranda.cli.reason_shapes import Place
    from memoranda.why.reason import Reason

_bold = partial(click.style, bold=True)
_dim = partial(click.style, dim=True)
_gone = partial(click.style, fg="red")
_warned = partial(click.style, fg="yellow")
_DRAWN = ("├── ", "└── ", "│   ", "    ")
_PLAIN = ("|-- ", "`-- ", "|   ", "    ")
"""For a terminal that cannot draw."""


def place(found: Place) -> str:
    """Return one part of a tree: what it says, whether that holds, and where it stands in the log.

    The place in the log takes a line of its own where there is no room for it.
    """
    reason, drawing = found.reason, _DRAWN if _can_draw() else _PLAIN
    start = f"{_indent(found.lasts, drawing)}{reason.relation} " if found.lasts else ""
    marks = "".join(f"  {mark}" for mark in _marks(reason))
    said = fit(_said(reason), beside=f"{start}{marks}")
    line = f"{_dim(start)}{_bold(said)}{_coloured(reason, marks)}"
    origin = _origin(reason)
    if fit(origin, beside=f"{start}{said}{marks}  ") == origin:
        return f"{line}  {_dim(origin)}" if origin else line
    below = _sides(found.lasts, drawing) + drawing[2 if reason.because else 3]
    return f"{line}\n{_dim(below + origin)}"


def stale_key(found: Reason) -> str:
    """Return a key as a block: its value, and what of all that it rests on is stale."""
    lines = [_bold(fit(_said(found), beside=""))]
    for reason in found.walk():
        if reason.stale:
            marks = "".join(f"  {mark}" for mark in _marks(reason))
            told = fit(_said(reason), beside=f"  {marks}")
            lines.append(f"  {told}{_coloured(reason, marks)}")
    lines.append(_dim(f"  look: memoranda why {shlex.quote(_name(found))}"))
    return "\n".join(lines)


def _name(reason: Reason) -> str:
    if reason.ref is None or isinstance(reason.ref, TranscriptRef):
        return ""
    return safe(spelled(reason.ref))


def _said(reason: Reason) -> str:
    if reason.kind == "key" and reason.ref is not None:
        return f"{_name(reason)}  {safe_json(reason.summary)}"
    quoted = reason.kind == "transcript" and reason.summary
    return safe(f"“{reason.summary}”" if quoted else reason.summary) or _name(reason) or reason.kind


def _marks(reason: Reason) -> Iterator[str]:
    if reason.stale:
        yield safe(f"STALE: {', '.join(reason.stale)}")
    elif reason.is_stale:
        yield "rests on something STALE"
    if reason.repeated:
        yield "(unfolded above)"


def _coloured(reason: Reason, marks: str) -> str:
    if reason.stale:
        return _gone(marks)
    return _warned(marks) if reason.is_stale else _dim(marks)


def _origin(reason: Reason) -> str:
    """Return what names it, the commit it stands in, and when that was, to the second."""
    parts = [] if reason.kind == "key" else [_name(reason)]
    if reason.commit_ts is not None and reason.committed_at is not None:
        parts += [f"commit {reason.commit_ts}", f"{time_text(reason.committed_at)[:19]}Z"]
    return "  ".join(filter(None, parts))


def _indent(lasts: tuple[bool, ...], drawing: tuple[str, ...]) -> str:
    return _sides(lasts[:-1], drawing) + drawing[int(lasts[-1])] if lasts else ""


def _sides(lasts: tuple[bool, ...], drawing: tuple[str, ...]) -> str:
    """Return the lines that lead past here to branches further down."""
    return "".join(drawing[3 if last else 2] for last in lasts)


def _can_draw() -> bool:
    try:
        "├".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
