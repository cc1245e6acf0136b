"""Dates in sentences, as seen from Monday, 20 May 2024."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda.extract.rules.dates import find_dates
from tests.unit.extract.saying import SAID

READ = [
    ("on 3 May 2024", "on 2024-05-03"),
    ("on the 3rd of May, 2024", "on 2024-05-03"),
    ("May 3rd, 2023", "on 2023-05-03"),
    ("Mar. 3, 2020", "on 2020-03-03"),
    ("2024-02-03", "on 2024-02-03"),
    ("in 2024-02", "on 2024-02-01"),
    ("in March", "on 2024-03-01"),
    ("in June", "on 2023-06-01"),
    ("last March", "on 2024-03-01"),
    ("on 3 June", "on 2023-06-03"),
    ("Sept 2020", "on 2020-09-01"),
    ("in early 2021", "on 2021-01-01"),
    ("since March", "since 2024-03-01"),
    ("since 2019", "since 2019-01-01"),
    ("as of May 2023", "since 2023-05-01"),
    ("for three years", "since 2021-05-20"),
    ("for the past 2 weeks", "since 2024-05-06"),
    ("until 2020", "until 2020-01-01"),
    ("from 2019 to 2022", "range 2019-01-01 2022-01-01"),
    ("between 2019 and 2021", "range 2019-01-01 2021-01-01"),
    ("from March to May 2023", "range 2023-03-01 2023-05-01"),
    ("from 2020 to 2020", "range 2020-01-01 2021-01-01"),
    ("yesterday", "on 2024-05-19"),
    ("the day before yesterday", "on 2024-05-18"),
    ("last night", "on 2024-05-19"),
    ("today", "on 2024-05-20"),
    ("last week", "on 2024-05-13"),
    ("last month", "on 2024-04-01"),
    ("last year", "on 2023-01-01"),
    ("this year", "on 2024-01-01"),
    ("next month", "on 2024-06-01"),
    ("last Monday", "on 2024-05-13"),
    ("on Friday", "on 2024-05-17"),
    ("next Friday", "on 2024-05-24"),
    ("two weeks ago", "on 2024-05-06"),
    ("a couple of months ago", "on 2024-03-20"),
    ("a year ago", "on 2023-05-20"),
]
UNREAD = [
    "I may go", "March on", "2019 was", "31 February 2020", "in Mayfair", "3/5/2024", "Sunday best",
    "room 2019", "some years ago", "999 years ago", "for ages", "between 2019", "2024-13-01", "",
    "until June", "until Friday", "by March",
]  # fmt: skip


@pytest.mark.parametrize(("text", "meant"), READ)
def test_what_is_read(text: str, meant: str) -> None:
    for around in ("{}", "it was {}.", "{}, I moved", "(I moved {})"):
        sentence = around.format(text)
        (result,) = find_dates(sentence, SAID)
        parts = [result.relation.value, f"{result.valid_from:%Y-%m-%d}"]
        parts += [f"{result.valid_to:%Y-%m-%d}"] if result.valid_to else []
        assert " ".join(parts) == meant
        assert sentence[result.start : result.end].endswith(text.split()[-1])


@pytest.mark.parametrize("text", UNREAD)
def test_what_is_not(text: str) -> None:
    assert find_dates(text, SAID) == []


def test_several_of_them() -> None:
    dates = find_dates("In 2019 I left, and on 3 May 2020 I came back.", SAID)
    assert [item.valid_from.year for item in dates] == [2019, 2020]


def test_of_what_is_to_come() -> None:
    (result,) = find_dates("on 3 June", SAID, in_future=True)
    assert f"{result.valid_from:%Y-%m-%d}" == "2024-06-03"
    (result,) = find_dates("on Friday", SAID, in_future=True)
    assert f"{result.valid_from:%Y-%m-%d}" == "2024-05-24"


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from([text for text, _ in READ] + UNREAD) | st.text(max_size=8)))
def test_dates_stand_behind_each_other(parts: list[str]) -> None:
    text = " ".join(parts)
    places = [
        place for find_date in find_dates(text, SAID) for place in (find_date.start, find_date.end)
    ]
    assert places == sorted(places)
    assert all(0 <= place <= len(text) for place in places)
