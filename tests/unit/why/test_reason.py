"""Drawing a tree of reasons."""

from __future__ import annotations

from memoranda.model.refs import MemoryRef
from memoranda.why.reason import Reason
from memoranda.why.tree_drawing import ASCII, draw_line


def test_no_text_can_fake_a_branch() -> None:
    reason = Reason(
        kind="memory",
        ref=MemoryRef("m", 1),
        summary="a\n└── because b",
        stale=("retracted: c\n└── because d",),
    )
    assert str(reason).splitlines() == ["a └── because b  STALE: retracted: c └── because d"]


def test_a_line_has_a_prefix_for_a_second_one() -> None:
    below = Reason(kind="key", ref=None, summary="{}", relation="because")
    parent = Reason(kind="memory", ref=None, summary="x", relation="because", because=(below,))
    line = draw_line(parent, (False, True), glyphs=ASCII)
    assert (line.prefix, line.continuation) == ("|   `-- because ", "|       |   ")
    assert draw_line(below, (False, True), glyphs=ASCII).continuation == "|           "
