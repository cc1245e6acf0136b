"""What a chat model answered, held against the words it was shown.

An item counts if what it quotes stands in the messages; else it is set aside, with the reason. So
nothing gets into a store that nobody said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from memoranda.extract.protocol import (
    ExtractedFact,
    ExtractedMemory,
    Extraction,
    Message,
    Skipped,
)
from memoranda.model.memory import Span

_FENCE = re.compile(r"^\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*$", re.DOTALL | re.IGNORECASE)
_SHOWN = 200
Item = TypeVar("Item")


class NoAnswer(ValueError):
    """The reply is not one JSON object of the form that was asked for."""


class _Quoting(msgspec.Struct, kw_only=True):
    quote: str
    message: int | None = None
    confidence: float = 0.8


class _Memory(_Quoting, kw_only=True):
    content: str
    kind: str = "observation"
    title: str | None = None
    tags: list[str] | None = None
    event_time: str | None = None


class _Fact(_Quoting, kw_only=True):
    subject: str
    relation: str
    object: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    ended: bool = False


def read_reply(text: str, messages: Sequence[Message]) -> Extraction:
    """Return what a model said of some messages, as far as they bear it out."""
    answer = _decoded(text)
    skipped: list[Skipped] = []
    memories = _each(answer.get("memories"), lambda item: _memory(item, messages), skipped)
    facts = _each(answer.get("facts"), lambda item: _fact(item, messages), skipped)
    return Extraction(memories=tuple(memories), facts=tuple(facts), skipped=tuple(skipped))


def _decoded(text: str) -> dict[str, Any]:
    fenced = _FENCE.match(text)
    try:
        answer = msgspec.json.decode((fenced.group(1) if fenced else text).encode())
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise NoAnswer(f"it is no JSON: {error}") from error
    if not isinstance(answer, dict) or not answer.keys() & {"memories", "facts"}:
        raise NoAnswer("it has neither memories nor facts")
    for name in ("memories", "facts"):
        if not isinstance(answer.get(name, []), (list, type(None))):
            raise NoAnswer(f"its {name} are no list")
    return answer


def _each(
    items: Iterable[Any] | None, read: Callable[[Any], Item], skipped: list[Skipped]
) -> list[Item]:
    """Return what can be taken of some items, and set the others aside."""
    taken = []
    for item in items or ():
        try:
            taken.append(read(item))
        except (msgspec.ValidationError, ValueError) as error:
            skipped.append(Skipped(msgspec.json.encode(item).decode()[:_SHOWN], str(error)))
    return taken


def _memory(item: Any, messages: Sequence[Message]) -> ExtractedMemory:
    said = msgspec.convert(item, _Memory)
    return ExtractedMemory(
        content=said.content,
        kind=said.kind,
        title=said.title,
        tags=tuple(said.tags or ()),
        confidence=said.confidence,
        event_time=_time(said.event_time),
        spans=(_located(said, messages),),
    )


def _fact(item: Any, messages: Sequence[Message]) -> ExtractedFact:
    said = msgspec.convert(item, _Fact)
    if said.object is None and not said.ended:
        raise ValueError("it has no object")
    return ExtractedFact(
        subject=said.subject,
        relation=said.relation,
        object=said.object,
        valid_from=_time(said.valid_from),
        valid_to=_time(said.valid_to),
        ends=said.ended,
        confidence=said.confidence,
        spans=(_located(said, messages),),
    )


def _located(said: _Quoting, messages: Sequence[Message]) -> Span:
    """Return where a quote stands: in the message that is named, else in the first that has it."""
    words = said.quote.split()
    if not words:
        raise ValueError("it quotes nothing")
    pattern = re.compile(r"\s+".join(map(re.escape, words)))
    named = said.message
    first = [messages[named - 1]] if named is not None and 1 <= named <= len(messages) else []
    for message in (*first, *messages):
        found = pattern.search(message.text)
        if found is not None:
            start = message.span[0] + len(message.text[: found.start()].encode())
            return start, start + len(found.group().encode())
    raise ValueError(f"what it quotes was not said: {said.quote[:_SHOWN]!r}")


def _time(text: str | None) -> datetime | None:
    """Read a time; a year, a month or a day is its first moment, and no offset means UTC."""
    if not text:
        return None
    padded = text + "-01-01"[len(text) - 4 :] if len(text) in (4, 7) else text
    try:
        found = datetime.fromisoformat(padded)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r:.40} is no time") from error
