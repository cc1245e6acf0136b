"""Stores of one database: whatever one does, not a byte of another's rows changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from memoranda import Store
from memoranda.storage.postgres.database_url import parse_database_url
from tests.postgres_server import database_url, new_store_url, open_postgres

pytestmark = pytest.mark.slow

Rows = dict[str, list[str]]
HOSTILE = [
    "'; DELETE FROM memoranda.event; --",
    '"; DROP SCHEMA memoranda CASCADE; --',
    "' OR store_id > 0 OR '' = '",
    "%s %(store_id)s $1 $2 :store_id {0} ?",
    "\\'; SELECT pg_sleep(60) --",
    "$$; ROLLBACK; $$",
]


def rows_of(url: str) -> Rows:
    """Return every row of a store, by table; the stamp of its commits included."""
    name = parse_database_url("url", url).store
    with psycopg.connect(database_url()) as database:
        row = database.execute("SELECT store_id FROM memoranda.store WHERE name = %s", (name,))
        (store_id,) = row.fetchone() or (None,)
        assert store_id is not None
        tables = database.execute(
            "SELECT table_name FROM information_schema.columns "
            "WHERE table_schema = 'memoranda' AND column_name = 'store_id'"
        ).fetchall()
        return {table: _rows(database, table, store_id) for (table,) in tables}


def _rows(database: psycopg.Connection[Any], table: str, store_id: int) -> list[str]:
    query = sql.SQL("SELECT CAST(own AS TEXT) FROM memoranda.{} AS own WHERE store_id = {}")
    cursor = database.execute(query.format(sql.Identifier(table), sql.Literal(store_id)))
    return sorted(text for (text,) in cursor.fetchall())


def fill(store: Store, word: str = "apple") -> None:
    """Write to every view, with equal keys, titles and names in every store."""
    agent = store.bind(agent_id="a1")
    agent.write(key="k", value={"word": word}, txn_id="t1")
    agent.write(key="k", value={"word": word, "again": True})
    memory = agent.remember(f"{word} is remembered", title="title", tags=[word])
    agent.reflect(f"about {word}", on=[memory.id])
    talk = agent.store_transcript(f"{word} was said")
    agent.remember("it cites", transcript=talk.id, ttl=0.000001)
    agent.supersede(old=memory.id, new=agent.remember("the newer one").id)
    agent.assert_fact(subject="subject", relation="relation", object=word)
    agent.configure(max_reflection_depth=5)
    store.reindex()


CHANGES: dict[str, Callable[[Store], object]] = {
    "write": fill,
    "forget a key": lambda store: store.bind(agent_id="a1").forget(key="k"),
    "forget an agent": lambda store: store.forget(whole_agent="a1"),
    "forget a namespace": lambda store: store.forget(whole_namespace="default"),
    "forget an entity": lambda store: store.bind(agent_id="a1").forget(entity="subject"),
    "compact": lambda store: store.bind(agent_id="a1").compact(
        before=store.stats().commits, confirm=True
    ),
    "sweep": lambda store: store.sweep(expired_for=0.000001),
    "purge": lambda store: store.purge(),
    "reindex": lambda store: store.reindex(),
    "verify": lambda store: store.verify(deep=True),
}


@pytest.fixture
def urls(tmp_path: Path) -> tuple[str, str]:
    """Two stores with the same content, and each an index folder."""
    pair = (new_store_url(tmp_path / "one"), new_store_url(tmp_path / "two"))
    for url in pair:
        with open_postgres(url) as store:
            fill(store)
    return pair


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_one_leaves_every_row_of_the_other(urls: tuple[str, str], change: str) -> None:
    first, second = urls
    before, own = rows_of(second), rows_of(first)
    assert before["event"]
    assert before["memory"]
    with open_postgres(first) as store:
        CHANGES[change](store)
        store.verify(deep=True)
    assert rows_of(second) == before
    if change not in ("purge", "reindex", "verify"):
        assert rows_of(first) != own, "it changed something"
    with open_postgres(second) as store:
        store.verify(deep=True)


@pytest.mark.parametrize("text", HOSTILE)
def test_every_text_is_a_value(urls: tuple[str, str], tmp_path: Path, text: str) -> None:
    """In the name of a store, and in each field that a caller fills."""
    bystander = rows_of(urls[1])
    with open_postgres(new_store_url(tmp_path, name=text)) as store:
        agent = store.bind(agent_id=text)
        agent.write(key=text, value={text: text}, txn_id=text)
        memory = agent.remember(
            text, title=text, tags=[text], source=text, metadata={text: text}, source_uri=text
        )
        agent.reflect(text, on=[memory.id])
        agent.store_transcript([{"role": "user", "content": text, "name": text}])
        agent.assert_fact(subject=text, relation=text, object=text)
        assert [record.key for record in agent.scan_prefix(prefix=text)] == [text]
        assert next(iter(agent.replay())).txn_id == text
        assert [memory.title for memory in agent.list_memories(tags=[text])] == [text]
        assert [fact.object for fact in agent.facts(subject=text)] == [text]
        agent.recall(text)
        agent.forget(key=text, reason=text)
        assert agent.get_state(key=text) is None
        store.verify(deep=True)
    assert rows_of(urls[1]) == bystander
