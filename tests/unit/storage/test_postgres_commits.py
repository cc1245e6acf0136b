"""Commits to PostgreSQL: round trips, and writers that get in each other's way."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from psycopg import pq

from memoranda import CommitUnknown, MemoryRef, Store, Transaction, VersionMismatch
from memoranda.calls.grant import EVERYTHING
from memoranda.calls.key_writes import Write
from memoranda.calls.registry import stage_write
from memoranda.errors import Unavailable
from memoranda.log.commit.outcome import CommitResult
from memoranda.log.read.kind_counts import BLOCK_COMMITS
from memoranda.sdk.local.calls import LocalCalls
from memoranda.storage.postgres.commit_statement import group_rows
from memoranda.storage.postgres.connection import Connection
from memoranda.storage.postgres.engine import PostgresEngine
from memoranda.storage.postgres.error_translation import translate_errors
from memoranda.storage.postgres.read_ahead import Scout
from memoranda.storage.postgres.statements import Statement
from tests.postgres_server import database_url, new_store_url, open_postgres

Work = Callable[[], object]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return new_store_url(tmp_path)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(open_postgres(url)) as store:
        yield store


def _engine(store: Store) -> PostgresEngine:
    calls = cast("LocalCalls", store._calls)
    return cast("PostgresEngine", calls.core.engine)


def _round_trips(store: Store, work: Work) -> int:
    """Return how often the writer's connection waits for the server."""
    return _traced(store, work, _waits)


def _traced(store: Store, work: Work, count: Callable[[Iterable[str]], int]) -> int:
    """Return what is counted in the messages of the writer's connection."""
    engine = _engine(store)
    engine.write(lambda _: None)  # it has a connection from here on
    writer = engine._writer
    assert writer is not None
    connection = writer.database.pgconn
    with tempfile.TemporaryFile("w+") as lines:
        connection.trace(lines.fileno())
        connection.set_trace_flags(pq.Trace.SUPPRESS_TIMESTAMPS)
        try:
            work()
        finally:
            connection.untrace()
        lines.seek(0)
        return count(lines)


def _executed(store: Store, work: Work) -> int:
    """Return how many statements the writer's connection runs."""
    return _traced(store, work, lambda lines: sum(line.split()[2] == "Execute" for line in lines))


def _waits(lines: Iterable[str]) -> int:
    """Return how often the answers to messages are asked for: by Sync, or by Flush."""
    count, is_sent = 0, False
    for line in lines:
        sender, _, message, *_ = line.split()
        if sender == "F":
            is_asked = message in ("Sync", "Flush")
            count += is_asked and is_sent
            is_sent = not is_asked
    return count


def _write(store: Store, key: str = "k", expect_version: int | None = None) -> None:
    store.write(agent_id="a", key=key, value={"n": 1}, expect_version=expect_version)


class TestRoundTrips:
    def test_a_write_takes_one(self, store: Store) -> None:
        for _ in range(4):
            _write(store)
        assert _round_trips(store, lambda: _write(store)) == 1

    def test_a_delete_takes_one(self, store: Store) -> None:
        for _ in range(4):
            _write(store)
            store.delete(agent_id="a", key="k")
        assert _round_trips(store, lambda: store.delete(agent_id="a", key="k")) == 1

    def test_a_new_key_takes_one_more_to_look_for_it(self, store: Store) -> None:
        for number in range(4):
            _write(store, f"k{number}")
        assert _round_trips(store, lambda: _write(store, "new")) == 2

    def test_ten_writes_in_a_transaction_take_one(self, store: Store) -> None:
        def write_ten() -> None:
            with store.begin_transaction() as transaction:
                for number in range(10):
                    transaction.write(agent_id="a", key=f"k{number}", value={"n": number})

        for _ in range(4):
            write_ten()
        assert _round_trips(store, write_ten) == 1

    def test_ten_writes_of_one_batch_look_their_txn_ids_up_together(self, store: Store) -> None:
        """So do those of a server's clients, each of which has its own."""
        core = cast("LocalCalls", store._calls).core

        def write_ten() -> None:
            keys = [f"k{number}" for number in range(10)]
            calls = [Write("a", "default", key, {"n": 1}, txn_id=_name()) for key in keys]
            requests = [stage_write(core, EVERYTHING, call).request for call in calls]
            outcomes = core.committer._writer.write(requests)
            assert all(isinstance(outcome, CommitResult) for outcome in outcomes)

        for _ in range(4):
            write_ten()
        assert _round_trips(store, write_ten) == 2
        store.verify(deep=True)

    def test_a_refusal_takes_one(self, store: Store) -> None:
        for _ in range(4):
            _write(store)

        def be_refused() -> None:
            with pytest.raises(VersionMismatch):
                _write(store, expect_version=99)

        assert _round_trips(store, be_refused) == 1


