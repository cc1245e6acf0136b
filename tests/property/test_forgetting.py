"""Random histories with forgetting mixed in: what is to go is gone, and all else is as it was."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import memoranda
from tests.leftovers import leftovers
from tests.property.forgetful import SALT, History, salts_of
from tests.quick import only
from tests.searching import fill

RUNS = 6
STEPS = 60
FORGETS = 6


def check(history: History, path: Path, before: dict[str, object], salts: set[bytes]) -> None:
    store = history.store
    store.verify(deep=True)
    result = store.rebuild()
    assert result.identical, result.differing
    after = history.content()
    assert after == {name: before[name] for name in after}
    words = {word.encode() for word in history.gone}
    assert leftovers(path, words) == set()
    assert leftovers(path, salts) == set()


@pytest.mark.parametrize("seed", only([0], range(RUNS)))
def test_what_is_to_go_is_gone_and_all_else_is_as_it_was(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "store.db"
    random = Random(seed)
    with memoranda.open(path, durability="relaxed") as store:
        history = History(store, random)
        names: set[bytes] = set()
        for _ in range(FORGETS):
            for _ in range(STEPS):
                history.step()
            if random.random() < 0.8:  # else it is forgotten while it waits to be indexed
                fill(store)
            before, salts = history.content(), salts_of(path)
            if not history.forget():
                continue
            remainder = salts_of(path)
            for name, reference in salts.names.items():
                names |= reference if name not in remainder.present else set()
            for commit_ts, old in salts.events.items():
                pairs = list(zip(old, remainder.events[commit_ts], strict=True))
                names |= {was for was, now in pairs if was != now}
                assert all(now in (was, bytes(SALT)) for was, now in pairs)
            check(history, path, before, names - {bytes(SALT), *remainder.opened})
    with memoranda.open(path) as store:
        assert not store.stats().pending_purge
        store.verify()
