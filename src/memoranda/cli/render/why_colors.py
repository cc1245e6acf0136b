"""Trees of reasons and stale keys as lines for a terminal.

`why/tree_drawing.py` lays a tree out. This module adds colours, cuts lines to the width of the
terminal, and shows where in the log each node is.
"""

from __future__ import annotations

import shlex
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from memoranda.calls.as_json import time_text
from memoranda.cli.output import fit, safe, safe_json
from memoranda.model.ref_text import format_ref
from memoranda.model.refs import TranscriptRef
from memoranda.why.tree_drawing import ASCII, UNICODE, TreeLine, draw_line, statement

if TYPE_CHECKING:
    from memoranda.why.reason import Branch, Reason

_bold = partial(click.style, bold=True)
_dim = partial(click.style, dim=True)
_red = partial(click.style, fg="red")
_yellow = partial(click.style, fg="yellow")


def branch_text(branch: Branch) -> str:
    """Return a node of a tree: its text, whether it is stale, and its commit.

    The commit takes a line of its own if the terminal is too narrow for both.
    """
    reason = branch.reason
    line = _draw(reason, branch.lasts)
    text = fit(line.text, beside=f"{line.prefix}{line.marks}")
    styled = f"{_dim(line.prefix)}{_bold(text)}{_colour(reason, line.marks)}"
    origin = _origin(reason)
    if fit(origin, beside=f"{line.prefix}{text}{line.marks}  ") == origin:
        return f"{styled}  {_dim(origin)}" if origin else styled
    return f"{styled}\n{_dim(line.continuation + origin)}"


def stale_key(root: Reason) -> str:
    """Return a key as a block: its value, and the stale nodes that it rests on."""
    lines = [_bold(fit(_label(root), beside=""))]
    for reason in root.walk():
        if reason.stale:
            line = _draw(reason, ())
            text = fit(line.text, beside=f"  {line.marks}")
            lines.append(f"  {text}{_colour(reason, line.marks)}")
    lines.append(_dim(f"  look: memoranda why {shlex.quote(_name(root))}"))
    return "\n".join(lines)


def _draw(reason: Reason, lasts: tuple[bool, ...]) -> TreeLine:
    glyphs = UNICODE if _can_draw() else ASCII
    return draw_line(reason, lasts, glyphs=glyphs, label=_label, escape=safe)


def _name(reason: Reason) -> str:
    if reason.ref is None or isinstance(reason.ref, TranscriptRef):
        return ""
    return safe(format_ref(reason.ref))


def _label(reason: Reason) -> str:
    if reason.kind == "key" and reason.ref is not None:
        return f"{_name(reason)}  {safe_json(reason.summary)}"
    return statement(reason, safe) or _name(reason) or reason.kind


def _colour(reason: Reason, marks: str) -> str:
    if reason.stale:
        return _red(marks)
    return _yellow(marks) if reason.is_stale else _dim(marks)


def _origin(reason: Reason) -> str:
    """Return the node's reference, its commit, and the commit's time to the second."""
    parts = [] if reason.kind == "key" else [_name(reason)]
    if reason.commit_ts is not None and reason.committed_at is not None:
        parts += [f"commit {reason.commit_ts}", f"{time_text(reason.committed_at)[:19]}Z"]
    return "  ".join(filter(None, parts))


def _can_draw() -> bool:
    try:
        UNICODE.branch.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
