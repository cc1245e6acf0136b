"""Chat messages: their JSON form, their parts, and their rendering as text.

The module reads messages of OpenAI (chat and responses), Anthropic and LangChain, and plain objects
with a speaker and a text. The output of a tool belongs to the tool, also inside a user's message. A
part of an unknown type is labelled with its type; its text is never taken for a statement.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from functools import partial
from typing import Any, Final

import msgspec

from memoranda.errors import Corruption, InvalidInput
from memoranda.model import document
from memoranda.model.clock import to_datetime, to_micros
from memoranda.model.document import Document
from memoranda.model.limits import Limits, plain_text, short_repr
from memoranda.model.memory import Span, indent_continuation_lines, one_line, speaker_label

# Normalization: message objects of libraries become the plain JSON that is stored.
#
# Unknown fields are kept as they are. No library is imported: an object is recognized by its
# methods and attributes.

_ATTRIBUTES: Final = (
    "role",
    "type",
    "name",
    "content",
    "tool_calls",
    "tool_call_id",
    "function_call",
    "additional_kwargs",
    "id",
    "timestamp",
)
"""The attributes to read from an object that has no method to dump itself."""
_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder(list[dict[str, Any]])


def plain_messages(field: str, messages: object, limits: Limits) -> list[Document]:
    """Return messages as plain JSON objects; raise `InvalidInput` that names the wrong message."""
    if isinstance(messages, (str, bytes, bytearray, Mapping)) or not isinstance(messages, Iterable):
        raise InvalidInput(
            field, f"{short_repr(messages)} is neither a text nor a list of messages"
        )
    plain = [
        plain_message(f"{field}, message {number}", message, limits)
        for number, message in enumerate(messages, 1)
    ]
    if not plain:
        raise InvalidInput(field, "has no messages: give at least one")
    return plain


def plain_message(field: str, message: object, limits: Limits) -> Document:
    """Return a message as a plain JSON object."""
    members = _plain(field, message, limits.value_depth)
    if not isinstance(members, dict):
        raise InvalidInput(
            field, f"{short_repr(message)} is not an object with a speaker and a text"
        )
    document.check(field, members, limits)
    plain: Document = msgspec.json.decode(document.encode_checked(members))
    return plain


def encode(messages: Iterable[Document]) -> bytes:
    """Return the bytes to store; they do not depend on the order of fields."""
    return _encoder.encode(list(messages))


def decode(content: bytes) -> list[Document]:
    """Decode stored messages; raise `Corruption` if they are not JSON."""
    try:
        return _decoder.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Corruption(f"stored messages cannot be read: {error}") from error


def _plain(field: str, value: object, levels: int) -> object:
    """Replace objects by their members; `document.check` later refuses what is not JSON."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if not levels:
        raise InvalidInput(field, "is nested too deeply (or inside itself)")
    if isinstance(value, Mapping):
        return {name: _plain(field, item, levels - 1) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(field, item, levels - 1) for item in value]
    if isinstance(value, date):  # includes datetime, its subclass
        return value.isoformat()
    members = _members(field, value)
    return value if members is None else _plain(field, members, levels - 1)


def _members(field: str, value: object) -> Mapping[str, object] | None:
    """Return the members of an object; None if it cannot be a message."""
    for dump in _dump_methods(value):
        try:
            members = dump()
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                field, f"{type(value).__name__} cannot be converted to JSON: {error!s:.80}"
            ) from error
        return members if isinstance(members, Mapping) else None
    values = {name: getattr(value, name, None) for name in _ATTRIBUTES}
    attributes = {
        name: item for name, item in values.items() if item is not None and not callable(item)
    }
    is_message = "content" in attributes and attributes.keys() & {"role", "type"}
    return attributes if is_message else None


