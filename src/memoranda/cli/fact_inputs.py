"""What people type about facts, turned into what the store takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, overload

from memoranda.cli import inputs
from memoranda.errors import InvalidInput

if TYPE_CHECKING:
    from memoranda.graph.inputs import Object

_DATE = re.compile(r"\d{4}(-\d\d){0,2}", re.ASCII)
_SPAN = re.compile(r"(\d{1,18}):(\d{1,18})", re.ASCII)


@overload
def instant(text: str) -> str: ...
@overload
def instant(text: None) -> None: ...
def instant(text: str | None) -> str | None:
    """Return a time; a day, a month or a year is its first moment in UTC."""
    if text is None or not _DATE.fullmatch(text):
        return text
    return f"{text}{'-01-01'[: 10 - len(text)]}T00:00:00Z"


def moment(text: str | None) -> int | str | None:
    """Return a commit number, or a time as `instant` does; a number alone is a commit's."""
    found = inputs.moment(text)
    return instant(found) if isinstance(found, str) else found


def span(text: str) -> tuple[int, int]:
    """Return the part of a transcript that `START:END` names."""
    found = _SPAN.fullmatch(text)
    if found is None:
        raise InvalidInput("spans", f"{text!r} is not START:END in bytes, such as 0:11")
    return int(found[1]), int(found[2])


@overload
def thing(text: str, kind: str | None) -> Object: ...
@overload
def thing(text: None, kind: str | None) -> None: ...
def thing(text: str | None, kind: str | None) -> Object | None:
    """Return what a fact leads to: the name of an entity, or a value of some kind."""
    from memoranda.graph.literal import parse_literal

    return text if text is None or kind is None else parse_literal(kind, text)
