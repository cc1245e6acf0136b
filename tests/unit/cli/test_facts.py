"""The commands about facts: saying, ending, taking back, and asking on both axes of time."""

from __future__ import annotations

import re

import pytest

from memoranda.cli import inputs
from memoranda.cli.options import KINDS
from memoranda.errors import InvalidInput
from memoranda.graph import entities
from tests.unit.cli.runner import Cli


@pytest.fixture
def employed(cli: Cli) -> Cli:
    """A command line on a store that knows Ann's jobs, one at a time, and two of her likes."""
    cli("fact", "cardinality", "works_at", "single")
    cli("fact", "assert", "Ann", "works_at", "Initech", "--valid-from", "2018-05")
    cli("fact", "assert", "Ann", "works_at", "Acme", "--valid-from", "2020")
    cli("fact", "assert", "Ann", "likes", "tea", "--valid-from", "2019", "--confidence", 0.5)
    cli("fact", "assert", "Ann", "likes", "cake", "--valid-from", "2019", "--valid-to", "2020")
    return cli


def told(cli: Cli, *arguments: object) -> list[str]:
    """Return what a command said, without its last line, which has the ids."""
    lines = cli("fact", *arguments).splitlines()
    if lines[-1].startswith("assertion "):
        assert re.fullmatch(r"assertion \S+  commit \d+", lines.pop())
    return lines


def sentences(cli: Cli, *arguments: object) -> list[str]:
    rows = cli.rows("fact", *arguments)
    return [f"{row['subject']} {row['relation']} {row['object']}" for row in rows]


def test_assert_says_what_opened_and_what_closed(cli: Cli) -> None:
    cli("fact", "cardinality", "works_at", "single")
    first = told(cli, "assert", "Ann", "works_at", "Initech", "--valid-from", "2018-05")
    assert first == ["opened Ann works_at Initech  since 2018-05-01"]
    assert told(cli, "assert", "Ann", "works_at", "Acme", "--valid-from", "2020") == [
        "opened Ann works_at Acme  since 2020-01-01",
        "closed Ann works_at Initech  2018-05-01 until 2020-01-01",
    ]
    assert told(cli, "assert", "Ann", "works_at", "Acme", "--valid-from", "2021") == [
        "confirmed Ann works_at Acme  since 2020-01-01, asserted 2 times",
    ]
    between = ("--valid-from", "2020-06", "--valid-to", "2020-09-01T12:00:00+02:00")
    assert told(cli, "assert", "Ann", "works_at", "Globex", *between) == [
        "opened Ann works_at Globex  2020-06-01 until 2020-09-01T10:00:00Z",
        "closed Ann works_at Acme  2020-01-01 until 2020-06-01",
        "reopened Ann works_at Acme  since 2021-01-01",
    ]


def test_end_says_what_it_closed_or_that_nothing_held(employed: Cli) -> None:
    assert told(employed, "end", "Ann", "works_at", "Acme", "--at", "2023-06-30") == [
        "closed Ann works_at Acme  2020-01-01 until 2023-06-30"
    ]
    nothing = told(employed, "end", "Ann", "works_at", "--at", "2024")
    assert nothing == ["recorded, and nothing changed: no such fact held then"]


def test_retract_says_what_comes_back(employed: Cli) -> None:
    assert told(employed, "retract", "Ann", "works_at", "Acme", "--reason", "another Ann") == [
        "removed Ann works_at Acme  since 2020-01-01",
        "reopened Ann works_at Initech  since 2018-05-01",
    ]
    assert "Acme" in employed.fails(4, "fact", "retract", "Ann", "works_at", "Acme")


def test_retract_by_the_id_of_what_was_said(employed: Cli) -> None:
    row = employed.row("fact", "assert", "Ann", "likes", "tea", "--valid-from", "2019")
    one = ("fact", "retract", "--assertion", row["assertion_id"])
    assert employed(*one) == "retracted; other assertions support the fact\n"
    assert employed(*one) == "retracted before\n"
    assert "tea" in employed("fact", "list")
    assert "--assertion: " in employed.fails(2, "fact", "retract")
    assert "--assertion: " in employed.fails(2, *one, "--", "Ann", "likes")


