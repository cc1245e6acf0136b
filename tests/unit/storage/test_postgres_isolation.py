"""Stores of one database: whatever one does, not a byte of another's rows changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace
from psycopg import sql

from memoranda import Store
from memoranda.calls.call import call_name
from memoranda.calls.registry import HANDLERS, WRITES
from memoranda.model.refs import KeyRef, MemoryRef
from memoranda.server.database_catalog import DatabaseCatalog
from memoranda.storage.postgres.catalog import StoreCatalog
from memoranda.storage.postgres.database_url import parse_database_url
from memoranda.storage.postgres.directory import Directory
from memoranda.storage.postgres.session import open_session
from tests.postgres_server import (
    DISTRIBUTE,
    database_url,
    new_database,
    new_store_url,
    open_postgres,
)
from tests.property import test_hostile_calls

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
    reader = agent.subscribe(cursor="reader", after_commit=0, timeout=0)
    reader.ack(next(reader))
    store.reindex()


def titled(store: Store) -> str:
    """Return the id of the memory with a title."""
    memory = store.bind(agent_id="a1").get_memory(title="title")
    assert memory is not None
    return memory.id


def transcript_of(store: Store) -> str:
    """Return the id of the only transcript."""
    (entry,) = store.bind(agent_id="a1").list_transcripts()
    return entry.id


def acknowledge(store: Store) -> None:
    """Move a cursor that stores have in common."""
    reader = store.subscribe(agent_id="a1", cursor="reader", after_commit=0, timeout=0)
    for _ in range(2):
        reader.ack(next(reader))


CHANGES: dict[str, Callable[[Store], object]] = {
    "write": fill,
    "forget a key": lambda store: store.bind(agent_id="a1").forget(key="k"),
    "forget an agent": lambda store: store.forget(whole_agent="a1"),
    "forget a namespace": lambda store: store.forget(whole_namespace="default"),
    "forget an entity": lambda store: store.bind(agent_id="a1").forget(entity="subject"),
    "forget a memory": lambda store: store.bind(agent_id="a1").forget(memory_id=titled(store)),
    "forget a transcript": lambda store: store.bind(agent_id="a1").forget(
        transcript_id=transcript_of(store), derived=True
    ),
    "acknowledge": lambda store: acknowledge(store),
    "drop a cursor": lambda store: store.drop_cursor(cursor="reader", purge=True),
    "rebuild": lambda store: store.rebuild(),
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
    if change not in ("purge", "rebuild", "reindex", "verify"):
        assert rows_of(first) != own, "it changed something"
    with open_postgres(second) as store:
        store.verify(deep=True)


@pytest.mark.parametrize("change", ["rename", "drop", "freeze", "own", "move"])
def test_what_a_server_does_to_one_leaves_every_row_of_the_other(
    urls: tuple[str, str], change: str
) -> None:
    """Both are stores of one server, which changes one of them as a whole."""
    if change == "move" and DISTRIBUTE:
        pytest.skip("Citus spreads stores itself")
    first = parse_database_url("url", urls[0])
    before = rows_of(urls[1])
    home = replace(first, store="")
    catalog = DatabaseCatalog(home, "a test")
    with closing(catalog), closing(open_session(home.conninfo)) as session:
        store_id = StoreCatalog(session).find(first.store).store_id
        if change == "rename":
            catalog.rename(first.store, f"{first.store}-renamed")
        elif change == "drop":
            catalog.drop(first.store)
        elif change == "freeze":
            StoreCatalog(session).freeze(store_id, "a test")
        elif change == "own":
            catalog.own(first.store, "here").release()
        else:
            other = new_database("memoranda_elsewhere")
            with closing(open_session(other)) as there:
                Directory(session, home).put("elsewhere", other, there)
            assert catalog.move(first.store, "elsewhere", wait=0.0).removed
            assert catalog.summarize(first.store).server == "elsewhere"
            catalog.drop(first.store)
            catalog.remove_server("elsewhere")
    assert rows_of(urls[1]) == before
    with open_postgres(urls[1]) as store:
        assert store.verify(deep=True).commits == len(before["event"])


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
        agent.set_cardinality(relation=text, cardinality="single")
        agent.update_memory(memory.id, content=f"{text} again")
        agent.end_fact(subject=text, relation=text, object=text)
        agent.retract_memory(memory.id, reason=text)
        subscription = agent.subscribe(cursor=text, after_commit=0, timeout=0)
        subscription.ack(next(subscription))
        assert [name for name, _ in store.cursors()] == [text]
        elsewhere = store.bind(agent_id=text, namespace=text.replace("/", "|"))
        elsewhere.write(key=text, value={text: text})
        assert [*elsewhere.list_keys(prefix=text)] == [text]
        store.verify(deep=True)
    assert rows_of(urls[1]) == bystander


INJECTED: tuple[Any, ...] = (
    *HOSTILE,
    *(KeyRef(text) for text in HOSTILE),
    *(MemoryRef(text) for text in HOSTILE),
    *((text,) for text in HOSTILE),
    *({text: text} for text in HOSTILE),
    None,
)
"""What is given for every argument of a call in turn, of whatever type it should be."""
ROUNDS = 12


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, str]]:
    """A store to attack, whose name is an attack too, and the URL of the one beside it."""
    folder = tmp_path_factory.mktemp("neighbours")
    urls = (
        new_store_url(folder / "one", name=f"attacked {HOSTILE[0]}"),
        new_store_url(folder / "two"),
    )
    for url in urls:
        with open_postgres(url) as store:
            fill(store)
    with open_postgres(urls[0]) as store:
        yield store, urls[1]
        assert store.verify(deep=True).commits == store.stats().commits
        (row,) = store.sql("SELECT COUNT(*) AS events FROM events")
        assert row["events"] == store.stats().commits


@pytest.mark.parametrize("kind", [*HANDLERS, *WRITES], ids=call_name)
def test_every_argument_of_every_call_is_a_value(
    neighbours: tuple[Store, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    """The arguments that are not attacked are harmless ones, so that queries are reached."""
    attacked, bystander = neighbours
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(test_hostile_calls, "HOSTILE", INJECTED)
    monkeypatch.setattr(test_hostile_calls, "ROUNDS", ROUNDS)
    before = rows_of(bystander)
    if kind in WRITES:
        test_hostile_calls.test_hostile_writes(attacked, kind, 0)
    else:
        test_hostile_calls.test_hostile_arguments(attacked, kind, 0)
    assert rows_of(bystander) == before
