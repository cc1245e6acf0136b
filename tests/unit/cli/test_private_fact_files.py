"""Files of facts keep what is private private, wherever they are imported."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import memoranda
from tests.unit.cli.runner import Cli

FORMS = pytest.mark.parametrize("form", ["csv", "jsonl"])


@pytest.fixture
def elsewhere(tmp_path: Path) -> Cli:
    """A command line on another store, which is empty."""
    home = tmp_path / "elsewhere"
    home.mkdir()
    return Cli(home)


def objects(cli: Cli, viewer: str) -> set[str]:
    """Return the objects of the planner's facts that an agent sees."""
    with memoranda.open(cli.db) as store:
        facts = store.bind(agent_id=viewer).facts(agent_id="planner", include_closed=True)
        return {str(fact.object) for fact in facts}


def exported(cli: Cli, form: str = "jsonl") -> list[dict[str, Any]]:
    text = cli("fact", "export", "-", "--format", form)
    if form == "csv":
        return list(csv.DictReader(text.splitlines()))
    return [json.loads(line) for line in text.splitlines()]


def marks(cli: Cli, form: str = "jsonl") -> list[tuple[str, str]]:
    return [(row["object"], row["visibility"]) for row in exported(cli, form)]


def say(cli: Cli, thing: str, *options: object) -> None:
    cli("fact", "assert", "Ann", "is", thing, *options)


@FORMS
def test_private_facts_stay_private_where_they_are_imported(
    cli: Cli, elsewhere: Cli, form: str
) -> None:
    say(cli, "well", "--valid-from", "2024")
    say(cli, "pregnant", "--valid-from", "2024", "--visibility", "private")
    with memoranda.open(cli.db) as store:
        agent = store.bind(agent_id="planner")
        diary = agent.remember("Ann is in debt", visibility="private")
        agent.assert_fact(subject="Ann", relation="is", object="in debt", source=diary)
    assert marks(cli, form) == [
        ("well", "namespace"),
        ("pregnant", "private"),
        ("in debt", "private"),
    ]

    path = cli.home / f"facts.{form}"
    cli("fact", "export", path)
    elsewhere("fact", "import", path)
    assert objects(elsewhere, "planner") == {"well", "pregnant", "in debt"}
    assert objects(elsewhere, "other") == {"well"}
    assert exported(elsewhere, form) == exported(cli, form)
    assert "3 unchanged" in elsewhere("fact", "import", path)


def test_a_private_end_is_not_told_by_the_time_it_gives_a_fact(cli: Cli, elsewhere: Cli) -> None:
    say(cli, "employed", "--valid-from", "2020")
    cli("fact", "end", "Ann", "is", "employed", "--at", "2024", "--visibility", "private")
    (row,) = exported(cli)
    assert (row["valid_to"][:4], row["visibility"]) == ("2024", "private")
    cli("fact", "export", cli.home / "facts.csv")
    elsewhere("fact", "import", cli.home / "facts.csv")
    assert exported(elsewhere) == exported(cli)
    assert objects(elsewhere, "other") == set()


def test_a_private_confidence_leaves_others_what_they_see(cli: Cli, elsewhere: Cli) -> None:
    say(cli, "well", "--valid-from", "2020", "--confidence", 0.5)
    say(cli, "well", "--valid-from", "2020", "--confidence", 0.9, "--visibility", "private")
    reports = [(row["confidence"], row["visibility"]) for row in exported(cli)]
    assert reports == [(0.5, "namespace"), (0.9, "private")]
    cli("fact", "export", cli.home / "facts.csv")
    elsewhere("fact", "import", cli.home / "facts.csv")
    assert exported(elsewhere) == exported(cli)
    with memoranda.open(elsewhere.db) as store:
        (fact,) = store.bind(agent_id="other").facts(agent_id="planner")
        (own,) = store.bind(agent_id="planner").facts()
    assert (fact.confidence, own.confidence) == (0.5, 0.9)


def test_values_that_are_equal_but_of_other_kinds_are_told_apart(cli: Cli) -> None:
    say(cli, "1", "--literal", "number", "--valid-from", "2020")
    say(cli, "true", "--literal", "boolean", "--valid-from", "2020", "--visibility", "private")
    assert marks(cli, "csv") == [("1", "namespace"), ("true", "private")]


def test_what_held_and_what_was_known_is_marked_as_of_then(cli: Cli) -> None:
    say(cli, "well", "--valid-from", "2020")
    say(cli, "ill", "--valid-from", "2020", "--visibility", "private")
    say(cli, "ill", "--valid-from", "2020")
    for options, last in ((["--known-at", 2], "private"), (["--valid-at", "2021"], "namespace")):
        text = cli("fact", "export", "-", "--format", "jsonl", *options)
        reports = [json.loads(line)["visibility"] for line in text.splitlines()]
        assert reports == ["namespace", last]


@FORMS
def test_a_file_without_visibility_imports_as_before(cli: Cli, form: str) -> None:
    path = cli.home / f"old.{form}"
    if form == "csv":
        path.write_text("subject,relation,object,confidence\nAnn,is,well,1.0\n")
    else:
        path.write_text('{"subject": "Ann", "relation": "is", "object": "well"}\n')
    cli("fact", "import", path)
    assert objects(cli, "other") == {"well"}
    if form == "csv":
        path.write_text("subject,relation,object,visibility\nAnn,is,well,namespace\n")
        assert "1 unchanged" in cli("fact", "import", path)
        path.write_text("subject,relation,object,visibility\nAnn,is,well,\n")
        assert "1 unchanged" in cli("fact", "import", path)


@FORMS
def test_an_unknown_visibility_is_set_aside_with_its_line(cli: Cli, form: str) -> None:
    path = cli.home / f"facts.{form}"
    rows = [("well", "namespace"), ("ill", "secret"), ("poor", "private")]
    if form == "csv":
        lines = [f"Ann,is,{thing},{observations}" for thing, observations in rows]
        path.write_text("\n".join(["subject,relation,object,visibility", *lines]))
    else:
        text = {"subject": "Ann", "relation": "is"}
        lines = [
            json.dumps({**text, "object": thing, "visibility": observations})
            for thing, observations in rows
        ]
        path.write_text("\n".join(lines))
    assert cli.run("fact", "import", path).exit_code == 1
    assert objects(cli, "planner") == {"well", "poor"}
    assert objects(cli, "other") == {"well"}
    aside = Path(f"{path}.rejected").read_text()
    assert "visibility: 'secret' is not 'namespace' or 'private'" in aside
    assert ("\n3,visibility" if form == "csv" else '{"line": 2, ') in aside
