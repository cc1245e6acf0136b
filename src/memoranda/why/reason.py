"""Reasons: the tree that `why` returns. `tree_drawing.py` draws it as text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Literal, NamedTuple

import msgspec

from memoranda.model.refs import Ref

Kind = Literal["key", "memory", "fact", "transcript"]
_SUMMARY_CHARACTERS = 400
"""Longest summary, in characters: a few lines of a terminal, so a tree stays readable."""
MAX_DEPTH = 64
"""Deepest level that is drawn: each level indents a line by four columns."""


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
        from memoranda.why.tree_drawing import draw  # which draws records of this module

        return draw(self)


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
