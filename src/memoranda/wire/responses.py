"""Responses: the answer of a call as a message, or as the messages of a stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from types import NoneType
from typing import Any

from memoranda.calls import within
from memoranda.calls.call import Call, answer_type, call_name
from memoranda.calls.transactions import AnsweredWithin, AskWithin, ListWithin
from memoranda.errors import InvalidInput
from memoranda.wire.classes import message_class
from memoranda.wire.composites import Items, Json
from memoranda.wire.declarations import MISSING, Declared
from memoranda.wire.derive import as_item, form_of
from memoranda.wire.events import EVENT_PAGE, events_of
from memoranda.wire.fields import record_field
from memoranda.wire.forms import INTEGER, FieldSpec, Form, MessageSpec, NotUnderstood
from memoranda.wire.records import Attributes
from memoranda.wire.requests import EVENT_CALLS


class Response:
    """The message of a call's answer, or of a part of it."""

    def __init__(self, kind: type[Call[Any]]) -> None:
        self.kind = kind
        self.name = call_name(kind)
        self.proto = f"{kind.__name__}Response"

    @cached_property
    def message_class(self) -> Any:
        """The class of the message."""
        return message_class(self.proto)

    def fields(self, answer: Any, call: Any = None) -> dict[str, Any]:
        """Return the fields of the message; `call` has what some of them need."""
        raise NotImplementedError

    def answer(self, message: Any) -> Any:
        """Return the answer; raise `NotUnderstood`."""
        raise NotImplementedError

    def message(self) -> MessageSpec:
        """Describe the message."""
        raise NotImplementedError


class Value(Response):
    """A single answer."""

    @cached_property
    def _attributes(self) -> Attributes:
        kind = answer_type(self.kind)
        if kind in (None, NoneType):
            return Attributes(self.proto, ())
        part = Declared("answer", kind, MISSING, None)
        return Attributes(self.proto, [record_field(part, form_of(kind))])

    @cached_property
    def _put(self) -> Callable[[dict[str, Any], Any], None]:
        (attribute,) = self._attributes.all
        return attribute.put

    def fields(self, answer: Any, _: Any = None) -> dict[str, Any]:
        """Return the field of the answer."""
        fields: dict[str, Any] = {}
        if answer is not None:
            self._put(fields, answer)
        return fields

    def answer(self, message: Any) -> Any:
        """Return the answer."""
        return self._attributes.from_wire(message).get("answer")

    def message(self) -> MessageSpec:
        """Describe the message."""
        return MessageSpec(
            self.proto, f"The answer of {self.kind.__name__}.", self._attributes.specs
        )


class LongWork(Value):
    """Progress reports, and then the answer."""

    def answer(self, message: Any) -> Any:
        """Return the answer; a report of progress is none."""
        if not message.HasField("answer"):
            raise NotUnderstood(f"{self.proto} has no answer")
        return super().answer(message)

    def message(self) -> MessageSpec:
        """Describe the message."""
        (answer,) = self._attributes.specs
        fields = [
            FieldSpec("progress", PROGRESS, oneof="step"),
            FieldSpec("answer", answer.form, oneof="step"),
        ]
        about = f"A step of {self.kind.__name__}: its progress, or the answer, which is the last."
        return MessageSpec(self.proto, about, fields)


class Progress(Form[tuple[int, int]]):
    """How far long work is."""

    proto = "Progress"
    is_message = True

    def message(self) -> MessageSpec:
        """Describe the message."""
        fields = [FieldSpec("done", INTEGER), FieldSpec("total", INTEGER)]
        return MessageSpec(self.proto, "Steps of long work: those that are done, of all.", fields)


PROGRESS = Progress()


class Pages(Response):
    """A page of a long answer."""

    @cached_property
    def _items(self) -> Items:
        return Items(list, as_item(answer_type(self.kind)))

    def fields(self, answer: Any, _: Any = None) -> dict[str, Any]:
        """Return the items of a page."""
        return {"items": self._items.to_wire(list(answer))}

    def answer(self, message: Any) -> Any:
        """Return the items of a page."""
        return self._items.from_wire(message.items)

    def message(self) -> MessageSpec:
        """Describe the message."""
        field = FieldSpec("items", self._items, "repeated")
        return MessageSpec(self.proto, f"A page of the answer of {self.kind.__name__}.", [field])


class EventPages(Response):
    """A page of events."""

    def __init__(self, kind: type[Call[Any]]) -> None:
        super().__init__(kind)
        self.proto = EVENT_PAGE.proto

    def answer(self, message: Any) -> Any:
        """Return the events of a page."""
        return events_of(message)

    def message(self) -> MessageSpec:
        """Describe the message."""
        return EVENT_PAGE.message()


class Within(Response):
    """The answer of a read inside a transaction, or a page of it, as the response of that read."""

    def _reads(self) -> Sequence[type[Call[Any]]]:
        shape = "pages" if self.kind.shape == "pages" else "value"
        return [kind for kind in within.READS if kind.shape == shape]

    def fields(self, answer: Any, call: Any = None) -> dict[str, Any]:
        """Return the field of the read's response; `call` names the read."""
        if not isinstance(call, (AskWithin, ListWithin)):
            raise TypeError(f"the answer of {self.name} needs its call, which names the read")
        inner = response(type(call.read))
        if self.kind is ListWithin:
            return {inner.name: inner.fields(answer)}
        reads = [*map(_JSON.to_wire, answer.reads)]
        return {inner.name: inner.fields(answer.answer), "reads": reads}

    def answer(self, message: Any) -> Any:
        """Return the answer."""
        name = message.WhichOneof("answer")
        if name is None:
            raise NotUnderstood(f"{self.proto} has no answer")
        inner = next(response(kind) for kind in self._reads() if call_name(kind) == name)
        answer = inner.answer(getattr(message, name))
        if self.kind is ListWithin:
            return answer
        return AnsweredWithin(answer, tuple(map(_JSON.from_wire, message.reads)))

    def message(self) -> MessageSpec:
        """Describe the message."""
        fields = [
            FieldSpec(call_name(kind), ResponseForm(response(kind)), oneof="answer")
            for kind in self._reads()
        ]
        if self.kind is AskWithin:
            about = "What was read, to send with the commit as it is."
            fields.append(FieldSpec("reads", _JSON, "repeated", about=about))
        return MessageSpec(self.proto, "The answer of the read inside a transaction.", fields)


_JSON = Json()


class ResponseForm(Form[Any]):
    """A response as a part of another."""

    is_message = True

    def __init__(self, response: Response) -> None:
        self._response = response
        self.proto = response.proto

    def message(self) -> MessageSpec:
        """Describe the message."""
        return self._response.message()


@cache
def response(kind: type[Call[Any]]) -> Response:
    """Return the response of a kind of call."""
    if kind in (AskWithin, ListWithin):
        return Within(kind)
    if call_name(kind) in EVENT_CALLS:
        return EventPages(kind)
    if kind.shape == "pages":
        return Pages(kind)
    return LongWork(kind) if kind.lane == "long" else Value(kind)


def answer_in(kind: type[Call[Any]], message: Any) -> Any:
    """Return the answer that a message has; raise `InvalidInput` if it has none."""
    try:
        return response(kind).answer(message)
    except NotUnderstood as error:
        raise InvalidInput("answer", f"it is not understood: {error}") from error
