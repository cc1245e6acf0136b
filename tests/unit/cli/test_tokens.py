"""Tokens on the command line: created, listed, rotated and revoked."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from memoranda import Unauthenticated
from memoranda.calls.grant import Grant
from memoranda.cli.call_limits import NAMES
from memoranda.server.control_store import ControlStore
from memoranda.server.token_limits import CallLimits, TokenLimits
from memoranda.server.tokens import Token
from tests.unit.cli.runner import Cli

SECRET = re.compile(r"mmr_([a-z2-7]{16})_[A-Za-z0-9_-]{43}")


@pytest.fixture
def stores(tmp_path: Path) -> Path:
    folder = tmp_path / "stores"
    folder.mkdir()
    (folder / "acme.db").touch()
    return folder


def authenticated(stores: Path, secret: str) -> Token:
    with ControlStore(stores / "_control.db") as control:
        return control.tokens.authenticate(secret.strip())


def test_a_secret_is_printed_once_and_alone(cli: Cli, stores: Path) -> None:
    options = ("--agent", "a1", "--namespace", "team/*", "--can", "read, forget", "--note", "ours")
    place = ("--stores", stores, "--store", "acme")
    result = cli.run("token", "create", *place, *options, "--expires", "30d")
    assert result.exit_code == 0
    match = SECRET.fullmatch(result.stdout.strip())
    assert match is not None
    assert result.stderr.strip() == (
        f"this is the secret of token {match[1]}: keep it, it is not shown again"
    )
    token = authenticated(stores, result.stdout)
    verbs = frozenset(["read", "forget"])
    assert token.grant == Grant("a1", frozenset(["a1"]), frozenset(["team"]), verbs)  # type: ignore[arg-type]
    assert (token.store, token.note) == ("acme", "ours")
    listing = cli("token", "list", "--stores", stores)
    assert listing.splitlines()[1].split()[:3] == [match[1], "active", "acme"]
    assert match[0] not in listing + json.dumps(cli.rows("token", "list", "--stores", stores))


def test_the_same_as_json(cli: Cli, stores: Path) -> None:
    cli.env["MEMORANDA_STORES"] = str(stores)
    row = cli.row(
        "token", "create", "--store", "*", "--agent", "a1", "--covers", "a2", "--covers", "a0",
        "--limit", "requests-per-second=2.5", "--limit", "open-streams=3",
        "--expires", "2100-01-01",
    )  # fmt: skip
    assert authenticated(stores, row.pop("secret")).id == row["id"]
    assert row == {
        "id": row["id"],
        "state": "active",
        "store": None,
        "agent": "a1",
        "agents": ["a0", "a1", "a2"],
        "namespaces": None,
        "can": ["read", "write"],
        "limits": {"requests_per_second": 2.5, "open_streams": 3},
        "created_at": row["created_at"],
        "expires_at": "2100-01-01T00:00:00.000000Z",
        "rotated_at": None,
        "revoked_at": None,
        "note": None,
    }
    assert cli.rows("token", "list") == [row]
    assert cli.rows("token", "list", "--store", "acme") == [row]


def test_the_environment_s_agent_and_namespace_do_not_count(cli: Cli, stores: Path) -> None:
    cli.env["MEMORANDA_AGENT"], cli.env["MEMORANDA_NAMESPACE"] = "planner", "team"
    secret = cli("token", "create", "--stores", stores, "--store", "acme")
    assert authenticated(stores, secret).grant == Grant(verbs=frozenset(["read", "write"]))


def test_rotate_and_revoke(cli: Cli, stores: Path) -> None:
    cli.env["MEMORANDA_STORES"] = str(stores)
    first = cli("token", "create", "--store", "acme")
    (row,) = cli.rows("token", "list")
    second = cli("token", "rotate", row["id"], "--grace", "1h")
    assert authenticated(stores, first).id == authenticated(stores, second).id == row["id"]
    third = cli("token", "rotate", row["id"], "--expires", "1d")
    for old in (first, second):
        with pytest.raises(Unauthenticated):
            authenticated(stores, old)
    assert authenticated(stores, third).expires_at is not None
    assert cli("token", "revoke", third.strip()) == f"revoked {row['id']}\n"
    with pytest.raises(Unauthenticated):
        authenticated(stores, third)
    assert cli.row("token", "revoke", row["id"])["state"] == "revoked"
    assert "create a new token" in cli.fails(2, "token", "rotate", row["id"])


def test_a_server_of_one_file(cli: Cli) -> None:
    secret = cli("token", "create")
    path = cli.db.with_name("store.db-control")
    with ControlStore(path, create=False) as control:
        assert control.tokens.authenticate(secret.strip()).store is None
    assert len(cli.rows("token", "list", "--db", cli.db)) == 1
    assert not cli.db.exists()
    error = cli.fails(2, "token", "create", "--store", "acme")
    assert error == "Error: --store: a server of one store has no other: leave it out\n"


def test_a_store_that_is_not_there_yet_is_pointed_out(cli: Cli, stores: Path) -> None:
    result = cli.run("token", "create", "--stores", stores, "--store", "typo")
    assert result.exit_code == 0
    assert "there is no store 'typo' yet: `memoranda stores create typo`" in result.stderr
    assert SECRET.fullmatch(result.stdout.strip())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--store: is missing"),
        (("--store", "_control"), "--store: '_control' is not the name of a store"),
        (("--store", "a", "--db", "x.db"), "--stores: is given with --db"),
        (("--store", "a", "--namespace", "team/*"), "--agent: is missing: name the agent"),
        (("--store", "a", "--agent", "x", "--namespace", "team"), "--namespace: 'team' names one"),
        (("--store", "a", "--agent", "x", "--covers", ""), "--covers: is empty"),
        (("--store", "a", "--can", "raed"), "--can: 'raed' is not one of read"),
        (("--store", "a", "--can", ""), "--can: '' is not one of read"),
        (("--store", "a", "--expires", "soon"), "--expires: 'soon' is neither"),
        (("--store", "a", "--limit", "calls=1"), "--limit: 'calls=1' is not NAME=N"),
        (("--store", "a", "--limit", "open-streams=x"), "--limit: 'open-streams=x' is not NAME=N"),
        (("--store", "a", "--limit", "open-streams=0"), "--limit: 0 is not a positive number"),
        (("--store", "a", "--note", "x" * 5000), "--note: has 5000 bytes"),
    ],
)
def test_an_error_names_the_option(
    cli: Cli, stores: Path, options: tuple[str, ...], message: str
) -> None:
    assert f"Error: {message}" in cli.fails(2, "token", "create", "--stores", stores, *options)
    assert (
        list((stores).glob("_control*")) == []
        or cli.rows("token", "list", "--stores", stores) == []
    )


def test_every_limit_has_a_name() -> None:
    names = tuple(name.replace("_", "-") for name in CallLimits.__struct_fields__)
    assert names == NAMES
    assert CallLimits.__struct_fields__ == TokenLimits.__struct_fields__


def test_what_is_not_there_is_not_found(cli: Cli, stores: Path) -> None:
    place = ("--stores", stores)
    assert "there is no token yet" in cli.fails(4, "token", "list", *place)
    assert list(stores.glob("_control*")) == [], "looking makes nothing"
    cli("token", "create", *place, "--store", "acme")
    for command in ("rotate", "revoke"):
        error = cli.fails(4, "token", command, "absent", *place)
        assert error.startswith("Error: TOKEN: there is no token 'absent': `memoranda token list`")
    absent = ("--stores", stores / "absent", "--store", "a")
    assert "--stores: there is no folder" in cli.fails(4, "token", "create", *absent)
