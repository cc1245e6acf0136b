"""Forks of a log of which something was erased: erased in the fork too, and vouched for there."""

from __future__ import annotations

from pathlib import Path

import pytest

import memoranda
from tests.leftovers import leftovers


def fill(store: memoranda.Store) -> None:
    ann = store.bind(agent_id="ann")
    ann.write(key="first", value={"v": "firstword"})
    ann.write(key="second", value={"v": "secondword"})
    ann.forget(key="first")
    ann.write(key="third", value={"v": "thirdword"})
    ann.forget(key="second")
    store.forget(whole_agent="ann")


@pytest.mark.parametrize("at", range(1, 7))
def test_a_fork_verifies_wherever_it_begins(tmp_path: Path, at: int) -> None:
    path, target = tmp_path / "store.db", tmp_path / "fork.db"
    with memoranda.open(path) as store:
        fill(store)
        instance = store.fork(target, at=at)
    with memoranda.open(target) as fork:
        assert fork.verify().commits == instance.commits == (at if at == 6 else at + 1)
        result = fork.rebuild()
        assert result.identical, result.differing
        fork.write(agent_id="bob", key="k", value={})
        fork.verify()
        assert list(fork.erasures())[-1].target == ("agent" if at == 6 else "fork")
    words = {b"firstword", b"secondword", b"thirdword", b"ann"}
    assert leftovers(target, words) == set()


def test_a_backup_is_as_pending_as_its_store(tmp_path: Path) -> None:
    with memoranda.open(tmp_path / "store.db") as store:
        store.write(agent_id="ann", key="k", value={"v": "secretword"})
        assert store.bind(agent_id="ann").forget(key="k", purge=False).pending_purge
        store.backup(tmp_path / "copy.db")
    with memoranda.open(tmp_path / "copy.db") as copy:
        assert copy.stats().pending_purge
        assert copy.purge()
        copy.verify()
    assert leftovers(tmp_path / "copy.db", {b"secretword"}) == set()
