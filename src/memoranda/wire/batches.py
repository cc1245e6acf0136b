"""Batches of writes and of their outcomes, which the stream of writes carries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

from memoranda.calls.call import Call, WriteCall
from memoranda.errors import InvalidInput, MemorandaError
from memoranda.wire.classes import message_class
from memoranda.wire.errors import ERROR
from memoranda.wire.forms import NUMBERING, TEXT, FieldSpec, Form, MessageSpec, NotUnderstood
from memoranda.wire.requests import REMOTE_CALLS, request
from memoranda.wire.responses import ResponseForm, answer_in, response

WRITE_KINDS: dict[str, type[Call[Any]]] = {
    name: kind for name, kind in REMOTE_CALLS.items() if issubclass(kind, WriteCall)
}
"""The calls that a batch can have, by name."""


class Numbered(Form[Any]):
    """An item of a batch, with the number that its sender gave it."""

    is_message = True

    def __init__(self, proto: str, about: str, parts: list[FieldSpec]) -> None:
        self.proto = proto
        self._about = about
        self._parts = parts

    def message(self) -> MessageSpec:
        """Describe the message."""
        number = FieldSpec("id", NUMBERING, about="The number that the client gave the write.")
        return MessageSpec(self.proto, self._about, [number, *self._parts])


class Batch(Form[Any]):
    """Several numbered items."""

    is_message = True

    def __init__(self, proto: str, about: str, fields: list[FieldSpec]) -> None:
        self.proto = proto
        self._about = about
        self._fields = fields

    @cached_property
    def message_class(self) -> Any:
        """The class of the message."""
        return message_class(self.proto)

    def message(self) -> MessageSpec:
        """Describe the message."""
        return MessageSpec(self.proto, self._about, self._fields)


_WRITE = Numbered(
    "NumberedWrite",
    "A write of a batch. Its request names no store of its own.",
    [
        *(FieldSpec(name, request(kind), oneof="call") for name, kind in WRITE_KINDS.items()),
        FieldSpec(
            "traceparent",
            TEXT,
            about="The trace of the write (W3C Trace Context); empty: that of the whole call.",
        ),
    ],
)
_OUTCOME = Numbered(
    "WriteOutcome",
    "What became of a write: an error, or its answer.",
    [
        FieldSpec("error", ERROR, oneof="outcome"),
        *(
            FieldSpec(name, ResponseForm(response(kind)), oneof="outcome")
            for name, kind in WRITE_KINDS.items()
        ),
    ],
)
_WRITES = Batch(
    "WriteBatch",
    "Writes, each of which is committed on its own.",
    [
        FieldSpec("store", TEXT, about="The store; empty: the server's only one."),
        FieldSpec("writes", _WRITE, "repeated"),
    ],
)
_OUTCOMES = Batch(
    "WriteOutcomes",
    "The outcomes of some writes, in any order.",
    [FieldSpec("outcomes", _OUTCOME, "repeated")],
)
_NO_TRACES: Mapping[int, str] = MappingProxyType({})
BATCH_FORMS: tuple[Form[Any], ...] = (_WRITES, _OUTCOMES)


def write_batch(
    writes: Iterable[tuple[int, Any]], *, store: str, traces: Mapping[int, str] = _NO_TRACES
) -> Any:
    """Return a batch of requests, each with its number; the requests name no store.

    `traces` has the traces of those that have one, by their numbers.
    """
    batch = _WRITES.message_class(store=store)
    for number, message in writes:
        name = _NAMES[message.DESCRIPTOR.name]
        write = batch.writes.add(id=number, traceparent=traces.get(number, ""))
        getattr(write, name).CopyFrom(message)
    return batch


_NAMES = {request(kind).proto: name for name, kind in WRITE_KINDS.items()}
"""The message of a request -> the name of its call."""


def writes_in(batch: Any) -> Iterator[tuple[int, Any, str]]:
    """Yield the requests of a batch with their numbers and their traces, which may be empty.

    An invalid request is None.
    """
    for write in batch.writes:
        name = write.WhichOneof("call")
        yield write.id, None if name is None else getattr(write, name), write.traceparent


def write_outcomes(outcomes: Iterable[tuple[int, type[Call[Any]], Any]]) -> Any:
    """Return the outcomes of writes: each has a number, a kind of call, and an answer or error."""
    fields = []
    for number, kind, outcome in outcomes:
        if isinstance(outcome, MemorandaError):
            fields.append({"id": number, "error": ERROR.to_wire(outcome)})
        else:
            form = response(kind)
            fields.append({"id": number, form.name: form.fields(outcome)})
    return _OUTCOMES.message_class(outcomes=fields)


def outcomes_in(message: Any) -> list[tuple[int, Any]]:
    """Return the outcomes with their numbers: answers, and errors, which are not raised."""
    return [(outcome.id, outcome_of(outcome)) for outcome in message.outcomes]


def outcome_of(outcome: Any) -> Any:
    """Return the outcome of a write: its answer, or its error, which is not raised."""
    name = outcome.WhichOneof("outcome")
    if name is None:
        raise InvalidInput("answer", "an outcome has neither an error nor an answer")
    if name != "error":
        return answer_in(WRITE_KINDS[name], getattr(outcome, name))
    try:
        return ERROR.from_wire(outcome.error)
    except NotUnderstood as error:
        raise InvalidInput("error", f"it is not understood: {error}") from error
