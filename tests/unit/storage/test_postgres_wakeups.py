"""Wake-ups between processes: who waits for commits of others hears of them, or polls."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

import memoranda
from memoranda import StoreClosed
from memoranda.sdk.local import feed
from memoranda.sdk.open import load_queries
from memoranda.storage.postgres import announcer, wakeups
from memoranda.storage.postgres.database_url import parse_database_url
from memoranda.storage.postgres.engine import PostgresEngine
from memoranda.storage.postgres.session import Session
from memoranda.storage.postgres.wakeups import DatabaseWakeups
from tests.patience import HANG_SECONDS, wait_until
from tests.postgres_server import database_url, new_database, new_store_url, open_postgres

pytestmark = pytest.mark.slow


@pytest.fixture
def url(tmp_path: Path) -> str:
    return new_store_url(tmp_path)


@pytest.fixture
def no_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody poll before the test is given up, nor stop listening."""
    monkeypatch.setattr(feed.LocalFeed, "poll_seconds", 10 * HANG_SECONDS)
    monkeypatch.setattr(feed, "POLL_SECONDS", 10 * HANG_SECONDS)
    monkeypatch.setattr(feed, "LISTENING_POLL_SECONDS", 10 * HANG_SECONDS)
    monkeypatch.setattr(wakeups, "_LINGER_SECONDS", 10 * HANG_SECONDS)


def listeners() -> int:
    """Return how many connections of the database listen."""
    with psycopg.connect(database_url()) as database:
        row = database.execute(
            "SELECT COUNT(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND query LIKE 'LISTEN%'"
        ).fetchone()
        assert row is not None
        return int(row[0])


