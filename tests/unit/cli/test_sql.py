"""`memoranda sql`: three forms of an answer, and statements that never end."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
import time

import pytest

from tests.patience import HANG_SECONDS
from tests.unit.cli.runner import Cli
from tests.unit.cli.test_process import INTERRUPTIBLE, environment, on_terminal

TELLING = """
import memoranda
ask = memoranda.Store.sql
def tell(*arguments):
    print(flush=True)
    return ask(*arguments)
memoranda.Store.sql = tell
main()
"""
"""Tells when the query begins: what is imported before may take a while."""
BOMB = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c"
ODD = """SELECT 'a,"b"' AS "x y", char(10, 27) || 'é' AS c, NULL AS n, x'00ff' AS b, 1.5 AS f"""


def test_csv_is_the_form_for_pipes(filled: Cli) -> None:
    output = filled("sql", "SELECT key, version, value FROM state ORDER BY key")
    assert output.splitlines() == [
        "key,version,value",
        'goal,1,"{""text"":""ship it""}"',
        'plan,2,"{""step"":2,""todo"":[""a"",""b""],""by"":""bob""}"',
    ]
    assert filled("sql", "--csv", "SELECT 1 AS one") == "one\n1\n"
    rows = list(csv.reader(io.StringIO(filled("sql", ODD), newline="")))
    assert rows == [["x y", "c", "n", "b", "f"], ['a,"b"', "\n\x1bé", "", "00ff", "1.5"]]


def test_json_is_an_object_a_row(filled: Cli) -> None:
    query = "SELECT key, value ->> 'step' AS step FROM state_history WHERE key = 'plan'"
    assert filled.rows("sql", query) == [{"key": "plan", "step": 1}, {"key": "plan", "step": 2}]
    assert filled.rows("sql", ODD) == [
        {"x y": 'a,"b"', "c": "\n\x1bé", "n": None, "b": "00ff", "f": 1.5}
    ]


def test_a_table_is_aligned_and_harmless(filled: Cli) -> None:
    output = filled("sql", "--table", "SELECT key, version FROM state ORDER BY key")
    assert output == "key   version\ngoal        1\nplan        2\n"
    assert "\x1b" not in filled("sql", "--table", ODD)
    assert "\\u000a\\u001b" in filled("sql", "--table", ODD)


@pytest.mark.slow
def test_a_terminal_gets_a_table_that_fits(filled: Cli) -> None:
    query = "SELECT 'x' AS a, printf('%.*c', 300, 'y') AS b, '字' AS c"
    plain = environment(COLUMNS="40", NO_COLOR="1")
    heading, row = on_terminal("sql", query, "--db", filled.db, env=plain).splitlines()
    assert heading.split() == ["a", "b", "c"]
    assert row.startswith("x  yyy")
    assert row.endswith("yyy…  字")
    assert len(row) == 39, "as many columns as there are: one character is two wide"
    output = on_terminal("sql", "--csv", ODD, "--db", filled.db, env=plain)
    assert "\x1b" not in output


def test_limit_and_no_rows(filled: Cli) -> None:
    assert len(filled.rows("sql", "SELECT * FROM events", "--limit", 2)) == 2
    result = filled.run("sql", "SELECT * FROM events WHERE commit_ts > 99")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "no rows\n")
    result = filled.run("sql", "SELECT * FROM events WHERE commit_ts > 99", "--json")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_a_wrong_statement_ends_with_code_2(filled: Cli) -> None:
    assert filled.fails(2, "sql", "SELCT 1") == 'Error: QUERY: near "SELCT": syntax error\n'
    assert "no such table: event" in filled.fails(2, "sql", "SELECT * FROM event")
    assert "not authorized" in filled.fails(2, "sql", "DELETE FROM events")
    decoded_value = json.loads(filled.fails(2, "sql", "SELECT json('{')", "--json"))
    assert decoded_value == {"error": "InvalidInput", "message": "QUERY: malformed JSON"}
    assert "give either --json or --csv" in filled.fails(2, "sql", "SELECT 1", "--csv", "--json")


def test_where_there_is_no_store(cli: Cli) -> None:
    assert "a first write creates one" in cli.fails(4, "sql", "SELECT 1")


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["human", "json"])
def test_ctrl_c_ends_what_would_never_end(filled: Cli, form: tuple[str, ...]) -> None:
    began = INTERRUPTIBLE.replace("main()", TELLING)
    command = [sys.executable, "-c", began, "sql", BOMB, "--db", str(filled.db), *form]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, reports = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 130
    assert "interrupted" in reports
    assert filled("get", "goal")
