"""The drawing of a tree of reasons as text: one line for each node.

This is the only place that lays out a tree. `str(reason)` draws plain lines, and the command line
colours and cuts the same lines for a terminal (`cli/render/why_colors.py`).

    plan@1 {"by":"train"}
    ├── because travels slowly  STALE: superseded by “travels calmly”
    │   └── reflects_on Ann does not fly
    ^^^^^^^^^^^^^^^^^^^^ ^^^^^^^^^^^^^^^  ^^^^^
    prefix               text             marks

Text in a store is written by others. Every text passes `escape` before it is drawn, so that no text
can break a line and fake a branch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol, TypeVar

from memoranda.model.memory import replace_line_breaks
from memoranda.model.refs import KeyRef
from memoranda.why.reason import MAX_DEPTH, Reason

MAX_LINES = 1_000
"""Most nodes that are drawn: more than a person reads. JSON output has all of them."""


def draw(root: Reason) -> str:
    """Draw a tree; the last line counts the nodes that are too deep or too many to draw."""
    branches, omitted = truncate(root.branches())
    lines = [str(draw_line(branch.reason, branch.lasts)) for branch in branches]
    return "\n".join([*lines, truncation_note(omitted)] if omitted else lines)


class Glyphs(NamedTuple):
    """The pieces of a tree's lines, each four columns wide."""

    branch: str
    last_branch: str
    pipe: str
    blank: str


UNICODE = Glyphs("├── ", "└── ", "│   ", "    ")
ASCII = Glyphs("|-- ", "`-- ", "|   ", "    ")
"""For a terminal whose encoding has no box-drawing characters."""


class TreeLine(NamedTuple):
    """A drawn node, in parts that a terminal can cut and colour."""

    prefix: str
    """The lines of the tree up to the node, and the relation to its parent."""
    text: str
    marks: str
    """Whether it is stale, unproven or repeated; each mark begins with two spaces."""
    continuation: str
    """The prefix of a second line for the same node."""

    def __str__(self) -> str:
        return f"{self.prefix}{self.text}{self.marks}"


def plain_label(reason: Reason) -> str:
    """Return the text of a node; a key has its name and version before its value."""
    text = statement(reason, replace_line_breaks) or reason.kind
    if isinstance(reason.ref, KeyRef):
        return f"{reason.ref.key}@{reason.ref.version} {text}"
    return text


def statement(reason: Reason, escape: Callable[[str], str]) -> str:
    """Return the summary of a node, in quotation marks if it is a transcript's text."""
    summary = escape(reason.summary)
    return f"“{summary}”" if reason.kind == "transcript" and summary else summary


def draw_line(
    reason: Reason,
    lasts: tuple[bool, ...],
    *,
    glyphs: Glyphs = UNICODE,
    label: Callable[[Reason], str] = plain_label,
    escape: Callable[[str], str] = replace_line_breaks,
) -> TreeLine:
    """Draw a node at its position; `lasts` is that of its `Branch`."""
    pipes = [glyphs.blank if is_last else glyphs.pipe for is_last in lasts]
    prefix = ""
    if lasts:
        elbow = glyphs.last_branch if lasts[-1] else glyphs.branch
        prefix = f"{''.join(pipes[:-1])}{elbow}{reason.relation} "
    below = glyphs.pipe if reason.because else glyphs.blank
    marks = "".join(f"  {escape(mark)}" for mark in _marks(reason))
    return TreeLine(prefix, label(reason), marks, "".join(pipes) + below)


def _marks(reason: Reason) -> Iterator[str]:
    if reason.stale:
        yield f"STALE: {', '.join(reason.stale)}"
    elif reason.is_stale:
        yield "rests on something STALE"
    if reason.unproven:
        yield "unproven"
    if reason.repeated:
        yield "(unfolded above)"


class _HasDepth(Protocol):
    @property
    def depth(self) -> int: ...


Positioned = TypeVar("Positioned", bound=_HasDepth)


def truncate(branches: Iterable[Positioned]) -> tuple[list[Positioned], int]:
    """Return the branches to draw, and the number of omitted ones."""
    visible: list[Positioned] = []
    omitted = 0
    for branch in branches:
        if branch.depth > MAX_DEPTH or len(visible) >= MAX_LINES:
            omitted += 1
        else:
            visible.append(branch)
    return visible, omitted


def truncation_note(count: int) -> str:
    """Return the line below a drawing that omits nodes."""
    return f"… and {count:,} more, which are too many or too deep to be drawn"