@pytest.mark.usefixtures("no_polls")
class TestAnnouncements:
    def test_a_commit_of_another_process_wakes(self, url: str) -> None:
        with open_postgres(url) as reader, open_postgres(url) as writer:
            events = reader.subscribe(agent_id="a", timeout=HANG_SECONDS)
            for number in range(3):
                writer.write(agent_id="a", key="k", value={"n": number})
                assert next(events).operations[0].value == {"n": number}

    def test_it_wakes_tasks(self, url: str) -> None:
        async def follow() -> None:
            async with await memoranda.open_async(url, embedder=None) as reader:
                events = reader.subscribe(agent_id="a", timeout=HANG_SECONDS)
                await events
                with open_postgres(url) as writer:
                    await asyncio.to_thread(writer.write, agent_id="a", key="k", value={"n": 1})
                    assert (await anext(events)).operations[0].value == {"n": 1}

        asyncio.run(follow())

    def test_a_lost_listener_is_replaced(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(wakeups, "_RETRY_SECONDS", 0.01)
        with open_postgres(url) as reader, open_postgres(url) as writer:
            events = reader.subscribe(agent_id="a", timeout=HANG_SECONDS)
            writer.write(agent_id="a", key="k", value={"n": 1})
            next(events)
            with psycopg.connect(database_url(), autocommit=True) as database:
                database.execute(
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND query LIKE 'LISTEN%'"
                )
            writer.write(agent_id="a", key="k", value={"n": 2})
            assert next(events).operations[0].value == {"n": 2}


class TestAnnouncer:
    """All stores of a database announce together, a few times a second."""

    @pytest.fixture
    def slow(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let all commits of a test be announced together, but the first."""
        monkeypatch.setattr(announcer, "_PAUSE_SECONDS", 0.5)

    @pytest.mark.usefixtures("slow")
    def test_stores_are_announced_in_one_statement(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sent: list[int] = []
        send = PostgresEngine._send_announcements

        def count(engine: PostgresEngine, announcements: list[tuple[int, str]]) -> None:
            sent.append(len(announcements))
            send(engine, announcements)

        monkeypatch.setattr(PostgresEngine, "_send_announcements", count)
        with ExitStack() as stack:
            stores = [stack.enter_context(open_postgres(new_store_url(tmp_path))) for _ in range(5)]
            stores[0].write(agent_id="a", key="k", value={})
            wait_until(lambda: bool(sent))
            for store in stores:
                for number in range(3):
                    store.write(agent_id="a", key="k", value={"n": number})
            wait_until(lambda: sum(sent) >= 6)
        assert sum(sent) <= 1 + 2 * 5, "a store is announced once a statement"
        assert len(sent) <= 4

    def test_a_store_that_was_closed_keeps_no_other_from_being_announced(self) -> None:
        sent: list[tuple[int, str]] = []

        def fail(_: object) -> None:
            raise StoreClosed

        own = announcer.Announcer()
        own._due = {(1, "one"): fail, (2, "two"): sent.extend}
        own.announce((3, "three"), sent.extend)
        wait_until(lambda: len(sent) == 3)
        own.close()
        assert sorted(sent) == [(1, "one"), (2, "two"), (3, "three")]

    def test_a_database_without_announcements_is_asked_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """CockroachDB and Aurora DSQL have neither NOTIFY nor LISTEN: who waits polls.

        It is a database of its own: what is known of it holds for all stores of the process.
        """
        url = new_store_url(tmp_path, database=new_database("memoranda_unannounced"))
        asked: list[str] = []

        def refuse(*_: object) -> None:
            asked.append("")
            raise psycopg.errors.UndefinedFunction("unknown function: pg_notify()")

        monkeypatch.setattr(PostgresEngine, "_send_announcements", refuse)
        monkeypatch.setattr(Session, "listen", refuse)
        monkeypatch.setattr(announcer, "_PAUSE_SECONDS", 0.0)
        with open_postgres(url) as reader, open_postgres(url) as writer:
            events = reader.subscribe(agent_id="a", timeout=HANG_SECONDS)
            for number in range(3):
                writer.write(agent_id="a", key="k", value={"n": number})
                assert next(events).operations[0].value == {"n": number}
                wait_until(lambda: bool(asked))
            sender = announcer.ANNOUNCERS.join(parse_database_url("url", url).conninfo)
            announcer.ANNOUNCERS.leave(sender)
            assert not sender._is_supported


class TestConnections:
    @pytest.fixture
    def engines(self, tmp_path: Path) -> Iterator[list[PostgresEngine]]:
        """Three stores of a database that share their wake-ups, as those of a server do."""
        urls = [parse_database_url("url", new_store_url(tmp_path)) for _ in range(3)]
        shared = DatabaseWakeups(urls[0].conninfo)
        with ExitStack() as stack:
            stack.callback(shared.close)
            engines = [
                PostgresEngine(url, sqlite_queries=load_queries(), wakeups=shared) for url in urls
            ]
            for engine in engines:
                stack.callback(engine.close)
            yield engines

    def test_stores_of_a_database_share_one(self, engines: list[PostgresEngine]) -> None:
        before = listeners()
        woken: list[int] = []
        for number, engine in enumerate(engines):
            engine.listen(lambda number=number: woken.append(number))  # type: ignore[misc]
        wait_until(lambda: sorted(woken) == [0, 1, 2])
        assert listeners() == before + 1

    def test_none_is_open_if_nobody_waits(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(wakeups, "_LINGER_SECONDS", 0.0)
        before = listeners()
        with open_postgres(url) as store:
            store.write(agent_id="a", key="k", value={})
            assert listeners() == before
            events = store.subscribe(agent_id="a", after_commit=0, timeout=0.01)
            assert len([*events]) == 1
            wait_until(lambda: listeners() == before)
        wait_until(lambda: listeners() == before)

    def test_polls_are_rare_only_while_announcements_arrive(
        self, engines: list[PostgresEngine], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine = engines[0]
        assert not engine.listen(lambda: None), "nothing has arrived yet"
        wait_until(lambda: engine.listen(lambda: None))
        monkeypatch.setattr(wakeups, "_PROBE_SECONDS", -1.0)
        assert not engine.listen(lambda: None), "the last one is too long ago"
