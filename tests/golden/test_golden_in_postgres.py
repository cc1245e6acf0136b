"""Stores of every released version, copied to PostgreSQL, answer there as they did.

A store in PostgreSQL is a log and views that are derived from it, as in a file. Its tables have no
released version yet; the logs of all versions of the file format are read there from now on.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import memoranda
from tests.golden.test_golden import STORES
from tests.postgres_server import new_store_url
from tests.quick import IS_WHOLE
from tests.scripts import load_script

pytestmark = pytest.mark.slow
_SOME = ("0.1.0", "0.6.0", memoranda.__version__)
COPIED = [path for path in STORES if IS_WHOLE or path.stem in _SOME]


@pytest.mark.parametrize("golden", COPIED, ids=lambda path: path.stem)
def test_every_released_store_answers_in_postgres(golden: Path, tmp_path: Path) -> None:
    file, url, back = tmp_path / golden.name, new_store_url(tmp_path), tmp_path / "back.db"
    shutil.copy(golden, file)
    target = json.loads(golden.with_suffix(".json").read_text("utf-8"))
    ask = load_script("make_golden").ask
    with memoranda.open(file, create=False, embedder=None) as store:
        head = store.verify()
    assert memoranda.copy(file, url).head_hash == head.head_hash
    with memoranda.open(url, create=False, embedder=None) as store:
        answers = json.loads(json.dumps(ask(store)))
        assert {name: answers[name] for name in target} == target
        assert store.verify(deep=True).head_hash == head.head_hash
    assert memoranda.copy(url, back).head_hash == head.head_hash
    with memoranda.open(url, create=False, embedder=None) as store:
        assert store.rebuild().identical
        assert store.write(agent_id="new", key="k", value={}).commit_ts == head.commits + 1
        assert store.verify().commits == head.commits + 1
    with memoranda.open(back, create=False, embedder=None) as store:
        answers = json.loads(json.dumps(ask(store)))
        assert {name: answers[name] for name in target} == target