def test_json_has_the_whole_resolution(employed: Cli) -> None:
    row = employed.row("fact", "assert", "Ann", "works_at", "Globex", "--valid-from", "2022")
    assert row["open"]["object_key"] == "globex"
    (closed,) = row["close"]
    assert (closed["object_key"], closed["valid_from"]) == ("acme", "2020-01-01T00:00:00.000000Z")
    assert (row["changed"], row["folded"], row["reopened"]) == ([], None, [])
    assert row["commit_ts"] == 6


def test_list_filters_on_both_axes(employed: Cli) -> None:
    assert sentences(employed, "list") == ["Ann works_at Acme", "Ann likes tea"]
    assert sorted(sentences(employed, "list", "--valid-at", "2019-06-01")) == [
        "Ann likes cake",
        "Ann likes tea",
        "Ann works_at Initech",
    ]
    assert len(sentences(employed, "list", "--include-closed")) == 4
    assert sentences(employed, "list", "--known-at", 2) == ["Ann works_at Initech"]
    assert sentences(employed, "list", "--relation", "likes") == ["Ann likes tea"]
    assert sentences(employed, "list", "--object", "acme") == ["Ann works_at Acme"]
    assert sentences(employed, "list", "--subject", "Bob") == []
    assert len(sentences(employed, "list", "--include-closed", "--limit", 1)) == 1
    lines = employed("fact", "list", "--relation", "likes", "--include-closed").splitlines()
    statements = [line.partition("  ")[2] for line in lines]
    assert "Ann likes tea  since 2019-01-01  confidence 0.5" in statements
    assert "Ann likes cake  2019-01-01 until 2020-01-01" in statements
    both = ("fact", "list", "--include-closed", "--valid-at", "2020")
    assert "--valid-at: " in employed.fails(2, *both)
    result = employed.run("fact", "list", "--subject", "Bob")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no such facts" in result.stderr


def test_a_timeline_is_drawn(employed: Cli) -> None:
    lines = employed("fact", "timeline", "Ann", "works_at").splitlines()
    assert "2020" in lines[0]
    initech, acme = lines[2:]
    assert re.fullmatch(r"Initech +█+ +2018-05-01", initech)
    assert re.fullmatch(r"Acme +█*▶ +2020-01-01", acme)
    reference = employed("fact", "timeline", "Ann", "works_at", "--known-at", 2)
    assert "Acme" not in reference
    rows = employed.rows("fact", "timeline", "Ann", "works_at")
    assert [row["object"] for row in rows] == ["Initech", "Acme"]
    result = employed.run("fact", "timeline", "Bob", "works_at")
    assert "no facts about" in result.stderr


def test_literals_are_values(cli: Cli) -> None:
    cli("fact", "assert", "Ann", "age", "42", "--literal", "number")
    cli("fact", "assert", "Ann", "motto", "never fly", "--literal", "text")
    cli("fact", "assert", "Ann", "born", "1990-04-01", "--literal", "date")
    rows = cli.rows("fact", "list")
    kinds = {row["relation"]: (row["object"], row["object_kind"]) for row in rows}
    assert kinds["age"] == ("42", "number")
    assert kinds["born"] == ("1990-04-01", "date")
    assert sentences(cli, "list", "--object", "42.0", "--literal", "number") == ["Ann age 42"]
    assert sentences(cli, "list", "--object", "42") == []
    assert "Ann motto “never fly”" in cli("fact", "list")
    assert "such as 42" in cli.fails(2, "fact", "assert", "a", "b", "c", "--literal", "number")
    cli.fails(2, "fact", "assert", "a", "b", "c", "--literal", "colour")


def test_the_kinds_are_those_of_the_library() -> None:
    assert KINDS == entities.LITERAL_KINDS


def test_errors_name_what_was_typed(cli: Cli) -> None:
    assert "SUBJECT: " in cli.fails(2, "fact", "assert", "", "b", "c")
    assert "RELATION: " in cli.fails(2, "fact", "assert", "a", "", "c")
    assert "--valid-from: " in cli.fails(2, "fact", "assert", "a", "b", "c", "--valid-from", "soon")
    cli("fact", "assert", "a", "b", "c")
    assert "--relation: " in cli.fails(2, "fact", "list", "--relation", "")
    assert "--confidence: " in cli.fails(2, "fact", "assert", "a", "b", "c", "--confidence", 2)
    assert "--span: " in cli.fails(2, "fact", "assert", "a", "b", "c", "--span", "x")


