"""Batches of rows that `assert_facts` stages, and the call that counts their outcomes.

A row is a mapping with the keyword arguments of `assert_fact`. Rows are numbered from 1, so that an
error names a line of a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from memoranda.calls.call import Call, Handlers
from memoranda.calls.core import Core
from memoranda.calls.defaults import Defaults
from memoranda.calls.fact_writes import AssertFact
from memoranda.calls.grant import Grant
from memoranda.calls.open_transaction import OpenTransaction
from memoranda.calls.results import AssertedFacts
from memoranda.calls.transactions import stage
from memoranda.errors import InvalidInput, NotFound
from memoranda.memory.requests import check_id
from memoranda.model.limits import check_integer, check_items, short_repr

Row = Mapping[str, Any]
"""The arguments of `assert_fact` by their names."""
Refusal = InvalidInput | NotFound
REFUSALS = (InvalidInput, NotFound)
"""Errors that concern one row only. Any other error ends the import."""
Reject = Callable[[int, Row, Refusal], None]
"""Called with each rejected row: its number, the row, and the error."""

_REQUIRED_FIELDS = ("subject", "relation", "object")
_FIELDS = (
    *_REQUIRED_FIELDS,
    "valid_from",
    "valid_to",
    "confidence",
    "source",
    "spans",
    "agent_id",
    "namespace",
    "visibility",
)


class CountAsserted(Call[AssertedFacts], frozen=True):
    """Count assertions: those of a commit, and standing and retracted ones of earlier commits."""

    reach = "id"

    ids: tuple[str, ...]
    commit_ts: int | None
    """None: the commit changed nothing."""


def count_asserted(core: Core, _: Grant, call: CountAsserted) -> AssertedFacts:
    """Return the counts."""
    ids = [check_id("ids", name) for name in check_items("ids", call.ids)]
    with core.engine.reading() as reader:
        rows = reader.rows("graph_assertions_by_id", ids=ids)
    asserted = sum(1 for commit_ts, _ in rows if commit_ts == call.commit_ts)
    retracted = sum(
        1 for commit_ts, is_retracted in rows if commit_ts != call.commit_ts and is_retracted
    )
    return AssertedFacts(
        asserted=asserted, unchanged=len(ids) - asserted - retracted, retracted=retracted
    )


HANDLERS: Handlers = {CountAsserted: count_asserted}


class Batch:
    """The rows of one transaction, and its refused rows."""

    def __init__(
        self, rows: Sequence[tuple[int, Row]], common: Mapping[str, Any], defaults: Defaults
    ) -> None:
        self._rows = rows
        self._common = common
        self._defaults = defaults
        self._staged: list[int] = []
        self.refused: dict[int, Refusal] = {}

    @property
    def last(self) -> int:
        """The number of its last row."""
        return self._rows[-1][0]

    def stage(self, transaction: OpenTransaction) -> list[str]:
        """Stage the rows that were not refused, and return the ids of the assertions."""
        self._staged, ids = [], []
        for number, row in self._rows:
            if number in self.refused:
                continue
            try:
                assertion_id = stage(transaction, self._call({**self._common, **_fields(row)}))
            except REFUSALS as error:
                self.refused[number] = error
                continue
            assert assertion_id is not None, "an assertion has an id"
            ids.append(assertion_id)
            self._staged.append(number)
        return ids

    def _call(self, fields: dict[str, Any]) -> AssertFact:
        agent_id, namespace = fields.pop("agent_id", None), fields.pop("namespace", None)
        return AssertFact.of(self._defaults.place(agent_id, namespace), **fields)

    def refuse(self, places: Mapping[int, Refusal]) -> None:
        """Record refusals, given by their positions among the staged rows."""
        self.refused |= {self._staged[place]: error for place, error in places.items()}

    def told(self) -> Iterable[tuple[int, Row, Refusal]]:
        """Yield the rows that were refused, in order."""
        return (
            (number, row, self.refused[number])
            for number, row in self._rows
            if number in self.refused
        )

    def located(self) -> Refusal:
        """Return the first refusal, with its row and the number of rows that are committed."""
        number, error = min(self.refused.items(), key=lambda item: item[0])
        before = self._rows[0][0] - 1
        committed_rows = f"the {before} before row {before + 1} are" if before else "nothing is"
        if isinstance(error, InvalidInput):
            return InvalidInput(
                f"row {number}, {error.field}", f"{error.problem} ({committed_rows} asserted)"
            )
        return NotFound(f"row {number}: {error} ({committed_rows} asserted)")


def check_facts(facts: object) -> Iterable[Row]:
    """Return the iterable of rows; refuse text and a single mapping."""
    if not isinstance(facts, Iterable) or isinstance(facts, (str, bytes, Mapping)):
        raise InvalidInput("facts", f"{short_repr(facts)} is not a list of facts")
    return facts


def check_batch(batch: object, maximum: int) -> int:
    """Return the number of rows of a transaction."""
    return check_integer("batch", batch, minimum=1, maximum=maximum)


def _fields(row: object) -> Row:
    """Return a row that has the required fields and no unknown ones."""
    if not isinstance(row, Mapping):
        raise InvalidInput(
            "fact", f"{short_repr(row)} is no mapping with a subject, relation, object"
        )
    for name in row:
        if name not in _FIELDS:
            raise InvalidInput(
                "fact", f"has {short_repr(name)}, which is none of {', '.join(_FIELDS)}"
            )
    for name in _REQUIRED_FIELDS:
        if row.get(name) is None:
            raise InvalidInput(name, "is missing: a fact has a subject, a relation and an object")
    return row
