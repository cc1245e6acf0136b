"""Calls and answers as protobuf messages, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

from memoranda.calls.call import Call
from memoranda.errors import InvalidInput
from memoranda.model.event import ReplayEvent
from memoranda.wire.classes import Message, message_class
from memoranda.wire.events import event_page
from memoranda.wire.requests import REMOTE_CALLS, Request, request
from memoranda.wire.responses import EventPages, answer_in, response

# Requests.


def request_of(
    call: Call[Any],
    *,
    store: str = "",
    acting_agent: str = "",
    is_named: bool = True,
    stored: bool = False,
) -> Message:
    """Return a call as the message of its request; raise `InvalidInput` if it cannot be sent.

    `is_named` is of calls that write, `stored` of those that read events.
    """
    form = request(type(call))
    fields = form.to_wire(call)
    if store:
        fields["store"] = store
    if acting_agent:
        fields["acting_agent"] = acting_agent
    if not is_named:
        fields["is_named"] = False
    if stored:
        fields["stored"] = True
    return form.build(fields, call)


def call_of(message: Message) -> Call[Any]:
    """Return the call of a request; raise `InvalidInput` for what is not understood."""
    size = message.ByteSize()
    message.DiscardUnknownFields()
    if message.ByteSize() != size:
        raise InvalidInput(
            "call",
            f"a {message.DESCRIPTOR.name} has a field that this version does not know: "
            "update the server, or send less",
        )
    return _requests()[type(message)].from_wire(message)


@cache
def _requests() -> Mapping[Any, Request]:
    """Return the forms of requests by the classes of their messages."""
    forms = map(request, REMOTE_CALLS.values())
    return MappingProxyType({message_class(form.proto): form for form in forms})


def is_named(message: Message) -> bool:
    """Say whether the caller of a write chose its `txn_id`."""
    return not message.HasField("is_named") or bool(message.is_named)


# Responses.


def response_of(call_or_kind: Call[Any] | type[Call[Any]], answer: Any) -> Message:
    """Return an answer as a message; `call_or_kind` is the call, or its kind where that is enough.

    It is not for a read inside a transaction, whose answer is that of the read.
    """
    form = response(_kind(call_or_kind))
    return form.message_class(**form.fields(answer, call_or_kind))


def answer_of(kind: type[Call[Any]], message: Message) -> Any:
    """Return the answer of a call; raise `InvalidInput` for what is not understood."""
    return answer_in(kind, message)


def progress_of(kind: type[Call[Any]], done: int, total: int) -> Message:
    """Return the progress of a call that takes long."""
    return response(kind).message_class(progress={"done": done, "total": total})


def page_of(
    call_or_kind: Call[Any] | type[Call[Any]], items: Sequence[Any], *, stored: bool = True
) -> Message:
    """Return a page of a long answer as a message. Servers send events with `event_page`."""
    form = response(_kind(call_or_kind))
    if isinstance(form, EventPages):
        log_id = next((event.log_id for event in items if isinstance(event, ReplayEvent)), "")
        return event_page(items, log_id=log_id, bound=0, stored=stored)
    return form.message_class(**form.fields(items, call_or_kind))


def items_of(kind: type[Call[Any]], page: Message) -> list[Any]:
    """Return the items of a page; raise `InvalidInput` for what is not understood."""
    items: list[Any] = answer_in(kind, page)
    return items


def _kind(call_or_kind: Any) -> Any:
    return call_or_kind if isinstance(call_or_kind, type) else type(call_or_kind)
