"""Stores that are only read: nothing is written, and nothing need be writable."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import memoranda
from memoranda import InvalidInput, NotFound, Store, StoreReadOnly
from tests.unit.cli.runner import Cli
from tests.unprivileged import open_folder, run_unprivileged

GOLDEN = Path(__file__).parents[2] / "golden"
KILLED = """
import os, sys, memoranda
memoranda.open(sys.argv[1]).write(agent_id="a", key="k", value={"n": 2})
os._exit(0)
"""


def fill(path: Path) -> None:
    with memoranda.open(path) as store:
        store.write(agent_id="a", key="k", value={"n": 1})
        store.bind(agent_id="a").remember("Mimi is a cat", title="cat")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    fill(tmp_path / "s.db")
    return tmp_path / "s.db"


@pytest.fixture
def media() -> Iterator[Path]:
    """A store where nobody without privileges can write."""
    with open_folder() as folder:
        place = folder / "media"
        place.mkdir()
        fill(place / "s.db")
        (place / "s.db").chmod(0o444)
        place.chmod(0o555)
        yield place / "s.db"


def check_reads(store: Store, number: int = 1) -> None:
    bound = store.bind(agent_id="a")
    record = bound.get_state(key="k")
    assert record is not None
    assert record.value == {"n": number}
    assert len(list(bound.replay())) == store.stats().commits == 1 + number
    assert [hit.text for hit in bound.recall("cat")] == ["Mimi is a cat"]
    assert [row["key"] for row in store.sql("SELECT key FROM state")] == ["k"]
    assert store.verify(deep=True).commits == 1 + number


WRITES: dict[str, Callable[[Store], object]] = {
    "write": lambda store: store.write(agent_id="a", key="k", value={}),
    "transaction": lambda store: store.transact(
        lambda transaction: transaction.write(agent_id="a", key="k", value={})
    ),
    "remember": lambda store: store.bind(agent_id="a").remember("more"),
    "forget": lambda store: store.bind(agent_id="a").forget(key="k"),
    "rebuild": lambda store: store.rebuild(),
    "cursor": lambda store: list(
        store.subscribe(agent_id="a", cursor="c", after_commit=0, timeout=0)
    ),
    "drop cursor": lambda store: store.drop_cursor(cursor="c"),
}


def test_it_is_read(path: Path) -> None:
    content = path.read_bytes()
    with memoranda.open(path, read_only=True) as store:
        check_reads(store)
    assert path.read_bytes() == content


@pytest.mark.parametrize("what", WRITES)
def test_it_is_not_written(path: Path, what: str) -> None:
    content = path.read_bytes()
    with memoranda.open(path, read_only=True) as store:
        with pytest.raises(StoreReadOnly, match="opened for reading only"):
            WRITES[what](store)
        check_reads(store)
    assert path.read_bytes() == content


def test_what_others_write_is_seen(path: Path) -> None:
    with memoranda.open(path, read_only=True) as reader, memoranda.open(path) as writer:
        writer.write(agent_id="a", key="k", value={"n": 2})
        check_reads(reader, 2)


def test_media_that_cannot_be_written_are_read(media: Path) -> None:
    def work() -> None:
        with memoranda.open(media, read_only=True) as store:
            check_reads(store)
            with pytest.raises(StoreReadOnly, match="reading only"):
                store.write(agent_id="a", key="k", value={})
            store.backup(media.parent.parent / "backup.db")
        with memoranda.open(media.parent.parent / "backup.db") as copy:
            copy.write(agent_id="a", key="k", value={"n": 2})
        assert [item.name for item in media.parent.iterdir()] == ["s.db"]

    run_unprivileged(work)


def test_without_it_the_error_names_it(media: Path) -> None:
    def work() -> None:
        with pytest.raises(StoreReadOnly, match="open it with read_only=True"):
            memoranda.open(media)

    run_unprivileged(work)


@pytest.mark.slow
def test_a_change_by_somebody_who_can_is_seen_there(media: Path) -> None:
    """SQLite is told that such a file does not change: that is looked at all the same."""
    ask, answer = media.parent.parent / "ask", media.parent.parent / "answer"

    def work() -> None:
        with memoranda.open(media, read_only=True) as store:
            check_reads(store)
            answer.touch()
            while not ask.exists():
                time.sleep(0.01)
            check_reads(store, 2)

    def change() -> None:
        while not answer.exists():
            time.sleep(0.01)
        subprocess.run(
            [sys.executable, "-c", KILLED.replace("os._exit(0)", ""), str(media)], check=True
        )
        ask.touch()

    changing = threading.Thread(target=change)
    changing.start()
    run_unprivileged(work)
    changing.join()


@pytest.mark.slow
def test_a_journal_that_cannot_be_replayed_there_is_told(media: Path) -> None:
    media.parent.chmod(0o755)
    subprocess.run([sys.executable, "-c", KILLED, str(media)], check=True)
    for item in media.parent.iterdir():
        item.chmod(0o444)
    media.with_name("s.db-shm").unlink()
    media.parent.chmod(0o555)

    def work() -> None:
        with pytest.raises(StoreReadOnly, match=r"write-ahead log.*copy both"):
            memoranda.open(media, read_only=True)

    run_unprivileged(work)


def test_the_command_line_reads_there(media: Path) -> None:
    def work() -> None:
        cli = Cli(media.parent.parent)
        place = ["--db", media, "--agent", "a"]
        assert cli("get", "k", *place) == '{"n": 1}\n'
        assert "Mimi" in cli("recall", "cat", *place)
        cli("verify", *place[:2])
        result = cli.run("doctor", *place[:2])
        assert result.exit_code == 0, result.output
        assert "it can be read" in result.stdout
        assert "problem" not in result.stdout
        failed = cli.run("delete", "k", *place)
        assert failed.exit_code == 1
        assert "opened for reading only" in failed.stderr
        failed = cli.run("purge", *place[:2])
        assert failed.exit_code == 0, "there is nothing to purge"

    run_unprivileged(work)


def test_what_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        memoranda.open(tmp_path / "nothing.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_what_makes_no_sense_is_refused(path: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="read_only: a store in memory"):
        memoranda.open(":memory:", read_only=True)
    with pytest.raises(InvalidInput, match="read_only: 'yes' is neither"):
        memoranda.open(path, read_only="yes")  # type: ignore[arg-type]
    signer = memoranda.create_signer(tmp_path / "me.key", name="me")
    with pytest.raises(InvalidInput, match="signer: signs what is written"):
        memoranda.open(path, read_only=True, signer=signer)


def test_an_older_format_is_told(tmp_path: Path) -> None:
    shutil.copy(GOLDEN / "0.4.0.db", tmp_path / "s.db")
    with pytest.raises(StoreReadOnly, match="has an older format"):
        memoranda.open(tmp_path / "s.db", read_only=True)
    with memoranda.open(tmp_path / "s.db"):
        pass
    with memoranda.open(tmp_path / "s.db", read_only=True) as store:
        store.verify(deep=True)


def test_from_asyncio(path: Path) -> None:
    async def work() -> None:
        async with await memoranda.open_async(path, read_only=True) as store:
            record = await store.get_state(agent_id="a", key="k")
            assert record is not None
            with pytest.raises(StoreReadOnly):
                await store.write(agent_id="a", key="k", value={})

    asyncio.run(work())
