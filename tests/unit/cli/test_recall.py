"""`memoranda recall` and `memoranda context`."""

from __future__ import annotations

import re

import pytest

from tests.unit.cli.runner import Cli


@pytest.fixture
def knowing(cli: Cli) -> Cli:
    """A command line on a store with memories and a fact, without a model to load."""
    cli.env["MEMORANDA_EMBEDDER"] = "none"
    cli("remember", "Alice lives in Paris", "--event-time", "2022-01-01T00:00:00Z")
    cli("remember", "Alice lives in Berlin", "--event-time", "2023-01-01T00:00:00Z", "--tag", "new")
    cli("fact", "assert", "Alice", "knows", "Ben")
    return cli


def test_the_best_first_with_rank_score_date_and_text(knowing: Cli) -> None:
    told = knowing("recall", "where does Alice live?", "--kind", "memory")
    lines = told.splitlines()
    assert re.match(r" *1  [█#]{10}  \d\.\d{3}  2023-01-01  observation  [0-9a-f-]{36}", lines[0])
    assert lines[1] == "     Alice lives in Berlin"
    assert "2022-01-01" in lines[2]


def test_how_a_score_came_about(knowing: Cli) -> None:
    told = knowing("recall", "where does Alice live?", "--parts")
    assert re.search(r"\(text 1\.000.*\) \* recency 0\.9\d\d", told)
    assert "graph 0.210" in told


def test_json(knowing: Cli) -> None:
    first, second = knowing.rows("recall", "Alice lives", "--kind", "memory")
    assert (first["text"], second["text"]) == ("Alice lives in Berlin", "Alice lives in Paris")
    assert first["memory"]["tags"] == ["new"]
    part = first["parts"]
    summed = part["text"] + part["vector"] + part["graph"]
    assert 0 < first["score"] <= 1.1 * summed
    (fact,) = knowing.rows("recall", "Alice", "--kind", "fact")
    assert fact["fact"]["object"] == "Ben"


def test_superseded_by_what_counts_then(knowing: Cli) -> None:
    new, old = (row["id"] for row in knowing.rows("recall", "Alice lives", "--kind", "memory"))
    knowing("supersede", old, new)
    asked = ("recall", "where does Alice live?", "--kind", "memory", "--include-superseded")
    assert f"superseded by {new}" in knowing(*asked)
    told = knowing(*asked, "--valid-at", "2022-06-01T00:00:00Z")
    assert "Paris" in told
    assert "superseded" not in told


def test_options(knowing: Cli) -> None:
    assert len(knowing.rows("recall", "Alice", "-k", 1)) == 1
    assert len(knowing.rows("recall", "Alice", "--tag", "new")) == 1
    assert len(knowing.rows("recall", "Alice", "--known-at", 1)) == 1
    early = knowing.rows("recall", "Alice", "--valid-at", "2022-06-01T00:00:00Z")
    assert [each["text"] for each in early] == ["Alice lives in Paris"]
    assert knowing.rows("recall", "Alice", "--namespace", "other") == []
    assert len(knowing.rows("recall", "Alice", "--namespace", "other", "--all-namespaces")) == 3
    assert knowing.rows("recall", "Alice", "--of", "nobody") == []


def test_context(knowing: Cli) -> None:
    told = knowing("context", "where does Alice live?", "--budget", 40)
    assert len(told.rstrip("\n")) <= 160
    assert "2023-01-01 · observation · Alice lives in Berlin" in told
    row = knowing.row("context", "where does Alice live?")
    assert "Alice lives in Paris" in row["context"]


def test_nothing_found_is_no_error(knowing: Cli) -> None:
    done = knowing.run("recall", "zebras", "--namespace", "other")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "nothing found in namespace 'other'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("recall", " "), "QUERY: is blank"),
        (("recall", "x", "--kind", "nonsense"), "--kind: 'nonsense' is not one of"),
        (("recall", "x", "-k", "0"), "-k: 0 is not a number from 1 to 1000"),
        (("context", "x", "--budget", "3"), "--budget: 3 is not a number from 16"),
    ],
)
def test_what_is_wrong_is_named(knowing: Cli, arguments: tuple[str, ...], told: str) -> None:
    done = knowing.run(*arguments)
    assert done.exit_code != 0
    assert told in done.stderr


def test_that_there_are_no_vectors_is_said_once(
    knowing: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoranda.search.embedding._local", lambda: None)
    done = knowing.run("recall", "Alice", env={"MEMORANDA_EMBEDDER": "auto"})
    assert done.stderr.count("words and facts alone") == 1
    wanted = knowing.run("recall", "Alice", "--embedder", "none")
    assert wanted.stderr == "", "who wants none is not told that there is none"
    assert "words and facts alone" not in knowing.run("show", "--title", "x").stderr


def test_by_meaning(knowing: Cli) -> None:
    done = knowing.run("recall", "Alice", "--json", env={"MEMORANDA_EMBEDDER": "auto"})
    assert '"vector":0.0' not in done.stdout
    assert done.stderr == ""


def test_what_is_stored_cannot_move_the_terminal(knowing: Cli) -> None:
    knowing("remember", "zebra \x1b[2J\x9b1m \u202eevil")
    for command in (("recall", "zebra"), ("context", "zebra")):
        told = knowing(*command)
        assert not {"\x1b", "\x9b", "\u202e"} & set(told)


def test_a_day_is_enough(knowing: Cli) -> None:
    day = knowing.run("recall", "Alice", "--valid-at", "2999-01-01", "--json")
    assert (
        day.stdout
        == knowing.run("recall", "Alice", "--valid-at", "2999-01-01T00:00:00Z", "--json").stdout
    )
    assert day.stdout
