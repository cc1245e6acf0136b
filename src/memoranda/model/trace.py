"""Traces: the W3C trace context of the current task or thread.

A server sets the trace of a request for the length of a block, and a commit inside the block reads
it. It is a context variable, so tasks and threads that are started in the block inherit it.
"""

from __future__ import annotations

import re
import sys
from contextvars import ContextVar, Token
from types import TracebackType

import msgspec

TRACE_ID_SIZE, SPAN_ID_SIZE = 16, 8
"""Bytes of the ids, as W3C Trace Context defines them."""
HEADER = "traceparent"
"""The name of the header, or of the metadata, that carries it."""
SPAN_API = "opentelemetry.trace"
"""The module with which programs record spans."""
_HEADER = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)
_MAX_HEADER = 256
"""Characters of a header; a later version may append fields."""
_SAMPLED = 1
"""The bit of the flags that says that the trace is recorded."""
_FIRST_VERSION, _NO_VERSION = "00", "ff"


class TraceContext(msgspec.Struct, frozen=True, gc=False):
    """A trace, and its current span."""

    trace_id: bytes
    span_id: bytes
    flags: int = 0

    @property
    def header(self) -> str:
        """The text that carries it to another process."""
        return f"{_FIRST_VERSION}-{self.trace_id.hex()}-{self.span_id.hex()}-{self.flags:02x}"

    @classmethod
    def parse(cls, text: str | None) -> TraceContext | None:
        """Return the trace that a header names; None if it names none, as the standard asks for."""
        match = _HEADER.fullmatch(text) if text and len(text) <= _MAX_HEADER else None
        if match is None:
            return None
        version, trace_id, span_id, flags, extension = match.groups()
        if version == _NO_VERSION or (version == _FIRST_VERSION and extension):
            return None
        trace, span = bytes.fromhex(trace_id), bytes.fromhex(span_id)
        if not any(trace) or not any(span):
            return None
        return cls(trace, span, int(flags, 16) & _SAMPLED)


_CURRENT: ContextVar[TraceContext | None] = ContextVar("memoranda_trace", default=None)


def current_trace() -> TraceContext | None:
    """Return the trace of the current work; None: it belongs to none."""
    return _CURRENT.get()


def current_trace_id() -> bytes | None:
    """Return the id of the current trace, for the envelope of a commit."""
    trace = _CURRENT.get()
    return None if trace is None else trace.trace_id


def trace_headers() -> tuple[tuple[str, str], ...]:
    """Return the headers of a request to another process that belongs to the current trace."""
    trace = _CURRENT.get()
    return () if trace is None else ((HEADER, trace.header),)


def may_record_spans() -> bool:
    """Say whether this program has imported OpenTelemetry; Memoranda itself never does."""
    return SPAN_API in sys.modules


class Tracing:
    """A block that belongs to a trace, or to none."""

    __slots__ = ("_token", "_trace")

    def __init__(self, trace: TraceContext | None) -> None:
        self._trace = trace
        self._token: Token[TraceContext | None] | None = None

    def __enter__(self) -> None:
        self._token = _CURRENT.set(self._trace)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._token is not None, "it was entered"
        _CURRENT.reset(self._token)
