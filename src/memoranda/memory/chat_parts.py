"""Parts of a message: who speaks in it, what is said, called and answered, and when.

Messages are read in the shapes of OpenAI (chat and responses), Anthropic and LangChain, and in
plain ones with a speaker and a text. What a tool answered is the tool's, in whosever message it
stands. What nobody here knows is named, and its words are nobody's statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from memoranda.errors import InvalidInput
from memoranda.model.instant import to_micros
from memoranda.model.limits import plain_text, shown
from memoranda.model.lines import one_line

Plain = Mapping[str, Any]

TOOL: Final = "tool"
_ASSISTANT: Final = "assistant"
_UNKNOWN: Final = "unknown"
_SPEAKERS: Final = ("speaker", "name", "role", "author", "from", "user")
_CONTENTS: Final = ("content", "text", "message", "body", "parts")
_TIMES: Final = ("timestamp", "at", "time", "created_at", "date", "ts")
_TYPES: Final = {
    "human": "user",
    "HumanMessage": "user",
    "HumanMessageChunk": "user",
    "ai": _ASSISTANT,
    "AIMessage": _ASSISTANT,
    "AIMessageChunk": _ASSISTANT,
    "system": "system",
    "SystemMessage": "system",
    "SystemMessageChunk": "system",
    "developer": "developer",
    "tool": TOOL,
    "ToolMessage": TOOL,
    "ToolMessageChunk": TOOL,
    "function": TOOL,
    "FunctionMessage": TOOL,
    "FunctionMessageChunk": TOOL,
}
"""The roles of messages that have a type in place of one."""
_TOOL_ROLES: Final = frozenset({"tool", "function", "toolresult", "tool_result"})
_TEXTS: Final = frozenset({None, "text", "input_text", "output_text"})
_THOUGHTS: Final = frozenset({"thinking", "reasoning", "redacted_thinking"})
_SHORTEST, _MOST_SECONDS = -62_135_596_800, 253_402_300_799


class Part(msgspec.Struct, frozen=True):
    """A stretch of a message that is one speaker's."""

    speaker: str
    label: str = ""
    """What it is, if it is nothing that was said: a call of a tool, an image."""
    text: str | None = None
    """Its words; None: it is only named."""

    @property
    def said(self) -> bool:
        """Whether its speaker says these words."""
        return not self.label and self.text is not None


def parts_of(given: Plain, where: str) -> list[Part]:
    """Return the parts of a message in their order, or say what it lacks."""
    message = _bare(given)
    speaker = _speaker(message, where)
    if speaker is None:
        return [Part(_UNKNOWN, _named(message["type"]))]
    found = list(_joined(_parts(message, speaker, where)))
    if not found:
        raise InvalidInput(where, f"has no text: give it as {', '.join(map(repr, _CONTENTS))}")
    return found


def time_of(given: Plain) -> int | None:
    """Return when a message was said, in microseconds, if that can be read."""
    try:
        return check_time_of(given, "message")
    except InvalidInput:
        return None


def check_time_of(given: Plain, where: str) -> int | None:
    """Return when a message was said: seconds since 1970, or RFC 3339; without an offset, UTC."""
    message = _bare(given)
    name = next((each for each in _TIMES if message.get(each) is not None), None)
    if name is None:
        return None
    try:
        return _micros(message[name])
    except InvalidInput as error:
        raise InvalidInput(f"{where}, {name}", error.problem) from error


def _micros(value: object) -> int:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not _SHORTEST <= value <= _MOST_SECONDS:
            raise InvalidInput("timestamp", f"{shown(value)} is no time in seconds since 1970")
        return round(value * 1_000_000)
    text = plain_text("timestamp", value)
    for end in ("", ":00", "T00:00:00"):
        for zone in ("", "Z"):
            try:
                return to_micros("timestamp", text + end + zone)
            except InvalidInput:
                continue
    return to_micros("timestamp", text)


def _bare(message: Plain) -> Plain:
    """Return a message without the wrapping that LangChain stores it in."""
    data, kwargs, kind = message.get("data"), message.get("kwargs"), message.get("type")
    if isinstance(data, Mapping) and isinstance(kind, str) and "content" in data:
        return {"type": kind, **data}
    if isinstance(kwargs, Mapping) and kind == "constructor":
        names = message.get("id")
        last = names[-1] if isinstance(names, list) and names else None
        return {"type": last, **kwargs}
    return message


def _speaker(message: Plain, where: str) -> str | None:
    """Return who speaks: a name, else a role, else whom its type tells; a tool has no other name.

    None: it has a type that is not known, and says nothing of who speaks.
    """
    kind, role = message.get("type"), message.get("role")
    if role is None and _is_item(kind):
        return TOOL if _is_result(kind) else _ASSISTANT
    by_type = _TYPES.get(kind) if isinstance(kind, str) else None
    if by_type == TOOL or (isinstance(role, str) and role.lower() in _TOOL_ROLES):
        return TOOL
    named = _name(message, where)
    if named is None and not isinstance(kind, str):
        raise InvalidInput(where, f"has no speaker: give it as {', '.join(map(repr, _SPEAKERS))}")
    return by_type if named is None else named


def _name(message: Plain, where: str) -> str | None:
    for name in _SPEAKERS:
        given = message.get(name)
        if isinstance(given, Mapping):  # as an author is in some exports
            given = given.get("name") or given.get("role")
        if given is not None:
            return one_line(plain_text(f"{where}, {name}", given)) or _UNKNOWN
    return None


