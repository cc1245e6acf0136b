"""The choice of an extractor.

No extractor is a default: an extraction names its own. The module of each is imported when it is
named: the rules compile patterns, and an endpoint loads HTTP.
"""

from __future__ import annotations

import inspect

from memoranda.errors import InvalidInput
from memoranda.extract.protocol import Extractor
from memoranda.model.limits import short_repr

RULES = "rules"
CHOICES = (
    f"`{RULES}` for a few kinds of plain English sentences, an endpoint and its model as "
    "URL#model, or an object with a method `extract`"
)


def parse_extractor(text: str) -> Extractor:
    """Return the extractor for `rules`, or for the endpoint and model in `URL#model`."""
    if text == RULES:
        from memoranda.extract.rules.extractor import RuleExtractor

        return RuleExtractor()
    url, mark, model = text.partition("#")
    if not mark or not model or "://" not in url:
        raise InvalidInput(
            "extractor",
            f"{short_repr(text)} is neither `{RULES}` nor an endpoint and model, URL#model",
        )
    from memoranda.extract.chat_model import ChatExtractor

    return ChatExtractor(url, model=model)


def resolve_extractor(extractor: Extractor | str) -> Extractor:
    """Return an extractor that is given as an object or by name."""
    if extractor is None:
        raise InvalidInput("extractor", f"is missing: give {CHOICES}")
    if isinstance(extractor, str):
        return parse_extractor(extractor)
    method = getattr(extractor, "extract", None)
    if isinstance(extractor, type) or not callable(method):
        raise InvalidInput(
            "extractor", f"{short_repr(extractor)} is not an object with a method `extract`"
        )
    if inspect.iscoroutinefunction(method):
        raise InvalidInput(
            "extractor",
            f"{short_repr(extractor)} is asynchronous: give one with a plain method `extract`",
        )
    return extractor
