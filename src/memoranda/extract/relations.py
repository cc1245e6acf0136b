"""The relations that extractors speak of, by name."""

from __future__ import annotations

WORKS_AT, LIVES_IN, REPORTS_TO = "works at", "lives in", "reports to"
LIKES, PREFERS, IS = "likes", "prefers", "is"
SINGLE_VALUED = (LIVES_IN, WORKS_AT, REPORTS_TO)
"""One home, one employer and one superior at a time."""
