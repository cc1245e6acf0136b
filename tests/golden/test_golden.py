"""Stores of every released version open, answer as they did, and can be written to."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import memoranda
from tests.scripts import load_script

GOLDEN = Path(__file__).parent
STORES = sorted(GOLDEN.glob("*.db"))


def test_this_version_has_one() -> None:
    assert GOLDEN / f"{memoranda.__version__}.db" in STORES


@pytest.mark.parametrize("golden", STORES, ids=lambda path: path.stem)
def test_every_released_store_opens(golden: Path, tmp_path: Path) -> None:
    copy = tmp_path / golden.name
    shutil.copy(golden, copy)
    target = json.loads(golden.with_suffix(".json").read_text("utf-8"))
    ask = load_script("make_golden").ask
    with memoranda.open(copy, create=False, embedder=None) as store:
        decoded_value = json.loads(json.dumps(ask(store)))
        assert {name: decoded_value[name] for name in target} == target
        assert store.rebuild().identical
        commits = store.stats().commits
        assert store.write(agent_id="new", key="k", value={}).commit_ts == commits + 1
        assert store.verify().commits == commits + 1
