"""How many refusals are noted: so many of a kind and an agent in a while, and the rest counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.log.commit import refusals
from memoranda.log.commit.refusals import CYCLE, DEPTH, MAX_NOTES, WINDOW_SECONDS, Refusals
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
    return [(item.what, item.by, len(item.about), item.left_out) for item in taken]


def test_so_many_and_no_more(noting: Refusals) -> None:
    note(noting, MAX_NOTES + 7)
    assert len(noting.take()) == MAX_NOTES
    assert noting.take() == []
    assert said(noting.take_all()) == [(CYCLE, "a", 0, 7)]
    assert noting.take_all() == []


def test_each_kind_and_each_agent_counts_alone(noting: Refusals) -> None:
    note(noting, MAX_NOTES + 1)
    note(noting, 1, what=DEPTH)
    note(noting, 1, by="b")
    assert said(noting.take())[MAX_NOTES:] == [(DEPTH, "a", 1, 0), (CYCLE, "b", 1, 0)]


def test_a_new_window_says_what_the_last_one_left_out(noting: Refusals, clock: FixedClock) -> None:
    note(noting, MAX_NOTES + 7)
    noting.take()
    clock.advance(WINDOW_SECONDS - 0.001)
    note(noting, 1)
    assert noting.take() == []
    clock.advance(0.001)
    note(noting, 2)
    assert said(noting.take()) == [(CYCLE, "a", 1, 8), (CYCLE, "a", 1, 0)]


def test_what_is_lost_is_said_next(noting: Refusals) -> None:
    note(noting, 2)
    noting.restore(noting.take())
    note(noting, 1)
    assert said(noting.take()) == [(CYCLE, "a", 1, 2)]


def test_a_count_that_is_lost_stays_the_same_count(noting: Refusals) -> None:
    note(noting, MAX_NOTES + 3)
    noting.take()
    noting.restore(noting.take_all())
    assert said(noting.take_all()) == [(CYCLE, "a", 0, 3)]


def test_memory_is_bounded_and_no_count_gets_lost(
    noting: Refusals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusals, "MAX_WINDOWS", 3)
    note(noting, MAX_NOTES + 4, by="old")
    for number in range(50):
        note(noting, 1, by=f"b{number}")
        assert len(noting._windows) <= 3
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
    noting, queries, reports = Refusals(clock), 0, list[Refuse]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refusals, "MAX_WINDOWS", 5)
        patch.setattr(refusals, "MAX_NOTES", 2)
        for step in steps:
            if step == "take":
                reports += noting.take()
            elif step == "lose":
                noting.restore(noting.take())
            elif step == "wait":
                clock.advance(WINDOW_SECONDS / 2)
            else:
                noting.note(step[0], step[1], ("m",))
                queries += 1
        reports += noting.take_all()
    assert sum(item.left_out + bool(item.about) for item in reports) == queries
