"""Lines: text of several people put on lines, so that nobody's words look like another's line.

A line begins in the first column only where the engine began it. Whatever any reader may take for
the end of a line counts as one here: not only U+000A.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

INDENT: Final = "  "
"""What stands before every line of a message but its first."""
_MARK: Final = "¶"
_BREAK: Final = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_PLAIN_SPEAKER: Final = re.compile(
    '[^\\s:\\[\\]"\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]'
    '[^:\\[\\]"\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]{0,120}'
)
_UNPRINTED: Final = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def continued(text: str) -> str:
    """Return text whose further lines are indented: none of them can begin a message."""
    return _BREAK.sub("\n" + INDENT, text)


def one_line(text: str) -> str:
    """Return text on one line, with single spaces."""
    return " ".join(text.split())


def joined_lines(text: str) -> str:
    """Return lines of several speakers on one line, with a mark where a line begins one."""
    marked = text.replace(_MARK, "|").replace("\n" + INDENT, " ").replace("\n", f" {_MARK} ")
    return one_line(marked)


def unbroken(text: str) -> str:
    """Return text with a space in place of each end of a line."""
    return _BREAK.sub(" ", text)


def speaker_label(speaker: str) -> str:
    """Return a speaker as it stands before a colon; as JSON text if it could pass for more."""
    return speaker if _PLAIN_SPEAKER.fullmatch(speaker) else json_line(speaker)


def json_line(value: object) -> str:
    """Return a value as JSON on one line, whatever a reader takes for the end of a line."""
    encoded = msgspec.json.encode(value).decode()
    return _UNPRINTED.sub(lambda found: f"\\u{ord(found.group()):04x}", encoded)
