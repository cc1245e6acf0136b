"""The days of a file of messages: in which order they are written, and when each was said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

import msgspec

from memoranda.errors import InvalidInput
from memoranda.extract.heads import Head, days_come_first, said_at
from memoranda.model.document import Document


class Turn(msgspec.Struct, frozen=True):
    """A message in a file: what it takes up, how it begins, and where it stands.

    In a plain transcript it is its lines; else it is a message as it was given.
    """

    words: str | Document
    size: int
    where: str
    head: Head | None = None
    """How it begins, in a plain transcript; a message has its speaker and its time in itself."""
    at: datetime | None = None

    @property
    def slashed(self) -> str | None:
        """Its day, if that is one thing to some and another to others."""
        return None if self.head is None else self.head.slashed

    @property
    def is_message(self) -> bool:
        """Whether somebody says it; a chat program speaks too."""
        return self.head is None or bool(self.head.speaker)


class Dated(msgspec.Struct, frozen=True):
    """A message, and when it was said, if it says so."""

    turn: Turn
    at: datetime | None


class Order(msgspec.Struct, frozen=True):
    """What is known beforehand of how days with slashes are written."""

    day_first: bool | None = None
    """What somebody said of it."""
    began: datetime | None = None
    """When the first message was said, as far as somebody said so."""


def dated(turns: Iterable[Turn], order: Order) -> Iterator[Dated]:
    """Yield messages and when they were said, as soon as some day tells what comes first."""
    held: list[Turn] = []
    day_first, unclear = order.day_first, False
    for each in turns:
        held.append(each)
        unclear = unclear or each.slashed is not None
        if day_first is None:
            day_first = days_come_first(_heads([each]))
        if day_first is not None or not unclear:
            yield from _read(held, day_first)
            held.clear()
    if held:
        yield from _read(held, _settled(held, order.began))


def _heads(turns: Iterable[Turn]) -> Iterator[Head]:
    return (each.head for each in turns if each.head is not None)


def _settled(turns: list[Turn], began: datetime | None) -> bool:
    """Return the order of days that only the beginning can tell, or refuse to guess."""
    day_first = days_come_first(_heads(turns), began)
    if day_first is None:
        first = next(each for each in turns if each.slashed is not None)
        raise InvalidInput(
            "path",
            f"{first.where} is of {first.slashed}, and nothing in the file tells whether the "
            "day or the month comes first: give --day-first or --month-first",
        )
    return day_first


def _read(turns: Iterable[Turn], day_first: bool | None) -> Iterator[Dated]:  # noqa: FBT001
    for each in turns:
        at = each.at if each.head is None else said_at(each.head, day_first=day_first)
        if at is None and each.slashed is not None:
            first = "day" if day_first else "month"
            raise InvalidInput(
                "path", f"{each.where} is of {each.slashed}: no day if the {first} comes first"
            )
        yield Dated(each, at)
