"""Rebuilding: what it refuses, what interrupts it, and when it happens by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import memoranda
from memoranda import ChainBroken, Corruption, Store
from memoranda.state.view import StateView


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with memoranda.open(path, durability="relaxed") as opened:
        agent = opened.bind(agent_id="a")
        for number in range(5):
            agent.write(key="k", value={"n": number})
        yield agent


class Interrupted(Exception):
    """What somebody's progress bar might raise."""


@pytest.mark.parametrize("moment", [1, 2, 5])
def test_one_that_is_given_up_half_way_changes_nothing(store: Store, moment: int) -> None:
    def progress(done: int, _: int) -> None:
        if done == moment:
            raise Interrupted

    with pytest.raises(Interrupted):
        store.rebuild(progress=progress)
    store.write(key="k", value={"n": 5})
    assert [entry.version for entry in store.history(key="k")] == [1, 2, 3, 4, 5, 6]
    assert store.rebuild().identical


def test_views_of_a_changed_log_are_refused(path: Path, store: Store) -> None:
    store.close()
    database = apsw.Connection(str(path))
    database.execute("DELETE FROM event WHERE commit_ts = 3")
    database.close()
    with memoranda.open(path) as damaged, pytest.raises(ChainBroken, match="commit 3"):
        damaged.rebuild()


def test_views_another_version_wrote_are_rebuilt_when_opened(
    path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.close()
    database = apsw.Connection(str(path))
    database.execute("DELETE FROM state_version")
    database.close()
    with memoranda.open(path) as same:
        assert list(same.history(agent_id="a", key="k")) == []
    monkeypatch.setattr(StateView, "version", StateView.version + 1)
    with memoranda.open(path) as newer:
        assert len(list(newer.history(agent_id="a", key="k"))) == 5


def test_a_log_without_its_id_is_damaged(path: Path, store: Store) -> None:
    store.close()
    database = apsw.Connection(str(path))
    database.execute("DELETE FROM meta WHERE name = 'log_id'")
    database.close()
    with pytest.raises(Corruption, match="id is missing"):
        memoranda.open(path)


def test_opening_tells_how_far_bringing_views_up_to_date_is(path: Path, store: Store) -> None:
    store.close()
    reports: list[tuple[int, int]] = []
    with memoranda.open(path, progress=lambda *far: reports.append(far)):
        assert reports == [], "there is nothing to do"
    set_version(path, "state", "0")
    with pytest.raises(Interrupted):
        memoranda.open(path, progress=give_up)
    with memoranda.open(path, progress=lambda *far: reports.append(far)) as newer:
        assert reports == [(number, 5) for number in range(1, 6)]
        assert len(list(newer.history(agent_id="a", key="k"))) == 5


def test_what_an_older_version_derived_of_facts_is_derived_anew(path: Path, store: Store) -> None:
    about: dict[str, Any] = {"subject": "Ann", "relation": "knows", "object": "Bob"}
    for since, until in (("2020", "2029"), ("2022", "2024")):
        year = (f"{since}-01-01T00:00:00Z", f"{until}-01-01T00:00:00Z")
        store.assert_fact(**about, valid_from=year[0], valid_to=year[1])
    store.close()
    database = apsw.Connection(str(path))
    database.execute("UPDATE graph_statement SET bound = 9223372036854775807")
    database.execute("UPDATE graph_edge SET valid_to = (SELECT MIN(valid_to) FROM graph_edge)")
    database.close()
    set_version(path, "graph", "1")
    with memoranda.open(path) as newer:
        facts = newer.timeline(subject="Ann", relation="knows", agent_id="a")
        assert [fact.valid_to and fact.valid_to.year for fact in facts] == [2029, 2024]


def set_version(path: Path, view: str, version: str) -> None:
    database = apsw.Connection(str(path))
    database.execute("UPDATE meta SET value = ? WHERE name = ?", (version, f"view:{view}"))
    database.close()


def give_up(_: int, __: int) -> None:
    raise Interrupted
