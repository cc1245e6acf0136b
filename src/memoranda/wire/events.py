"""Events of a replay or a subscription, as stored bytes or as fields."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from memoranda.errors import Corruption, InvalidInput
from memoranda.log.commit import transaction_signature
from memoranda.log.read.replay import decode_stored
from memoranda.model import codec
from memoranda.model.event import ReplayEvent, StoredEvent
from memoranda.model.operations import AnyOperation
from memoranda.wire.classes import message_class
from memoranda.wire.composites import Json
from memoranda.wire.forms import (
    BYTES,
    FLAG,
    INTEGER,
    TEXT,
    FieldSpec,
    Form,
    MessageSpec,
)

_JSON = Json()


class OperationMessage(Form[AnyOperation]):
    """An operation as fields, for clients that do not read stored bytes."""

    proto = "Operation"
    is_message = True

    def to_wire(self, value: Any) -> dict[str, Any]:
        """Return the fields."""
        fields = {
            "type": value.type.value,
            "namespace": value.namespace,
            "agent_id": value.agent_id,
            "key": value.key,
            "version": value.version,
        }
        content = value.value
        if content is not None:
            fields["value"] = _JSON.to_wire(content)
        return fields

    def message(self) -> MessageSpec:
        """Describe the message."""
        fields = [
            FieldSpec("type", TEXT, about="Its kind, such as write, remember or assert."),
            FieldSpec("namespace", TEXT),
            FieldSpec("agent_id", TEXT),
            FieldSpec("key", TEXT, about="Its address: a key, or an id with its type."),
            FieldSpec("value", _JSON, "optional", about="Its content."),
            FieldSpec("version", INTEGER, about="The version that it made at its address."),
        ]
        return MessageSpec(self.proto, "An operation of an event.", fields)


class EventMessage(Form[ReplayEvent]):
    """An event; its operations are stored bytes or fields."""

    proto = "Event"
    is_message = True

    def message(self) -> MessageSpec:
        """Describe the message."""
        fields = [
            FieldSpec("commit_ts", INTEGER),
            FieldSpec("committed_micros", INTEGER, about="Microseconds since 1970 UTC."),
            FieldSpec("txn_id", TEXT),
            FieldSpec("actor", TEXT),
            FieldSpec("hash", BYTES, about="Its hash, which covers all events before it."),
            FieldSpec("summary", FLAG, about="Whether it summarises a compacted history."),
            FieldSpec("signature", TEXT, "optional", about="The actor's, in hexadecimal."),
            FieldSpec(
                "unproven",
                FLAG,
                about="Whether an erasure left an operation that no commitment proves.",
            ),
            FieldSpec(
                "stored_operations",
                BYTES,
                "optional",
                about="The selected operations as they are stored; only with `stored`.",
            ),
            FieldSpec("operations", OPERATION, "repeated", about="They; only without `stored`."),
            FieldSpec(
                "request_only",
                FLAG,
                about="Whether the signature covers the request, and not what was decided.",
            ),
            FieldSpec(
                "trace_id", TEXT, "optional", about="The trace of its request, in hexadecimal."
            ),
        ]
        return MessageSpec(self.proto, "A transaction as its reader sees it.", fields)


class EventPage(Form[list[ReplayEvent]]):
    """Events in the order of their commits."""

    proto = "EventPage"
    is_message = True

    @cached_property
    def message_class(self) -> Any:
        """The class of the message."""
        return message_class(self.proto)

    def message(self) -> MessageSpec:
        """Describe the message."""
        bound = (
            "Of a replay: its last commit, which is fixed when it is called. Of a subscription: "
            "the commit through which every event was sent."
        )
        fields = [
            FieldSpec("log_id", TEXT, about="The log, which is part of resume tokens."),
            FieldSpec("bound", INTEGER, about=bound),
            FieldSpec("caught_up", FLAG, about="Whether a subscription has reached the log's end."),
            FieldSpec("events", EVENT, "repeated"),
        ]
        about = "Some events; the first page comes at once, perhaps without any."
        return MessageSpec(self.proto, about, fields)


OPERATION = OperationMessage()
EVENT = EventMessage()
EVENT_PAGE = EventPage()


def event_page(
    events: Iterable[StoredEvent | ReplayEvent],
    *,
    log_id: str,
    bound: int,
    caught_up: bool = False,
    stored: bool = False,
) -> Any:
    """Return a page of events; with `stored`, operations are their stored bytes."""
    to_fields = _stored_fields if stored else _typed_fields
    fields = [to_fields(event, log_id) for event in events]
    return EVENT_PAGE.message_class(log_id=log_id, bound=bound, caught_up=caught_up, events=fields)


def _stored_fields(event: StoredEvent | ReplayEvent, _: str) -> dict[str, Any]:
    if isinstance(event, StoredEvent):
        # Not the stored envelope: it has a hash of the whole request, of which this may be a part.
        sender = codec.decode_envelope(event.envelope)
        fields = {
            "commit_ts": event.commit_ts,
            "committed_micros": event.committed_micros,
            "txn_id": sender.txn_id,
            "actor": sender.actor,
            "hash": event.hash,
            "stored_operations": event.operations,
        }
        if sender.signature is not None:
            fields["signature"] = transaction_signature.signature_hex(sender)
            fields["request_only"] = transaction_signature.is_request_only(sender)
        if sender.trace_id is not None:
            fields["trace_id"] = sender.trace_hex
        return fields
    return {**_head_fields(event), "stored_operations": codec.encode_all(event.operations)}


def _typed_fields(event: StoredEvent | ReplayEvent, log_id: str) -> dict[str, Any]:
    if isinstance(event, StoredEvent):
        event = decode_stored(event, log_id)
    return {**_head_fields(event), "operations": [*map(OPERATION.to_wire, event.operations)]}


def _head_fields(event: ReplayEvent) -> dict[str, Any]:
    return {
        "commit_ts": event.commit_ts,
        "committed_micros": event.committed_micros,
        "txn_id": event.txn_id,
        "actor": event.actor,
        "hash": event.hash,
        "summary": event.summary,
        "signature": event.signature,
        "unproven": event.unproven,
        "request_only": event.request_only,
        "trace_id": event.trace_id,
    }


def events_of(page: Any) -> list[ReplayEvent]:
    """Return the events of a page that was asked for with `stored`; values are decoded lazily."""
    log_id = page.log_id
    try:
        return [_event(message, log_id) for message in page.events]
    except Corruption as error:
        raise InvalidInput("events", f"they are not understood: {error}") from error


def _event(message: Any, log_id: str) -> ReplayEvent:
    if not message.HasField("stored_operations"):
        raise InvalidInput(
            "events", "an event has no stored operations: ask for them with `stored`"
        )
    return ReplayEvent(
        message.commit_ts,
        message.committed_micros,
        message.txn_id,
        message.actor,
        codec.decode_operations(message.stored_operations),
        message.hash,
        log_id,
        message.summary,
        message.signature if message.HasField("signature") else None,
        message.unproven,
        message.request_only,
        message.trace_id if message.HasField("trace_id") else None,
    )
