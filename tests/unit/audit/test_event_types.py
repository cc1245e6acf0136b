"""Every operation has a type of audit event, and types are asked for by name or by family."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from memoranda import InvalidInput
from memoranda.audit import events
from memoranda.audit.events import (
    ALL_EVENT_TYPES,
    EVENT_TYPES,
    STALE_NOTIFIED,
    check_event_types,
    event_type,
)
from memoranda.log.commit import refusals
from memoranda.model.operations import AnyOperation, OperationType, Refuse

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "audit-events.md"


def test_every_kind_of_operation_has_a_type_of_its_own() -> None:
    assert set(EVENT_TYPES) == set(OperationType) - {OperationType.REFUSED}
    assert len({*EVENT_TYPES.values(), STALE_NOTIFIED, *refusals.KINDS}) == len(ALL_EVENT_TYPES)
    assert len(ALL_EVENT_TYPES) == len(EVENT_TYPES) + 1 + len(refusals.KINDS)
    assert {get_arg.type for get_arg in get_args(AnyOperation)} <= set(OperationType)


def test_a_refusal_is_called_by_what_was_refused() -> None:
    assert event_type(Refuse("_audit", "_engine", "link.cycle_refused", "ann")) in ALL_EVENT_TYPES


@pytest.mark.parametrize(
    ("selection", "types"),
    [
        ("link.created", ["link.created"]),
        ("link.*", ["link.closed", "link.created", "link.cycle_refused"]),
        (["key.*", "fact.ended"], ["fact.ended", "key.retired", "key.trusted"]),
        (iter(["state.written"]), ["state.written"]),
        ([], []),
    ],
)
def test_one_several_or_a_family(selection: object, types: list[str]) -> None:
    assert sorted(check_event_types(selection) or ()) == types


def test_nothing_asked_means_every_type() -> None:
    assert check_event_types(None) is None


@pytest.mark.parametrize("bad", ["link", "link.", "lin.*", "*", ".*", "link.c*", "", 7, ["x"], [7]])
def test_what_is_no_type_is_refused_with_those_there_are(bad: object) -> None:
    with pytest.raises(InvalidInput, match="event_type"):
        check_event_types(bad)


def test_what_the_engine_does_itself_is_found_by_its_scope() -> None:
    assert events.scopes_of(None) is None
    assert events.scopes_of(frozenset({"link.cycle_refused", "link.created"})) is None
    result = events.scopes_of(frozenset({"link.cycle_refused", "key.trusted"}))
    assert result is not None
    assert {item.namespace for item in result} == {"_audit", "_log"}


def test_the_page_names_them_all() -> None:
    page = PAGE.read_text("utf-8")
    assert [name for name in sorted(ALL_EVENT_TYPES) if f"| `{name}` |" not in page] == []