_numbers = count()


def _name() -> str:
    return f"name {next(_numbers)}"


def _stage_remember(transaction: Transaction, memory_id: str) -> None:
    transaction.remember(_name(), title=_name())


def _stage_untitled(transaction: Transaction, memory_id: str) -> None:
    transaction.remember(_name())


def _stage_transcript(transaction: Transaction, memory_id: str) -> None:
    transaction.store_transcript(_name())


def _stage_new_key(transaction: Transaction, memory_id: str) -> None:
    transaction.write(key=_name(), value={"n": 1})


def _stage_key_of_new_agent(transaction: Transaction, memory_id: str) -> None:
    transaction.write(agent_id=_name(), key="k", value={"n": 1})


def _stage_reason(transaction: Transaction, memory_id: str) -> None:
    transaction.write(key=f"about {memory_id}", value={"n": 1}, because=[MemoryRef(memory_id)])


def _stage_fact(transaction: Transaction, memory_id: str) -> None:
    transaction.assert_fact(subject=_name(), relation="knows", object=_name())


def _stage_more_of_a_subject(transaction: Transaction, memory_id: str) -> None:
    transaction.assert_fact(subject=memory_id, relation="knows", object=_name())


def _stage_end(transaction: Transaction, memory_id: str) -> None:
    transaction.end_fact(subject=memory_id, relation="is")


def _stage_update(transaction: Transaction, memory_id: str) -> None:
    transaction.update_memory(memory_id, content=_name())


def _stage_titled_again(transaction: Transaction, memory_id: str) -> None:
    transaction.remember(_name(), title=f"title of {memory_id}")


def _stage_touch(transaction: Transaction, memory_id: str) -> None:
    transaction.touch(memory_id)


def _stage_retract(transaction: Transaction, memory_id: str) -> None:
    transaction.retract_memory(memory_id, reason="wrong")


def _stage_link(transaction: Transaction, memory_id: str) -> None:
    transaction.link(source=memory_id, target=transaction.remember(_name()), relation="related_to")


def _stage_retract_fact(transaction: Transaction, memory_id: str) -> None:
    transaction.retract_fact(subject=memory_id, relation="is", reason="wrong")


def _stage_delete(transaction: Transaction, memory_id: str) -> None:
    transaction.delete(key=f"about {memory_id}")


def _stage_promote(transaction: Transaction, memory_id: str) -> None:
    transaction.promote(memory_id, tier="long")


def _stage_cite(transaction: Transaction, memory_id: str) -> None:
    transaction.link_transcript(
        memory_id=memory_id, transcript_id=transaction.store_transcript(_name())
    )


def _stage_supersede(transaction: Transaction, memory_id: str) -> None:
    transaction.supersede(old=memory_id, new=transaction.remember(_name()))


