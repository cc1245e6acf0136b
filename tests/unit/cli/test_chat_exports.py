"""Importing the exports of chat programs: many conversations in a file, each a transcript."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.runner import Cli

EXPORTS = Path(__file__).parent / "exports"
CHATGPT, CLAUDE = EXPORTS / "chatgpt.json", EXPORTS / "claude.json"


def texts(cli: Cli) -> list[str]:
    ids = [row["id"] for row in cli.rows("transcript", "list")]
    return [cli("transcript", "show", name) for name in ids]


def test_chatgpt(cli: Cli) -> None:
    trip, untitled = cli.rows("import", "chat", CHATGPT)
    assert (trip["title"], trip["messages"]) == ("Trip to Oslo", 4)
    assert "title" not in untitled
    first, second = texts(cli)
    assert first.splitlines() == [
        "title: Trip to Oslo",
        "[2024-05-03 10:00:01] user: [image_asset_pointer]",
        "  I live in Bergen.",
        "  How far is Oslo?",
        "[2024-05-04 10:00:03] assistant: About 460 km.",
        "[2024-05-04 10:00:05] user: Thanks!",
    ]
    assert second == "user: print(1)\n"
    times = [row["occurred_at"][:16] for row in cli.rows("transcript", "list")]
    assert times == ["2024-05-03T10:00", "2024-05-05T09:06"]


def test_claude(cli: Cli) -> None:
    tea, hello = cli.rows("import", "chat", CLAUDE)
    assert (tea["title"], tea["messages"], hello["messages"]) == ("Tea", 3, 1)
    first, second = texts(cli)
    assert first.splitlines()[0] == "title: Tea"
    assert "user: I like green tea." in first
    assert "[attachment tea.txt]" in first
    assert first.splitlines()[-1] == "[2024-05-03 10:00:05] assistant: Noted."
    assert second == "[2024-06-02 00:00:01] user: Hello\n"


@pytest.mark.parametrize("file", [CHATGPT, CLAUDE])
def test_a_second_import_stores_nothing(cli: Cli, file: Path) -> None:
    cli("import", "chat", file)
    commits = cli.row("stats")["commits"]
    assert [row["already"] for row in cli.rows("import", "chat", file)] == [True, True]
    assert cli.row("stats")["commits"] == commits
    assert "already imported" in cli("import", "chat", file)


def test_what_is_extracted_cites_the_words(cli: Cli) -> None:
    cli("import", "chat", CLAUDE, "--extractor", "rules")
    assert "green tea" in cli("fact", "list")


def test_lines_of_messages(cli: Cli) -> None:
    lines = [
        {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]},
        {"messages": [{"role": "user", "content": "Bye"}]},
    ]
    file = cli.home / "training.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [row["messages"] for row in cli.rows("import", "chat", file)] == [2, 1]
    assert texts(cli) == ["user: Hi\nassistant: Ho\n", "user: Bye\n"]


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_a_zip_archive(cli: Cli) -> None:
    members = {"user.json": b"{}", "data/conversations.json": CHATGPT.read_bytes()}
    file = zipped(cli.home / "export.zip", members)
    assert len(cli.rows("import", "chat", file)) == 2
    assert [row["already"] for row in cli.rows("import", "chat", CHATGPT)] == [True, True]
    other = zipped(cli.home / "other.zip", {"user.json": b"{}"})
    assert "has no conversations.json" in cli.fails(2, "import", "chat", other)
    broken = cli.home / "broken.zip"
    broken.write_bytes(file.read_bytes()[:200])
    assert "cannot be unzipped" in cli.fails(2, "import", "chat", broken)


def changed(path: Path, change: Any) -> str:
    value = json.loads(path.read_text("utf-8"))
    change(value)
    return json.dumps(value)


@pytest.mark.parametrize(
    ("path", "change", "problem"),
    [
        (
            CHATGPT,
            lambda value: value[0]["mapping"]["n3"]["message"].pop("author"),
            "message 4 of conversation 1 'Trip to Oslo' of stdin has no `author`",
        ),
        (
            CHATGPT,
            lambda value: value[0]["mapping"]["n3"].update(parent="n4"),
            "conversation 1 'Trip to Oslo' of stdin is not a tree: node 'n4' comes twice",
        ),
        (
            CHATGPT,
            lambda value: value[0]["mapping"]["n3"].update(parent="n9"),
            "is not a tree: node 'n9' is missing",
        ),
        (
            CHATGPT,
            lambda value: value[1].update(create_time="soon"),
            "conversation 2 of stdin has the time 'soon'",
        ),
        (
            CLAUDE,
            lambda value: value[0]["chat_messages"][1].pop("sender"),
            "message 2 of conversation 1 'Tea' of stdin has no `sender`",
        ),
        (
            CLAUDE,
            lambda value: value.append("x"),
            "conversation 4 of stdin is not an object: 'x'",
        ),
        (
            CLAUDE,
            lambda value: value[2].update(chat_messages={}),
            "conversation 3 of stdin has no list of `chat_messages`",
        ),
    ],
)
def test_what_cannot_be_read_is_named(cli: Cli, path: Path, change: Any, problem: str) -> None:
    result = cli.run("import", "chat", "-", stdin=changed(path, change))
    assert result.exit_code == 2
    assert problem in result.stderr


def test_an_archive_in_a_pipe() -> None:
    from memoranda.cli.formats.chat_files import read_transcripts
    from memoranda.errors import InvalidInput

    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    with pytest.raises(InvalidInput, match="in a pipe"):
        list(read_transcripts(Pipe(b"PK\x03\x04..."), "stdin", None))
