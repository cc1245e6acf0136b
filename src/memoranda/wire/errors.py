"""Errors as bytes: the trailing metadata of a call that failed, and a part of write outcomes."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from google.protobuf.message import DecodeError

from memoranda.calls.core import error_codec
from memoranda.errors import InvalidInput, MemorandaError
from memoranda.model.error_codec import ErrorCodec
from memoranda.wire.classes import message_class
from memoranda.wire.composites import Json
from memoranda.wire.forms import FLAG, TEXT, FieldSpec, Form, MessageSpec, NotUnderstood

ERROR_KEY = "memoranda-error-bin"
"""The key of the trailing metadata that has the error of a call, beside its status and text."""

_JSON = Json()


class Error(Form[MemorandaError]):
    """An error, with what a program can know of it."""

    proto = "Error"
    is_message = True

    def to_wire(self, value: Any) -> dict[str, Any]:
        """Return the fields."""
        fields = _codec().encode(value)
        return {
            "error": fields["error"],
            "message": fields["message"],
            "retryable": fields["retryable"],
            "attributes": msgspec.json.encode(fields["attributes"]),
        }

    def from_wire(self, value: Any) -> MemorandaError:
        """Return the error."""
        attributes = _JSON.from_wire(value.attributes) if value.attributes else {}
        return _codec().decode(
            {
                "error": value.error,
                "message": value.message,
                "retryable": value.retryable,
                "attributes": attributes,
            }
        )

    def message(self) -> MessageSpec:
        """Describe the message."""
        fields = [
            FieldSpec("error", TEXT, about="The name of its class, such as VersionMismatch."),
            FieldSpec("message", TEXT, about="What happened, and what to do."),
            FieldSpec("retryable", FLAG, about="Whether the same call may succeed later."),
            FieldSpec("attributes", _JSON, about="What the class adds, such as `field`."),
        ]
        about = f"An error. The trailing metadata `{ERROR_KEY}` of a failed call has it as bytes."
        return MessageSpec(self.proto, about, fields)


ERROR = Error()


@cache
def _codec() -> ErrorCodec:
    return error_codec()


def encode_error(error: MemorandaError) -> bytes:
    """Return an error as bytes."""
    data: bytes = message_class(ERROR.proto)(**ERROR.to_wire(error)).SerializeToString()
    return data


def decode_error(data: bytes) -> MemorandaError:
    """Return the error that bytes stand for; raise `InvalidInput` if they stand for none."""
    message = message_class(ERROR.proto)()
    try:
        message.ParseFromString(data)
        return ERROR.from_wire(message)
    except (DecodeError, NotUnderstood) as error:
        raise InvalidInput("error", f"it is not understood: {error}") from error
