"""How commands end: messages, exit codes, and no traceback."""

from __future__ import annotations

import json

import pytest

from memoranda import Store, errors
from memoranda.cli.exit_codes import MEANINGS, exit_code
from tests.unit.cli.runner import Cli

READING = (
    ("get", "plan"),
    ("keys",),
    ("scan",),
    ("history", "plan"),
    ("diff", "1"),
    ("replay",),
    ("tail", "--timeout", "0"),
    ("cursors",),
    ("verify",),
    ("rebuild",),
    ("stats",),
    ("sql", "SELECT 1"),
)


def all_errors() -> list[type[errors.MemorandaError]]:
    result = [errors.MemorandaError]
    for kind in result:
        result.extend(kind.__subclasses__())
    return result


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: str(kind.__name__))
def test_every_error_has_a_documented_code(kind: type[errors.MemorandaError]) -> None:
    error = kind.__new__(kind)
    expected = 1
    for family, code in (
        (errors.InvalidInput, 2),
        (errors.Corruption, 3),
        (errors.NotProven, 3),
        (errors.NotFound, 4),
        (errors.Conflict, 5),
    ):
        if issubclass(kind, family):
            expected = code
    assert exit_code(error) == expected
    assert expected in MEANINGS


@pytest.mark.parametrize("arguments", READING, ids=lambda arguments: str(arguments[0]))
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["human", "json"])
def test_what_reads_never_creates_a_store(
    cli: Cli, arguments: tuple[str, ...], form: tuple[str, ...]
) -> None:
    message = cli.fails(4, *arguments, *form)
    assert str(cli.db) in message
    assert "a first write creates one" in message
    assert list(cli.home.iterdir()) == []


@pytest.mark.parametrize("arguments", READING, ids=lambda arguments: str(arguments[0]))
def test_what_reads_leaves_no_file_behind(filled: Cli, arguments: tuple[str, ...]) -> None:
    before = filled.db.stat().st_size
    filled(*arguments)
    assert list(filled.home.iterdir()) == [filled.db]
    assert filled.db.stat().st_size == before


def test_an_error_in_json_is_one_object(cli: Cli) -> None:
    decoded_value = json.loads(cli.fails(4, "get", "plan", "--json"))
    assert decoded_value.keys() == {"error", "message"}
    assert decoded_value["error"] == "NotFound"


@pytest.mark.parametrize(
    "arguments",
    [("get",), ("get", "plan", "--bogus"), ("bogus",), ("replay", "--limit", "many")],
)
def test_a_usage_error_is_told_in_both_forms(cli: Cli, arguments: tuple[str, ...]) -> None:
    assert "Usage: memoranda" in cli.fails(2, *arguments)
    assert json.loads(cli.fails(2, *arguments, "--json"))["error"] == "UsageError"


def test_a_file_that_is_no_store(cli: Cli) -> None:
    cli.db.write_text("not a database, but long enough to have a header " * 40)
    assert "--db: " in cli.fails(2, "keys")
    assert "is a folder" in cli.fails(2, "keys", "--db", cli.home)
    assert "is not understood" in cli.fails(2, "keys", "--db", "ftp://example.org")
    assert "'' is not understood" in cli.fails(2, "keys", "--db", "")


def test_a_write_makes_no_folders_it_was_not_asked_for(cli: Cli) -> None:
    folder = cli.home / "missing"
    assert str(folder) in cli.fails(4, "write", "plan", "{}", "--db", folder / "store.db")
    assert not folder.exists()


@pytest.mark.parametrize(
    ("raised", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (BrokenPipeError(), 141, ""),
        (OSError(28, "No space left"), 1, "Error: [Errno 28] No space left\n"),
        (errors.StoreBusy(), 1, f"Error: {errors.StoreBusy.__doc__}\n"),
        (errors.ChainBroken(7, "gone"), 3, None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_goes_wrong_while_a_command_runs(
    filled: Cli,
    monkeypatch: pytest.MonkeyPatch,
    raised: BaseException,
    code: int,
    message: str | None,
) -> None:
    def fail(_store: Store) -> None:
        raise raised

    monkeypatch.setattr(Store, "stats", fail)
    assert filled.fails(code, "stats") == (message if message is not None else f"Error: {raised}\n")


def test_an_interrupt_is_told_in_json_too(filled: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_store: Store) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "stats", interrupt)
    assert json.loads(filled.fails(130, "stats", "--json")) == {
        "error": "Interrupted",
        "message": "interrupted",
    }


def test_a_defect_is_not_dressed_up(filled: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_store: Store) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Store, "stats", fail)
    with pytest.raises(ZeroDivisionError):
        filled.run("stats")
