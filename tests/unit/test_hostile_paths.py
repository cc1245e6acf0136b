"""Paths that no file can have are refused, with an error of ours and in few words."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda import InvalidInput, MemorandaError, Store
from tests.torture.hostile import BadEquality


class Odd(str):
    """A text that cannot be printed."""

    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __str__


CALLS: dict[str, Callable[[Store, Any], object]] = {
    "backup": lambda store, path: store.backup(path),
    "fork": lambda store, path: store.fork(path, at=1),
    "export_log": lambda store, path: store.export_log(path),
    "checkpoint": lambda store, path: store.checkpoint(signer=path),
    "open": lambda _, path: memoranda.open(path),
    "diagnose": lambda _, path: list(memoranda.diagnose(path)),
    "restore": lambda _, path: memoranda.restore(path, "copy.db"),
    "restore to": lambda _, path: memoranda.restore("s.db", path),
    "import_log": lambda _, path: memoranda.import_log(path, "copy.db"),
    "import_log to": lambda _, path: memoranda.import_log("log.jsonl", path),
    "create_signer": lambda _, path: memoranda.create_signer(path, name="x"),
    "load_signer": lambda _, path: memoranda.load_signer(path),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("paths")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        with memoranda.open("s.db", durability="relaxed") as opened:
            opened.bind(agent_id="a").write(key="k", value={})
            opened.export_log("log.jsonl")
            yield opened


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("path", ["y" * 5_000, "d/" * 3_000 + "x", "y" * 250])
def test_what_is_too_long(store: Store, name: str, path: str) -> None:
    with pytest.raises(InvalidInput, match="too long") as caught:
        CALLS[name](store, path)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("path", ["a\0b", "\ud800", 5, b"x", None])
def test_what_is_no_path(store: Store, name: str, path: object) -> None:
    if (name, path) != ("checkpoint", None):
        with pytest.raises(MemorandaError):
            CALLS[name](store, path)


@pytest.mark.parametrize("name", sorted(CALLS.keys() - {"diagnose"}))
def test_a_file_for_a_folder(store: Store, name: str) -> None:
    with pytest.raises(MemorandaError):
        CALLS[name](store, "s.db/x.key")


def test_a_text_that_cannot_be_printed_is_taken_for_its_characters(
    store: Store, tmp_path: Path
) -> None:
    signer = memoranda.create_signer(Odd(tmp_path / "one.key"), name="x")
    assert memoranda.load_signer(Odd(tmp_path / "one.key")).public == signer.public
    store.export_log(Odd(tmp_path / "log.jsonl"))


def test_what_cannot_be_compared(store: Store) -> None:
    with pytest.raises(InvalidInput, match="durability"):
        memoranda.open("t.db", durability=BadEquality())  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="embedder"):
        memoranda.open("t.db", embedder=BadEquality())  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        store.bind(agent_id="a").remember("x", kind=BadEquality())  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="because"):
        store.write(agent_id="a", key="k", value={}, because=BadEquality())  # type: ignore[arg-type]


def test_a_clock_that_is_none() -> None:
    clock: Any = 5
    with pytest.raises(InvalidInput, match="clock: 5 is not a Clock"):
        list(memoranda.diagnose("s.db", clock=clock))


def test_values_that_are_none_of_the_kind(store: Store) -> None:
    odd: Any = BadEquality()
    agent = store.bind(agent_id="a")
    with pytest.raises(InvalidInput, match="work: 'x' is not a function"):
        agent.transact("x")  # type: ignore[arg-type]
    for retries in (timedelta(days=-1), -1, True, "3", 1.5):
        with pytest.raises(
            InvalidInput, match=r"retries: .* is not a number of retries, 0 or more"
        ):
            agent.transact(lambda transaction: None, retries=retries)  # type: ignore[arg-type]
    for field in ("whole_namespace", "whole_agent"):
        with pytest.raises(InvalidInput, match=field):
            agent.forget(**{field: odd})
    with pytest.raises(InvalidInput, match="embedder"):
        list(memoranda.diagnose("s.db", embedder="/" + "x" * 5_000))
