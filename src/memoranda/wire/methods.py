"""The methods of the service, by name and by kind of call."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from memoranda.calls.call import Call, WriteCall
from memoranda.wire.batches import BATCH_FORMS
from memoranda.wire.classes import message_class
from memoranda.wire.requests import EVENT_CALLS, REMOTE_CALLS, request
from memoranda.wire.responses import response

SERVICE = "memoranda.v1.MemorandaService"
WRITE_STREAM = f"/{SERVICE}/WriteStream"
"""The path of the stream of writes, which takes `WriteBatch` and gives `WriteOutcomes`."""

MethodShape: TypeAlias = Literal["unary", "long", "pages", "events"]
"""A single answer, progress and an answer, pages of items, or pages of events."""


class Method(NamedTuple):
    """How a kind of call is sent."""

    name: str
    kind: type[Call[Any]]
    request: Any
    """The class of its request."""
    response: Any
    """The class of its response, or of each message of a stream."""
    shape: MethodShape
    path: str

    @property
    def is_write(self) -> bool:
        """Whether it can be sent on a stream of writes too."""
        return issubclass(self.kind, WriteCall)


def _method(name: str, kind: type[Call[Any]]) -> Method:
    shape: MethodShape = "unary"
    if name in EVENT_CALLS:
        shape = "events"
    elif kind.shape == "pages":
        shape = "pages"
    elif kind.lane == "long":
        shape = "long"
    classes = message_class(request(kind).proto), message_class(response(kind).proto)
    return Method(kind.__name__, kind, *classes, shape, f"/{SERVICE}/{kind.__name__}")


METHODS: Mapping[str, Method] = MappingProxyType(
    {kind.__name__: _method(name, kind) for name, kind in REMOTE_CALLS.items()}
)
METHOD_OF: Mapping[type[Call[Any]], Method] = MappingProxyType(
    {method.kind: method for method in METHODS.values()}
)
WRITE_BATCH, WRITE_OUTCOMES = (message_class(form.proto) for form in BATCH_FORMS)
