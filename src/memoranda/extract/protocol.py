"""What an extractor is given, and what it gives back.

Whoever implements `Extractor` needs nothing else of this package. Spans are byte offsets into the
UTF-8 of the stored transcript, so whatever is extracted can be shown beside the words it is from.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from memoranda.model.memory import Span


class Message(msgspec.Struct, frozen=True):
    """One turn of a conversation, as it stands in the stored transcript."""

    speaker: str
    """Who said it: a name, or a role such as `user`. Empty where nobody is named."""
    text: str
    span: Span
    """Where the text stands in the transcript."""
    at: datetime | None = None
    """When it was said, if the transcript says so."""


class ExtractedMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Something worth remembering."""

    content: str
    kind: str = "observation"
    title: str | None = None
    tags: tuple[str, ...] = ()
    confidence: float = 1.0
    event_time: datetime | None = None
    """When what it says happened; not given, when it was said."""
    spans: tuple[Span, ...] = ()


class ExtractedFact(msgspec.Struct, frozen=True, kw_only=True):
    """That something holds, or with `ends` that it holds no longer."""

    subject: str
    relation: str
    object: str | None = None
    """What it is about; None with `ends`: whatever held."""
    valid_from: datetime | None = None
    """Since when it holds; not given, since it was said. With `ends`, when it ended."""
    valid_to: datetime | None = None
    ends: bool = False
    confidence: float = 1.0
    spans: tuple[Span, ...] = ()


class Skipped(msgspec.Struct, frozen=True):
    """Something that was found and set aside: what it said, and why it was not taken."""

    what: str
    reason: str


class Extraction(msgspec.Struct, frozen=True, kw_only=True):
    """What an extractor found in some messages."""

    memories: tuple[ExtractedMemory, ...] = ()
    facts: tuple[ExtractedFact, ...] = ()
    skipped: tuple[Skipped, ...] = ()


class Extractor(Protocol):
    """Reads messages and says what is in them. It may be called from several threads at once.

    Two attributes are read where they are there. `name`: what it is called, with its version; under
    one name a transcript is extracted once. `single_valued`: the relations that have one object
    at a time as far as it is concerned; see `Store.extract`.
    """

    def extract(self, messages: Sequence[Message], /, *, occurred_at: datetime) -> Extraction:
        """Return what the messages say. A message without a time was said at `occurred_at`."""
        ...


def name_of(extractor: Extractor) -> str:
    """Return what an extractor is called: the name it has, or its class's."""
    kind = type(extractor)
    return str(getattr(extractor, "name", None) or f"{kind.__module__}.{kind.__qualname__}")


def single_valued_by(extractor: Extractor) -> tuple[str, ...]:
    """Return the relations that have one object at a time for an extractor."""
    return tuple(getattr(extractor, "single_valued", ()))
