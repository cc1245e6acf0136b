"""The extractor protocol, and the relations that the built-in extractors use.

An implementation of `Extractor` needs nothing else of this package. Spans are byte offsets into the
UTF-8 of the stored transcript, so that each extracted item can be shown with its source text.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from memoranda.model.memory import Span

# The relations of the built-in extractors.

WORKS_AT, LIVES_IN, REPORTS_TO = "works at", "lives in", "reports to"
LIKES, PREFERS, IS = "likes", "prefers", "is"
SINGLE_VALUED = (LIVES_IN, WORKS_AT, REPORTS_TO)
"""Relations with one object at a time: one home, one employer, one superior."""


# The input and output of an extractor.


class Message(msgspec.Struct, frozen=True):
    """One message of a conversation, as the stored transcript has it."""

    speaker: str
    """A name, or a role such as `user`. Empty if the transcript names no speaker."""
    text: str
    span: Span
    """The byte range of the text in the transcript."""
    at: datetime | None = None
    """The time of the message, if the transcript gives one."""
    role: str = ""
    """The role, such as `assistant`, if the message was stored with one."""


class ExtractedMemory(msgspec.Struct, frozen=True, kw_only=True):
    """A memory to store."""

    content: str
    kind: str = "observation"
    title: str | None = None
    tags: tuple[str, ...] = ()
    confidence: float = 1.0
    event_time: datetime | None = None
    """When the event happened; None: at the time of the message."""
    spans: tuple[Span, ...] = ()


class ExtractedFact(msgspec.Struct, frozen=True, kw_only=True):
    """A fact to assert, or with `ends` a fact to end."""

    subject: str
    relation: str
    object: str | None = None
    """None, together with `ends`: whichever object holds."""
    valid_from: datetime | None = None
    """The start, or with `ends` the end, in valid time; None: the time of the message."""
    valid_to: datetime | None = None
    ends: bool = False
    confidence: float = 1.0
    spans: tuple[Span, ...] = ()


class Skipped(msgspec.Struct, frozen=True):
    """An item that was left out: its text, and the reason."""

    what: str
    reason: str


class Extraction(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an extractor for some messages."""

    memories: tuple[ExtractedMemory, ...] = ()
    facts: tuple[ExtractedFact, ...] = ()
    skipped: tuple[Skipped, ...] = ()


class Extractor(Protocol):
    """Extracts memories and facts from messages. It may be called from several threads at once.

    Two attributes are optional. `name` identifies the extractor and its version: a transcript is
    extracted once per name. `single_valued` lists the relations that the extractor takes to have
    one object at a time (see `Store.extract`).
    """

    def extract(self, messages: Sequence[Message], /, *, occurred_at: datetime) -> Extraction:
        """Return what the messages state. `occurred_at` is the time of messages without one."""
        ...


def extractor_name(extractor: Extractor) -> str:
    """Return the name of an extractor; by default, that of its class."""
    kind = type(extractor)
    return str(getattr(extractor, "name", None) or f"{kind.__module__}.{kind.__qualname__}")


def single_valued_relations(extractor: Extractor) -> tuple[str, ...]:
    """Return the relations that an extractor declares as single-valued."""
    return tuple(getattr(extractor, "single_valued", ()))
