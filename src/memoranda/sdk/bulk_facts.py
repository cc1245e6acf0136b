"""Rows of facts on their way into a transaction, and what became of them.

A row is a mapping with the keyword arguments of `assert_fact`. Rows are known by their numbers,
from 1 on: whoever reads an error looks for a place in a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.limits import shown

Row = Mapping[str, Any]
Refusal = InvalidInput | NotFound
REFUSALS = (InvalidInput, NotFound)
"""What is wrong with a row, while others may be right. Anything else ends the whole."""
Reject = Callable[[int, Row, Refusal], None]
"""Is told of a row that cannot be taken: its number, the row itself, and what is wrong."""

_NEEDED = ("subject", "relation", "object")
_FIELDS = (
    *_NEEDED,
    "valid_from",
    "valid_to",
    "confidence",
    "source",
    "spans",
    "agent_id",
    "namespace",
    "visibility",
)


class AssertedFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows were asserted, and what became of the others."""

    asserted: int = 0
    unchanged: int = 0
    """Said before on the same occasion, and said still."""
    retracted: int = 0
    """Said before on the same occasion and taken back since: they stay so."""
    rejected: int = 0

    def __add__(self, other: AssertedFacts) -> AssertedFacts:
        return AssertedFacts(
            asserted=self.asserted + other.asserted,
            unchanged=self.unchanged + other.unchanged,
            retracted=self.retracted + other.retracted,
            rejected=self.rejected + other.rejected,
        )


class Batch:
    """Rows that go into one transaction, without those that turn out to be wrong."""

    def __init__(self, rows: Sequence[tuple[int, Row]], common: Mapping[str, Any]) -> None:
        self._rows = rows
        self._common = common
        self._staged: list[int] = []
        self.refused: dict[int, Refusal] = {}

    @property
    def last(self) -> int:
        """The number of its last row."""
        return self._rows[-1][0]

    def stage(self, assert_fact: Callable[..., str]) -> list[str]:
        """Stage what is not known to be wrong, and return the ids."""
        self._staged, ids = [], []
        for number, row in self._rows:
            if number in self.refused:
                continue
            try:
                ids.append(assert_fact(**{**self._common, **_fields(row)}))
                self._staged.append(number)
            except REFUSALS as error:
                self.refused[number] = error
        return ids

    def refuse(self, places: Mapping[int, Refusal]) -> None:
        """Set aside what is refused, by its place among what was staged."""
        self.refused |= {self._staged[place]: error for place, error in places.items()}

    def told(self) -> Iterable[tuple[int, Row, Refusal]]:
        """Yield the rows that were refused, in order."""
        return (
            (number, row, self.refused[number])
            for number, row in self._rows
            if number in self.refused
        )

    def located(self) -> Refusal:
        """Return the first refusal as one that says in which row, and what is committed."""
        number, error = min(self.refused.items(), key=lambda item: item[0])
        before = self._rows[0][0] - 1
        kept = f"the {before} before row {before + 1} are" if before else "nothing is"
        if isinstance(error, InvalidInput):
            return InvalidInput(
                f"row {number}, {error.field}", f"{error.problem} ({kept} asserted)"
            )
        return NotFound(f"row {number}: {error} ({kept} asserted)")


def check_facts(facts: object) -> Iterable[Row]:
    """Return what facts can be taken from, one after the other."""
    if not isinstance(facts, Iterable) or isinstance(facts, (str, bytes, Mapping)):
        raise InvalidInput("facts", f"{shown(facts)} is not a list of facts")
    return facts


def check_batch(batch: object, most: int) -> int:
    """Return how many rows go into a transaction."""
    if type(batch) is not int or not 1 <= batch <= most:
        raise InvalidInput("batch", f"{shown(batch)} is not from 1 to {most}")
    return batch


def _fields(row: object) -> Row:
    """Return what a row says, if it says what a fact needs and nothing else."""
    if not isinstance(row, Mapping):
        raise InvalidInput("fact", f"{shown(row)} is no mapping with a subject, relation, object")
    for name in row:
        if name not in _FIELDS:
            raise InvalidInput("fact", f"has {shown(name)}, which is none of {', '.join(_FIELDS)}")
    for name in _NEEDED:
        if row.get(name) is None:
            raise InvalidInput(name, "is missing: a fact has a subject, a relation and an object")
    return row
