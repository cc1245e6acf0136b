"""Choosing an extractor by what a user types."""

from __future__ import annotations

from recollect.errors import InvalidInput
from recollect.extract.chat_endpoint import ChatExtractor
from recollect.extract.protocol import Extractor
from recollect.extract.rules import RuleExtractor
from recollect.model.limits import shown

RULES = "rules"


def extractor_of(typed: str) -> Extractor:
    """Return the extractor that is meant by `rules`, or by an endpoint and a model, `URL#model`."""
    if typed == RULES:
        return RuleExtractor()
    url, mark, model = typed.partition("#")
    if not mark or not model or "://" not in url:
        raise InvalidInput(
            "extractor", f"{shown(typed)} is neither `{RULES}` nor an endpoint and model, URL#model"
        )
    return ChatExtractor(url, model=model)
