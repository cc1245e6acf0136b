"""A long log travels as a short one does."""

from __future__ import annotations

from pathlib import Path

import pytest

import memoranda
import memoranda_verify
from tests.bulk import write_events

EVENTS = 100_000


@pytest.mark.slow
def test_a_hundred_thousand_events_travel(tmp_path: Path) -> None:
    write_events(tmp_path / "store.db", EVENTS, agents=10)
    with memoranda.open(tmp_path / "store.db", create=False) as store:
        export = store.export_log(tmp_path / "log.jsonl")
        verified = store.verify()
    assert (export.commits, export.head_hash) == (EVENTS, verified.head_hash)
    with (tmp_path / "log.jsonl").open("rb") as opened:
        assert memoranda_verify.check_log(opened, [])["commits"] == EVENTS
    result = memoranda.import_log(tmp_path / "log.jsonl", tmp_path / "new.db")
    assert result.head_hash == verified.head_hash
    with memoranda.open(tmp_path / "new.db", create=False) as new:
        assert new.export_log(tmp_path / "again.jsonl") == export
        assert new.rebuild().identical
    with (tmp_path / "log.jsonl").open("rb") as one, (tmp_path / "again.jsonl").open("rb") as two:
        assert all(line == other for line, other in zip(one, two, strict=True))
