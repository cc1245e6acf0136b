"""Durability on PostgreSQL: relaxed commits do not wait for the disk, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import psycopg
import pytest

from memoranda import Store
from memoranda.sdk.local.calls import LocalCalls
from memoranda.storage.postgres.engine import PostgresEngine
from tests.postgres_server import new_database, new_store_url, open_postgres

pytestmark = pytest.mark.slow

RECORD_SETTING = """
CREATE TABLE setting_of_commit (value TEXT);
CREATE FUNCTION record_setting() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO setting_of_commit VALUES (current_setting('synchronous_commit'));
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER record_setting AFTER INSERT ON memoranda.event
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION record_setting();
"""
"""The trigger runs as part of each commit, and sees the setting that the commit goes by."""


def one_statement(store: Store) -> None:
    for number in range(3):
        store.write(agent_id="a", key="k", value={"n": number})


def several_statements(store: Store) -> None:
    for number in range(3):
        store.remember(f"memory {number}", agent_id="a", title="title")


def under_the_lock(store: Store) -> None:
    memory = store.remember("a secret", agent_id="a")
    store.forget(memory_id=memory.id, reason="asked to")


@pytest.mark.parametrize("work", [one_statement, several_statements, under_the_lock])
@pytest.mark.parametrize(("durability", "setting"), [("full", "on"), ("relaxed", "off")])
@pytest.mark.parametrize("count", [1, 2])
def test_commits_wait_for_the_disk_unless_relaxed(
    tmp_path: Path, durability: str, setting: str, work: Callable[[Store], None], count: int
) -> None:
    """With two stores, their statements are sent by a connection that they share."""
    database = new_database("memoranda_durability")
    with psycopg.connect(database, autocommit=True) as server:
        server.execute(f"ALTER DATABASE {server.info.dbname} SET synchronous_commit = 'on'")
        with ExitStack() as stack:
            stores = []
            for _ in range(count):
                url = new_store_url(tmp_path, database=database)
                stores.append(stack.enter_context(open_postgres(url, durability=durability)))
            server.execute(RECORD_SETTING)
            with ThreadPoolExecutor(count) as threads:
                list(threads.map(work, stores))
            rows = server.execute("SELECT DISTINCT value FROM setting_of_commit").fetchall()
            assert rows == [(setting,)]
            assert [own_setting(store) for store in stores] == ["on"] * count, "nothing is left"


def own_setting(store: Store) -> str:
    writer = cast("PostgresEngine", cast("LocalCalls", store._calls).core.engine)._writer
    assert writer is not None
    row = writer.database.execute("SHOW synchronous_commit").fetchone()
    assert row is not None
    return str(row[0])
