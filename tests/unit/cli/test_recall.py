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
    reports = knowing("recall", "where does Alice live?", "--kind", "memory")
    lines = reports.splitlines()
    assert re.match(r" *1  [█#]{10}  \d\.\d{3}  2023-01-01  observation  [0-9a-f-]{36}", lines[0])
    assert lines[1] == "     Alice lives in Berlin"
    assert "2022-01-01" in lines[2]


def test_how_a_score_came_about(knowing: Cli) -> None:
    reports = knowing("recall", "where does Alice live?", "--parts")
    assert re.search(r"\(text 1\.\d\d\d.*\) \* recency 0\.9\d\d", reports)
    assert "graph 0.210" in reports


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
    queries = ("recall", "where does Alice live?", "--kind", "memory", "--include-superseded")
    assert "superseded by “Alice lives in Berlin”" in knowing(*queries)
    reports = knowing(*queries, "--valid-at", "2022-06-01T00:00:00Z")
    assert "Paris" in reports
    assert "superseded" not in reports


def test_a_passage_of_which_nothing_stands(knowing: Cli) -> None:
    words = knowing.row("transcript", "add", "I can drive everyone on Friday")["id"]
    memory = knowing.row("remember", "Ben does", "--transcript", words)["id"]
    knowing("retract", memory)
    queries = ("recall", "who can drive?", "--kind", "passage")
    assert "I can drive" not in knowing(*queries)
    lines = knowing(*queries, "--include-superseded").splitlines()
    assert lines[1].strip() == "I can drive everyone on Friday"
    assert lines[2].strip() == "superseded: nothing that was drawn from it stands"


def test_options(knowing: Cli) -> None:
    assert len(knowing.rows("recall", "Alice", "-k", 1)) == 1
    assert len(knowing.rows("recall", "Alice", "--tag", "new")) == 1
    assert len(knowing.rows("recall", "Alice", "--known-at", 1)) == 1
    early = knowing.rows("recall", "Alice", "--valid-at", "2022-06-01T00:00:00Z")
    assert [item["text"] for item in early] == ["Alice lives in Paris"]
    assert knowing.rows("recall", "Alice", "--namespace", "other") == []
    assert len(knowing.rows("recall", "Alice", "--namespace", "other", "--all-namespaces")) == 3
    assert knowing.rows("recall", "Alice", "--of", "nobody") == []


def test_context(knowing: Cli) -> None:
    reports = knowing("context", "where does Alice live?", "--budget", 40)
    assert len(reports.rstrip("\n")) <= 160
    assert "2023-01-01 · observation · Alice lives in Berlin" in reports
    row = knowing.row("context", "where does Alice live?")
    assert "Alice lives in Paris" in row["context"]


def test_nothing_found_is_no_error(knowing: Cli) -> None:
    done = knowing.run("recall", "zebras", "--namespace", "other")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "no results in namespace 'other'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("recall", " "), "QUERY: is blank"),
        (("recall", "x", "--kind", "nonsense"), "--kind: 'nonsense' is not one of"),
        (("recall", "x", "-k", "0"), "-k: 0 is not a number from 1 to 1000"),
        (("context", "x", "--budget", "3"), "--budget: 3 is not a number from 16"),
    ],
)
def test_what_is_wrong_is_named(knowing: Cli, arguments: tuple[str, ...], problem: str) -> None:
    done = knowing.run(*arguments)
    assert done.exit_code != 0
    assert problem in done.stderr


def test_that_there_are_no_vectors_is_said_once(
    knowing: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoranda.search.vectors.embedder._local", lambda: None)
    done = knowing.run("recall", "Alice", env={"MEMORANDA_EMBEDDER": "auto"})
    assert done.stderr.count("words and facts only") == 1
    result = knowing.run("recall", "Alice", "--embedder", "none")
    assert result.stderr == "", "who wants none is not told that there is none"
    assert "words and facts only" not in knowing.run("show", "--title", "x").stderr


def test_by_meaning(knowing: Cli) -> None:
    done = knowing.run("recall", "Alice", "--json", env={"MEMORANDA_EMBEDDER": "auto"})
    assert '"vector":0.0' not in done.stdout
    assert done.stderr == ""


def test_what_is_stored_cannot_move_the_terminal(knowing: Cli) -> None:
    knowing("remember", "zebra \x1b[2J\x9b1m \u202eevil")
    for command in (("recall", "zebra"), ("context", "zebra")):
        reports = knowing(*command)
        assert not {"\x1b", "\x9b", "\u202e"} & set(reports)


def test_a_day_is_enough(knowing: Cli) -> None:
    day = knowing.run("recall", "Alice", "--valid-at", "2999-01-01", "--json")
    assert (
        day.stdout
        == knowing.run("recall", "Alice", "--valid-at", "2999-01-01T00:00:00Z", "--json").stdout
    )
    assert day.stdout


def test_by_time_speaker_and_score(knowing: Cli) -> None:
    query = ("recall", "where does Alice live?", "--kind", "memory")
    assert "Paris" not in knowing(*query, "--since", "2023-01-01")
    assert "Berlin" not in knowing(*query, "--until", "2023-01-01")
    assert knowing(*query, "--min-score", "9") == ""
    assert knowing(*query, "--speaker", "alice") == ""


def test_one_namespace_alone(knowing: Cli) -> None:
    knowing("remember", "Alice lives below", "--namespace", "default/below")
    query = ("recall", "where does Alice live?", "--kind", "memory")
    assert "below" in knowing(*query)
    assert "below" not in knowing(*query, "--no-children")


def test_whose_belief_a_fact_is_and_who_believes_another(knowing: Cli) -> None:
    knowing("fact", "cardinality", "lives_in", "single")
    knowing("fact", "assert", "Carl", "lives_in", "Rome", "--valid-from", "2020")
    knowing("fact", "assert", "Carl", "lives_in", "Oslo", "--valid-from", "2021", "--agent", "bob")
    report = knowing("recall", "Where does Carl live?", "--kind", "fact")
    assert "from 2020-01-01, believed by planner\n" in report
    assert "disputed: bob believes Carl lives in Oslo\n" in report
    assert "disputed: planner believes Carl lives in Rome\n" in report
    rows = knowing.rows("recall", "Where does Carl live?", "--kind", "fact")
    assert {row["text"]: [fact["agent_id"] for fact in row["conflicting"]] for row in rows} == {
        "Carl lives in Rome": ["bob"],
        "Carl lives in Oslo": ["planner"],
    }
    knowing("configure", "--facts", "shared")
    report = knowing("recall", "Where does Carl live?", "--kind", "fact")
    assert "shared, asserted by bob" in report
    assert "disputed" not in report