def _is_item(kind: object) -> bool:
    """Say whether a message is a part itself: calls are a model's, what comes back is a tool's."""
    return _is_call(kind) or _is_result(kind) or _is_thought(kind)


def _is_thought(kind: object) -> bool:
    return isinstance(kind, str) and kind in _THOUGHTS


def _is_call(kind: object) -> bool:
    return isinstance(kind, str) and kind.endswith(("_call", "tool_use"))


def _is_result(kind: object) -> bool:
    return isinstance(kind, str) and kind.endswith(("_output", "tool_result"))


def _parts(message: Plain, speaker: str, where: str) -> Iterator[Part]:
    kind = message.get("type")
    if message.get("role") is None and _is_item(kind):
        yield from _part(message, speaker, where)
        return
    called: set[str] = set()
    for content in _contents(message):
        for item in _items(content, where):
            yield from _part(item, speaker, where)
            if isinstance(item, Mapping) and isinstance(item.get("id"), str):
                called.add(item["id"])
    if isinstance(refusal := message.get("refusal"), str):
        yield Part(speaker, "", refusal)
    if isinstance(thought := message.get("reasoning_content"), str):
        yield Part(speaker, "thinking", thought)
    yield from _calls(message, speaker, called)


def _contents(message: Plain) -> Iterator[object]:
    name = next((each for each in _CONTENTS if message.get(each) is not None), None)
    if name is not None:
        yield message[name]


def _items(content: object, where: str) -> Iterable[object]:
    if isinstance(content, Mapping) and isinstance(content.get("parts"), list):
        return list(content["parts"])
    if isinstance(content, (str, Mapping)):
        return [content]
    if isinstance(content, list):
        return content
    raise InvalidInput(where, f"{shown(content)} is neither a text nor a list of parts")


def _calls(message: Plain, speaker: str, called: set[str]) -> Iterator[Part]:
    """Yield the calls that stand beside the content, but for those that stand in it too."""
    listed = message.get("tool_calls")
    for call in listed if isinstance(listed, list) else []:
        if isinstance(call, Mapping):
            number = call.get("id")
            if not (isinstance(number, str) and number in called):
                yield _call(call, speaker)
    if isinstance(message.get("function_call"), Mapping):
        yield _call(message["function_call"], speaker)


def _part(item: object, speaker: str, where: str) -> Iterator[Part]:
    """Yield what a part of a content says."""
    if isinstance(item, str):
        yield Part(speaker, "", item)
    elif not isinstance(item, Mapping):
        raise InvalidInput(where, f"{shown(item)} is no part of a content")
    elif _is_result(item.get("type")):
        yield from _results(item)
    elif _is_call(item.get("type")):
        yield _call(item, speaker)
    elif _is_thought(item.get("type")):
        yield Part(speaker, "thinking", "\n".join(_thoughts(item)))
    else:
        text = _text(item)
        kind = item.get("type")
        known = (kind is None or isinstance(kind, str)) and kind in _TEXTS and text is not None
        yield Part(speaker, "" if known else _named(kind or "part"), text)


def _text(item: Plain) -> str | None:
    text = item.get("text")
    if isinstance(text, Mapping):
        text = text.get("value")
    return text if isinstance(text, str) else None


def _call(call: Plain, speaker: str) -> Part:
    function = call.get("function")
    inner = function if isinstance(function, Mapping) else call
    given = next(
        (inner[each] for each in ("arguments", "args", "input") if inner.get(each) is not None),
        None,
    )
    text = given if isinstance(given, str) or given is None else _json(given)
    name = inner.get("name") or call.get("type") or ""
    return Part(speaker, _named(f"call {name}"), text)


def _results(item: Plain) -> Iterator[Part]:
    """Yield what a tool answered: its words, and what else it gave by name."""
    content = next((item[each] for each in ("content", "output") if item.get(each) is not None), "")
    for each in content if isinstance(content, list) else [content]:
        text = each if isinstance(each, str) else None
        if isinstance(each, Mapping):
            text = _text(each)
            if text is None:
                yield Part(TOOL, _named(each.get("type") or "part"))
                continue
        yield Part(TOOL, "", _json(each) if text is None else text)


def _thoughts(item: Plain) -> Iterator[str]:
    for name in ("thinking", "reasoning", "text"):
        if isinstance(item.get(name), str):
            yield item[name]
    summary = item.get("summary")
    for each in summary if isinstance(summary, list) else []:
        if isinstance(each, Mapping) and (text := _text(each)) is not None:
            yield text


def _joined(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield parts, and what one speaker says in several that stand together as one."""
    held: Part | None = None
    for part in parts:
        if held is not None and held.said and part.said and held.speaker == part.speaker:
            held = Part(held.speaker, "", f"{held.text}\n{part.text}")
            continue
        if held is not None:
            yield held
        held = part
    if held is not None:
        yield held


def _named(name: object) -> str:
    """Return a label: on one line, without what ends one."""
    text = name if isinstance(name, str) else _json(name)
    return one_line(text.translate(_NO_LABEL))[:80].strip() or "part"


_NO_LABEL: Final = {ord("["): "(", ord("]"): ")", ord(":"): " "}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
