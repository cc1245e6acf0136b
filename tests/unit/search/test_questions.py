"""Questions: what is read from them, and what is not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memoranda.model.clock import to_micros
from memoranda.search.ranking.question import (
    ASSISTANT_ROLES,
    USER_ROLES,
    Question,
    read_question,
)
from memoranda.search.text.tokenizer import tokens

NOW = datetime(2024, 6, 12, 10, tzinfo=UTC)  # a Wednesday


def read(text: str) -> Question:
    return read_question(text, to_micros("now", NOW), tokens)


def day(text: str) -> int:
    return to_micros("day", f"{text}T00:00:00Z")


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("what did she do in May 2023?", "2023-05-01", "2023-06-01"),
        ("what happened in May", "2024-05-01", "2024-06-01"),
        ("what happened in July", "2023-07-01", "2023-08-01"),
        ("what happened in late 2022", "2022-01-01", "2023-01-01"),
        ("on 3 June, who called?", "2024-06-03", "2024-06-04"),
        ("June 3rd, 2021: who called?", "2021-06-03", "2021-06-04"),
        ("who called on 2024-02-29", "2024-02-29", "2024-03-01"),
        ("what did I say yesterday", "2024-06-11", "2024-06-12"),
        ("what did I eat last week", "2024-06-03", "2024-06-10"),
        ("what did I eat two weeks ago", "2024-05-29", "2024-05-30"),
        ("what did I eat on Monday", "2024-06-10", "2024-06-11"),
        ("between March and May 2023", "2023-03-01", "2023-06-01"),
        ("from 3 May to 5 May 2023", "2023-05-03", "2023-05-06"),
        ("before 2020", None, "2020-01-01"),
        ("until May 2020", None, "2020-06-01"),
        ("after May 2020", "2020-06-01", None),
        ("since May 2020", "2020-05-01", None),
    ],
)
def test_dates(text: str, start: str | None, end: str | None) -> None:
    window = read(text).window
    assert window is not None
    assert window.start == (None if start is None else day(start))
    assert window.end == (None if end is None else day(end))
    assert read(text).is_about_the_past


@pytest.mark.parametrize(
    "text",
    [
        "what may I eat?",
        "who is April?",
        "march of the penguins",
        "room 2023",
        "what is the rent today?",
        "what is planned for next week?",
        "what happens in 2031?",
        "he walked 3 miles",
        "on 31 June",
        "",
    ],
)
def test_no_dates(text: str) -> None:
    assert read(text).window is None


def test_the_terms_of_a_date_are_those_of_an_absolute_one() -> None:
    first, second = read("who called in May 2023").window, read("who called last week").window
    assert first is not None
    assert second is not None
    assert (first.terms, second.terms) == (frozenset(tokens("May 2023")), frozenset())


@pytest.mark.parametrize(
    ("text", "later", "event"),
    [
        ("where did Ann work before the move to Kiel?", False, "move kiel"),
        ("what did she buy after the wedding, and why?", True, "wedding"),
    ],
)
def test_events(text: str, later: bool, event: str) -> None:  # noqa: FBT001
    anchor = read(text).anchor
    assert anchor is not None
    assert anchor.later == later
    assert anchor.terms == frozenset(tokens(event))


@pytest.mark.parametrize(
    "text", ["after all", "before you", "was it there before?", "afternoon tea"]
)
def test_no_events(text: str) -> None:
    assert read(text).anchor is None


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("what did you recommend?", ASSISTANT_ROLES),
        ("remind me which book you had mentioned", ASSISTANT_ROLES),
        ("what was your suggestion?", ASSISTANT_ROLES),
        ("what has the assistant said?", ASSISTANT_ROLES),
        ("what the assistant said", ASSISTANT_ROLES),
        ("did I tell you about Ann?", USER_ROLES),
        ("what did I say about Ann?", USER_ROLES),
        ("where do you live?", frozenset()),
        ("what does Ann say?", frozenset()),
    ],
)
def test_roles(text: str, roles: frozenset[str]) -> None:
    assert read(text).roles == roles


@pytest.mark.parametrize(
    ("text", "wishes"),
    [
        ("how many cats does Ann have?", {"wants_all"}),
        ("which books did Ann read?", {"wants_all"}),
        ("what are Ann's plans?", {"wants_all"}),
        ("list all the cities", {"wants_all"}),
        ("what does Ann do?", set()),
        ("which bus does she take?", set()),
        ("what should I cook for Ann?", {"wants_advice"}),
        ("can you recommend a book?", {"wants_advice"}),
        ("what would my sister like?", {"wants_advice"}),
        ("what did Ann suggest?", set()),
        ("what did you recommend?", set()),
        ("where does Ann live now?", {"wants_newest"}),
        ("does Ann still smoke?", {"wants_newest"}),
        ("what is the latest version?", {"wants_newest"}),
        ("which of the two came first, did it?", set()),
        ("where did Ann live at first?", {"wants_oldest"}),
        ("what did she originally want?", {"wants_oldest"}),
        ("what is her first name?", set()),
        ("I know nothing", set()),
        ("wo wohnt Anna jetzt?", set()),
    ],
)
def test_wishes(text: str, wishes: set[str]) -> None:
    question = read(text)
    names = {"wants_all", "wants_advice", "wants_newest", "wants_oldest"}
    assert {name for name in names if getattr(question, name)} == wishes


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("where is it", True),
        ("it is where?", True),
        ("是吗\uff1f", True),
        ("the key to the shed", False),
        ("whatever", False),
        ("", False),
    ],
)
def test_whether_it_asks(text: str, asks: bool) -> None:  # noqa: FBT001
    assert read(text).asks == asks