def _dump_methods(value: object) -> Iterable[Callable[[], object]]:
    """Yield the method that dumps an object's members, if it has one."""
    if isinstance(value, type):
        return
    if isinstance(value, msgspec.Struct):
        yield lambda: msgspec.to_builtins(value)
    elif dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        yield lambda: {name: getattr(value, name) for name in names}
    elif callable(dump := getattr(value, "model_dump", None)):
        yield partial(dump, mode="json")
    elif callable(dump := getattr(value, "dict", None)):
        yield dump


# Parts of a message: text, tool calls, tool results and thinking, each with its speaker.

RawMessage = Mapping[str, Any]
"""A message as plain JSON, in any of the supported shapes."""

TOOL: Final = "tool"
_ASSISTANT: Final = "assistant"
_UNKNOWN: Final = "unknown"
# The fields that may hold the speaker, the content and the time; the first one present counts.
_SPEAKER_FIELDS: Final = ("speaker", "name", "role", "author", "from", "user")
_CONTENT_FIELDS: Final = ("content", "text", "message", "body", "parts")
_TIME_FIELDS: Final = ("timestamp", "at", "time", "created_at", "date", "ts")
_ROLE_OF_TYPE: Final = {
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
"""The role of a LangChain message, which has a type instead of a role."""
_TOOL_ROLES: Final = frozenset({"tool", "function", "toolresult", "tool_result"})
_TEXT_TYPES: Final = frozenset({None, "text", "input_text", "output_text"})
_THINKING_TYPES: Final = frozenset({"thinking", "reasoning", "redacted_thinking"})
_MIN_SECONDS, _MAX_SECONDS = -62_135_596_800, 253_402_300_799
"""Unix seconds of 0001-01-01 and 9999-12-31, the limits of `datetime`."""
_LABEL_CHARACTERS = 80
"""Longest label: a type or a tool's name is shorter; other text does not belong in brackets."""


class Part(msgspec.Struct, frozen=True):
    """A part of a message with one speaker."""

    speaker: str
    label: str = ""
    """The type of a part that is not a statement, such as a tool call or an image; else empty."""
    text: str | None = None
    """Its text; None if it has only a label."""

    @property
    def is_statement(self) -> bool:
        """Whether the text is a statement of the speaker."""
        return not self.label and self.text is not None


def parts_of(message: RawMessage, field: str) -> list[Part]:
    """Return the parts of a message in their order; raise `InvalidInput` if it has none."""
    message = unwrapped(message)
    speaker = _speaker(message, field)
    if speaker is None:
        return [Part(_UNKNOWN, _label(message["type"]))]
    parts = list(_merged_statements(_parts(message, speaker, field)))
    if not parts:
        names = ", ".join(map(repr, _CONTENT_FIELDS))
        raise InvalidInput(field, f"has no text: give it as {names}")
    return parts


def time_of(message: RawMessage) -> int | None:
    """Return the time of a message in microseconds; None if it has none or it is invalid."""
    try:
        return check_time_of(message, "message")
    except InvalidInput:
        return None


def check_time_of(message: RawMessage, field: str) -> int | None:
    """Return the time of a message in microseconds, if it has one.

    The message gives Unix seconds or RFC 3339 text; text without an offset is UTC.
    """
    message = unwrapped(message)
    name = _first_present(message, _TIME_FIELDS)
    if name is None:
        return None
    try:
        return _micros(message[name])
    except InvalidInput as error:
        raise InvalidInput(f"{field}, {name}", error.problem) from error


def _micros(value: object) -> int:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not _MIN_SECONDS <= value <= _MAX_SECONDS:
            raise InvalidInput(
                "timestamp", f"{short_repr(value)} is not a time in seconds since 1970"
            )
        return round(value * 1_000_000)
    text = plain_text("timestamp", value)
    # Also accept a time without seconds, a date without a time, and either without an offset.
    for end in ("", ":00", "T00:00:00"):
        for zone in ("", "Z"):
            try:
                return to_micros("timestamp", text + end + zone)
            except InvalidInput:
                continue
    return to_micros("timestamp", text)  # raises, and names the text as the caller gave it


def role_of(message: RawMessage) -> str:
    """Return the role of a message, or the one that its type implies; empty if it has none."""
    kind, role = message.get("type"), message.get("role")
    if isinstance(role, str):
        return TOOL if role.lower() in _TOOL_ROLES else role
    return _ROLE_OF_TYPE.get(kind, "") if isinstance(kind, str) else ""


def unwrapped(message: RawMessage) -> RawMessage:
    """Return a message without LangChain's serialization wrapper."""
    data, kwargs, kind = message.get("data"), message.get("kwargs"), message.get("type")
    if isinstance(data, Mapping) and isinstance(kind, str) and "content" in data:
        return {"type": kind, **data}
    if isinstance(kwargs, Mapping) and kind == "constructor":
        names = message.get("id")
        last = names[-1] if isinstance(names, list) and names else None
        return {"type": last, **kwargs}
    return message


def _speaker(message: RawMessage, field: str) -> str | None:
    """Return the speaker: the name, else the role, else the role that the type implies.

    A tool is always `tool`, whatever its name. None: the type is unknown and there is no speaker.
    """
    kind, role = message.get("type"), message.get("role")
    if role is None and is_item(kind):
        return TOOL if _is_result(kind) else _ASSISTANT
    by_type = _ROLE_OF_TYPE.get(kind) if isinstance(kind, str) else None
    if by_type == TOOL or (isinstance(role, str) and role.lower() in _TOOL_ROLES):
        return TOOL
    name = _name(message, field)
    if name is None and not isinstance(kind, str):
        names = ", ".join(map(repr, _SPEAKER_FIELDS))
        raise InvalidInput(field, f"has no speaker: give it as {names}")
    return by_type if name is None else name


def _name(message: RawMessage, field: str) -> str | None:
    for name in _SPEAKER_FIELDS:
        value = message.get(name)
        if isinstance(value, Mapping):  # some exports have an author object
            value = value.get("name") or value.get("role")
        if value is not None:
            return one_line(plain_text(f"{field}, {name}", value)) or _UNKNOWN
    return None


def is_item(kind: object) -> bool:
    """Say whether a message is itself a part: a model's call or thinking, or a tool's output."""
    return _is_call(kind) or _is_result(kind) or _is_thinking(kind)


def _is_thinking(kind: object) -> bool:
    return isinstance(kind, str) and kind in _THINKING_TYPES


def _is_call(kind: object) -> bool:
    return isinstance(kind, str) and kind.endswith(("_call", "tool_use"))


def _is_result(kind: object) -> bool:
    return isinstance(kind, str) and kind.endswith(("_output", "tool_result"))


def _parts(message: RawMessage, speaker: str, field: str) -> Iterator[Part]:
    kind = message.get("type")
    if message.get("role") is None and is_item(kind):
        yield from _part(message, speaker, field)
        return
    call_ids: set[str] = set()
    for content in _contents(message):
        for item in _items(content, field):
            yield from _part(item, speaker, field)
            if isinstance(item, Mapping) and isinstance(item.get("id"), str):
                call_ids.add(item["id"])
    if isinstance(refusal := message.get("refusal"), str):
        yield Part(speaker, "", refusal)
    if isinstance(thought := message.get("reasoning_content"), str):
        yield Part(speaker, "thinking", thought)
    yield from _calls(message, speaker, call_ids)


def _contents(message: RawMessage) -> Iterator[object]:
    name = _first_present(message, _CONTENT_FIELDS)
    if name is not None:
        yield message[name]


def _first_present(message: RawMessage, names: Iterable[str]) -> str | None:
    """Return the first of these fields that a message has."""
    return next((name for name in names if message.get(name) is not None), None)


def _items(content: object, field: str) -> Iterable[object]:
    if isinstance(content, Mapping) and isinstance(content.get("parts"), list):
        return list(content["parts"])
    if isinstance(content, (str, Mapping)):
        return [content]
    if isinstance(content, list):
        return content
    raise InvalidInput(field, f"{short_repr(content)} is neither a text nor a list of parts")


def _calls(message: RawMessage, speaker: str, call_ids: set[str]) -> Iterator[Part]:
    """Yield the calls beside the content, except those that the content also has."""
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, Mapping):
            call_id = call.get("id")
            if not (isinstance(call_id, str) and call_id in call_ids):
                yield _call(call, speaker)
    if isinstance(message.get("function_call"), Mapping):
        yield _call(message["function_call"], speaker)


