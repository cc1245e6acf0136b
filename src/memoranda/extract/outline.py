"""What a conversation is before it is kept: how many messages, since when, and if it is one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from memoranda.errors import InvalidInput
from memoranda.extract.protocol import Skipped
from memoranda.memory.chat_parts import check_time_of
from memoranda.memory.rendering import Rendering
from memoranda.model.document import Document
from memoranda.model.instant import to_datetime
from memoranda.model.limits import shown

if TYPE_CHECKING:
    from memoranda.extract.heads import Head


class Outline(msgspec.Struct, frozen=True):
    """How many messages a conversation has, and when the first that says so was said."""

    messages: int
    began: datetime | None


def outline(text: str, occurred_at: datetime | None) -> Outline:
    """Return the outline of a conversation, or refuse what is none or whose days are not clear.

    `occurred_at` is when it began, if somebody said so: days with slashes are read accordingly.
    """
    from memoranda.extract.heads import days_come_first, heads, said_at  # made when needed

    found = heads(text)
    before = text[: found[0].line] if found else text
    if before.strip():
        number = 1 + before[: len(before) - len(before.lstrip())].count("\n")
        raise InvalidInput(
            "text",
            f"line {number} begins with no speaker: a message is `Name: text`; "
            "`store_transcript` keeps any text",
        )
    unclear = _unclear(found, occurred_at)
    if unclear is not None:
        raise InvalidInput(
            "text",
            f"line {1 + text.count(chr(10), 0, unclear.line)} is of {shown(unclear.slashed)}, and "
            "nothing tells whether the day or the month comes first: give `occurred_at`, the "
            "time of the first message, or write days as 2024-05-03",
        )
    day_first = days_come_first(found, occurred_at)
    times = (said_at(head, day_first=day_first) for head in found)
    began = next((at for at in times if at is not None), None)
    return Outline(sum(1 for head in found if head.speaker), began)


def outline_of(messages: Sequence[Document], rendering: Rendering) -> Outline:
    """Return the outline of messages, or refuse times that cannot be read."""
    times = [check_time_of(each, f"text, message {n}") for n, each in enumerate(messages, 1)]
    began = next((each for each in times if each is not None), None)
    return Outline(len(rendering.spans), None if began is None else to_datetime(began))


def unclear_days(text: str, occurred_at: datetime | None) -> tuple[Skipped, ...]:
    """Return what is to be told of a transcript with days that can be read in two ways."""
    from memoranda.extract.heads import heads

    unclear = _unclear(heads(text), occurred_at)
    if unclear is None:
        return ()
    reason = "day or month first? taken as said when the transcript was, as all such days are"
    return (Skipped(str(unclear.slashed), reason),)


def _unclear(found: Sequence[Head], occurred_at: datetime | None) -> Head | None:
    """Return the first message of which it is not clear on what day it was said."""
    from memoranda.extract.heads import days_come_first

    if days_come_first(found, occurred_at) is not None:
        return None
    return next((head for head in found if head.slashed is not None), None)
