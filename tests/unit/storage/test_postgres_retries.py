"""Transactions that the database undoes because of others (SQLSTATE 40001) are tried again.

PostgreSQL does so on a standby and at stricter levels of isolation; CockroachDB, YugabyteDB and
Aurora DSQL do so often. Here a trigger does, at its first runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from memoranda import Store, StoreBusy
from tests.postgres_server import new_database, new_store_url, open_postgres

pytestmark = pytest.mark.slow

UNDO = """
CREATE SEQUENCE attempt;
CREATE TABLE refusal (count BIGINT);
INSERT INTO refusal VALUES (0);
CREATE FUNCTION undo() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('attempt') <= (SELECT count FROM refusal) THEN
        RAISE EXCEPTION 'somebody was faster' USING ERRCODE = '40001';
    END IF;
    RETURN NULL;
END $$;
"""
AT_ONCE = """
CREATE TRIGGER undo AFTER INSERT ON memoranda.event FOR EACH ROW EXECUTE FUNCTION undo()
"""
AT_COMMIT = """
CREATE CONSTRAINT TRIGGER undo AFTER INSERT ON memoranda.event
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION undo()
"""


@pytest.fixture
def database() -> str:
    return new_database("memoranda_retries")


@pytest.fixture(params=[AT_ONCE, AT_COMMIT], ids=["at once", "at commit"])
def store(request: pytest.FixtureRequest, database: str, tmp_path: Path) -> Iterator[Store]:
    with closing(open_postgres(new_store_url(tmp_path, database=database))) as store:
        with psycopg.connect(database, autocommit=True) as server:
            server.execute(UNDO)
            server.execute(request.param)
        for number in range(3):
            store.write(agent_id="a", key="k", value={"n": number})
        yield store


def undo_next(database: str, count: int) -> None:
    with psycopg.connect(database, autocommit=True) as server:
        server.execute("UPDATE refusal SET count = (SELECT last_value FROM attempt) + %s", [count])


def write(store: Store) -> int:
    return store.write(agent_id="a", key="k", value={"n": 4}).commit_ts


def remember(store: Store) -> int | None:
    return store.remember("a cat", agent_id="a", title="cat").commit_ts


@pytest.mark.parametrize("work", [write, remember])
@pytest.mark.parametrize("count", [1, 3])
def test_it_is_tried_again(
    database: str, store: Store, work: Callable[[Store], int | None], count: int
) -> None:
    undo_next(database, count)
    assert work(store) == 4
    assert [event.commit_ts for event in store.replay(agent_id="a")] == [1, 2, 3, 4]
    store.verify(deep=True)


def test_it_is_given_up_in_the_end(database: str, store: Store) -> None:
    undo_next(database, 1000)
    with pytest.raises(StoreBusy, match="undone"):
        write(store)
    undo_next(database, -1000)
    assert write(store) == 4
    store.verify(deep=True)
