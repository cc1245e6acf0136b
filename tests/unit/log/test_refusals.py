"""How many refusals are noted: so many of a kind and an agent in a while, and the rest counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.log import refusals
from memoranda.log.refusals import CYCLE, DEPTH, MOST_NOTED, WINDOW, Refusals
from memoranda.model.operations import Refuse
from memoranda.testing import FixedClock


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def noting(clock: FixedClock) -> Refusals:
    return Refusals(clock)


def note(noting: Refusals, times: int, what: str = CYCLE, by: str = "a") -> None:
    for _ in range(times):
        noting.note(what, by, ("m",))


def said(taken: list[Refuse]) -> list[tuple[str, str, int, int]]:
    return [(each.what, each.by, len(each.about), each.left_out) for each in taken]


def test_so_many_and_no_more(noting: Refusals) -> None:
    note(noting, MOST_NOTED + 7)
    assert len(noting.take()) == MOST_NOTED
    assert noting.take() == []
    assert said(noting.take_all()) == [(CYCLE, "a", 0, 7)]
    assert noting.take_all() == []


def test_each_kind_and_each_agent_counts_alone(noting: Refusals) -> None:
    note(noting, MOST_NOTED + 1)
    note(noting, 1, what=DEPTH)
    note(noting, 1, by="b")
    assert said(noting.take())[MOST_NOTED:] == [(DEPTH, "a", 1, 0), (CYCLE, "b", 1, 0)]


def test_a_new_window_says_what_the_last_one_left_out(noting: Refusals, clock: FixedClock) -> None:
    note(noting, MOST_NOTED + 7)
    noting.take()
    clock.advance(WINDOW - 0.001)
    note(noting, 1)
    assert noting.take() == []
    clock.advance(0.001)
    note(noting, 2)
    assert said(noting.take()) == [(CYCLE, "a", 1, 8), (CYCLE, "a", 1, 0)]


def test_what_is_lost_is_said_next(noting: Refusals) -> None:
    note(noting, 2)
    noting.lost(noting.take())
    note(noting, 1)
    assert said(noting.take()) == [(CYCLE, "a", 1, 2)]


def test_a_count_that_is_lost_stays_the_same_count(noting: Refusals) -> None:
    note(noting, MOST_NOTED + 3)
    noting.take()
    noting.lost(noting.take_all())
    assert said(noting.take_all()) == [(CYCLE, "a", 0, 3)]


def test_memory_is_bounded_and_no_count_gets_lost(
    noting: Refusals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusals, "MOST_PAIRS", 3)
    note(noting, MOST_NOTED + 4, by="old")
    for number in range(50):
        note(noting, 1, by=f"b{number}")
        assert len(noting._recent) <= 3
    assert (CYCLE, "old", 0, 4) in said(noting.take())


@given(
    st.lists(
        st.one_of(
            st.tuples(st.sampled_from((CYCLE, DEPTH)), st.sampled_from("abcd")),
            st.sampled_from(["take", "lose", "wait"]),
        ),
        max_size=150,
    )
)
def test_every_refusal_is_noted_or_counted(steps: list[tuple[str, str] | str]) -> None:
    clock = FixedClock()
    noting, asked, told = Refusals(clock), 0, list[Refuse]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refusals, "MOST_PAIRS", 5)
        patch.setattr(refusals, "MOST_NOTED", 2)
        for step in steps:
            if step == "take":
                told += noting.take()
            elif step == "lose":
                noting.lost(noting.take())
            elif step == "wait":
                clock.advance(WINDOW / 2)
            else:
                noting.note(step[0], step[1], ("m",))
                asked += 1
        told += noting.take_all()
    assert sum(each.left_out + bool(each.about) for each in told) == asked
