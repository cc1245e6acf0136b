"""SQL of a user's own: every view, and no way around them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import memoranda
from memoranda import ALL_NAMESPACES, Corruption, InvalidInput, KeyRef, Store, StoreClosed
from memoranda.testing import FixedClock, FixedIds, memory_store

ODD = "k:%/'\"\x01\u2028\uffff😀"
VIEWS = ("agents", "events", "operations", "state", "state_history")
TABLES = (
    "blob", "checkpoint", "citation", "erased", "event", "event_scope",
    "graph_cardinality", "graph_shared", "graph_sharing", "horizon", "kind_count",
    "graph_edge", "graph_node", "graph_root", "graph_statement", "memory", "memory_link",
    "memory_member", "memory_state", "memory_title", "meta", "notice", "public_key", "scope",
    "setting", "passage", "shelf", "sqlite_sequence", "state_because", "state_reference",
    "state_version", "to_index", "transcript", "tree_node", "txn", "vector", "word_count", "words",
    "words_config", "words_content", "words_data", "words_docsize", "words_idx",
)  # fmt: skip
MANY = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT {})"
LONG = f"{MANY.format(10_000_000)} SELECT count(*) FROM c"


def fill(store: Store) -> None:
    planner = store.bind(agent_id="planner", namespace="team/eng")
    planner.write(key="goal", value={"city": "Oslo", "n": [1, 2.5, None, -(2**63)]})
    with planner.begin_transaction(txn_id="named") as transaction:
        transaction.write(key="step", value={"n": 1}, because=[KeyRef("goal")])
        transaction.write(key="step", value={"n": 2})
        transaction.write(agent_id="helper", key=ODD, value={"text": 'é"\\\n\u2028😀'})
    planner.delete(key="goal")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, path: Path) -> Iterator[Store]:
    url = path if request.param == "file" else ":memory:"
    with memoranda.open(url, clock=FixedClock(), ids=FixedIds()) as opened:
        fill(opened)
        yield opened


def ask(store: Store, query: str, *parameters: object) -> list[dict[str, Any]]:
    return list(store.sql(query, parameters))


class TestViews:
    def test_agents(self, store: Store) -> None:
        assert ask(store, "SELECT * FROM agents ORDER BY first_commit, agent_id DESC") == [
            {"namespace": "team/eng", "agent_id": "planner", "first_commit": 1, "last_commit": 3},
            {"namespace": "team/eng", "agent_id": "helper", "first_commit": 2, "last_commit": 2},
        ]

    def test_events_are_the_log(self, store: Store) -> None:
        rows = ask(store, "SELECT * FROM events ORDER BY commit_ts")
        replayed = list(store.replay(agent_id="planner", namespace="team/eng"))
        for row, event in zip(rows, replayed, strict=True):
            assert row["commit_ts"] == event.commit_ts
            assert row["committed_at"] == event.timestamp
            assert row["txn_id"] == event.txn_id
            assert row["actor"] == event.actor
            assert row["hash"] == event.hash.hex()
        assert [row["operations"] for row in rows] == [2, 3, 1]
        assert rows[-1]["hash"] == store.verify().head_hash

    def test_operations_are_what_replay_gives(self, store: Store) -> None:
        rows = ask(store, "SELECT * FROM operations ORDER BY commit_ts, position")
        assert [(row["commit_ts"], row["position"], row["type"]) for row in rows] == [
            *((1, 0, "epoch"), (1, 1, "write"), (2, 0, "write"), (2, 1, "write")),
            *((2, 2, "write"), (3, 0, "delete")),
        ]
        for agent in ("planner", "helper", "_engine"):
            events = store.replay(agent_id=agent, namespace=ALL_NAMESPACES)
            operations = [operation for event in events for operation in event.operations]
            mine = [row for row in rows if row["agent_id"] == agent]
            for row, operation in zip(mine, operations, strict=True):
                assert row["key"] == operation.key
                assert row["version"] == operation.version
                assert row["namespace"] == operation.namespace
                assert (row["value"] and json.loads(row["value"])) == operation.value
        (because,) = {row["because"] for row in rows if row["because"]}
        goal = {"namespace": "team/eng", "agent_id": "planner", "key": "goal", "version": 1}
        assert json.loads(because) == [goal]

    def test_operations_name_the_memories_a_value_rests_on(self) -> None:
        with memory_store() as store:
            agent = store.bind(agent_id="a")
            memory = agent.remember("it rains")
            agent.write(key="coat", value={}, because=[memory])
            (row,) = ask(agent, "SELECT because FROM operations WHERE key = 'coat'")
        assert json.loads(row["because"]) == [{"memory_id": memory.id, "version": 1}]

    def test_state_is_what_keys_have_now(self, store: Store) -> None:
        rows = ask(store, "SELECT * FROM state ORDER BY agent_id")
        assert [(row["agent_id"], row["key"]) for row in rows] == [
            *(("helper", ODD), ("planner", "step"))
        ]
        for row in rows:
            record = store.get_state(
                agent_id=row["agent_id"], namespace=row["namespace"], key=row["key"]
            )
            assert record is not None
            assert json.loads(row["value"]) == record.value
            assert (row["version"], row["commit_ts"]) == (record.version, record.commit_ts)
            assert record.committed_at is not None
            assert row["committed_at"] == record.committed_at.isoformat(
                timespec="microseconds"
            ).replace("+00:00", "Z")

    def test_state_history_has_every_version(self, store: Store) -> None:
        rows = ask(store, "SELECT * FROM state_history WHERE agent_id = ?", "planner")
        for key in ("goal", "step"):
            mine = [row for row in rows if row["key"] == key]
            steps = store.history(agent_id="planner", namespace="team/eng", key=key)
            for row, step in zip(mine, steps, strict=True):
                assert (row["version"], row["commit_ts"]) == (step.version, step.commit_ts)
                assert (row["value"] and json.loads(row["value"])) == step.value
        joined = ask(
            store,
            "SELECT h.value AS ours, o.value AS theirs FROM state_history AS h"
            " JOIN operations AS o USING (commit_ts, position)",
        )
        assert len(joined) == 5
        assert all(row["ours"] == row["theirs"] for row in joined)

    def test_json_functions_work_on_values(self, store: Store) -> None:
        assert ask(store, "SELECT value ->> 'n' AS n FROM state WHERE key = 'step'") == [{"n": 2}]
        members = ask(
            store,
            "SELECT member.key AS name, member.value FROM operations AS o,"
            " json_each(o.value, '$.n') AS member WHERE o.key = 'goal' AND o.type = 'write'",
        )
        assert [row["value"] for row in members] == [1, 2.5, None, -(2**63)]

    @pytest.mark.parametrize("view", VIEWS)
    def test_only_counting_works_too(self, store: Store, view: str) -> None:
        (row,) = ask(store, f"SELECT count(*) AS n FROM {view}")
        assert row["n"] == len(ask(store, f"SELECT * FROM {view}"))
        assert row["n"] > 1

    def test_views_can_be_joined_grouped_and_nested(self, store: Store) -> None:
        result = ask(
            store,
            "WITH busy AS (SELECT actor, count(*) AS n FROM events GROUP BY actor)"
            " SELECT busy.n, (SELECT max(commit_ts) FROM operations) AS last"
            " FROM busy JOIN agents ON agents.agent_id = busy.actor",
        )
        assert result == [{"n": 3, "last": 3}]


class TestAsking:
    def test_parameters_by_place_and_by_name(self, store: Store) -> None:
        assert list(store.sql("SELECT ? AS a, ? AS b", (1, "x"))) == [{"a": 1, "b": "x"}]
        assert list(store.sql("SELECT :a AS a", {"a": b"\xff"})) == [{"a": b"\xff"}]

    @pytest.mark.parametrize("parameters", [(), (1, 2), ([],), (object(),), {"b": 1}, 7])
    def test_parameters_that_do_not_fit(self, store: Store, parameters: Any) -> None:
        with pytest.raises(InvalidInput, match="parameters"):
            store.sql("SELECT ?", parameters)

    @pytest.mark.parametrize(
        ("query", "complaint"),
        [
            ("SELCT 1", 'near "SELCT": syntax error'),
            ("SELECT nonsense FROM events", "no such column: nonsense"),
            ("SELECT json('{')", "malformed JSON"),
            ("SELECT CAST(x'ff' AS TEXT)", "CAST it AS BLOB"),
            ("SELECT 1 AS a, 2 AS a", "two columns are called 'a'"),
            ("SELECT 1; SELECT 2", "has more than one statement: leave out 'SELECT 2'"),
            ("", "gives no rows"),
            ("-- nothing", "gives no rows"),
            ("SELECT 1\0", "U+0000"),
            ("SELECT randomblob(1000000000)", "too big"),
        ],
    )
    def test_a_wrong_statement_is_told_in_sqlites_words(
        self, store: Store, query: str, complaint: str
    ) -> None:
        with pytest.raises(InvalidInput) as caught:
            ask(store, query)
        assert caught.value.field == "query"
        assert complaint in caught.value.problem

    def test_a_statement_is_checked_at_once_and_run_when_asked(self, store: Store) -> None:
        with pytest.raises(InvalidInput):
            store.sql("SELCT 1")
        store.sql(LONG)

    def test_rows_come_from_one_snapshot(self, store: Store) -> None:
        many = MANY.format(1000)
        rows = store.sql(f"{many} SELECT n, (SELECT count(*) FROM events) AS commits FROM c")
        assert next(rows)["commits"] == 3
        store.write(agent_id="a", key="k", value={})
        assert {row["commits"] for row in rows} == {3}
        assert ask(store, "SELECT count(*) AS n FROM events") == [{"n": 4}]

    def test_long_answers_come_in_pages(self, store: Store) -> None:
        many = MANY.format(1000)
        assert [row["n"] for row in store.sql(f"{many} SELECT n FROM c")] == [*range(1, 1001)]

    def test_a_closed_store_answers_nothing(self, store: Store) -> None:
        store.close()
        with pytest.raises(StoreClosed):
            store.sql("SELECT 1")

    def test_nothing_is_left_open(self, tmp_path: Path) -> None:
        path = tmp_path / "store.db"
        with memoranda.open(path) as store:
            fill(store)
            ask(store, "SELECT * FROM operations")
            with pytest.raises(InvalidInput):
                store.sql("SELECT nonsense")
            next(store.sql("SELECT * FROM operations"))  # abandoned
        assert [file.name for file in tmp_path.iterdir()] == ["store.db"]

    def test_damage_is_the_stores_and_not_the_statements(self, tmp_path: Path) -> None:
        path = tmp_path / "store.db"
        with memoranda.open(path) as store:
            fill(store)
            beside = apsw.Connection(str(path))
            beside.execute("UPDATE event SET operations = x'c1' WHERE commit_ts = 2")
            beside.close()
            with pytest.raises(Corruption):
                ask(store, "SELECT * FROM operations")


WRITES = (
    "INSERT INTO state VALUES (1)",
    "INSERT INTO main.state (scope_id) VALUES (1)",
    "INSERT INTO main.event SELECT * FROM main.event",
    "REPLACE INTO agents VALUES (1)",
    "UPDATE state SET value = NULL",
    "UPDATE main.state SET value = NULL",
    "DELETE FROM events",
    "DELETE FROM main.event",
    "WITH x AS (SELECT 1) DELETE FROM main.meta",
    "CREATE TABLE mine (x)",
    "CREATE TEMP TABLE mine (x)",
    "CREATE VIEW mine AS SELECT 1",
    "CREATE TEMP VIEW mine AS SELECT 1",
    "CREATE INDEX mine ON state (key)",
    "CREATE VIRTUAL TABLE mine USING fts5(x)",
    "CREATE TEMP TRIGGER mine AFTER INSERT ON main.event BEGIN SELECT 1; END",
    "DROP TABLE main.event",
    "DROP VIEW events",
    "ALTER TABLE main.event RENAME TO gone",
    "ATTACH 'other.db' AS other",
    "DETACH main",
    "PRAGMA query_only = 0",
    "PRAGMA writable_schema = 1",
    "PRAGMA user_version = 7",
    "PRAGMA user_version",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA wal_checkpoint(TRUNCATE)",
    "SELECT * FROM pragma_user_version",
    "SELECT count(*) FROM pragma_table_list",
    "SELECT count(*) FROM pragma_wal_checkpoint('TRUNCATE')",
    "SELECT load_extension('evil')",
    "SELECT load_extension('evil', 'init')",
    "SELECT fts3_tokenizer('simple')",
    "SELECT writefile('mine', 'x')",
    "SELECT edit('x')",
    "VACUUM",
    "VACUUM INTO 'other.db'",
    "ANALYZE",
    "REINDEX",
    "BEGIN",
    "BEGIN EXCLUSIVE",
    "SAVEPOINT mine",
    "COMMIT",
    "EXPLAIN INSERT INTO state VALUES (1)",
    "SELECT 1; DELETE FROM main.event",
)
PEEKS = (
    *(f"SELECT * FROM {table}" for table in TABLES),
    *(f"SELECT count(*) FROM {table}" for table in TABLES),
    *(f"SELECT * FROM main.{table}" for table in (*TABLES, "state")),
    "SELECT * FROM sqlite_schema",
    "SELECT count(*) FROM sqlite_schema",
    "SELECT * FROM main.sqlite_master",
    "SELECT * FROM sqlite_temp_schema",
    "SELECT * FROM sqlite_dbpage",
    "SELECT * FROM dbstat",
    "SELECT * FROM pragma_table_list",
    "WITH events AS (SELECT * FROM main.event) SELECT * FROM events",
    "SELECT * FROM (SELECT * FROM event) AS events",
    "SELECT (SELECT value FROM meta) AS v FROM events",
    "SELECT 1 AS a FROM events WHERE EXISTS (SELECT 1 FROM meta)",
    "SELECT operations_json(x'90')",
    "SELECT id FROM state",
    "SELECT rowid FROM events",
    "SELECT salts FROM events",
)


class TestConfinement:
    @pytest.mark.parametrize("statement", WRITES)
    def test_nothing_can_be_changed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with memoranda.open("store.db", clock=FixedClock(), ids=FixedIds()) as store:
            fill(store)
            beside = apsw.Connection("store.db")
            before = beside.pragma("data_version")
            with pytest.raises(InvalidInput, match="query"):
                ask(store, statement)
            assert beside.pragma("data_version") == before, "something was committed"
            beside.close()
            assert store.verify().commits == 3
        assert [file.name for file in tmp_path.iterdir()] == ["store.db"]

    @pytest.mark.slow
    def test_only_the_views_can_be_read(self, store: Store) -> None:
        for statement in PEEKS:
            refusal = None
            try:
                ask(store, statement)
            except InvalidInput as error:
                refusal = error
            assert "query" in str(refusal), statement

    def test_the_tables_that_are_tried_are_all_there_are(self, path: Path) -> None:
        memoranda.open(path).close()
        database = apsw.Connection(str(path))
        rows = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        assert {name for (name,) in rows} == {*TABLES, "state"}

    @pytest.mark.slow
    def test_a_statement_that_runs_keeps_no_writer_waiting(self, path: Path) -> None:
        with memoranda.open(path, durability="relaxed") as store:
            fill(store)
            done = threading.Event()
            rows = store.sql(LONG)

            def work() -> None:
                next(rows)
                done.set()

            thread = threading.Thread(target=work)
            thread.start()
            for number in range(20):
                store.write(agent_id="a", key="k", value={"n": number})
            assert not done.is_set()
            thread.join()


def test_memory_stores_answer_too() -> None:
    store = memory_store()
    fill(store)
    assert ask(store, "SELECT count(*) AS n FROM state") == [{"n": 2}]
