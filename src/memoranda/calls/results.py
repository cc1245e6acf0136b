"""Answers of calls that write several things: imports of facts and conversations, extractions."""

from __future__ import annotations

from datetime import datetime

import msgspec

from memoranda.extract.protocol import Skipped
from memoranda.model.receipt import Outcome
from memoranda.model.refs import TranscriptRef


class AssertedFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The number of rows by outcome."""

    asserted: int = 0
    unchanged: int = 0
    """Asserted before under the same `once`."""
    retracted: int = 0
    """Asserted before under the same `once` and retracted since: they stay retracted."""
    rejected: int = 0
    commit_ts: int | None = None
    """The last commit; None: nothing was committed."""
    committed_at: datetime | None = None
    """The time of that commit."""

    @property
    def outcome(self) -> Outcome:
        """What the call did: created if it asserted anything."""
        return "created" if self.asserted else "unchanged"

    def __add__(self, other: AssertedFacts) -> AssertedFacts:
        last = self if other.commit_ts is None else other
        return AssertedFacts(
            commit_ts=last.commit_ts,
            committed_at=last.committed_at,
            asserted=self.asserted + other.asserted,
            unchanged=self.unchanged + other.unchanged,
            retracted=self.retracted + other.retracted,
            rejected=self.rejected + other.rejected,
        )


class ExtractionReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an extraction from a transcript.

    A long transcript is extracted in parts, each with a commit of its own; a part in which nothing
    is found has none.
    """

    transcript_id: str
    extractor: str
    memories: tuple[str, ...] = ()
    """The ids of the memories."""
    facts: tuple[str, ...] = ()
    """The ids of the assertions and of the ends of facts."""
    skipped: tuple[Skipped, ...] = ()
    """Items that were not stored, with the reasons; only the call that extracted has them."""
    already: bool = False
    """Whether all parts were extracted before, so that nothing was written now."""
    commit_ts: int
    """The last commit of its parts, from now or from before; if there is none, the last commit of
    the log."""
    committed_at: datetime
    """The time of that commit."""

    @property
    def id(self) -> str:
        """The id of the transcript, as `transcript_id`."""
        return self.transcript_id

    @property
    def ref(self) -> TranscriptRef:
        """The reference to the transcript."""
        return TranscriptRef(self.transcript_id)

    @property
    def is_new(self) -> bool:
        """Whether something was written now."""
        return not self.already and bool(self.memories or self.facts)

    @property
    def outcome(self) -> Outcome:
        """What the call did: created if it wrote memories or facts."""
        return "created" if self.is_new else "unchanged"


class ImportedChat(msgspec.Struct, frozen=True, kw_only=True):
    """The result of importing a conversation."""

    transcript_id: str
    already: bool
    """Whether it was imported before, and nothing was stored now."""
    messages: int
    """The number of messages."""
    extraction: ExtractionReport | None = None
    """What was extracted from it; None if no extractor was given."""
    commit_ts: int
    """The commit that stored it; with an extraction, the commit of that."""
    committed_at: datetime
    """The time of that commit."""

    @property
    def id(self) -> str:
        """The id of the transcript, as `transcript_id`."""
        return self.transcript_id

    @property
    def ref(self) -> TranscriptRef:
        """The reference to the transcript, to cite it."""
        return TranscriptRef(self.transcript_id)

    @property
    def outcome(self) -> Outcome:
        """What the call did: created if it stored the conversation or extracted from it."""
        has_extracted = self.extraction is not None and self.extraction.is_new
        return "created" if has_extracted or not self.already else "unchanged"
