"""Whoever sends structs of their own gets an answer or one of our errors, whatever is in them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

import memoranda
from memoranda import MemorandaError, Signer, Store
from memoranda.calls.arguments import TypedText
from memoranda.calls.call import call_name
from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.calls.key_writes import Delete, Write
from memoranda.calls.memory_writes import Remember
from memoranda.calls.registry import HANDLERS, WRITES, handle, stage_write
from memoranda.log.commit.request_signature import RequestSignature
from memoranda.model.refs import FactRef, KeyRef, MemoryRef, TranscriptRef
from memoranda.testing import FixedClock, FixedIds
from tests.cores import core_of
from tests.quick import only

KEY = Signer("a", b"a" * 32).public.text
ROUNDS = 60
SEEDS = 10
DEEP: list[Any] = []
for _ in range(5_000):
    DEEP = [DEEP]
HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**63, -(2**70), 10**5000, 1.5, math.nan, math.inf, "", " ", "k",
    "a", "default", "a//b", "\0", "\ud800", "x" * 10_000, "é" * 3, b"", b"\xff", [], (), {}, [1],
    ("a",), ["a", None], {"a": 1}, {1: 2}, DEEP, {"a": DEEP}, object(), int, datetime.now(UTC),
    datetime(2026, 1, 1), date(2026, 1, 1), KeyRef("k"), KeyRef(7),  # type: ignore[arg-type]  # noqa: DTZ001
    MemoryRef("\0"), FactRef(""), TranscriptRef("t", ((5, 1),)), TypedText("date", "x"),
    TypedText(7, []), frozenset(["a"]), "2026-01-01T00:00:00Z", "SELECT 1", "memory",  # type: ignore[arg-type]
    (Write("a", "default", "k", {}),), [Delete("a", "default", 7)], Remember("a", "", "x"),  # type: ignore[arg-type]
    ({"read": "KeyRead", "scope": ["default", "a"], "key": "k"},), [{"read": "MemoryRead"}],
    RequestSignature("\ud800", "", b"", b""), RequestSignature(KEY, "log", bytes(16), bytes(64)),
    RequestSignature(7, None, "x", 1.5),  # type: ignore[arg-type]
)  # fmt: skip


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let copies whose path is hostile go to a folder of the test's own."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with memoranda.open(":memory:", clock=FixedClock(), ids=FixedIds(), embedder=None) as opened:
        agent = opened.bind(agent_id="a")
        words = agent.store_transcript("Ann: I live in Bonn.")
        memory = agent.remember("Ann lives in Bonn", title="k", transcript=words)
        agent.reflect("she moved", on=memory)
        agent.assert_fact(subject="Ann", relation="lives in", object="Bonn", source=memory)
        agent.write(key="k", value={"n": 1}, because=memory)
        yield opened


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let calls that write a file, at whatever path they are given, write it here."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("seed", only([0, 1], range(SEEDS)))
@pytest.mark.parametrize("kind", HANDLERS, ids=call_name)
def test_hostile_arguments(store: Store, kind: Any, seed: int) -> None:
    chance = Random(f"{call_name(kind)} {seed}")
    for _ in range(ROUNDS):
        names = kind.__struct_fields__
        arguments = {name: chance.choice(HOSTILE) for name in names}
        for name in chance.sample(names, chance.randrange(len(names) + 1)):
            arguments[name] = _harmless(name)  # so that the others are reached
        grant = chance.choice([EVERYTHING, Grant("a"), Grant("b", frozenset("b"), frozenset())])
        try:
            answer: Any = handle(core_of(store), grant, kind(**arguments))
            if kind.shape != "value":
                answer.next_page()
        except MemorandaError:
            continue


@pytest.mark.parametrize("seed", only([0, 1], range(SEEDS)))
@pytest.mark.parametrize("kind", WRITES, ids=call_name)
def test_hostile_writes(store: Store, kind: Any, seed: int) -> None:
    chance, core = Random(f"{call_name(kind)} {seed}"), core_of(store)
    for _ in range(ROUNDS):
        names = kind.__struct_fields__
        arguments = {name: chance.choice(HOSTILE) for name in names}
        for name in chance.sample(names, chance.randrange(len(names) + 1)):
            arguments[name] = _harmless(name)
        grant = chance.choice([EVERYTHING, Grant("a"), Grant("b", frozenset("b"), frozenset())])
        try:
            staged = stage_write(core, grant, kind(**arguments))
            staged.answer(core.committer.commit(staged.request))
        except MemorandaError:
            continue


def test_what_hostile_writes_leave_behind_is_a_valid_store(store: Store) -> None:
    store.verify(deep=True)


def _harmless(name: str) -> Any:
    values = {"agent_id": "a", "namespace": "default", "key": "k", "query": "SELECT 1"}
    numbers = {"hops": 1, "max_hops": 1, "limit": 1, "k": 1, "buckets": 3, "score": 0.9}
    return values.get(name, numbers.get(name))
