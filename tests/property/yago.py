"""YAGO11k, where it lies beside a checkout: dated facts about people, to load and compare with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "yago11k"
_PARTS = ("train.txt", "valid.txt", "test.txt")
_DATE = re.compile(r"(\d{1,4})-(\d\d|##)-(\d\d|##)", re.ASCII)
_NONE = "####-##-##"


class DatedFact(NamedTuple):
    """A fact with the time it held, `[valid_from, valid_to)`."""

    subject: str
    relation: str
    object: str
    valid_from: datetime
    valid_to: datetime | None


class _Span(NamedTuple):
    """What a date covers: a day, a month or a year."""

    first: datetime
    beyond: datetime


class _Unusable(ValueError):
    """A date that names no day, month or year of our era."""


def read_yago(folder: Path = FOLDER) -> list[DatedFact] | None:
    """Return the usable facts in the order of the files; None where there is no such folder."""
    if not folder.is_dir():
        return None
    entities = read_names(_lines(folder / "entity2id.txt"))
    relations = read_names(_lines(folder / "relation2id.txt"))
    rows = (line for part in _PARTS for line in _lines(folder / part))
    return list(read_facts(rows, entities, relations))


def read_names(lines: Iterable[str]) -> dict[str, str]:
    """Return names by their ids, without the angle brackets around them."""
    fields = (line.split("\t") for line in lines)
    return {number: name.removeprefix("<").removesuffix(">") for name, number, *_ in fields}


def read_facts(
    rows: Iterable[str], entities: dict[str, str], relations: dict[str, str]
) -> Iterator[DatedFact]:
    """Yield the facts whose dates can be used.

    A date covers a year, a month or a day. A fact holds from the first day of its start to the
    last day of its end, and for ever if that is unknown. Left out are rows without a start, with a
    date before our era or with half a year known, and those that end before they begin.
    """
    for row in rows:
        subject, relation, object_, start, end = row.split("\t")
        try:
            since, until = _span(start), None if end == _NONE else _span(end)
        except _Unusable:
            continue
        if until is not None and until.beyond <= since.first:
            continue
        yield DatedFact(
            entities[subject],
            relations[relation],
            entities[object_],
            since.first,
            until.beyond if until else None,
        )


def _span(text: str) -> _Span:
    result = _DATE.fullmatch(text)
    if result is None:
        raise _Unusable(text)
    year, month, day = (0 if part == "##" else int(part) for part in result.groups())
    try:
        first = datetime(year, month or 1, day or 1, tzinfo=UTC)
    except ValueError as error:
        raise _Unusable(text) from error
    if day:
        return _Span(first, first + timedelta(days=1))
    if month:
        return _Span(first, (first + timedelta(days=31)).replace(day=1))
    return _Span(first, first.replace(year=year + 1))


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").removesuffix("\n").split("\n")