class TestRoundTripsOfTransactions:
    """Their number depends on the kind of request, and not on how many a transaction has."""

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("stage", "trips"),
        [
            (_stage_untitled, 1),
            (_stage_transcript, 1),
            (_stage_new_key, 2),
            (_stage_remember, 2),
            (_stage_fact, 2),
            (_stage_more_of_a_subject, 2),
            (_stage_key_of_new_agent, 3),
            (_stage_touch, 3),
            (_stage_reason, 3),
            (_stage_link, 2),
            (_stage_retract, 7),
            (_stage_titled_again, 8),
            (_stage_update, 7),
            (_stage_end, 5),
            (_stage_retract_fact, 11),
            (_stage_delete, 2),
            (_stage_promote, 7),
            (_stage_cite, 3),
            (_stage_supersede, 7),
        ],
    )
    def test_ten_requests_take_as_many_as_one(
        self, store: Store, stage: Callable[[Transaction, str], object], trips: int
    ) -> None:
        agent = store.bind(agent_id="a")

        def memories(number: int) -> list[str]:
            ids = []
            for _ in range(number):
                memory = agent.remember(_name(), tier="short")
                agent.update_memory(memory.id, title=f"title of {memory.id}")
                agent.reflect(_name(), on=[memory.id])
                agent.assert_fact(subject=memory.id, relation="is", object="new")
                ids.append(memory.id)
            return ids

        def commit(ids: Sequence[str]) -> None:
            with agent.begin_transaction() as transaction:
                for memory_id in ids:
                    stage(transaction, memory_id)

        for _ in range(3):
            commit(memories(2))
        one, ten = memories(1), memories(10)
        assert [_round_trips(store, partial(commit, ids)) for ids in (one, ten)] == [trips, trips]
        store.verify(deep=True)

    def test_a_reflection_on_ten_takes_as_many_as_on_one(self, store: Store) -> None:
        agent = store.bind(agent_id="a")
        ids = [agent.remember(_name()).id for _ in range(10)]
        for _ in range(3):
            agent.reflect(_name(), on=ids[:2])
        for on in (ids[:1], ids):
            assert _round_trips(store, partial(agent.reflect, _name(), on=on)) == 4
        store.verify(deep=True)

    def test_a_chain_of_reflections_rehearses_less_and_less(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each reads back the row of the one before, which no rehearsal can fetch in time."""
        agent = store.bind(agent_id="a")
        agent.configure(max_reflection_depth=1000)
        reads: list[object] = []
        fetch = Scout._fetch

        def count_fetch(scout: Scout, query: str, values: Sequence[object]) -> object:
            reads.append(query)
            return fetch(scout, query, values)

        monkeypatch.setattr(Scout, "_fetch", count_fetch)

        def chain(length: int) -> int:
            last = agent.remember(_name()).id
            reads.clear()
            with agent.begin_transaction() as transaction:
                for _ in range(length):
                    last = transaction.reflect(_name(), on=[last])
            return len(reads)

        short, long = chain(40), chain(160)
        assert long < 8 * short  # it was 16 times as many
        store.verify(deep=True)

    @pytest.mark.slow
    def test_forgetting_takes_as_many_whatever_is_rewritten(self, store: Store) -> None:
        """Versions of a memory or a key, and everything of an agent, are read and written by pages.

        Twenty rows take as many as two: one is not read as a page.
        """
        agent = store.bind(agent_id="a")

        def remember(versions: int) -> str:
            memory = agent.remember(_name(), title=_name())
            for _ in range(versions - 1):
                agent.update_memory(memory.id, content=_name())
            return memory.id

        def write(versions: int) -> str:
            key = _name()
            for _ in range(versions):
                _write(store, key)
            return key

        def act(times: int) -> str:
            own = store.bind(agent_id=(agent_id := _name()))
            for _ in range(times):
                own.remember(_name(), title=_name(), metadata={"name": _name()})
                own.store_transcript(_name())
                own.assert_fact(subject=_name(), relation="knows", object=_name())
                own.write(key=_name(), value={"n": 1})
            return agent_id

        forget: dict[str, Callable[[int], Work]] = {
            "memory": lambda count: partial(agent.forget, memory_id=remember(count)),
            "key": lambda count: partial(agent.forget, key=write(count)),
            "agent": lambda count: partial(store.forget, whole_agent=act(count)),
        }
        for make in forget.values():
            for _ in range(3):
                make(2)()
        for kind, most in (("memory", 27), ("key", 17), ("agent", 33)):
            few, many = (_round_trips(store, forget[kind](count)) for count in (2, 20))
            assert few == many <= most, kind
        store.verify(deep=True)

    def test_ten_reads_are_checked_together(self, store: Store) -> None:
        def commit(number: int) -> None:
            with store.bind(agent_id="a").begin_transaction() as transaction:
                for key in range(number):
                    transaction.get_state(key=f"read {key}")
                transaction.write(key="k", value={"n": 1})
                _write(store, "another")

        for _ in range(3):
            commit(2)
        few, many = (_round_trips(store, partial(commit, number)) for number in (2, 10))
        assert few == many == 4

    @pytest.mark.slow
    def test_a_write_in_between_outdates_what_was_read(self, store: Store) -> None:
        agent = store.bind(agent_id="a")
        with agent.begin_transaction() as transaction:
            for number in range(3):
                transaction.remember(f"version {number}", title="same")
            transaction.assert_fact(subject="s", relation="r", object="o")
            transaction.assert_fact(subject="s", relation="r", object="p")
        with ThreadPoolExecutor(8) as threads:
            list(
                threads.map(
                    lambda number: agent.remember(f"{number}", title=f"t{number % 3}"), range(48)
                )
            )
        versions = [agent.get_memory(title=f"t{number}") for number in range(3)]
        assert sum(memory.version for memory in versions if memory is not None) == 48
        store.verify(deep=True)


class TestOneStatement:
    def test_every_write_is_one(self, store: Store) -> None:
        """Also those that complete a block of commits, whose sums are stored."""
        for _ in range(4):
            _write(store)

        def write_often() -> None:
            for _ in range(2 * BLOCK_COMMITS):
                _write(store)

        assert _executed(store, write_often) == 2 * BLOCK_COMMITS
        store.verify(deep=True)

    def test_what_is_added_to_one_sum_is_added_up(self) -> None:
        rows = [("kind_count_add", row) for row in ((1, 2, 3, 10), (1, 2, 4, 1), (1, 2, 3, 5))]
        assert group_rows(rows) == {"kind_count_add": [(1, 2, 3, 15), (1, 2, 4, 1)]}

    def test_large_transactions_of_one_batch_add_to_one_sum(self, store: Store) -> None:
        """Each is too large to be counted with its block."""

        def write_many(number: int) -> None:
            with store.begin_transaction() as transaction:
                for key in range(20):
                    transaction.write(agent_id="a", key=f"k{number}-{key}", value={"n": 1})

        for _ in range(3):
            with ThreadPoolExecutor(4) as threads:
                list(threads.map(write_many, range(4)))
        store.verify(deep=True)

    def test_a_key_written_twice_in_a_batch_has_its_last_value(self, store: Store) -> None:
        for _ in range(2):
            _write(store, "old")
        for key in ("old", "new"):
            with store.begin_transaction() as transaction:
                for number in range(3):
                    transaction.write(agent_id="a", key=key, value={"n": number})
        for key, version in (("old", 5), ("new", 3)):
            record = store.get_state(agent_id="a", key=key)
            assert record is not None
            assert (record.value, record.version) == ({"n": 2}, version)
        store.verify(deep=True)

    def test_committers_share_it(self, store: Store) -> None:
        def write(number: int) -> None:
            for _ in range(20):
                store.write(agent_id=f"agent-{number % 3}", key=f"k{number % 5}", value={"n": 1})

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(write, range(8)))
        events = list(store.replay(agent_id="agent-0"))
        assert sum(len(event.operations) for event in events) == 60
        store.verify(deep=True)


class TestOtherWriters:
    @pytest.mark.slow
    def test_stores_of_several_processes_lose_no_update(self, url: str, store: Store) -> None:
        """Each has caches of its own, which the others' commits outdate."""
        with closing(open_postgres(url)) as other:
            barrier = threading.Barrier(4)

            def count(mine: Store) -> None:
                barrier.wait()
                for _ in range(15):
                    mine.transact(_increment, retries=1000)

            with ThreadPoolExecutor(4) as threads:
                list(threads.map(count, (store, store, other, other)))
            record = store.get_state(agent_id="a", key="count")
            assert record is not None
            assert record.value == {"n": 60}
            assert [event.commit_ts for event in other.replay(agent_id="a")] == [*range(1, 61)]
            other.verify(deep=True)

    def test_a_refusal_knows_what_others_wrote(self, url: str, store: Store) -> None:
        _write(store)
        with closing(open_postgres(url)) as other:
            _write(other)
        _write(store, expect_version=2)

    def test_a_new_key_of_another_is_not_added_again(self, url: str, store: Store) -> None:
        _write(store)
        with closing(open_postgres(url)) as other:
            other.write(agent_id="b", key="new", value={"n": 1})
        store.write(agent_id="c", key="new", value={"n": 1})
        store.write(agent_id="b", key="new", value={"n": 2})
        store.verify(deep=True)


class TestLostConnections:
    def test_a_connection_lost_between_commits_goes_unnoticed(self, store: Store) -> None:
        _write(store)
        for _ in range(3):
            _end_writer(store)
            _write(store)
        record = store.get_state(agent_id="a", key="k")
        assert record is not None
        assert record.version == 4

    @pytest.mark.parametrize("is_written", [False, True])
    def test_a_commit_whose_answer_is_lost_happens_once(
        self, store: Store, writer: Connection, monkeypatch: pytest.MonkeyPatch, *, is_written: bool
    ) -> None:
        commit = writer.commit_at_once if is_written else _no_commit(writer)
        _lose_connection(monkeypatch, writer, commit)
        _write(store)
        _write(store)
        assert [event.commit_ts for event in store.replay(agent_id="a")] == [1, 2, 3, 4, 5]
        store.verify(deep=True)

    @pytest.mark.parametrize("is_written", [False, True])
    def test_a_lost_commit_behind_which_others_wrote_is_looked_up(
        self,
        url: str,
        store: Store,
        writer: Connection,
        monkeypatch: pytest.MonkeyPatch,
        *,
        is_written: bool,
    ) -> None:
        """The stamp is that of another writer: only the log tells, by the txn_id."""
        commit = writer.commit_at_once if is_written else _no_commit(writer)

        def commit_before_another(*arguments: Any) -> None:
            commit(*arguments)
            with closing(open_postgres(url)) as other:
                other.write(agent_id="b", key="k", value={})

        _lose_connection(monkeypatch, writer, commit_before_another)
        values: dict[str, Any] = {"agent_id": "a", "key": "k", "value": {"n": 2}, "txn_id": "t"}
        with pytest.raises(CommitUnknown) as caught:
            store.write(**values)
        assert caught.value.txn_id == "t"
        assert store.write(**values).commit_ts == (4 if is_written else 5)
        assert store.write(**values).commit_ts == (4 if is_written else 5), "once"
        history = [event.commit_ts for event in store.replay(agent_id="a")]
        assert history == [1, 2, 3, 4 if is_written else 5]
        store.verify(deep=True)

    def test_a_lost_commit_that_arrives_late_does_nothing(
        self, store: Store, writer: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its batch is decided again meanwhile, and is in the log once."""
        engine = _engine(store)
        late: list[tuple[bytes, list[object]]] = []

        def send_late(statement: Statement, values: Mapping[str, object]) -> bool:
            named = {**values, "stamp": writer.stamps[0], "next_stamp": writer._draw_stamp()}
            bound = [*(named[name] for name in statement.names), engine._store_id]
            late.append((statement.text.encode(), bound))
            writer.database.close()
            raise Unavailable

        decide_again = engine._looking_ahead

        def arrive_first(work: Callable[..., object]) -> object:
            with closing(engine._open_database()) as database:
                database.execute(*late.pop())
            return decide_again(work)

        monkeypatch.setattr(writer, "commit_at_once", send_late)
        monkeypatch.setattr(engine, "_looking_ahead", arrive_first)
        _write(store)
        assert not late
        assert [event.commit_ts for event in store.replay(agent_id="a")] == [1, 2, 3, 4]
        store.verify(deep=True)

    def test_what_a_failed_transaction_skipped_is_not_taken_for_prepared(
        self, url: str, store: Store
    ) -> None:
        """A statement is prepared when it runs for the third time: here, behind an error."""
        _write(store)
        engine = _engine(store)
        writer = engine._writer
        assert writer is not None
        for _ in range(3):  # of its first rollback, psycopg forgets all that is prepared
            writer.execute("begin")
            writer.execute("rollback")
        for _ in range(2):
            writer.find("event_hash", 1)
        with closing(open_postgres(url)) as other:
            _write(other)
        writer.begin_if_current(1000, relaxed=False)
        with pytest.raises(psycopg.DataError):
            writer.find("event_hash", 1)
        engine._end_write()
        assert engine.write(lambda writer: writer.find("event_hash", 1)) is not None
        _write(store)
        assert store.verify(deep=True).commits == 3


@pytest.fixture
def writer(store: Store) -> Connection:
    """The connection for writing of a store that has three commits."""
    for _ in range(3):
        _write(store)
    connection = _engine(store)._writer
    assert connection is not None
    return connection


def _no_commit(writer: Connection) -> Callable[..., object]:
    """Return what a commit does whose statement never reaches the server."""
    return lambda *_: writer._draw_stamp()


def _lose_connection(
    monkeypatch: pytest.MonkeyPatch, writer: Connection, commit: Callable[..., object]
) -> None:
    """Let a connection be lost at its next commit, before the answer comes."""

    def commit_without_answer(*arguments: object) -> bool:
        with translate_errors():
            commit(*arguments)
            writer.database.close()
            raise psycopg.OperationalError("the connection was lost")

    monkeypatch.setattr(writer, "commit_at_once", commit_without_answer)


def _end_writer(store: Store) -> None:
    writer = _engine(store)._writer
    assert writer is not None
    with psycopg.connect(database_url(), autocommit=True) as database:
        database.execute(
            "SELECT pg_terminate_backend(%s, 5000)", [writer.database.info.backend_pid]
        )


def _increment(transaction: Transaction) -> None:
    record = transaction.get_state(agent_id="a", key="count")
    number = 0 if record is None else record.value["n"]
    transaction.write(agent_id="a", key="count", value={"n": number + 1})
