"""Importing facts: forms of files, rows that are set aside, and doing it again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memoranda.cli.progress import Meter
from tests.unit.cli.runner import Cli

HEADER = "subject,relation,object,valid_from,valid_to,confidence"


def written(cli: Cli, text: str | bytes, name: str = "people.csv") -> Path:
    path = cli.home / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def people(count: int) -> str:
    rows = (f"p{number},knows,Ann,2020,," for number in range(count))
    return "\n".join((HEADER, *rows, ""))


def imported(cli: Cli, path: object, *options: object) -> dict[str, Any]:
    """Import a file and return the summary, whether or not rows were rejected."""
    result = cli.run("fact", "import", path, "--json", *options)
    decoded_value: dict[str, Any] = json.loads(result.stdout)
    assert result.exit_code == (1 if decoded_value["rejected"] else 0), result.stderr
    return decoded_value


def counts(report: dict[str, Any]) -> tuple[int, int, int, int]:
    return report["imported"], report["unchanged"], report["retracted"], report["rejected"]


def test_csv_is_imported(cli: Cli) -> None:
    text = f"""{HEADER},object_kind
Ann,works_at,Acme,2020-03,2021,0.5,
Ann,age,42,,,,number
Ann,motto,"tea, and
cake",2020-01-31T10:00:00+02:00,,,text
"""
    statement = cli("fact", "import", written(cli, text))
    assert statement == "Imported 3 facts, 0 unchanged, 0 rejected.\n"
    rows = cli.rows("fact", "list", "--include-closed")
    acme, age, motto = rows
    assert (acme["valid_from"][:10], acme["valid_to"][:10]) == ("2020-03-01", "2021-01-01")
    assert acme["confidence"] == 0.5
    assert (age["object"], age["object_kind"]) == ("42", "number")
    assert (motto["object"], motto["valid_from"][:19]) == ("tea, and\ncake", "2020-01-31T08:00:00")


def test_json_lines_are_imported(cli: Cli) -> None:
    rows = [
        {"subject": "Ann", "relation": "works at", "object": "Acme", "valid_from": "2020"},
        {"subject": "Ann", "relation": "age", "object": 42, "confidence": 0.9},
        {"subject": "Ann", "relation": "tall", "object": True, "valid_to": None},
        {"subject": "Ann", "relation": "born", "object": "1990-01-31", "object_kind": "date"},
    ]
    text = "\n\n".join(map(json.dumps, rows))
    for name in ("a.jsonl", "a.ndjson"):
        assert imported(cli, written(cli, text, name))["rejected"] == 0
    result = {row["relation"]: row for row in cli.rows("fact", "list")}
    assert {name: row["object_kind"] for name, row in result.items()} == {
        "works at": None,
        "age": "number",
        "tall": "boolean",
        "born": "date",
    }
    assert all(len(row["assertions"]) == 1 for row in result.values())


def test_stdin_is_a_file(cli: Cli) -> None:
    result = cli.run("fact", "import", "-", "--format", "csv", stdin=people(2))
    assert result.stdout.startswith("Imported 2 facts")
    assert "--format" in cli.fails(2, "fact", "import", "-", stdin=people(2))
    assert "--format" in cli.fails(2, "fact", "import", written(cli, people(1), "people.txt"))


def test_again_nothing_is_said_twice_whatever_the_batches_are(cli: Cli) -> None:
    path = written(cli, people(25))
    assert counts(imported(cli, path, "--batch", 10)) == (25, 0, 0, 0)
    assert counts(imported(cli, path, "--batch", 7)) == (0, 25, 0, 0)
    longer = written(cli, people(27))
    assert counts(imported(cli, longer)) == (2, 25, 0, 0)
    rows = cli.rows("fact", "list")
    assert [len(row["assertions"]) for row in rows] == [1] * 27
    assert counts(imported(cli, longer, "--once", "survey 2")) == (27, 0, 0, 0)


def test_what_was_retracted_is_left_so(cli: Cli) -> None:
    path = written(cli, people(3))
    cli("fact", "import", path)
    cli("fact", "retract", "p1", "knows")
    assert cli("fact", "import", path) == (
        "Imported 0 facts, 2 unchanged, 1 left retracted, 0 rejected.\n"
    )


def test_rows_that_cannot_be_taken_are_set_aside_and_can_be_mended(cli: Cli) -> None:
    text = f"""{HEADER},object_kind,source
