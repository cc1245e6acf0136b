"""Transcripts of assistants' programs: what is new in a file, in every program's own form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memoranda.cli.assistants.transcript_files import (
    MAX_MESSAGE_CHARACTERS,
    NewMessages,
    Position,
    read_new,
)

AT = "2026-11-18T09:00:00Z"


def claude(text: str, number: int, role: str = "user", **flags: Any) -> dict[str, Any]:
    message = {"role": role, "content": text}
    return {"type": role, "uuid": f"u{number}", "timestamp": AT, "message": message, **flags}


def codex(text: str, role: str = "user") -> dict[str, Any]:
    kind = "input_text" if role == "user" else "output_text"
    content = [{"type": kind, "text": text}]
    payload = {"type": "message", "role": role, "content": content}
    return {"timestamp": AT, "type": "response_item", "payload": payload}


def cursor(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "message": {"content": [{"type": "text", "text": text}]}}


def gemini(text: str, number: int, kind: str = "user") -> dict[str, Any]:
    return {"id": f"g{number}", "timestamp": AT, "type": kind, "content": [{"text": text}]}


SAID = [("user", "Which day do we deploy?"), ("assistant", "On Fridays.")]
FORMS: dict[str, list[Any]] = {
    "claude-code": [
        {"type": "summary", "summary": "Deploys"},
        claude("<command-name>/clear</command-name>", 0),
        claude("Caveat: The messages below …", 1, isMeta=True),
        claude("Which day do we deploy?", 2),
        {
            **claude("", 3, "assistant"),
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hmm"},
                    {"type": "text", "text": "On Fridays."},
                    {"type": "tool_use", "name": "Read", "input": {"file": "secret"}},
                ],
            },
        },
        {
            **claude("", 4),
            "message": {
                "role": "user",
                "content": [{"type": "tool_result", "content": "password=hunter2"}],
            },
        },
        claude("said by a sub-agent", 5, "assistant", isSidechain=True),
        claude("This session is being continued …", 6, isCompactSummary=True),
    ],
    "codex": [
        {"timestamp": AT, "type": "session_meta", "payload": {"id": "x", "cwd": "/"}},
        codex("<environment_context>…</environment_context>"),
        codex("be brief", "developer"),
        codex("Which day do we deploy?"),
        {"timestamp": AT, "type": "event_msg", "payload": {"type": "user_message", "message": "W"}},
        {"type": "response_item", "payload": {"type": "function_call", "arguments": "{}"}},
        codex("On Fridays.", "assistant"),
    ],
    "cursor": [
        cursor("<timestamp>now</timestamp>\n<user_query>\nWhich day do we deploy?\n</user_query>"),
        cursor("On Fridays.", "assistant"),
        {"type": "turn_ended"},
    ],
    "gemini": [
        {"sessionId": "s", "projectHash": "h", "startTime": AT, "kind": "main"},
        gemini("Which day do we deploy?\n<memoranda note='x'>\n- Mondays\n</memoranda>", 1),
        {"$set": {"lastUpdated": AT}},
        gemini("On F", 2, "gemini"),
        gemini("On Fridays.", 2, "gemini"),
        gemini("Update available", 3, "info"),
    ],
}


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def said(new: NewMessages) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in new.messages]


@pytest.mark.parametrize("client", FORMS)
def test_only_what_people_and_assistants_say_is_read(client: str, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(lines(*FORMS[client]))
    new = read_new(path, Position())
    assert said(new) == SAID
    assert said(read_new(path, new.position)) == []


@pytest.mark.parametrize("client", FORMS)
def test_a_file_that_grows_is_read_in_parts(client: str, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    content = lines(*FORMS[client])
    position, messages = Position(), []
    for end in (*range(0, len(content), 7), len(content)):
        path.write_bytes(content[:end])
        new = read_new(path, position)
        messages += said(new)
        position = new.position
    first = ("assistant", "On F") if client == "gemini" else SAID[1]
    assert messages == [SAID[0], first], "a message that is changed later stays as it was stored"


def test_a_document_that_is_rewritten_gives_what_was_added(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    records = [gemini("one", 1), gemini("two", 2, "gemini")]
    path.write_text(json.dumps({"sessionId": "s", "messages": records}, indent=2), "utf-8")
    new = read_new(path, Position())
    assert said(new) == [("user", "one"), ("assistant", "two")]
    path.write_text(json.dumps({"messages": [*records, gemini("three", 3)]}, indent=2), "utf-8")
    later = read_new(path, new.position)
    assert said(later) == [("user", "three")]
    path.write_text('{"messages": [', "utf-8")
    assert read_new(path, later.position) == NewMessages((), later.position)


def test_a_file_that_was_compacted_gives_what_is_new_in_it(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    records = [cursor(f"message {number}") for number in range(50)]
    path.write_bytes(lines(*records))
    first = read_new(path, Position())
    assert len(first.messages) == 50
    path.write_bytes(lines(cursor("a summary"), *records[-5:], cursor("and on")))
    second = read_new(path, first.position)
    assert said(second) == [("user", "and on")]
    path.write_bytes(lines(cursor("something else")))
    assert said(read_new(path, second.position)) == [("user", "something else")]
    path.write_bytes(b"")
    assert said(read_new(path, second.position)) == []


def test_the_same_words_twice_are_two_messages(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(lines(cursor("continue"), cursor("done", "assistant")))
    first = read_new(path, Position())
    with path.open("ab") as file:
        file.write(lines(cursor("continue"), cursor("done", "assistant")))
    assert said(read_new(path, first.position)) == said(first)


def test_a_long_file_is_read_a_part_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    image = {"type": "user", "image": "A" * 5000}
    records = [*(claude(f"m{number}", number) for number in range(40)), image, claude("last", 99)]
    path.write_bytes(lines(*records))
    position, texts, rounds = Position(), [], 0
    while position.offset < path.stat().st_size:
        new = read_new(path, position, max_bytes=1000)
        assert new.position.offset > position.offset
        texts += [message.content for message in new.messages]
        position, rounds = new.position, rounds + 1
    assert texts == [*(f"m{number}" for number in range(40)), "last"]
    assert rounds > 3


def test_a_line_that_is_being_written_waits(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    whole = lines(claude("x" * 3000, 1))
    path.write_bytes(whole[:2500])
    new = read_new(path, Position(), max_bytes=1000)
    assert new.position.offset == 0
    path.write_bytes(whole)
    assert read_new(path, new.position, max_bytes=1000).position.offset == len(whole)


def test_damaged_lines_and_strange_values_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    strange: list[Any] = [
        *(None, 3, "text", [], {}, {"type": "user"}, {"type": "user", "message": None}),
        *({"role": 5, "content": {}}, {"role": "user", "content": [None, {"text": 7}, []]}),
        {"type": "response_item", "payload": "x"},
    ]
    deep = b"[" * 100_000 + b"\n"
    path.write_bytes(lines(*strange) + b"\xff\xfe{\n" + deep + lines(claude("a\0b\ud800c", 1)))
    assert said(read_new(path, Position())) == [("user", "a\ufffdb\ufffdc")]


def test_blocks_of_programs_are_removed_in_linear_time(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    block = "<system-reminder>be kind</system-reminder>"
    texts = {
        f"{block}hello {block} you": "hello  you",
        "<memoranda>never closed": "<memoranda>never closed",
        f"<timestamp>x</timestamp> {'<memoranda>' * 300_000}": "<memoranda>" * 300_000,
        f"{'<memoranda ' * 300_000}": "<memoranda " * 300_000,
    }
    path.write_bytes(lines(*(claude(text, number) for number, text in enumerate(texts))))
    new = read_new(path, Position(), max_bytes=2**24)
    expected = [text.strip()[:MAX_MESSAGE_CHARACTERS] for text in texts.values()]
    assert [message.content for message in new.messages] == expected
