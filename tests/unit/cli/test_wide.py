"""Output on a terminal: what is cut to its width, and what never is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import memoranda
from tests.quick import only
from tests.unit.cli.test_process import environment, on_terminal

COLUMNS = 80
LONG = "tea " * 60 + "END"
LONG_NAME = "a-name-that-goes-on-" * 5 + "END"
NAMESPACE = "team/" + LONG_NAME
WHOLE = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d[\d.-]*"
)
"""Times, ids and numbers."""
FITTING = {"agents", "namespaces", "memories", "fact", "scan"}
"""Commands whose lines have so few ids and times that they never wrap in 80 columns."""


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which every text is longer than a line."""
    path = tmp_path_factory.mktemp("wide") / "store.db"
    with memoranda.open(path, embedder=None) as opened:
        store = opened.bind(agent_id=LONG_NAME, namespace=NAMESPACE)
        store.write(key="plan", value={"text": LONG})
        ground = store.remember(LONG)
        reflection = store.reflect(f"on {LONG}", on=[ground.id])
        store.write(key="next", value={"text": f"and {LONG}"}, because=[reflection.ref])
        store.assert_fact(subject="Ann", relation="drinks", object=LONG, valid_from="2020-03-14")
    return path


def lines_of(db: Path, *arguments: str, columns: int = COLUMNS) -> list[str]:
    plain = environment(
        COLUMNS=str(columns),
        NO_COLOR="1",
        MEMORANDA_DB=str(db),
        MEMORANDA_AGENT=LONG_NAME,
        MEMORANDA_NAMESPACE=NAMESPACE,
        MEMORANDA_EMBEDDER="none",
    )
    return on_terminal(*arguments, env=plain).splitlines()


SQL = "SELECT id, created_at, version, 12345678901234 AS n, content FROM memories ORDER BY id"
COMMANDS = [
    ("sql", SQL),
    ("agents",),
    ("namespaces",),
    ("memories",),
    ("fact", "list"),
    ("recall", "tea"),
    ("scan",),
    ("history", "plan"),
    ("why", "next"),
    ("replay",),
]


def names(command: tuple[str, ...]) -> str:
    return " ".join(command[:2] if command[0] == "fact" else command[:1])


@pytest.mark.parametrize("command", only(COMMANDS[:1], COMMANDS), ids=names)
def test_wide_prints_everything_and_ids_numbers_and_times_are_whole_without(
    db: Path, command: tuple[str, ...]
) -> None:
    cut, wide = lines_of(db, *command), lines_of(db, *command, "--wide")
    assert "…" in "".join(cut)
    assert "…" not in "".join(wide)
    assert "END" in "".join(wide)
    if command[0] != "replay":  # a transaction's id is abbreviated there
        assert WHOLE.findall("\n".join(cut)) == WHOLE.findall("\n".join(wide))
    if command[0] == "recall":  # no heading wraps within its id
        assert max(len(line) for line in cut if re.match(r" *\d", line)) <= COLUMNS
    if command[0] in FITTING:
        assert max(map(len, cut)) <= COLUMNS


def test_an_id_among_texts_is_whole(db: Path) -> None:
    """Also in a row after those that are read ahead, and on a terminal that is too narrow."""
    query = f"""WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 150)
        SELECT n, CASE WHEN n IN (2, 140) THEN '{"0190163d-8694-739b-aea5-966c26f8ad91"}'
        WHEN n = 149 THEN '2026-02-07 10:00:00+01:00' WHEN n = 148 THEN 123456789012345678
        ELSE 'a long text that is cut on a narrow terminal' END AS mixed, '{LONG}' AS text FROM c"""
    rows = {int(line.split()[0]): line for line in lines_of(db, "sql", query, columns=40)[1:]}
    assert "0190163d-8694-739b-aea5-966c26f8ad91" in rows[2]
    assert "0190163d-8694-739b-aea5-966c26f8ad91" in rows[140]
    assert "123456789012345678" in rows[148]
    assert "2026-02-07 10:00:00+01:00" in rows[149]
    assert "…" in rows[1]
