"""Messages as a plain transcript, in the form in which they are read again.

Where a message has several lines, the others are set in: whatever they say, none of them can be
taken for the beginning of somebody else's message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from recollect.errors import InvalidInput
from recollect.model.instant import to_datetime, to_micros
from recollect.model.limits import plain_text, shown

_SPEAKERS = ("speaker", "name", "role", "author", "from", "user")
_TEXTS = ("content", "text", "message", "body")
_TIMES = ("timestamp", "at", "time", "created_at", "date", "ts")


def rendered(messages: Iterable[Mapping[str, object]]) -> str:
    """Return messages as a transcript, one below the other."""
    if isinstance(messages, (bytes, Mapping)) or not isinstance(messages, Iterable):
        raise InvalidInput("text", f"{shown(messages)} is neither a text nor a list of messages")
    lines = [turn(message, f"text, message {n}") for n, message in enumerate(messages, 1)]
    if not lines:
        raise InvalidInput("text", "has no messages: give at least one")
    return "\n".join(lines)


def turn(message: object, where: str) -> str:
    """Return one message as it stands in a transcript: who, what, and when if it says so.

    Who is its `speaker`, `name` or `role`, what its `content` or `text`, when its `timestamp`.
    """
    from recollect.extract.heads import head_of  # made when needed

    if not isinstance(message, Mapping):
        raise InvalidInput(where, f"{shown(message)} is no object with a speaker and a text")
    speaker = " ".join(_member(message, _SPEAKERS, where, "speaker").split())
    text = _content(message, where)
    head = f"{_stamp(message, where)}{speaker}: "
    found = head_of(head)
    if found is None or found.speaker != speaker:
        raise InvalidInput(where, f"{shown(speaker)} cannot stand before a colon as a speaker")
    return head + text.replace("\r\n", "\n").replace("\n", "\n  ")


def _content(message: Mapping[str, object], where: str) -> str:
    """Return the text of a message; one in parts, as chat models take them, is put together."""
    for name in _TEXTS:
        parts = message.get(name)
        if isinstance(parts, list):
            texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
            return "\n".join(plain_text(where, text) for text in texts if text is not None)
    return _member(message, _TEXTS, where, "text")


def _member(message: Mapping[str, object], names: Iterable[str], where: str, what: str) -> str:
    for name in names:
        if message.get(name) is not None:
            return plain_text(f"{where}, {name}", message[name])
    raise InvalidInput(where, f"has no {what}: give it as {', '.join(map(repr, names))}")


def _stamp(message: Mapping[str, object], where: str) -> str:
    """Return the time of a message in brackets, to the second: seconds since 1970, or RFC 3339."""
    name = next((each for each in _TIMES if message.get(each) is not None), None)
    if name is None:
        return ""
    given = message[name]
    try:
        at = to_datetime(_micros(given))
    except InvalidInput as error:
        raise InvalidInput(f"{where}, {name}", error.problem) from error
    except (OverflowError, ValueError) as error:
        raise InvalidInput(f"{where}, {name}", f"{shown(given)} is no time: {error}") from error
    return f"[{at:%Y-%m-%d %H:%M:%S}] "


def _micros(value: object) -> int:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return round(value * 1_000_000)
    return to_micros("timestamp", _aware(value))


def _aware(value: object) -> str:
    """Return a time as RFC 3339; one without an offset is taken to be UTC."""
    text = plain_text("timestamp", value)
    for end in ("", ":00", "T00:00:00"):
        for zone in ("", "Z"):
            try:
                to_micros("timestamp", text + end + zone)
            except InvalidInput:
                continue
            return text + end + zone
    return text
