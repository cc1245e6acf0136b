"""Commands on a store of a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import wait_until
from tests.server_process import ServerThread
from tests.unit.cli.runner import Cli


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerThread]:
    folder = tmp_path / "stores"
    folder.mkdir()
    with ServerThread(folder=folder, create=["acme"]) as running:
        yield running


@pytest.fixture
def remote(cli: Cli, server: ServerThread) -> Cli:
    cli.env["MEMORANDA_DB"] = server.url("grpc")
    return cli


@pytest.mark.parametrize("scheme", ["grpc", "http"])
def test_they_do_what_they_do_on_a_file(remote: Cli, server: ServerThread, scheme: str) -> None:
    remote.env["MEMORANDA_DB"] = server.url(scheme)
    remote("write", "plan", '{"step": 1}')
    remote("remember", "Ann likes tea", "--title", "Ann")
    remote("fact", "assert", "Ann", "lives in", "Bonn")
    assert remote("keys") == "plan\n"
    assert "Ann likes tea" in remote("recall", "what does Ann like?")
    assert [event["commit_ts"] for event in remote.rows("replay")] == [1, 2, 3]
    assert remote.row("verify")["commits"] == 3
    assert remote.row("stats")["store"] == remote.env["MEMORANDA_DB"]
    assert "Bonn" in remote("fact", "list")
    remote("forget", "key", "plan", "--yes")
    assert remote("keys") == ""


@pytest.mark.parametrize(
    "command",
    [("backup", "copy.db"), ("fork", "copy.db", "--at", "0"), ("export", "log", "l.jsonl")],
)
def test_what_needs_the_file_says_so(remote: Cli, command: tuple[str, ...]) -> None:
    assert "Open the file where the server has it" in remote.fails(2, *command)


@pytest.mark.parametrize("command", [("doctor",), ("restore", "copy.db"), ("import", "log", "-")])
def test_what_opens_the_file_says_so(remote: Cli, command: tuple[str, ...]) -> None:
    (remote.home / "copy.db").touch()
    result = remote.run(*command)
    assert result.exit_code == 2
    assert "here a file is needed" in result.stderr


@pytest.mark.parametrize("url", ["grpc://127.0.0.1:1/acme", "http://127.0.0.1:1/acme"])
def test_a_server_that_does_not_answer(cli: Cli, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setattr("memoranda.sdk.remote.options.DEFAULT_TIMEOUT", 0.2)
    assert "does not answer" in cli.fails(1, "keys", "--db", url)


def test_a_token_says_who_calls(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "stores"
    folder.mkdir()
    with ServerThread(folder=folder, create=["acme"], tokens=True) as server:
        created = cli.row(
            "token", "create", "--stores", folder, "--store", "acme", "--agent", "ann"
        )
        secret = created["secret"]
        url = server.url("grpc")
        for scheme in ("grpc", "http"):
            assert "asks for a token" in cli.fails(1, "keys", "--db", server.url(scheme))
        write = ("write", "plan", "{}", "--db", url, "--token", secret, "--agent", "ann")
        wait_until(lambda: cli.run(*write).exit_code == 0)  # the server has to notice the token
        cli.env["MEMORANDA_TOKEN"] = secret
        for scheme in ("grpc", "http"):
            (event,) = cli.rows("replay", "--db", server.url(scheme), "--agent", "ann")
            assert event["actor"] == "ann"