Ann,knows,Bob,2020,,,,
Ann,age,old,,,,number,
Ann,likes,"two
lines",someday,,,text,
Ann,knows
,knows,Bob,2020,,,,
Ann,knows,Cyd,2020,2019,,,
Ann,knows,Dan,,2019,,,
Ann,knows,Eve,,,much,,
Ann,knows,Fay,,,,,missing
"Ann"x,knows,Gus,,,,,
Ann,knows,Hal,2020,,,,
"""
    path = written(cli, text)
    result = cli.run("fact", "import", path)
    aside = cli.home / "people.csv.rejected"
    assert result.exit_code == 1
    assert result.stdout == "Imported 2 facts, 0 unchanged, 9 rejected.\n"
    assert str(aside) in result.stderr
    lines = aside.read_text("utf-8").splitlines()
    assert lines[0] == f"line,reason,{HEADER},object_kind,source"
    numbers = [int(line.partition(",")[0]) for line in lines[1:] if line[0].isdigit()]
    assert numbers == [3, 4, 6, 7, 8, 9, 10, 11, 12]
    assert lines[1] == (
        "3,\"object: 'old' is not a number, such as 42 or 3.14\",Ann,age,old,,,,number,"
    )
    assert '"Ann"x,knows,Gus,,,,,' in lines[-1]
    assert "has 2 cells" in lines[4]

    mended = aside.read_text("utf-8").replace(",old,", ",77,").replace('"Ann"x', "Ann")
    aside.write_text(mended.replace("someday", "2020").replace("missing", ""), "utf-8")
    assert counts(imported(cli, aside)) == (4, 0, 0, 5)
    again = (cli.home / "people.csv.rejected.rejected").read_text("utf-8").splitlines()
    assert again[0] == lines[0]
    assert [line.split(",", 2)[0] for line in again[1:]] == ["5", "6", "7", "8", "9"]


def test_what_an_open_quote_has_swallowed_is_read_once_it_is_mended(cli: Cli) -> None:
    path = written(cli, people(9).replace("p3,", '"p3,'))
    assert counts(imported(cli, path)) == (3, 0, 0, 1)
    aside = cli.home / "people.csv.rejected"
    assert len(aside.read_text("utf-8").splitlines()) == 1 + 6
    assert counts(imported(cli, aside)) == (0, 0, 0, 1)
    again = cli.home / "people.csv.rejected.rejected"
    text = [line.split(",", 2)[2] for line in aside.read_text("utf-8").splitlines()[2:]]
    assert [line.split(",", 2)[2] for line in again.read_text("utf-8").splitlines()[2:]] == text
    aside.write_text(aside.read_text("utf-8").replace('"p3', "p3"), "utf-8")
    assert counts(imported(cli, aside)) == (6, 0, 0, 0)


def test_json_that_cannot_be_taken_can_be_mended_as_well(cli: Cli) -> None:
    rows = ['{"subject": "Ann"}', "not json", "[1]", '{"subject":"a","colour":1}', '"\\ud800"']
    path = written(cli, "\n".join(rows), "a.jsonl")
    assert counts(imported(cli, path)) == (0, 0, 0, 5)
    aside = cli.home / "a.jsonl.rejected"
    result = [json.loads(line) for line in aside.read_text("utf-8").splitlines()]
    assert [item["line"] for item in result] == [1, 2, 3, 4, 5]
    assert result[0] == {"line": 1, "reason": "relation: is empty", "subject": "Ann"}
    assert result[1]["text"] == "not json"
    result[0] |= {"relation": "knows", "object": "Bob"}
    aside.write_text(json.dumps(result[0]), "utf-8")
    assert counts(imported(cli, aside)) == (1, 0, 0, 0)


def test_an_earlier_file_of_rejected_rows_is_not_overwritten(cli: Cli) -> None:
    path = written(cli, f"{HEADER}\nAnn,knows,,,,\n")
    first = imported(cli, path)["rejected_file"]
    assert imported(cli, path)["rejected_file"] == first
    Path(first).write_text("being mended", "utf-8")
    other = imported(cli, path)["rejected_file"]
    assert other == f"{first}.2"
    assert Path(first).read_text("utf-8") == "being mended"
    assert counts(imported(cli, other)) == (0, 0, 0, 1)
    assert imported(cli, path, "--rejected", cli.home / "bad.csv")["rejected_file"].endswith(
        "bad.csv"
    )


def test_good_files_leave_nothing_beside_them(cli: Cli) -> None:
    written(cli, people(3))
    cli("fact", "import", cli.home / "people.csv")
    assert sorted(path.name for path in cli.home.iterdir()) == ["people.csv", "store.db"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"subject,relation\nAnn,knows\n", "has no column 'object': it has subject, relation"),
        (b"subject,relation,object,colour\n", "'colour', which is none of subject"),
        (b"subject,relation,object,object\n", "'object' twice"),
        (b"subject;relation;object\n", "none of"),
        (b'"subject,relation,object\n', "not a CSV header"),
        ("subject,relation,object\nJos\xe9,a,b\n".encode("latin-1"), "line 2 of"),
        ("subject,relation,object\n".encode("utf-16"), "UTF-16"),
        (b"x" * 2**20, "longer than"),
    ],
)
def test_files_that_are_no_such_files_are_told(cli: Cli, text: bytes, problem: str) -> None:
    message = cli.fails(2, "fact", "import", written(cli, text))
    assert message.startswith("Error: FILE: ")
    assert problem in message
    assert "people.csv" in message


def test_a_file_of_no_objects_has_no_facts(cli: Cli) -> None:
    assert counts(imported(cli, written(cli, "", "a.jsonl"))) == (0, 0, 0, 0)


def test_files_that_cannot_be_read_are_told(cli: Cli) -> None:
    assert "no file" in cli.fails(4, "fact", "import", cli.home / "nowhere.csv")
    assert "cannot read" in cli.fails(2, "fact", "import", cli.home, "--format", "csv")
    assert "--batch" in cli.fails(2, "fact", "import", written(cli, people(1)), "--batch", 0)


def test_a_header_may_begin_with_a_mark_and_be_written_large(cli: Cli) -> None:
    text = b"\xef\xbb\xbfSubject, Relation ,OBJECT\r\nAnn,knows,Bob\r\n\r\n"
    assert counts(imported(cli, written(cli, text))) == (1, 0, 0, 0)
    (row,) = cli.rows("fact", "list")
    assert (row["subject"], row["object"]) == ("Ann", "Bob")


def test_what_breaks_off_says_what_is_in(cli: Cli) -> None:
    text = people(25).encode() + b"Jos\xe9,knows,Ann,,,\n"
    path = written(cli, text)
    message = cli.fails(2, "fact", "import", path, "--batch", 10)
    assert "imported 20 rows: import the file again" in message
    assert "line 27" in message
    path.write_bytes(text.decode("latin-1").encode())
    assert counts(imported(cli, path)) == (6, 20, 0, 0)
    assert not (cli.home / "people.csv.rejected").exists()


def test_it_tells_how_far_it_is(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memoranda.cli.commands import fact_transfer

    output: list[tuple[str, int, int | None]] = []

    class Recorder(Meter):
        def __call__(self, done: int, total: int | None = None) -> None:
            output.append((self._title, done, total))

    monkeypatch.setattr(
        fact_transfer, "meter", lambda title: Recorder(title, enabled=True, monotonic=lambda: 0.0)
    )
    path = tmp_path / "people.csv"
    path.write_text("subject,relation,object\n" + "".join(f"p{n},knows,Ann\n" for n in range(5)))
    cli("fact", "import", path, "--batch", 2)
    assert [done for _, done, _ in output] == [3, 5, 6]
    assert {(title, total) for title, _, total in output} == {("Importing facts", None)}, (
        "not counted"
    )
