"""Spans of OpenTelemetry for calls, as its conventions for memories of generative AI name them.

Nothing here imports OpenTelemetry. A program that records spans has imported it already, and is
found by that; any other program has carriers without spans (`open.py`), and pays nothing.

A span has the id of the store's log, ids that the engine gave out, and counts. Content, such as a
query or a memory's text, is in it only where the variable of the standard asks for that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

import msgspec

from memoranda import __version__
from memoranda.calls.call import Call, call_name
from memoranda.calls.open_transaction import OpenTransaction
from memoranda.calls.transactions import Commit
from memoranda.model.trace import (
    SPAN_API,
    SPAN_ID_SIZE,
    TRACE_ID_SIZE,
    TraceContext,
    Tracing,
    current_trace,
)
from memoranda.sdk.memory_operations import operation_of, record_id_in, records_in

Answer = TypeVar("Answer")
Kind = Literal["INTERNAL", "CLIENT", "SERVER"]

CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_CONTENT_VALUES = frozenset(("1", "true", "span_only", "span_and_event"))
"""Values of the variable that ask for content in spans; there are an older and a newer list."""


class Spans:
    """Makes the spans of one carrier's calls."""

    def __init__(self, kind: Kind, store_id: str, server: tuple[str, int] | None = None) -> None:
        self._kind = kind
        self._attributes: dict[str, Any] = {"gen_ai.memory.store.id": store_id}
        if server is not None:
            self._attributes |= {"server.address": server[0], "server.port": server[1]}

    def of(self, call: Call[Any], count: int | None = None) -> CallSpan:
        """Return the block of a call, which is a span if the program records any.

        `count` is the number of records that it is about, where the call itself does not say it.
        """
        api: Any = sys.modules.get(SPAN_API)
        provider = None if api is None else api.get_tracer_provider()
        if api is None or isinstance(provider, api.ProxyTracerProvider):
            return CallSpan(None, call, self._kind, {})
        attributes = dict(self._attributes)
        if isinstance(call, Commit) and call.calls:
            count = len(call.calls)
        if count is not None:
            attributes["gen_ai.memory.record.count"] = count
        return CallSpan(_tracer(provider), call, self._kind, attributes)

    def of_commit(self, transaction: OpenTransaction) -> CallSpan:
        """Return the block of the commit of a transaction."""
        return self.of(Commit(()), transaction.draft.staged_count)


@lru_cache(maxsize=1)
def _tracer(provider: Any) -> Any:
    return provider.get_tracer("memoranda", __version__)


class CallSpan:
    """A block in which a call is made. What it commits belongs to the trace of its span."""

    __slots__ = ("_activation", "_attributes", "_call", "_kind", "_span", "_tracer", "_tracing")

    def __init__(
        self, tracer: Any | None, call: Call[Any], kind: Kind, attributes: Mapping[str, Any]
    ) -> None:
        self._tracer = tracer
        """None: no span is recorded."""
        self._call = call
        self._kind = kind
        self._attributes = attributes
        self._span: Any = None
        self._activation: Any = None
        self._tracing: Tracing | None = None

    def __enter__(self) -> Self:
        if self._tracer is None:
            return self
        call = self._call
        api: Any = sys.modules[SPAN_API]
        operation, name = operation_of(call), call_name(type(call))
        attributes = {**self._attributes, "memoranda.call": name}
        if operation is not None:
            attributes["gen_ai.operation.name"] = operation
        if (record_id := record_id_in(call)) is not None:
            attributes["gen_ai.memory.record.id"] = record_id
        self._span = self._tracer.start_span(
            operation or f"memoranda.{name}",
            context=_parent(api),
            kind=api.SpanKind[self._kind],
            attributes=attributes,
        )
        self._activation = api.use_span(self._span, end_on_exit=False, record_exception=False)
        self._activation.__enter__()
        if (trace := _trace_of(self._span)) is not None:
            self._tracing = Tracing(trace)
            self._tracing.__enter__()
        return self

    def answered(self, answer: Answer) -> Answer:
        """Note what the call has answered, and return it."""
        if self._span is None or not self._span.is_recording():
            return answer
        record_id, records = records_in(self._call, answer)
        if record_id is not None:
            self._span.set_attribute("gen_ai.memory.record.id", record_id)
        if records is not None:
            self._span.set_attribute("gen_ai.memory.record.count", len(records))
        if _wants_content():
            self._add_content(records)
        return answer

    def _add_content(self, records: Sequence[Mapping[str, Any]] | None) -> None:
        query = getattr(self._call, "query", None)
        if isinstance(query, str):
            self._span.set_attribute("gen_ai.memory.query.text", query)
        if records:
            self._span.set_attribute("gen_ai.memory.records", msgspec.json.encode(records).decode())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.leave()
        self.end(error)

    def leave(self) -> None:
        """Leave the block, while the call goes on elsewhere; `end` ends its span."""
        if self._span is None:
            return
        if self._tracing is not None:
            self._tracing.__exit__(None, None, None)
        self._activation.__exit__(None, None, None)

    def end(self, error: BaseException | None = None) -> None:
        """End the span, with the error of the call if it had one."""
        if self._span is None:
            return
        if error is not None:  # only its class: its text may have content
            api: Any = sys.modules[SPAN_API]
            self._span.set_attribute("error.type", type(error).__name__)
            self._span.set_status(api.Status(api.StatusCode.ERROR))
        self._span.end()


def _wants_content() -> bool:
    return os.environ.get(CONTENT_VARIABLE, "").strip().lower() in _CONTENT_VALUES


def _parent(api: Any) -> Any:
    """Return the context of a parent that another process has told; None: the current one."""
    trace = current_trace()
    if trace is None or api.get_current_span().get_span_context().is_valid:
        return None
    context = api.SpanContext(
        int.from_bytes(trace.trace_id),
        int.from_bytes(trace.span_id),
        is_remote=True,
        trace_flags=api.TraceFlags(trace.flags),
    )
    return api.set_span_in_context(api.NonRecordingSpan(context))


def _trace_of(span: Any) -> TraceContext | None:
    context = span.get_span_context()
    if not context.is_valid:
        return None
    return TraceContext(
        context.trace_id.to_bytes(TRACE_ID_SIZE),
        context.span_id.to_bytes(SPAN_ID_SIZE),
        int(context.trace_flags) & 1,
    )
