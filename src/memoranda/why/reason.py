"""Reasons: the tree that `why` returns, and its drawing as text.

This is the only place that lays out a tree. `str(reason)` draws plain lines, and the command line
colours and cuts the same lines for a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Literal, NamedTuple, Protocol, TypeVar

import msgspec

from memoranda.model.memory import replace_line_breaks
from memoranda.model.refs import KeyRef, Ref

Kind = Literal["key", "memory", "fact", "transcript"]
_SUMMARY_CHARACTERS = 400
"""Longest summary, in characters: a few lines of a terminal, so a tree stays readable."""
MAX_DEPTH = 64
"""Deepest level that is drawn: each level indents a line by four columns."""
MAX_LINES = 1_000
"""Most nodes that are drawn: more than a person reads. JSON output has all of them."""


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """A key's value, a memory, a fact or a quotation, with the evidence for it below.

    A node that the tree already has is marked as `repeated` and not expanded again. So a tree has
    at most one line for each link between the nodes.
    """

    kind: Kind
    ref: Ref | None
    """The reference to the node; None if the viewer may not see it."""
    summary: str
    """The value as JSON, the memory's text, the fact or the quotation; cut if it is long."""
    relation: str | None = None
    """The link from the parent, such as because or reflects_on; None at the root."""
    agent_id: str | None = None
    actor: str | None = None
    """The actor that committed it."""
    commit_ts: int | None = None
    committed_at: datetime | None = None
    valid_from: datetime | None = None
    """Start of a fact's valid time."""
    valid_to: datetime | None = None
    stale: tuple[str, ...] = ()
    """Why this node itself is no longer believed; empty if it is."""
    is_stale: bool = False
    """Whether this node, or any node below it, is no longer believed."""
    hidden: bool = False
    """Whether the node exists but the viewer may not see it."""
    repeated: bool = False
    unproven: bool = False
    """Whether an erasure left only a part, and no hash proves that part."""
    because: tuple[Reason, ...] = ()

    @property
    def believed(self) -> bool:
        """Whether this node itself is believed; its evidence may still be stale."""
        return not self.stale

    def walk(self) -> Iterator[Reason]:
        """Yield this node and all nodes below it, each parent before its children."""
        for branch in self.branches():
            yield branch.reason

    def branches(self) -> Iterator[Branch]:
        """Yield the nodes in the order of `walk`, each with its position in the tree.

        The walk keeps its own stack: a tree may be deeper than Python's recursion limit.
        """
        stack = [(self, 0, True)]
        lasts: list[bool] = []
        while stack:
            reason, depth, is_last = stack.pop()
            if depth <= MAX_DEPTH:  # deeper lines are not drawn, and their tuples would add up
                lasts[max(depth - 1, 0) :] = [is_last] if depth else []
            yield Branch(reason, depth, tuple(lasts))
            last_index = len(reason.because) - 1
            stack.extend(
                (child, depth + 1, index == last_index)
                for index, child in reversed(list(enumerate(reason.because)))
            )

    def __str__(self) -> str:
        """Draw the tree; the last line counts the nodes that are too deep or too many to draw."""
        branches, omitted = truncate(self.branches())
        lines = [str(draw_line(branch.reason, branch.lasts)) for branch in branches]
        return "\n".join([*lines, truncation_note(omitted)] if omitted else lines)


class Branch(NamedTuple):
    """A node of a tree, and its position there."""

    reason: Reason
    depth: int
    """Number of levels below the root."""
    lasts: tuple[bool, ...]
    """For each level down to the node, whether it is the last child; at most `MAX_DEPTH` levels."""


def shortened(text: str) -> str:
    """Return a text, cut to the length of a summary."""
    limit = _SUMMARY_CHARACTERS
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


# Drawing: one line for each node.
#
#     plan@1 {"by":"train"}
#     ├── because travels slowly  STALE: superseded by “travels calmly”
#     │   └── reflects_on Ann does not fly
#     ^^^^^^^^^^^^^^^^^^^^ ^^^^^^^^^^^^^^^  ^^^^^
#     prefix               text             marks
#
# Text in a store is written by others. Every text passes `escape` before it is drawn, so that no
# text can break a line and fake a branch.


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
