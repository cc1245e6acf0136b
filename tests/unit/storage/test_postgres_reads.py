"""Reads from PostgreSQL: what the server reads for them, and how often it is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest

from memoranda import ALL_NAMESPACES, Store
from memoranda.log.read.replay import Replay
from memoranda.sdk.local.calls import LocalCalls
from memoranda.storage.postgres.connection import Connection
from memoranda.storage.postgres.database_url import parse_database_url
from memoranda.storage.postgres.engine import PostgresEngine
from memoranda.storage.postgres.statements import Statement, number_parameters, query_text
from tests.postgres_server import database_url, new_store_url, open_postgres

AGENTS = 40
EVENTS = 5


@pytest.fixture
def url(tmp_path: Path) -> str:
    return new_store_url(tmp_path)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(open_postgres(url)) as store:
        yield store


def rows_scanned(plan: Any, table: str) -> int:
    """Return how many rows of a table a plan has read, in all its loops."""
    own = plan.get("Actual Rows", 0) * plan["Actual Loops"] if _is_of(plan, table) else 0
    removed = plan.get("Rows Removed by Filter", 0) * plan["Actual Loops"]
    parts = sum(rows_scanned(part, table) for part in plan.get("Plans", ()))
    return round(own + (removed if _is_of(plan, table) else 0)) + parts


def _is_of(plan: Any, table: str) -> bool:
    return str(plan.get("Relation Name", "")).startswith(table)


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("has_statistics", [False, True])
def test_a_page_reads_no_events_of_others(
    url: str, store: Store, mode: str, *, has_statistics: bool
) -> None:
    for _ in range(EVENTS):
        for agent in range(AGENTS):
            store.write(agent_id=f"a{agent}", key="k", value={"n": agent})
    name = parse_database_url("url", url).store
    statement = number_parameters(query_text("event_places_of_scope_within"))
    with psycopg.connect(database_url(), autocommit=True) as database:
        (store_id,) = _row(database, f"SELECT store_id FROM memoranda.store WHERE name = '{name}'")
        (scope_id,) = _row(
            database,
            f"SELECT id FROM memoranda.scope WHERE store_id = {store_id} AND agent_id = 'a7'",
        )
        if has_statistics:
            database.execute("ANALYZE memoranda.event, memoranda.event_scope")
        values = {"scope_id": scope_id, "after": AGENTS, "through": 10**9, "limit": 256}
        numbers = [{**values, "budget": 10**6}[name] for name in statement.names]
        database.execute(f"SET plan_cache_mode = {mode}")
        database.execute(
            "SET enable_seqscan = off"
        )  # a table of few pages is read at once otherwise
        types = ", ".join(["bigint"] * (len(numbers) + 1))
        database.execute(f"PREPARE page ({types}) AS {statement.text}")
        (plan,) = _row(
            database,
            "EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE "
            f"page ({', '.join(map(str, [*numbers, store_id]))})",
        )
    own = json.loads(plan) if isinstance(plan, str) else plan
    assert rows_scanned(own[0]["Plan"], "event_scope") <= 2 * (EVENTS - 1)
    assert rows_scanned(own[0]["Plan"], "event") <= 2 * (EVENTS - 1)


MEMORIES = 1000
ASKED = 3


@pytest.fixture(scope="module")
def memories(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[str]]:
    """The name of a store with many memories, and the ids of some that derive from another."""
    url = new_store_url(tmp_path_factory.mktemp("memories"))
    with closing(open_postgres(url)) as store:
        agent = store.bind(agent_id="a1")
        transaction = agent.begin_transaction()
        ids = [transaction.remember(f"m{number}") for number in range(MEMORIES)]
        for source in ids[-ASKED:]:
            transaction.link(source=source, target=ids[0], relation="derived_from")
        transaction.commit()
    return parse_database_url("url", url).store, ids[-ASKED:]


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("has_statistics", [False, True])
@pytest.mark.parametrize(
    ("query", "tables"),
    [
        ("memory_states", ("memory", "memory_state")),
        ("memory_states_of_versions", ("memory", "memory_state")),
        ("links_relied_on", ("memory", "memory_state", "memory_link")),
        ("search_memories", ("memory", "memory_state")),
    ],
)
def test_each_id_of_a_list_is_looked_up(
    memories: tuple[str, list[str]],
    query: str,
    tables: tuple[str, ...],
    mode: str,
    *,
    has_statistics: bool,
) -> None:
    name, ids = memories
    statement = number_parameters(query_text(query))
    values: dict[str, Any] = {"at": 10**9, "viewer": "a1", "content": 1}
    values |= dict.fromkeys(("items", "memory_ids"), json.dumps(ids))
    values["requested"] = json.dumps([[memory_id, None] for memory_id in ids])
    with psycopg.connect(database_url()) as database:
        (store_id,) = _row(database, f"SELECT store_id FROM memoranda.store WHERE name = '{name}'")
        if has_statistics:
            database.execute("ANALYZE memoranda.memory, memoranda.memory_state")
            database.execute("ANALYZE memoranda.memory_link")
        database.execute(f"SET plan_cache_mode = {mode}")
        database.execute("SET enable_seqscan = off")  # a small table is read at once otherwise
        database.execute(f"PREPARE page AS {statement.text}".encode())
        literals = ", ".join(f"'{values[name]}'" for name in statement.names)
        (plan,) = _row(
            database, f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE page ({literals}, {store_id})"
        )
        database.rollback()
    for table in tables:
        assert rows_scanned(plan[0]["Plan"], table) <= 6 * ASKED, table


class TestPagesOfBytes:
    """A page ends with the row that exhausts its budget; PostgreSQL sends no more than that."""

    SIZE = 10_000
    BUDGET = 35_000

    @pytest.mark.parametrize(
        ("query", "values"),
        [
            ("event_page", {"after": 0, "through": 99}),
            ("event_page_of_all", {"after": 0, "through": 99}),
            ("event_page_back", {"before": 99}),
            ("event_places_of_scope", {"after": 0, "through": 99}),
            ("event_places_of_scopes", {"events": [[number, [1, 2]] for number in range(1, 9)]}),
            ("state_page", {"after": "", "at": 99}),
        ],
    )
    def test_a_page_ends_with_the_budget(
        self, store: Store, query: str, values: dict[str, Any]
    ) -> None:
        for number in range(8):
            store.write(agent_id="a", key=f"k{number}", value={"text": "x" * self.SIZE})
        engine = cast("PostgresEngine", cast("LocalCalls", store._calls).core.engine)
        statement = engine._statements.own(query)
        own: dict[str, Any] = {
            "agent_id": "a",
            "namespace": "default",
            "first": "",
            "end": "l",
            "limit": 100,
        }
        with engine.reading() as reader:
            scope = reader.row("scope_find", agent_id="a", namespace="default")
            assert scope is not None
            own |= {**values, "scope_id": scope[0]}
            bound = {name: own[name] for name in statement.names}
            rows = reader.rows(query, budget=self.BUDGET, **bound)
            every = reader.rows(query, **bound)
        assert (len(rows), len(every)) == (4, 8)
        assert rows == every[:4]


class TestRoundTripsOfReplay:
    def test_a_page_of_several_namespaces_is_read_at_once(self, store: Store) -> None:
        agent = store.bind(agent_id="a")
        for number in range(40):
            agent.write(namespace=f"n{number % 3}", key="k", value={"n": number})
        engine = cast("PostgresEngine", cast("LocalCalls", store._calls).core.engine)
        with engine.reading() as reader:
            reader.row("event_head")
        (idle,) = engine._idle
        calls: list[object] = []
        run = idle._run

        def count(statement: Any, values: Any) -> Any:
            calls.append(statement)
            return run(statement, values)

        idle._run = count  # type: ignore[method-assign]
        events = [*agent.replay(namespace=ALL_NAMESPACES)]
        assert [event.commit_ts for event in events] == [*range(1, 41)]
        assert len(calls) < 20

    def test_a_page_and_what_was_compacted_meanwhile_are_one(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        agent = store.bind(agent_id="a")
        for number in range(20):
            agent.write(key="k", value={"n": number})
        monkeypatch.setattr(Replay, "rows", 4)
        pipelines: list[object] = []
        pipeline = psycopg.Connection.pipeline

        def count(connection: psycopg.Connection[Any]) -> Any:
            pipelines.append(connection)
            return pipeline(connection)

        alone: list[str] = []
        read = Connection._read

        def note(connection: Connection, statement: Statement, values: Any) -> Any:
            alone.append(statement.text)
            return read(connection, statement, values)

        monkeypatch.setattr(psycopg.Connection, "pipeline", count)
        monkeypatch.setattr(Connection, "_read", note)
        assert len([*agent.replay()]) == 20
        assert len(pipelines) == 5, "one a page"
        assert len(alone) <= 4, "before the first page"

    def test_a_connection_that_was_lost_between_pages_goes_unnoticed(self, store: Store) -> None:
        agent = store.bind(agent_id="a")
        for number in range(6):
            agent.write(key="k", value={"n": number})
        events = agent.replay()
        assert next(events).commit_ts == 1
        with psycopg.connect(database_url(), autocommit=True) as database:
            database.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid() "
                "AND backend_type = 'client backend'"
            )
        assert len([*agent.replay()]) == 6


def _row(database: psycopg.Connection[Any], text: str) -> tuple[Any, ...]:
    row = database.execute(text.encode()).fetchone()
    assert row is not None
    return tuple(row)
