"""The commands that import conversations and extract from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

import pytest

import memoranda
from memoranda import InvalidInput
from memoranda.cli.formats.chat_files import read_transcripts
from tests.unit.cli.runner import Cli
from tests.unit.net.answering import Said, answering

CHAT = "[2024-05-03 10:21] Ann: I work at Acme.\nand more\nBob: I like tea.\n"


def write(cli: Cli, text: str, name: str = "talk.txt") -> Path:
    path = cli.home / name
    path.write_text(text, "utf-8")
    return path


def transcripts(cli: Cli) -> list[str]:
    with memoranda.open(cli.db) as store:
        return [list_transcript.text() for list_transcript in store.list_transcripts()]


class TestImporting:
    def test_a_plain_one_is_kept_as_it_is(self, cli: Cli) -> None:
        file = write(cli, CHAT)
        out = cli("import", "chat", file)
        assert out.startswith(f"{file}: imported, 2 messages, transcript ")
        assert transcripts(cli) == [CHAT.rstrip("\n")]
        assert cli("import", "chat", file).startswith(f"{file}: already imported, 2 messages")
        assert len(transcripts(cli)) == 1

    def test_and_extracted(self, cli: Cli) -> None:
        file = write(cli, CHAT)
        assert ": extracted 2 memories and 2 facts" in cli(
            "import", "chat", file, "--extractor", "rules"
        )
        assert "2 memories and 2 facts already extracted" in cli(
            "import", "chat", file, "--extractor", "rules"
        )
        text = {row["subject"] + " " + row["object"] for row in cli.rows("fact", "list")}
        assert text == {"Ann Acme", "Bob tea"}

    def test_several_files_and_stdin(self, cli: Cli) -> None:
        one, two = write(cli, "A: x", "one"), write(cli, "B: y", "two")
        assert len(cli("import", "chat", one, two).splitlines()) == 2
        out = cli("import", "chat", "-", stdin=CHAT)
        assert out.startswith("stdin: imported, 2 messages")
        assert transcripts(cli) == ["A: x", "B: y", CHAT.rstrip("\n")]

    def test_in_json(self, cli: Cli) -> None:
        file = write(cli, CHAT)
        row = cli.row("import", "chat", file, "--extractor", "rules")
        assert (row["messages"], row["already"]) == (2, False)
        assert len(row["extraction"]["facts"]) == 2
        assert row["extraction"]["transcript_id"] == row["transcript_id"]
        assert (row["outcome"], row["extraction"]["outcome"]) == ("created", "created")
        assert row["commit_ts"] == row["extraction"]["commit_ts"] == 2
        assert row["committed_at"] == row["extraction"]["committed_at"]
        again = cli.row("import", "chat", file, "--extractor", "rules")
        names = ("commit_ts", "committed_at")
        assert [again[name] for name in names] == [row[name] for name in names]
        assert (again["outcome"], again["extraction"]["outcome"]) == ("unchanged", "unchanged")

    def test_when_it_was_said(self, cli: Cli) -> None:
        file = write(cli, "Ann: I like tea.")
        cli("import", "chat", file, "--occurred-at", "2020-05", "--extractor", "rules")
        (fact,) = cli.rows("fact", "list")
        assert fact["valid_from"].startswith("2020-05-01")
        assert "--occurred-at" in cli.fails(2, "import", "chat", file, "--occurred-at", "soon")

    @pytest.mark.parametrize("end", ["\r\n", "\n"])
    def test_lines_of_another_system(self, cli: Cli, end: str) -> None:
        file = cli.home / "x"
        file.write_bytes(f"\ufeffAnn: I like tea.{end}{end}Bob: I like rain.{end}".encode())
        assert "2 messages" in cli("import", "chat", file, "--extractor", "rules")
        assert {row["object"] for row in cli.rows("fact", "list")} == {"tea", "rain"}


MESSAGES = [
    {"role": "user", "content": "I like tea.", "timestamp": "2024-05-03T10:21:00Z"},
    {"speaker": "Bob", "text": "two\nlines"},
]
READ = "[2024-05-03 10:21:00] user: I like tea.\nBob: two\n  lines"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x", json.dumps(MESSAGES)),
        ("x", json.dumps(MESSAGES, indent=2)),
        ("x.json", json.dumps({"messages": MESSAGES})),
        ("x", "\n\n".join(map(json.dumps, MESSAGES))),
        ("x.jsonl", "".join(f"{json.dumps(message)}\r\n" for message in MESSAGES)),
    ],
)
def test_forms_of_json(cli: Cli, name: str, text: str) -> None:
    assert ", 2 messages" in cli("import", "chat", write(cli, text, name))
    assert transcripts(cli) == [READ]


class TestNames:
    DAYS: ClassVar = [
        {"role": "user", "content": "I live in Oslo.", "timestamp": "2024-05-03T10:21:00Z"},
        {"role": "assistant", "content": "Noted.", "timestamp": "2024-05-03T10:22:00Z"},
        {"role": "user", "content": "I like tea.", "timestamp": "2024-05-04T10:21:00Z"},
    ]

    def test_a_role_becomes_a_person(self, cli: Cli) -> None:
        file = write(cli, json.dumps(self.DAYS))
        names = ("--name", "user=Ann", "--name", "Assistant=Bot = 1")
        cli("import", "chat", file, *names, "--extractor", "rules")
        assert transcripts(cli) == [  # the second day has no assistant
            "[2024-05-03 10:21:00] Ann: I live in Oslo.\n[2024-05-03 10:22:00] Bot = 1: Noted.",
            "[2024-05-04 10:21:00] Ann: I like tea.",
        ]
        assert {row["subject"] for row in cli.rows("fact", "list")} == {"Ann"}
        assert [row["already"] for row in cli.rows("import", "chat", file, *names)] == [True, True]

    def test_stdin(self, cli: Cli) -> None:
        text = "".join(f"{json.dumps(message)}\n" for message in self.DAYS[::2])
        cli("import", "chat", "-", "--name", "user=Ann", stdin=text)
        assert [words.partition("] ")[2][:4] for words in transcripts(cli)] == ["Ann:", "Ann:"]

    @pytest.mark.parametrize(
        ("option", "problem"),
        [
            ("usr=Ann", "no message without a name has the role 'usr': did you mean 'user'?"),
            ("Ann", "'Ann' has no `=`: give a role and a name, user=Ann"),
            ("user=", "is empty"),
        ],
    )
    def test_a_name_that_fits_nothing_is_refused(self, cli: Cli, option: str, problem: str) -> None:
        file = write(cli, json.dumps(self.DAYS))
        names = ("--name", "assistant=Bot", "--name", option)
        assert f"--name: {problem}" in cli.fails(2, "import", "chat", file, *names)
        assert transcripts(cli) == []

    def test_a_plain_file_has_names(self, cli: Cli) -> None:
        message = cli.fails(2, "import", "chat", write(cli, "user: hi"), "--name", "user=Ann")
        assert "--name: go with messages: write the names into the text instead" in message
        assert transcripts(cli) == []


def moments(cli: Cli) -> list[str]:
    with memoranda.open(cli.db) as store:
        occurred_ats = [list_transcript.occurred_at for list_transcript in store.list_transcripts()]
        return [
            f"{list_transcript:%Y-%m-%d %H:%M}" if list_transcript else ""
            for list_transcript in occurred_ats
        ]


class TestDays:
    THREE = (
        "[2024-05-03 23:50] Ann: I like tea.\n[2024-05-04 00:10] Bob: hm\nAnn: so\n"
        "[2024-05-04 09:00] Bob: I like rain.\n[2024-05-05 10:00] Bob: x\n"
    )

    def test_each_becomes_a_transcript_with_its_time(self, cli: Cli) -> None:
        file = write(cli, self.THREE)
        out = cli("import", "chat", file, "--extractor", "rules")
        text = "imported, 5 messages, 3 transcripts: extracted 2 memories and 2 facts"
        assert out == f"{file}: {text}\n"
        assert moments(cli) == ["2024-05-03 23:50", "2024-05-04 00:10", "2024-05-05 10:00"]
        assert "\n".join(transcripts(cli)) + "\n" == self.THREE
        again = cli("import", "chat", file, "--extractor", "rules")
        assert "already imported, 5 messages, 3 transcripts, 3 of them before" in again
        assert "2 memories and 2 facts already extracted" in again

    def test_a_file_that_grew_adds_its_new_days(self, cli: Cli) -> None:
        file = write(cli, self.THREE)
        cli("import", "chat", file)
        file.write_text(self.THREE + "[2024-05-06 10:00] Ann: y\n", "utf-8")
        assert "imported, 6 messages, 4 transcripts, 3 of them before" in cli(
            "import", "chat", file
        )
        assert [row["already"] for row in cli.rows("import", "chat", file)] == [True] * 4

    def test_which_comes_first_is_not_guessed(self, cli: Cli) -> None:
        text = "03/05/2024, 10:21 - Ann: I like tea.\n04/05/2024, 9:00 - Bob: I like rain.\n"
        file = write(cli, f"[10:00] Cy: x\n{text}")
        reports = cli.fails(2, "import", "chat", file, "--extractor", "rules")
        assert f"line 2 of {file} has the date 03/05/2024" in reports
        assert "give --day-first or --month-first" in reports
        assert transcripts(cli) == []
        cli("import", "chat", file, "--extractor", "rules", "--month-first")
        assert moments(cli) == ["2024-03-05 10:21", "2024-04-05 09:00"]
        since = [row["valid_from"][:10] for row in cli.rows("fact", "list")]
        assert sorted(since) == ["2024-03-05", "2024-04-05"]

    def test_when_it_began_tells_too(self, cli: Cli) -> None:
        file = write(cli, "03/05/2024, 10:21 - Ann: x\n04/05/2024, 9:00 - Bob: y\n")
        cli("import", "chat", file, "--occurred-at", "2024-05-03")
        assert moments(cli) == ["2024-05-03 10:21", "2024-05-04 09:00"]
        cli.fails(2, "import", "chat", file, "--occurred-at", "2020-05-03")

    def test_and_a_later_day(self, cli: Cli) -> None:
        text = "".join(f"{day:02}/05/2024, 10:00 - Ann: I like {day}.\n" for day in range(11, 15))
        file = write(cli, text)
        assert "4 transcripts" in cli("import", "chat", file)
        assert moments(cli)[0] == "2024-05-11 10:00"
        reports = cli.fails(2, "import", "chat", file, "--month-first")
        assert f"line 3 of {file} has the date 13/05/2024, which does not exist if" in reports
        assert "the month comes first" in reports

    def test_a_time_without_a_day_is_of_today(self, cli: Cli) -> None:
        file = write(cli, "[10:21] Ann: hi\n[10:22] Bob: ho\n")
        result = cli.run("import", "chat", file)
        assert result.stderr.count("assuming today; give --occurred-at") == 1
        result = cli.run("import", "chat", file, "--occurred-at", "2024-05-03")
        assert "today" not in result.stderr
        assert moments(cli) == ["", "2024-05-03 00:00"]

    def test_what_the_program_says_is_nobodys(self, cli: Cli) -> None:
        text = (
            "13/05/2024, 10:20 - Messages and calls are end-to-end encrypted.\n"
            "13/05/2024, 10:21 - Ann: I like tea.\n"
            '13/05/2024, 10:22 - Bob created group "Trip: Oslo"\n'
            "13/05/2024, 10:22 - Cy works at Acme.\n"
        )
        assert "1 message, " in cli("import", "chat", write(cli, text), "--extractor", "rules")
        assert [row["subject"] for row in cli.rows("fact", "list")] == ["Ann"]
        assert transcripts(cli) == [text.rstrip("\n")]


class TestRefusing:
    @pytest.mark.parametrize(
        ("name", "text", "problem"),
        [
            ("x", "\nhello\nAnn: hi", "line 2 of {} has no speaker"),
            ("x", "", "{} has no messages"),
            ("x", "\n \n", "{} has no messages"),
            (
                "x.jsonl",
                '{"role": "a", "content": "b"}\n{',
                "line 2 of {} is not JSON: "
                "Expecting property name enclosed in double quotes at col",
            ),
            ("x.jsonl", '{"role": "a", "content": "b"}\n7', "line 2 of {}: 7 is not an object"),
            ("x.jsonl", '{"content": "b"}', "line 1 of {}: has no speaker"),
            ("x.json", "[7]", "message 1 of {}: 7 is not an object"),
            ("x.json", "{", "{} is not JSON"),
            ("x.json", "7", "{} is not a list of messages"),
            ("x.json", "[]", "{} has no messages"),
        ],
    )
    def test_what_cannot_be_read_is_named(
        self, cli: Cli, name: str, text: str, problem: str
    ) -> None:
        file = write(cli, text, name)
        assert problem.format(file) in cli.fails(2, "import", "chat", file)
        assert transcripts(cli) == []

    def test_bytes_that_are_no_text(self, cli: Cli) -> None:
        file = cli.home / "x"
        file.write_bytes(b"Ann: hi\nBob: \xff")
        assert "line 2" in cli.fails(2, "import", "chat", file)

    def test_files_that_are_not_there(self, cli: Cli) -> None:
        assert "there is no file" in cli.fails(4, "import", "chat", cli.home / "nowhere")
        assert "FILE: cannot read" in cli.fails(2, "import", "chat", cli.home)

    def test_a_speaker_gets_a_name(self, cli: Cli) -> None:
        words = cli.row("transcript", "add", "user: I live in Oslo.")
        command = ("extract", words["id"], "--extractor", "rules", "--name")
        assert "--name: no message has the role 'usr': did you mean 'user'?" in cli.fails(
            2, *command, "usr=Ann"
        )
        cli(*command, "user=Ann")
        (fact,) = cli.rows("fact", "list")
        assert (fact["subject"], fact["object"]) == ("Ann", "Oslo")

    def test_an_extraction_names_its_extractor(self, cli: Cli) -> None:
        row = cli.row("transcript", "add", "Ann: I like tea.")
        assert "--extractor" in cli.fails(2, "extract", row["id"])

    @pytest.mark.parametrize("typed", ["magic", "http://x", "x#m"])
    def test_extractors_that_are_none(self, cli: Cli, typed: str) -> None:
        file = write(cli, CHAT)
        assert "--extractor: " in cli.fails(2, "import", "chat", file, "--extractor", typed)


class TestCutting:
    def test_long_files_become_several_transcripts(self, tmp_path: Path) -> None:
        text = "".join(f"Ann: {number:04}\nand on\n" for number in range(100))
        file = tmp_path / "long"
        file.write_text(text, "utf-8")
        with file.open("rb") as opened:
            result = list(read_transcripts(opened, "long", None, max_bytes=200))
        assert len(result) > 5
        texts = [piece.content for piece in result if isinstance(piece.content, str)]
        assert all(words.startswith("Ann: ") and len(words) <= 200 for words in texts)
        assert "".join(words + "\n" for words in texts) == text
        assert sum(piece.messages for piece in result) == 100

    @pytest.mark.parametrize("form", ["plain", "jsonl"])
    def test_a_message_that_is_too_long(self, tmp_path: Path, form: str) -> None:
        file = tmp_path / "long"
        long = {"role": "Ann", "content": "x" * 300}
        file.write_text("Ann: x\n" + "x\n" * 300 if form == "plain" else json.dumps(long), "utf-8")
        with (
            file.open("rb") as opened,
            pytest.raises(InvalidInput, match=r"longer than|of 3\d\d b"),
        ):
            list(read_transcripts(opened, "long", form, max_bytes=200))


class TestExtracting:
    def test_from_a_transcript(self, cli: Cli) -> None:
        row = cli.row("transcript", "add", "Ann: I like tea.")
        out = cli("extract", row["id"], "--extractor", "rules")
        assert out == f"extracted 1 memory and 1 fact from transcript {row['id']}.\n"
        assert "already extracted" in cli("extract", row["id"], "--extractor", "rules")
        assert cli.row("extract", row["id"], "--extractor", "rules")["already"] is True
        assert "not found: transcript" in cli.fails(4, "extract", "nobody", "--extractor", "rules")

    def test_by_a_model(self, cli: Cli) -> None:
        items = [{"content": "Ann likes tea.", "quote": "like tea"}]
        items += [{"content": str(number), "quote": "made up"} for number in range(7)]
        content = json.dumps({"memories": items})
        answer = Said(body={"choices": [{"message": {"content": content}}]})
        row = cli.row("transcript", "add", "Ann: I like tea.")
        with answering(lambda _: answer) as server:
            result = cli.run("extract", row["id"], "--extractor", f"{server.url}#m1")
        assert "extracted 1 memory and 0 facts" in result.stdout
        assert result.stderr.count("skipped: ") == 6
        assert "was not said: 'made up'" in result.stderr
        assert "2 more items" in result.stderr

    def test_a_model_that_speaks_no_json(self, cli: Cli) -> None:
        answer = Said(body={"choices": [{"message": {"content": "sorry"}}]})
        with answering(lambda _: answer) as server:
            typed = f"{server.url}#m1"
            reports = cli.fails(1, "import", "chat", write(cli, CHAT), "--extractor", typed)
        rows = cli.rows("transcript", "list")[0]["id"]
        assert f"stored as transcript {rows}: run `memoranda extract {rows}`" in reports
        assert "nothing was written" not in reports

    def test_an_endpoint_that_refuses(self, cli: Cli) -> None:
        file = write(cli, CHAT)
        with answering(lambda _: Said(404)) as server:
            typed = f"{server.url}#m1"
            assert "--extractor: " in cli.fails(2, "import", "chat", file, "--extractor", typed)
        assert len(transcripts(cli)) == 1
        assert "already imported" in cli("import", "chat", file, "--extractor", "rules")
