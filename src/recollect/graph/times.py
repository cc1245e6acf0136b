"""Times: from when on what an operation says is so."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.model.operations import AnyOperation, Assert, End


def instant_of(operations: Sequence[AnyOperation], position: int, now: int) -> int:
    """Return the instant that an assertion or an end is about; `now` where it names none.

    The end that comes with an assertion stands right behind it, and is no earlier.
    """
    operation = operations[position]
    if isinstance(operation, Assert):
        return now if operation.valid_from is None else operation.valid_from
    assert isinstance(operation, End), "nothing else is about an instant"
    at = now if operation.at is None else operation.at
    before = operations[position - 1] if position else None
    if isinstance(before, Assert) and before.assertion_id == operation.assertion_id:
        return max(at, instant_of(operations, position - 1, now))
    return at
