"""Whoever waits for an erasure on the command line is told what is under way."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memoranda import Store
from memoranda.cli.commands import forget
from tests.unit.cli.runner import Cli


@pytest.fixture
def titles(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note under which title each call that erases, or looks what would go, is made."""
    under, calls = list[str](), list[str]()

    @contextmanager
    def spinner(title: str) -> Iterator[None]:
        under.append(title)
        yield
        under.pop()

    monkeypatch.setattr(forget, "spinner", spinner)
    for name in ("forget", "sweep"):
        original = getattr(Store, name)

        def noted(self: Store, original: Any = original, **arguments: Any) -> Any:
            calls.append(under[-1] if under else "nothing")
            return original(self, **arguments)

        monkeypatch.setattr(Store, name, noted)
    return calls


def test_sweeping(cli: Cli, titles: list[str]) -> None:
    cli("remember", "longword")
    cli("sweep", "--yes")
    cli("remember", "shortword", "--ttl", "0.001")
    time.sleep(0.01)
    cli("sweep", "--expired-for", "0.001", "--yes")
    assert titles == ["Looking", "Looking", "Looking", "Erasing"]


def test_forgetting(cli: Cli, titles: list[str]) -> None:
    memory = cli.row("remember", "secretword")["id"]
    cli("forget", "memory", memory, "--yes")
    assert titles == ["Looking", "Erasing"]
