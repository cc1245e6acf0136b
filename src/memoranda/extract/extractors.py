"""Choosing an extractor: one that is given, or by what a user types."""

from __future__ import annotations

import inspect
from typing import overload

from memoranda.errors import InvalidInput
from memoranda.extract.protocol import Extractor
from memoranda.extract.rules import RuleExtractor
from memoranda.model.limits import shown

RULES = "rules"


def extractor_of(typed: str) -> Extractor:
    """Return the extractor that is meant by `rules`, or by an endpoint and a model, `URL#model`."""
    from memoranda.extract.chat_endpoint import ChatExtractor  # who asks no model need not load it

    if typed == RULES:
        return RuleExtractor()
    url, mark, model = typed.partition("#")
    if not mark or not model or "://" not in url:
        raise InvalidInput(
            "extractor", f"{shown(typed)} is neither `{RULES}` nor an endpoint and model, URL#model"
        )
    return ChatExtractor(url, model=model)


@overload
def chosen_extractor(given: Extractor | str | None) -> Extractor: ...
@overload
def chosen_extractor(given: Extractor | str | None, *, default: bool) -> Extractor | None: ...
def chosen_extractor(given: Extractor | str | None, *, default: bool = True) -> Extractor | None:
    """Return the extractor that is given or named; else the rules, if there is a default."""
    if given is None:
        return RuleExtractor() if default else None
    if isinstance(given, str):
        return extractor_of(given)
    method = getattr(given, "extract", None)
    if isinstance(given, type) or not callable(method):
        raise InvalidInput("extractor", f"{shown(given)} is no object with a method `extract`")
    if inspect.iscoroutinefunction(method):
        raise InvalidInput(
            "extractor", f"{shown(given)} is asynchronous: `extract` is called from a thread"
        )
    return given