def test_sources_and_their_words(cli: Cli) -> None:
    words = cli.row("transcript", "add", "Ann joined Acme in March.")["id"]
    text = ("fact", "assert", "Ann", "works_at", "Acme", "--source", words, "--span", "0:15")
    row = cli.row(*text)
    explained = cli("fact", "explain", row["assertion_id"])
    assert "Ann works_at Acme" in explained
    assert f"from transcript {words}" in explained
    assert "“Ann joined Acme”" in explained
    shape = cli.row("fact", "explain", row["assertion_id"])
    assert shape["fact"]["object"] == "Acme"
    (assertion,) = shape["assertions"]
    assert assertion["quotes"] == ["Ann joined Acme"]
    assert assertion["source"]["transcript_id"] == words
    assert shape["end"] is None
    cli.fails(4, "fact", "explain", "nothing")


def test_an_end_has_a_source_too(cli: Cli) -> None:
    row = cli.row("fact", "assert", "Ann", "works_at", "Acme", "--valid-from", "2020")
    words = cli.row("transcript", "add", "Ann left Acme in March.")["id"]
    ended = ("fact", "end", "Ann", "works_at", "Acme", "--at", "2021")
    cli(*ended, "--source", words, "--span", "0:13")
    explained = cli("fact", "explain", row["assertion_id"])
    assert re.search(r"^  ended by .*, commit 3", explained, re.MULTILINE)
    assert f"from transcript {words}" in explained
    assert "“Ann left Acme”" in explained
    end = cli.row("fact", "explain", row["assertion_id"])["end"]
    assert (end["at"], end["quotes"]) == ("2021-01-01T00:00:00.000000Z", ["Ann left Acme"])
    assert end["source"]["transcript_id"] == words
    assert "--span" in cli.fails(2, *ended, "--source", words, "--span", "x")


def test_names_can_be_one(employed: Cli) -> None:
    assert "Annie means Ann" in employed("fact", "alias", "Ann", "Annie")
    assert len(sentences(employed, "list", "--subject", "Annie")) == 2
    employed("fact", "assert", "A. Lee", "likes", "rain", "--valid-from", "2020")
    assert "are one" in employed("fact", "merge", "A. Lee", "Ann")
    assert len(sentences(employed, "list", "--subject", "ann")) == 3
    (ann,) = (row for row in employed.rows("fact", "entities") if row["name"] == "Ann")
    assert sorted(ann["aliases"]) == ["A. Lee", "Annie"]
    assert re.search(r"^Ann  also .*Annie", employed("fact", "entities"), re.MULTILINE)
    employed.fails(4, "fact", "merge", "nobody", "Ann")
    assert "INTO: " in employed.fails(2, "fact", "merge", "Ann", "")
    assert "ALIAS: " in employed.fails(2, "fact", "alias", "Ann", "")


def test_a_path_goes_through_what_holds(employed: Cli) -> None:
    employed("fact", "assert", "Acme", "seat", "Oslo", "--valid-from", "2019")
    assert employed("fact", "path", "Ann", "Oslo").splitlines() == [
        "Ann works_at Acme  since 2020-01-01",
        "Acme seat Oslo  since 2019-01-01",
    ]
    assert sentences(employed, "path", "Oslo", "Ann") == ["Acme seat Oslo", "Ann works_at Acme"]
    way = ("fact", "path", "Ann", "Oslo")
    assert "no path from" in employed.fails(4, *way, "--valid-at", "2019-06-01")
    assert "no path from" in employed.fails(4, *way, "--max-hops", 1)
    assert "no path from" in employed.fails(4, *way, "--relation", "seat")
    assert "no path from" in employed.fails(4, "fact", "path", "Oslo", "Ann", "--direction", "out")
    assert "nothing is known of" in employed.fails(4, *way, "--known-at", 3)
    assert "--max-hops: " in employed.fails(2, *way, "--max-hops", -1)
    assert "FROM: " in employed.fails(2, "fact", "path", "", "Oslo")
    assert "TO: " in employed.fails(2, "fact", "path", "Ann", "")


