"""The store that is attacked, made once; what works on it gets a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.stores import scratch
from tests.tamper.content import make_store


@pytest.fixture(scope="session")
def pristine() -> Iterator[Path]:
    with scratch() as folder:
        yield make_store(folder)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with scratch() as lent:
        monkeypatch.setattr("tempfile.tempdir", str(lent))
        yield lent


@pytest.fixture
def path(folder: Path, pristine: Path) -> Path:
    copy = folder / "copy.db"
    copy.write_bytes(pristine.read_bytes())
    return copy
