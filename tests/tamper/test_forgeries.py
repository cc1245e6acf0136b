"""What looks whole from inside: only a head that is kept elsewhere finds it."""

from __future__ import annotations

from pathlib import Path

import pytest

import memoranda
from memoranda import ALL_AGENTS, ALL_NAMESPACES
from tests.quick import only
from tests.tamper.forgeries import FORGERIES
from tests.tamper.tables import opened


@pytest.mark.parametrize("name", only(list(FORGERIES)[:1], FORGERIES))
def test_a_forgery_is_whole_and_does_not_have_the_old_head(path: Path, name: str) -> None:
    with memoranda.open(path, create=False) as store:
        recorded = store.verify(deep=True)
    FORGERIES[name](path)
    with memoranda.open(path, create=False) as store:
        assert store.verify(deep=True).log_id
    with opened(path) as database:
        query = "SELECT hex(hash) FROM event WHERE commit_ts = ?"
        result = database.execute(query, (recorded.commits,)).get
    assert result is None or result.lower() != recorded.head_hash


@pytest.mark.parametrize("name", FORGERIES)
def test_a_cursor_that_is_left_behind_is_a_witness(path: Path, name: str) -> None:
    with memoranda.open(path, create=False) as store:
        head = store.verify().commits
        with store.subscribe(
            agent_id=ALL_AGENTS, namespace=ALL_NAMESPACES, cursor="late", after_commit=head - 1
        ) as feed:
            feed.ack(next(feed))
    with opened(path) as database:
        (row,) = database.execute("SELECT * FROM meta WHERE name = 'cursor:late'").fetchall()
    FORGERIES[name](path)
    with opened(path) as database:
        database.execute("INSERT INTO meta VALUES (?, ?)", row)
    with (
        memoranda.open(path, create=False) as store,
        pytest.raises(memoranda.ChainBroken, match="cursor 'late'") as caught,
    ):
        store.verify()
    assert caught.value.commit_ts <= head