def test_cardinalities_are_set_and_listed(cli: Cli) -> None:
    assert "one object at a time" in cli("fact", "cardinality", "works_at", "single")
    assert "any number" in cli("fact", "cardinality", "likes", "multi")
    assert cli.rows("fact", "cardinality")[-1] == {"relation": "works at", "cardinality": "single"}
    assert "single  works at" in cli("fact", "cardinality")
    cli.fails(2, "fact", "cardinality", "works_at")
    cli.fails(2, "fact", "cardinality", "works_at", "double")


def test_every_command_shows_an_example(cli: Cli) -> None:
    matches = re.findall(r"^  (\w+)  ", cli("fact", "--help"), re.MULTILINE)
    assert {"assert", "end", "retract", "list", "timeline", "explain", "import"} <= set(matches)
    for name in matches:
        assert f"Example: memoranda fact {name}" in " ".join(cli("fact", name, "--help").split())


def test_a_moment_is_a_commit_or_a_date() -> None:
    assert inputs.moment("2020") == 2020
    assert inputs.moment("2020-01") == "2020-01"
    assert inputs.moment(None) is None


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("number", "42", 42),
        ("number", " 4.5e1 ", 45.0),
        ("number", "-.5", -0.5),
        ("boolean", "true", True),
        ("text", " as it is ", " as it is "),
    ],
)
def test_literals_are_read(kind: str, text: str, value: object) -> None:
    assert entities.parse_literal(kind, text).value == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("number", "4,5"),
        ("number", "inf"),
        ("number", "9" * 5_000),
        ("boolean", "yes"),
        ("date", "20200101"),
        ("date", "2020-02-30"),
        ("time", "2020-01-01T10:00:00"),
        ("colour", "red"),
    ],
)
def test_what_is_no_literal_is_told(kind: str, text: str) -> None:
    with pytest.raises(InvalidInput):
        entities.parse_literal(kind, text)


def test_walks_go_from_fact_to_fact(employed: Cli) -> None:
    employed("fact", "assert", "Bo", "knows", "Ann", "--valid-from", "2020")
    near = employed.rows("fact", "neighbors", "Bo", "--hops", 2, "--valid-at", "2021")
    assert [(row["node"], row["hop"]) for row in near] == [("Ann", 1), ("Acme", 2), ("tea", 2)]
    assert "Acme  2 away  Ann works_at Acme" in employed("fact", "neighbors", "Bo", "--hops", 2)
    assert employed("fact", "neighbors", "Bo", "--relation", "likes") == ""
    assert sentences(employed, "subgraph", "Bo", "Ann", "--hops", 0) == ["Bo knows Ann"]
    assert "'Nobody'" in employed.fails(4, "fact", "neighbors", "Nobody")


def test_names_that_are_alike_are_listed_and_not_bound(cli: Cli) -> None:
    for name in ("Annette Smith", "Anette Smith", "Bo"):
        cli("fact", "assert", name, "likes", "tea")
    assert "Annette Smith  ~  Anette Smith" in cli("fact", "suggest-merges")
    (pair,) = cli.rows("fact", "suggest-merges")
    assert (pair["entity"], pair["other"]) == ("Annette Smith", "Anette Smith")
    assert cli("fact", "suggest-merges", "--score", 1) == ""
    assert len(cli.rows("fact", "entities")) == 4


def test_the_facts_of_all_agents_are_listed_with_their_names(employed: Cli) -> None:
    employed("fact", "assert", "Ann", "works_at", "Hooli", "--agent", "bob")
    own = employed("fact", "list", "--relation", "works_at")
    assert "Acme" in own
    assert "Hooli" not in own
    report = employed("fact", "list", "--relation", "works_at", "--all-agents")
    assert "believed by planner" in report
    assert "believed by bob" in report
    rows = employed.rows("fact", "list", "--relation", "works_at", "--all-agents")
    assert [(row["agent_id"], row["object"]) for row in rows] == [
        ("bob", "Hooli"),
        ("planner", "Acme"),
    ]
    employed("configure", "--facts", "shared")
    (row,) = employed.rows("fact", "list", "--relation", "works_at")
    assert (row["agent_id"], row["object"], row["asserted_by"]) == (None, "Hooli", ["bob"])
    assert "shared, asserted by bob" in employed("fact", "list", "--relation", "works_at")
    nothing = employed.run("fact", "list", "--all-agents", "--subject", "Zed")
    assert "no such facts of any agent" in nothing.stderr
