"""An extractor behind a chat endpoint, which a small server plays."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

import memoranda
from memoranda import ChatExtractor, Extraction, InvalidInput, Unavailable
from memoranda.extract.extractors import parse_extractor
from memoranda.extract.messages import parse_messages
from memoranda.extract.protocol import extractor_name
from memoranda.testing import FixedClock
from tests.patience import HANG_SECONDS
from tests.unit.extract.saying import SAID, line
from tests.unit.net.answering import Answer, Asked, Said, Server, answering

CHAT = "Ann: Grüß dich! I moved to\n  Oslo last week.\n[2024-05-03 10:21] Bob: I like 🍵 tea."
GOOD: dict[str, list[Any]] = {
    "memories": [
        {
            "content": "Ann moved to Oslo.",
            "kind": "event",
            "tags": ["home"],
            "confidence": 0.9,
            "event_time": "2024-05-13",
            "message": 1,
            "quote": "moved to Oslo",
        }
    ],
    "facts": [
        {"subject": "Ann", "relation": "lives in", "object": "Oslo", "valid_from": "2024-05",
         "quote": "moved to Oslo", "message": 1},
        {"subject": "Bob", "relation": "likes", "object": "tea", "valid_from": None,
         "quote": "I like 🍵 tea", "message": 9},
        {"subject": "Ann", "relation": "lives in", "ended": True, "valid_from": "2024-05-13",
         "quote": "moved to Oslo", "message": None},
    ],
}  # fmt: skip


def says(content: object) -> Said:
    text = content if isinstance(content, str) else json.dumps(content)
    return Said(body={"choices": [{"message": {"role": "assistant", "content": text}}]})


def in_turn(*replies: Said | None) -> Answer:
    remainder = list(replies)
    return lambda _: remainder.pop(0) if len(remainder) > 1 else remainder[0]


def ask(server: Server, text: str = CHAT, **options: Any) -> Extraction:
    options = {"model": "m1", "api_key": "k1", "clock": FixedClock(), **options}
    return ChatExtractor(server.url, **options).extract(parse_messages(text), occurred_at=SAID)


def quotes(extraction: Extraction, text: str = CHAT) -> list[str]:
    spans = [span for memory in extraction.memories for span in memory.spans]
    spans += [span for memory in extraction.facts for span in memory.spans]
    return [text.encode()[first:beyond].decode() for first, beyond in spans]


class TestAsking:
    def test_what_is_quoted_is_found_where_it_stands(self) -> None:
        with answering(lambda _: says(GOOD)) as server:
            result = ask(server)
        assert [line(fact) for fact in result.facts if fact.valid_from] == [
            "Ann lives in Oslo @2024-05-01",
            "- Ann lives in * @2024-05-13",
        ]
        assert quotes(result) == [
            "moved to\n  Oslo", "moved to\n  Oslo", "I like 🍵 tea", "moved to\n  Oslo",
        ]  # fmt: skip
        assert result.skipped == ()
        (memory,) = result.memories
        assert (memory.content, memory.kind, memory.tags) == (
            "Ann moved to Oslo.", "event", ("home",),
        )  # fmt: skip

    def test_what_is_asked(self) -> None:
        with answering(lambda _: says(GOOD)) as server:
            ask(server)
        (queries,) = server.asked
        assert queries.path == "/v1/chat/completions"
        assert queries.headers["Authorization"] == "Bearer k1"
        assert queries.body["model"] == "m1"
        assert queries.body["temperature"] == 0
        assert queries.body["response_format"] == {"type": "json_object"}
        system, user = queries.body["messages"]
        assert system["role"] == "system"
        _, *lines = user["content"].split("\n")
        assert [json.loads(line) for line in lines] == [
            {
                "message": 1,
                "at": "2024-05-20 10:00",
                "speaker": "Ann",
                "text": "Grüß dich! I moved to\n  Oslo last week.",
            },
            {"message": 2, "at": "2024-05-03 10:21", "speaker": "Bob", "text": "I like 🍵 tea."},
        ]
        assert "Grüß" in user["content"]

    def test_json_mode_can_be_left_out(self) -> None:
        with answering(lambda _: says(GOOD)) as server:
            ask(server, json_mode=False)
        assert "response_format" not in server.asked[0].body

    def test_in_a_fence(self) -> None:
        with answering(lambda _: says(f"```json\n{json.dumps(GOOD)}\n```")) as server:
            assert len(ask(server).facts) == 3

    def test_nothing_found(self) -> None:
        with answering(lambda _: says({"memories": [], "facts": None})) as server:
            assert ask(server) == Extraction()


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({"content": "x", "quote": "I moved to Rome"}, "was not said"),
        ({"content": "x", "quote": " "}, "quotes nothing"),
        ({"content": "x"}, "quote"),
        ({"quote": "I like"}, "content"),
        ({"content": "x", "quote": "I like", "event_time": "soon"}, "not a time"),
        ({"content": "x", "quote": "I like", "confidence": "high"}, "float"),
        ("x", "object"),
    ],
)
def test_what_is_invented_or_odd_is_set_aside(item: object, reason: str) -> None:
    answer = {"memories": [item, GOOD["memories"][0]], "facts": []}
    with answering(lambda _: says(answer)) as server:
        result = ask(server)
    assert len(result.memories) == 1
    (skipped,) = result.skipped
    assert reason in skipped.reason


def test_a_fact_needs_an_object() -> None:
    item = {"subject": "Ann", "relation": "likes", "quote": "I like"}
    with answering(lambda _: says({"facts": [item]})) as server:
        assert "no object" in ask(server).skipped[0].reason


MALFORMED = ["Sure! Here it is:", "{", "[]", "{}", '{"memories": 7}', "", '{"facts": {}}', "7"]


@pytest.mark.parametrize("text", MALFORMED)
def test_what_is_malformed_is_asked_for_once_more(text: str) -> None:
    with answering(in_turn(says(text), says(GOOD))) as server:
        assert len(ask(server).facts) == 3
    first, second = (queries.body["messages"] for queries in server.asked)
    assert second[:2] == first
    assert second[2] == {"role": "assistant", "content": text}
    with answering(lambda _: says(text)) as server, pytest.raises(Unavailable, match="asked twice"):
        ask(server)
    assert len(server.asked) == 2


class TestFailing:
    @pytest.mark.parametrize("failure", [Said(429), Said(500), Said(503), None])
    def test_what_passes_is_tried_again(self, failure: Said | None) -> None:
        with answering(in_turn(failure, failure, says(GOOD))) as server:
            assert len(ask(server).facts) == 3
        assert len(server.asked) == 3

    def test_what_stays_is_told(self) -> None:
        with answering(lambda _: Said(500)) as server, pytest.raises(Unavailable, match="500"):
            ask(server, retries=1)
        assert len(server.asked) == 2

    def test_a_key_that_is_refused(self) -> None:
        with answering(lambda _: Said(401)) as server, pytest.raises(InvalidInput, match="api_key"):
            ask(server)
        assert len(server.asked) == 1

    def test_one_that_takes_too_long(self) -> None:
        over = threading.Event()

        def wait(_: Asked) -> Said:
            over.wait(HANG_SECONDS)
            return says(GOOD)

        with answering(wait) as server:
            with pytest.raises(Unavailable, match="does not answer"):
                ask(server, timeout=0.1, retries=0)
            over.set()

    @pytest.mark.parametrize("body", [{"choices": []}, {"error": "x"}, [], 7])
    def test_what_is_no_completion(self, body: object) -> None:
        value = Said(body=body)
        with (
            answering(lambda _: value) as server,
            pytest.raises(Unavailable, match="not a chat completion"),
        ):
            ask(server)


class TestWindows:
    TEXT = "\n".join(f"Ann: word{number:02} {'x' * 40}" for number in range(20))

    def test_long_conversations_come_in_windows(self) -> None:
        def first_word(request: Asked) -> Said:
            parts = request.body["messages"][1]["content"].split("Messages:\n")[1]
            words = [json.loads(line)["text"].split()[0] for line in parts.splitlines()]
            items = [{"content": word, "quote": word, "message": 1} for word in words]
            return says({"memories": items})

        with answering(first_word) as server:
            result = ask(server, self.TEXT, window=200, overlap=100)
        assert [memory.content for memory in result.memories] == [f"word{n:02}" for n in range(20)]
        assert quotes(result, self.TEXT) == [f"word{n:02}" for n in range(20)]
        assert len(server.asked) == 5
        parts = [request.body["messages"][1]["content"] for request in server.asked]
        assert "Context:" not in parts[0]
        begin = '{"at":"2024-05-20 10:00","speaker":"Ann","text":"word02'
        assert f"Context:\n{begin}" in parts[1]

    def test_what_was_context_is_not_taken_again(self) -> None:
        item = {"content": "x", "quote": "word03"}
        with answering(lambda _: says({"memories": [item]})) as server:
            result = ask(server, self.TEXT, window=200, overlap=100)
        assert len(result.memories) == 1
        assert len(result.skipped) == 4

    @pytest.mark.parametrize(("window", "overlap"), [(0, 0), (10, 10), (10, -1)])
    def test_windows_that_cannot_be(self, window: int, overlap: int) -> None:
        with pytest.raises(InvalidInput, match="overlap"):
            ChatExtractor("http://x", model="m", window=window, overlap=overlap)


def test_into_a_store_and_not_twice() -> None:
    with answering(lambda _: says(GOOD)) as server, memoranda.open(":memory:") as store:
        agent = store.bind(agent_id="a1")
        extractor = ChatExtractor(server.url, model="m1")
        report = agent.import_chat(CHAT, extractor=extractor)
        again = agent.import_chat(CHAT, extractor=extractor)
        assert len(server.asked) == 1
        assert report.extraction is not None
        assert again.extraction is not None
        assert again.extraction.memories == report.extraction.memories
        assert report.extraction.extractor == "chat/1:m1"
        likes = agent.facts(relation="likes")
        assert [f"{like} {like.valid_from:%Y-%m-%d}" for like in likes] == [
            "Bob likes tea 2024-05-03"
        ]


@pytest.mark.parametrize("typed", ["", "rule", "http://x", "http://x#", "x#m", "#m"])
def test_what_is_typed_for_an_extractor(typed: str) -> None:
    with pytest.raises(InvalidInput, match="extractor"):
        parse_extractor(typed)


def test_extractors_by_what_is_typed() -> None:
    assert extractor_name(parse_extractor("rules")) == "rules/1"
    assert extractor_name(parse_extractor("http://x/v1#a/b:c")) == "chat/1:a/b:c"
