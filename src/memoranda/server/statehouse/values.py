"""Values of the wire: `google.protobuf.Struct` read as JSON objects.

A Struct's numbers are doubles. A whole one that a double holds exactly is stored as an integer, so
that 3 does not become 3.0 for readers elsewhere; on this wire it comes back as it was sent.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.struct_pb2 import ListValue, Struct, Value

from memoranda.errors import InvalidInput
from memoranda.model.document import Document

_EXACT = 2**53
"""Up to here, every whole number is a double of its own."""
_MAX_LEVEL = 100
"""Messages inside each other that readers of protocol buffers take."""
_STRUCT_LEVEL = 2
"""Where a value is in a `ReplayEvent`: below the event and one of its operations."""


def read_document(struct: Struct) -> Document:
    """Return the JSON object, or raise `InvalidInput`; numbers and texts are checked later.

    What can be sent with a write, but not in a replay, is refused: nobody could replay the agent.
    """
    return _document(struct, _STRUCT_LEVEL)


def _document(struct: Struct, level: int) -> Document:
    _check_level(level)
    return {name: _item(value, level + 2) for name, value in struct.fields.items()}


def _items(values: ListValue, level: int) -> list[Any]:
    _check_level(level)
    return [_item(value, level + 1) for value in values.values]


def _item(value: Value, level: int) -> Any:
    _check_level(level)
    match value.WhichOneof("kind"):
        case "string_value":
            return value.string_value
        case "number_value":
            number = value.number_value
            is_exact = number.is_integer() and -_EXACT <= number <= _EXACT
            return int(number) if is_exact else number
        case "bool_value":
            return value.bool_value
        case "struct_value":
            return _document(value.struct_value, level + 1)
        case "list_value":
            return _items(value.list_value, level + 1)
        case "null_value":
            return None
    raise InvalidInput("value", "has a part of no kind: set `null_value` for null")


def _check_level(level: int) -> None:
    if level > _MAX_LEVEL:
        raise InvalidInput(
            "value",
            "is nested too deeply for readers of this wire, who take 33 objects or 48 lists inside "
            "each other",
        )
