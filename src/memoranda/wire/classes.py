"""The generated classes of messages, by name."""

from __future__ import annotations

from typing import Any, TypeAlias

Message: TypeAlias = Any
"""A protobuf message of the wire. Its classes are generated, and have no common type here."""


def message_class(name: str) -> Any:
    """Return the class of a message.

    The generated code is imported when it is first used: to generate it, there need not be any.
    """
    from memoranda.wire.v1 import memoranda_pb2

    return getattr(memoranda_pb2, name)
