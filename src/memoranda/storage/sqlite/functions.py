"""What the SQL views need beyond SQL: reading the log's stored bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from memoranda.model import codec
from memoranda.model.instant import to_rfc3339
from memoranda.model.operations import AnyOperation, Write


def _txn_id(envelope: bytes) -> str:
    return codec.decode_envelope(envelope).txn_id


def _actor(envelope: bytes) -> str:
    return codec.decode_envelope(envelope).actor


def _count(operations: bytes) -> int:
    return len(codec.split(operations))


def _all(operations: bytes) -> str:
    """Return the operations as a JSON array; what is JSON in them is text there, to stay as is."""
    return _json([_shape(operation) for operation in codec.decode_standing(operations)])


def _value(operations: bytes, position: int) -> str | None:
    """Return one operation's value; the others are not decoded, and there may be thousands."""
    part = codec.split(operations)[position]
    (operation,) = codec.decode_standing(codec.join([part]))
    return _value_text(operation)


def _shape(operation: AnyOperation) -> dict[str, Any]:
    return {
        "type": operation.type.value,
        "namespace": operation.namespace,
        "agent_id": operation.agent_id,
        "key": operation.key,
        "version": operation.version,
        "value": _value_text(operation),
        "because": _because_text(operation),
    }


def _value_text(operation: AnyOperation) -> str | None:
    if isinstance(operation, Write):
        return operation.encoded.decode()
    value = operation.value
    return None if value is None else _json(value)


def _because_text(operation: AnyOperation) -> str | None:
    if not isinstance(operation, Write) or not operation.because:
        return None
    return _json([msgspec.structs.asdict(ref) for ref in operation.because])


def _details(encoded: bytes) -> str:
    """Return what is said of a memory; its times are text, as they are in the columns."""
    details = codec.decode_details(encoded)
    return _json(details.shown() | {"event_time": _instant(details.event_time)})


def _instant(micros: int | None) -> str | None:
    """Return a time as text; SQLite's own arithmetic rounds times before 1970 the wrong way."""
    return None if micros is None else to_rfc3339(micros)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


FUNCTIONS: Mapping[str, Callable[..., str | int | None]] = {
    "envelope_txn_id": _txn_id,
    "envelope_actor": _actor,
    "operation_count": _count,
    "operations_json": _all,
    "operation_value": _value,
    "details_json": _details,
    "instant_text": _instant,
}
"""The functions that `views.sql` calls, by their names there."""
