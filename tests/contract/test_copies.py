"""Backups, forks and SQL, for every kind of store."""

from __future__ import annotations

from pathlib import Path

import pytest

import memoranda
from memoranda import InvalidInput, Store


def test_a_backup_holds_everything(agent: Store, tmp_path: Path) -> None:
    agent.write(key="k", value={"n": 1})
    steps: list[tuple[int, int]] = []
    backup = agent.backup(tmp_path / "backup.db", progress=lambda *step: steps.append(step))
    assert backup.commits == 1
    assert steps[-1][0] == steps[-1][1]
    with memoranda.open(tmp_path / "backup.db", create=False) as copy:
        assert copy.verify().head_hash == agent.verify().head_hash
    with pytest.raises(InvalidInput, match="path"):
        agent.backup(tmp_path / "backup.db")


def test_a_fork_ends_where_it_is_told_to(agent: Store, tmp_path: Path) -> None:
    for number in range(4):
        agent.write(key="k", value={"n": number})
    assert agent.fork(tmp_path / "fork.db", at=2).commits == 2
    with memoranda.open(tmp_path / "fork.db", create=False) as fork:
        assert fork.verify().commits == 2
        assert [step.value for step in fork.history(agent_id="a1", key="k")] == [
            *({"n": 0}, {"n": 1})
        ]
    with pytest.raises(InvalidInput, match="at"):
        agent.fork(tmp_path / "none.db", at=0)


def test_sql_answers_with_rows(agent: Store) -> None:
    agent.write(key="k", value={"n": 7})
    assert list(agent.sql("SELECT value ->> 'n' AS n FROM state WHERE key = ?", ("k",))) == [
        {"n": 7}
    ]
    assert list(agent.sql("SELECT 1 AS one WHERE 0")) == []
    with pytest.raises(InvalidInput, match="query"):
        agent.sql("DELETE FROM events")


def test_an_exported_log_is_imported_as_it_was(agent: Store, tmp_path: Path) -> None:
    agent.write(key="k", value={"n": 1})
    agent.remember("long " * 2000, title="t")
    steps: list[tuple[int, int]] = []
    export = agent.export_log(tmp_path / "log.jsonl", progress=lambda *step: steps.append(step))
    assert (export.commits, export.lines) == (2, 5)
    assert steps[-1] == (2, 2)
    memoranda.import_log(tmp_path / "log.jsonl", tmp_path / "new.db")
    with memoranda.open(tmp_path / "new.db", create=False) as new:
        assert new.verify().head_hash == agent.verify().head_hash
        again = new.export_log(tmp_path / "again.jsonl")
    assert again == export
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "log.jsonl").read_bytes()
    with pytest.raises(InvalidInput, match="path"):
        agent.export_log(tmp_path / "log.jsonl")
