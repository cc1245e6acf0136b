"""Times: from when on what an operation says is so."""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.graph.derive import STILL
from memoranda.model.operations import AnyOperation, Assert, End


def instant_of(operations: Sequence[AnyOperation], position: int, now: int) -> int:
    """Return the instant that an assertion or an end is about; `now` where it names none.

    The end that comes with an assertion stands right behind it, and is no earlier.
    """
    operation = operations[position]
    if isinstance(operation, Assert):
        return now if operation.valid_from is None else operation.valid_from
    assert isinstance(operation, End), "nothing else is about an instant"
    at = now if operation.at is None else operation.at
    if position and _is_bounded(operations, position - 1):
        return max(at, instant_of(operations, position - 1, now))
    return at


def bound_of(operations: Sequence[AnyOperation], position: int, now: int) -> int:
    """Return the instant of the end that an assertion was made with; `STILL` where there is none.

    Asked of such an end, it is its own instant: so both are told from those that stand alone.
    """
    if _is_bounded(operations, position):
        return instant_of(operations, position + 1, now)
    if position and _is_bounded(operations, position - 1):
        return instant_of(operations, position, now)
    return STILL


def _is_bounded(operations: Sequence[AnyOperation], position: int) -> bool:
    """Say whether an operation is an assertion, and its own end stands right behind it."""
    if position + 1 >= len(operations):
        return False
    said, end = operations[position], operations[position + 1]
    return (
        isinstance(said, Assert) and isinstance(end, End) and said.assertion_id == end.assertion_id
    )