def _part(item: object, speaker: str, field: str) -> Iterator[Part]:
    """Yield the parts of one content item."""
    if isinstance(item, str):
        yield Part(speaker, "", item)
    elif not isinstance(item, Mapping):
        raise InvalidInput(
            field, f"{short_repr(item)} is not a part of a message: give a text or an object"
        )
    elif _is_result(item.get("type")):
        yield from _results(item)
    elif _is_call(item.get("type")):
        yield _call(item, speaker)
    elif _is_thinking(item.get("type")):
        yield Part(speaker, "thinking", "\n".join(_thinking_texts(item)))
    else:
        text = _text(item)
        kind = item.get("type")
        is_text_type = (kind is None or isinstance(kind, str)) and kind in _TEXT_TYPES
        is_statement = is_text_type and text is not None
        yield Part(speaker, "" if is_statement else _label(kind or "part"), text)


def _text(item: RawMessage) -> str | None:
    text = item.get("text")
    if isinstance(text, Mapping):
        text = text.get("value")
    return text if isinstance(text, str) else None


def _call(call: RawMessage, speaker: str) -> Part:
    function = call.get("function")
    inner = function if isinstance(function, Mapping) else call
    field = _first_present(inner, ("arguments", "args", "input"))
    arguments = None if field is None else inner[field]
    text = arguments if isinstance(arguments, str) or arguments is None else _json(arguments)
    name = inner.get("name") or call.get("type") or ""
    return Part(speaker, _label(f"call {name}"), text)


