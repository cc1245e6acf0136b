"""The command that sums up a namespace's log."""

from __future__ import annotations

import pytest

from tests.unit.cli.runner import Cli


@pytest.fixture
def grown(cli: Cli) -> Cli:
    for number in range(1, 6):
        cli("write", "k", f'{{"n": {number}}}')
    return cli


def test_a_dry_run_says_what_would_go(grown: Cli) -> None:
    reports = grown("compact", "--before", 4, "--dry-run")
    assert reports == "Would erase 3 operations of default up to commit 4; 1 stay.\n"
    assert len(grown.rows("history", "k")) == 5


def test_it_is_done_where_that_is_said(grown: Cli) -> None:
    message = grown.fails(2, "compact", "--before", 4)
    assert message == "Error: --yes: is missing: give it, or --dry-run to see what would go\n"
    reports = grown("compact", "--before", 4, "--yes", "--reason", "enough")
    assert reports == "Erased 3 operations of default up to commit 4; 1 stay. Commit 6.\n"
    message = grown.fails(4, "history", "k")
    assert message == (
        "Error: version 1 of key 'k' is gone: the log is summed up to commit 4, ask from there on\n"
    )
    assert [row["version"] for row in grown.rows("history", "k", "--since", 4)] == [4, 5]
    assert (
        grown("compact", "--before", 4, "--yes")
        == "Nothing to compact in default up to commit 4.\n"
    )
    assert grown("verify")


def test_in_json(grown: Cli) -> None:
    preview = grown.row("compact", "--before", 5, "--dry-run")
    assert preview["outcome"] == "unchanged"
    assert preview["commit_ts"] is preview["committed_at"] is None
    row = grown.row("compact", "--before", 5, "--yes")
    at = grown.rows("replay")[0]["committed_at"]
    (erasure,) = grown.rows("certificate")
    assert row == {
        "namespace": "default",
        "horizon": 5,
        "horizon_at": at,
        "erased": 4,
        "retained": 1,
        "commit_ts": 6,
        "committed_at": erasure["committed_at"],
        "unfinished": False,
        "outcome": "deleted",
    }


def test_a_person_is_asked(grown: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoranda.cli.commands.maintenance.is_interactive", lambda: True)
    refused = grown.run("compact", "--before", 4, stdin="n\n")
    assert refused.exit_code == 1
    question = "Erase 3 operations of default up to commit 4 for good? [y/N]: "
    assert question in refused.stderr
    assert len(grown.rows("history", "k")) == 5
    assert grown.run("compact", "--before", 4, stdin="y\n").exit_code == 0
    assert len(grown.rows("history", "k", "--since", 4)) == 2


def test_by_retention(grown: Cli) -> None:
    message = grown.fails(2, "compact", "--retention", "--yes")
    assert message.startswith("Error: --before: namespace 'default' has no log_retention")
    grown("configure", "--log-retention", 3600)
    reports = grown("compact", "--retention", "--yes")
    assert reports == "Nothing to compact in default up to commit 0.\n"


def test_a_horizon_is_named_once(grown: Cli) -> None:
    for arguments in ((), ("--before", 3, "--retention")):
        message = grown.fails(2, "compact", "--yes", *arguments)
        assert message == "Error: --before: give either this or --retention\n"


def test_replay_says_where_it_begins(grown: Cli) -> None:
    grown("compact", "--before", 4, "--yes")
    first, second, _ = grown("replay").split("\n\n")
    assert first.splitlines()[0].endswith("  summary of compacted commits")
    assert "summary" not in second
    assert [row.get("summary") for row in grown.rows("replay")] == [True, None]
