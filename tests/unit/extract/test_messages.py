"""Messages in plain transcripts: who, when, and where to the byte."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda.extract.messages import parse_messages, split_into_blocks


def read(text: str) -> list[tuple[str, str, str]]:
    return [
        (
            parse_message.speaker,
            parse_message.text,
            f"{parse_message.at:%Y-%m-%d %H:%M}" if parse_message.at else "",
        )
        for parse_message in parse_messages(text)
    ]


@pytest.mark.parametrize(
    ("line", "speaker", "at"),
    [
        ("Ann: hi", "Ann", ""),
        ("Ann Lee: hi", "Ann Lee", ""),
        ("user: hi", "user", ""),
        ("**Ann**: hi", "**Ann**", None),
        ("[2024-05-03 10:21] Ann: hi", "Ann", "2024-05-03 10:21"),
        ("[2024-05-03T10:21:05Z] Ann: hi", "Ann", "2024-05-03 10:21"),
        ("2024-05-03T10:21:00+02:00 Ann: hi", "Ann", "2024-05-03 08:21"),
        ("2024-05-03 10:21 Ann: hi", "Ann", "2024-05-03 10:21"),
        ("(2024-05-03 10:21) Ann: hi", "Ann", "2024-05-03 10:21"),
        ("[10:21] Ann: hi", "Ann", ""),
        ("13/05/2024, 10:21 - Ann: hi", "Ann", "2024-05-13 10:21"),
        ("5/13/24, 10:21 PM - Ann: hi", "Ann", "2024-05-13 22:21"),
        ("[13/05/24, 12:21:33 AM] Ann: hi", "Ann", "2024-05-13 00:21"),
        ("03/05/2024, 10:21 - Ann: hi", "Ann", ""),
        ("03.05.24, 10:21 - Ann: hi", "Ann", "2024-05-03 10:21"),
        ("13/05/2024, 10:21 - +49 151 23: hi", "+49 151 23", "2024-05-13 10:21"),
        ("[2024-02-31 10:21] Ann: hi", "Ann", ""),
    ],
)
def test_how_messages_begin(line: str, speaker: str, at: str | None) -> None:
    if at is None:
        assert read(line) == [("", line, "")]
    else:
        assert read(line) == [(speaker, "hi", at)]


def test_the_other_days_tell_which_comes_first() -> None:
    text = "03/05/2024, 10:21 - Ann: hi\n13/05/2024, 10:21 - Ann: hi"
    assert [at for _, _, at in read(text)] == ["2024-05-03 10:21", "2024-05-13 10:21"]
    text = "03/05/2024, 10:21 - Ann: hi\n03/13/2024, 10:21 - Ann: hi"
    assert [at for _, _, at in read(text)] == ["2024-03-05 10:21", "2024-03-13 10:21"]


@pytest.mark.parametrize(
    "line",
    ["http://x.org: no", "Note: no", "  Bob: set in", "10:30 is fine", "one two three four five: x",
     "no colon", "a:b", "- list: x"],
)  # fmt: skip
def test_lines_that_go_on(line: str) -> None:
    assert read(f"Ann: hi\n{line}") == [("Ann", f"hi\n{line}", "")]


def test_what_nobody_says() -> None:
    assert read("just a text.\nwith lines") == [("", "just a text.\nwith lines", "")]
    assert read("intro\n\nAnn: hi\nBob:\nmulti\n\nline\n") == [
        ("", "intro", ""),
        ("Ann", "hi", ""),
        ("Bob", "multi\n\nline", ""),
    ]
    assert read("") == []


@pytest.mark.parametrize(
    ("day", "began", "at"),
    [
        ("03/05/2024", datetime(2024, 5, 3, 8, tzinfo=UTC), "2024-05-03 10:21"),
        ("03/05/2024", datetime(2024, 3, 5, tzinfo=UTC), "2024-03-05 10:21"),
        ("03/05/2024", datetime(2020, 3, 5, tzinfo=UTC), None),
        ("05/05/2024", None, "2024-05-05 10:21"),
        ("03/13/2024", datetime(2020, 3, 5, tzinfo=UTC), "2024-03-13 10:21"),
    ],
)
def test_when_it_began_tells_which_comes_first(
    day: str, began: datetime | None, at: str | None
) -> None:
    (message,) = parse_messages(f"{day}, 10:21 - Ann: hi", began)
    assert (f"{message.at:%Y-%m-%d %H:%M}" if message.at else None) == at


@pytest.mark.parametrize(
    "notice",
    [
        "13/05/2024, 10:20 - Messages and calls are end-to-end encrypted. Tap to learn more.",
        '13/05/2024, 10:20 - Bob created group "Trip: Oslo"',
        "[2024-05-13 10:20] Cy works at Acme.",
        "5/13/24, 10:20\u202fPM - Bob left\nand more of it",
    ],
)
def test_what_the_program_says_is_no_message(notice: str) -> None:
    text = f"{notice}\n13/05/2024, 10:21 - Ann: hi\n{notice}\nBob: ho"
    assert [
        (parse_message.speaker, parse_message.text) for parse_message in parse_messages(text)
    ] == [
        ("Ann", "hi"),
        ("Bob", "ho"),
    ]


def test_long_messages_come_in_pieces() -> None:
    text = "Ann: " + "I like tea. " * 5_000
    messages = parse_messages(text)
    assert len(messages) > 3
    assert {item.speaker for item in messages} == {"Ann"}
    assert all(item.text.endswith(".") and len(item.text) <= 16 * 1024 for item in messages)
    assert sum(item.text.count("tea") for item in messages) == 5_000


def test_blocks() -> None:
    messages = parse_messages("\n".join(f"Ann: {number}" for number in range(100)))
    cut = list(split_into_blocks(messages, 60))
    assert [item for block in cut for item in block] == messages
    assert all(block[-1].span[1] - block[0].span[0] <= 60 for block in cut)


LINES = st.sampled_from(
    ["Ann: grüß dich", "  Bob: hm", "[2024-05-03 10:21] Bö: 😀", "", "x", "13/5/24, 1:02 - A: b"]
)


@settings(max_examples=80, deadline=None)
@given(st.lists(LINES | st.text(st.characters(codec="utf-8"), max_size=12)))
def test_spans_are_the_text(lines: list[str]) -> None:
    text = "\n".join(lines)
    encoded = text.encode()
    last = 0
    for message in parse_messages(text):
        first, beyond = message.span
        assert encoded[first:beyond].decode() == message.text == message.text.strip()
        assert last <= first < beyond
        last = beyond