def _results(item: RawMessage) -> Iterator[Part]:
    """Yield the output of a tool: its text, and the labels of other parts."""
    field = _first_present(item, ("content", "output"))
    content = "" if field is None else item[field]
    for entry in content if isinstance(content, list) else [content]:
        text = entry if isinstance(entry, str) else None
        if isinstance(entry, Mapping):
            text = _text(entry)
            if text is None:
                yield Part(TOOL, _label(entry.get("type") or "part"))
                continue
        yield Part(TOOL, "", _json(entry) if text is None else text)


def _thinking_texts(item: RawMessage) -> Iterator[str]:
    for name in ("thinking", "reasoning", "text"):
        if isinstance(item.get(name), str):
            yield item[name]
    summary = item.get("summary")
    for entry in summary if isinstance(summary, list) else []:
        if isinstance(entry, Mapping) and (text := _text(entry)) is not None:
            yield text


def _merged_statements(parts: Iterable[Part]) -> Iterator[Part]:
    """Merge consecutive statements of one speaker; yield other parts as they are."""
    pending: Part | None = None
    for part in parts:
        if (
            pending is not None
            and pending.is_statement
            and part.is_statement
            and pending.speaker == part.speaker
        ):
            pending = Part(pending.speaker, "", f"{pending.text}\n{part.text}")
            continue
        if pending is not None:
            yield pending
        pending = part
    if pending is not None:
        yield pending


def _label(name: object) -> str:
    """Return a label on one line, without the characters that end a label."""
    text = name if isinstance(name, str) else _json(name)
    return one_line(text.translate(_LABEL_ESCAPES))[:_LABEL_CHARACTERS].strip() or "part"


_LABEL_ESCAPES: Final = {ord("["): "(", ord("]"): ")", ord(":"): " "}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


