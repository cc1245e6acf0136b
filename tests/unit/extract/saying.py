"""Sentences as an extractor meets them, and what it makes of them, in short."""

from __future__ import annotations

from datetime import UTC, datetime

from memoranda import ExtractedFact, Extraction, Message, RuleExtractor

SAID = datetime(2024, 5, 20, 10, 0, tzinfo=UTC)
"""A Monday."""


def extracted(text: str, speaker: str = "Alice", *others: Message) -> Extraction:
    """Return what the rules make of one message, which was said on 20 May 2024."""
    message = Message(speaker, text, (0, len(text.encode())))
    return RuleExtractor().extract([message, *others], occurred_at=SAID)


def told(text: str, speaker: str = "Alice") -> list[str]:
    """Return the facts in a message, a line each."""
    return [line(fact) for fact in extracted(text, speaker).facts]


def line(fact: ExtractedFact) -> str:
    """Return a fact as a line: `-` for an end, and its times unless it holds since it was said."""
    parts = ["-"] if fact.ends else []
    parts += [fact.subject, fact.relation, fact.object or "*"]
    if fact.valid_from != SAID:
        assert fact.valid_from is not None
        parts.append(f"@{fact.valid_from:%Y-%m-%d}")
    if fact.valid_to is not None:
        parts.append(f"..{fact.valid_to:%Y-%m-%d}")
    return " ".join(parts)
