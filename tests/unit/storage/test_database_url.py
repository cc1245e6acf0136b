"""URLs of stores in PostgreSQL: what they name, and what is refused without a server."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import memoranda
from memoranda import InvalidInput, Unavailable
from memoranda.storage.postgres.database_url import is_database_url, parse_database_url

SECRET = "s3cret"
SERVER = f"postgresql://user:{SECRET}@host/db"


def refusal(url: str, **options: object) -> str:
    """Return the text of the refusal, which has no password."""
    with pytest.raises(InvalidInput) as caught:
        memoranda.open(url, **options)  # type: ignore[arg-type]
    assert SECRET not in str(caught.value)
    return str(caught.value)


def test_the_options_are_ours_or_the_librarys() -> None:
    url = parse_database_url("url", f"{SERVER}?sslmode=require&store=acme%2Feu&index=/var/index")
    assert url.conninfo == f"{SERVER}?sslmode=require"
    assert (url.store, url.index) == ("acme/eu", Path("/var/index"))
    assert url.name == "postgresql://host/db?store=acme%2Feu"


@pytest.mark.parametrize("url", [SERVER, f"{SERVER}?store=", f"{SERVER}?store=a%00b"])
def test_a_store_is_named(url: str) -> None:
    assert "store" in refusal(url) or "U+0000" in refusal(url)


@pytest.mark.parametrize("name", ["a%0Ab", "%C2%85", "n" * 257])
def test_a_bad_name_is_refused(name: str) -> None:
    assert "of at most 256 bytes" in refusal(f"{SERVER}?store={name}")


@pytest.mark.parametrize(
    ("rest", "remedy"),
    [
        ("?store=a#b", "%23"),
        ("?store=a&store=b", "twice"),
        ("?store=a&colour=red", "colour"),
    ],
)
def test_what_is_not_understood_is_refused(rest: str, remedy: str) -> None:
    assert remedy in refusal(f"{SERVER}{rest}")


def test_a_broken_host_is_refused() -> None:
    assert "store=name" in refusal(f"postgresql://user:{SECRET}@[::1/db?store=a")


@pytest.mark.parametrize(
    ("option", "value"),
    [("token", "t"), ("timeout", 1.0), ("allow_network_file_system", True)],
)
def test_options_of_other_stores_are_refused(option: str, value: object) -> None:
    assert option in refusal(f"{SERVER}?store=a", **{option: value})


def test_a_durability_that_there_is_not() -> None:
    assert "'full' or 'relaxed'" in refusal(f"{SERVER}?store=a", durability="some")


def test_a_missing_driver_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "memoranda.storage.postgres.engine", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert "pip install 'memoranda[postgres]'" in refusal(f"{SERVER}?store=a")


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="PostgreSQL"):
        memoranda.open(f"postgresql:///db?host={tmp_path}&store=a&index={tmp_path}")


def test_a_file_is_needed_for_a_copy(tmp_path: Path) -> None:
    with (
        memoranda.open(tmp_path / "store.db") as store,
        pytest.raises(InvalidInput, match="a file is needed"),
    ):
        store.backup(f"{SERVER}?store=a")


@pytest.mark.parametrize("url", ["postgres://h/d", "POSTGRESQL://h/d"])
def test_both_schemes_are_understood(url: str) -> None:
    assert is_database_url(url)
    assert not is_database_url("postgresql.db")