# Rendering: messages as text, with the byte range of each message.
#
# The text is a pure function of the messages, so it is never stored: the hash of the messages
# covers both. Memories cite byte ranges of the text. Therefore a rendering that was ever used keeps
# its form number and never changes; a new layout gets a new number.
#
#     [2024-05-20 10:00:00] Ann: I moved to Oslo.
#       It is cold here.                             <- second line of the same part, indented
#     assistant [call weather]: {"city": "Oslo"}     <- a label: not a statement
#
# Invariant: a line that begins in the first column begins a part, and the engine wrote its speaker.
# Further lines of a part are indented, and a name that could be read as more than a name is quoted.
# So no text can pretend to be another speaker's line.

TEXT: Final = 0
"""Form of a transcript that was given as text."""
MESSAGES: Final = 1
"""Form of a transcript of messages, rendered as above."""


class Utterance(msgspec.Struct, frozen=True):
    """The text of one part of a message, and its byte range in the rendering."""

    message: int
    """The index of the message, from 0."""
    speaker: str
    span: Span
    at: datetime | None
    is_statement: bool
    """Whether the speaker states it; a tool call or thinking is not a statement."""
    role: str = ""
    """The role of the message, such as `assistant`, whatever the speaker's name."""


class Rendering(msgspec.Struct, frozen=True):
    """Messages as UTF-8 text."""

    text: bytes
    spans: tuple[Span, ...]
    """The byte range of each message, in their order; one newline separates two messages."""
    utterances: tuple[Utterance, ...]
    """The parts that have text, in their order."""

    def message_at(self, offset: int) -> int | None:
        """Return the index of the message at a byte offset; None between two messages."""
        number = bisect_right(self.spans, offset, key=lambda span: span[0]) - 1
        inside = number >= 0 and offset < self.spans[number][1]
        return number if inside else None


def render(form: int, messages: Iterable[Document], field: str = "message") -> Rendering:
    """Render messages as text; raise `Corruption` if this version does not know the form."""
    if form != MESSAGES:
        raise Corruption(
            f"a transcript has form {short_repr(form)}, which this version does not know"
        )
    builder = _TextBuilder()
    for number, message in enumerate(messages):
        parts = parts_of(message, f"{field} {number + 1}")
        builder.add(number, parts, time_of(message), role_of(unwrapped(message)))
    return Rendering(b"".join(builder.pieces), tuple(builder.spans), tuple(builder.utterances))


def render_stored(form: int, messages: Iterable[Document]) -> Rendering:
    """Render stored messages; raise `Corruption` if they are invalid, since they were checked."""
    try:
        return render(form, messages)
    except InvalidInput as error:
        raise Corruption(f"stored messages cannot be read: {error}") from error


class _TextBuilder:
    """Builds the text of a rendering, message by message."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.spans: list[Span] = []
        self.utterances: list[Utterance] = []
        self._size = 0

    def add(self, number: int, parts: Iterable[Part], micros: int | None, role: str) -> None:
        """Append a message; `micros` is its time."""
        at = None if micros is None else to_datetime(micros)
        stamp = "" if at is None else f"[{at:%Y-%m-%d %H:%M:%S}] "
        start = None
        for part in parts:
            if self.pieces:
                self._put("\n")
            start = self._size if start is None else start
            label = f" [{part.label}]" if part.label else ""
            self._put(stamp + speaker_label(part.speaker) + label)
            if part.text is None:
                continue
            self._put(": ")
            text_start = self._size
            self._put(indent_continuation_lines(part.text))
            if self._size > text_start:
                span = (text_start, self._size)
                self.utterances.append(
                    Utterance(number, part.speaker, span, at, part.is_statement, role)
                )
        assert start is not None, "a message has a part"
        self.spans.append((start, self._size))

    def _put(self, text: str) -> None:
        encoded = text.encode()
        self.pieces.append(encoded)
        self._size += len(encoded)
