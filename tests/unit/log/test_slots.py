"""Every field of every operation is in one slot, in the engine and in the verifier alike."""

from __future__ import annotations

from typing import get_args

import pytest

import memoranda_verify
from memoranda.model.operations import AnyOperation, Erased, Redacted
from memoranda.model.operations.base import Operation
from memoranda.model.operations.residue import (
    ChangeResidue,
    MemoryTombstone,
    NamesResidue,
    RememberResidue,
    StateResidue,
    TranscriptTombstone,
)
from memoranda.model.operations.slots import _PLACES, LAYOUTS, Layout

_LEFT = {
    Erased,
    Redacted,
    MemoryTombstone,
    TranscriptTombstone,
    RememberResidue,
    StateResidue,
    ChangeResidue,
    NamesResidue,
}
"""What stands only where something was erased."""


def test_the_verifier_has_the_slots_that_the_engine_has() -> None:
    ours = {tag: [[*slot] for slot in slots] for tag, slots in _PLACES.items()}
    assert ours == memoranda_verify._SLOTS


def test_every_kind_has_slots() -> None:
    assert {*get_args(AnyOperation)} - _LEFT == {*LAYOUTS}


@pytest.mark.parametrize(("kind", "layout"), LAYOUTS.items(), ids=lambda item: str(item)[:40])
def test_every_field_is_in_one_slot(kind: type[Operation], layout: Layout) -> None:
    fields = [field for slot in layout for field in slot]
    assert sorted(fields) == sorted(kind.__struct_fields__[2:])
