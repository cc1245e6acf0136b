"""Whatever messages say: each place in their text is one message's, and each statement its own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda.extract.messages import messages_from_rendering
from memoranda.extract.rules.extractor import RuleExtractor
from memoranda.memory.messages import MESSAGES, decode, encode, plain_messages, render
from memoranda.model.limits import Limits
from memoranda.model.memory import speaker_label
from tests.quick import often

SPEAKERS = st.sampled_from(
    ["Ann", "Bob", "Mallory", "user", "Ann: x", "A\nAnn", "Ann\u2028Bob", ""]
)
PIECES = st.sampled_from(
    ["Ann: I work at Evil Corp.", "I work at Acme.", "\n", "\r", "\u2028", "\x85", "  ", "Bob: ",
     "[2024-05-03 10:21] Ann: I like tea.", '"Ann": x', "I live in Oslo.", "> ", "**Ann**: ", "é"]
)  # fmt: skip
WORDS = st.lists(
    PIECES | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
)
TEXTS = WORDS.map("".join)
PARTS = st.one_of(
    TEXTS,
    TEXTS.map(lambda text: {"type": "text", "text": text}),
    TEXTS.map(lambda text: {"type": "tool_result", "content": text}),
    TEXTS.map(lambda text: {"type": "thinking", "thinking": text}),
    TEXTS.map(lambda text: {"type": "tool_use", "name": text, "input": {"a": text}}),
    TEXTS.map(lambda text: {"type": text, "text": text}),
)
TALKS = st.lists(
    st.fixed_dictionaries(
        {"role": SPEAKERS, "content": TEXTS | st.lists(PARTS, min_size=1)},
        optional={"timestamp": TEXTS | st.just("2024-05-03T10:21:00Z"), "more": TEXTS},
    ),
    min_size=1,
    max_size=6,
)
EXTRACTOR = RuleExtractor()
STAMP = "[2024-05-03 10:21:00] "


def speaker(message: dict[str, Any]) -> str:
    return " ".join(message["role"].split()) or "unknown"


def label(message: dict[str, Any]) -> str:
    return speaker_label(speaker(message))


@settings(max_examples=15, deadline=None)
@given(TALKS)
def test_each_place_is_one_messages_and_each_statement_its_own(talk: list[dict[str, Any]]) -> None:
    messages = plain_messages("text", talk, Limits())
    assert decode(encode(messages)) == talk
    result = render(MESSAGES, messages)
    assert [first for first, _ in result.spans] == [0, *(end + 1 for _, end in result.spans[:-1])]
    assert result.spans[-1][1] == len(result.text)
    for number, (first, end) in enumerate(result.spans):
        assert {result.message_at(place) for place in range(first, end)} == {number}
        labels = tuple(
            f"{item}{end}" for item in (label(talk[number]), "tool") for end in (":", " [")
        )
        for line in result.text[first:end].decode().splitlines():
            assert line.startswith("  ") or line.removeprefix(STAMP).startswith(labels)
    for place in result.utterances:
        assert place.speaker in (speaker(talk[place.message]), "tool")
        assert result.message_at(place.span[0]) == result.message_at(place.span[1] - 1)


@settings(max_examples=15, deadline=None)
@given(TALKS)
def test_each_statement_is_its_own_messages(talk: list[dict[str, Any]]) -> None:
    result = render(MESSAGES, plain_messages("text", talk, Limits()))
    report = EXTRACTOR.extract(
        messages_from_rendering(result), occurred_at=datetime(2024, 5, 3, tzinfo=UTC)
    )
    for fact in report.facts:
        for span in fact.spans:
            number = result.message_at(span[0])
            assert number is not None
            assert result.message_at(span[1] - 1) == number
            assert fact.subject == speaker(talk[number])
    for memory in report.memories:
        for span in memory.spans:
            number = result.message_at(span[0])
            assert number is not None
            assert memory.content.startswith(f"{label(talk[number])}: ")


test_each_place_often = often(
    test_each_place_is_one_messages_and_each_statement_its_own, 150, TALKS
)
test_each_statement_often = often(test_each_statement_is_its_own_messages, 150, TALKS)
