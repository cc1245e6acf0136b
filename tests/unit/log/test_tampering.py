"""Whatever is changed in the log afterwards is found, and named by its commit."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

import memoranda
from memoranda import ChainBroken
from memoranda.log import chain
from memoranda.model import codec
from memoranda.model.event import SealedEvent
from memoranda.model.operations import Erased, Write
from tests.chains import erased, rewritten

BAD = 7


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    with memoranda.open(path, durability="relaxed") as store:
        for number in range(12):
            with store.begin_transaction() as transaction:
                transaction.write(agent_id="a", key="k", value={"n": number})
                transaction.write(agent_id="b", key="k", value={"n": number})
    return path


def tamper(path: Path, *statements: str) -> None:
    database = apsw.Connection(str(path))
    for statement in statements:
        database.execute(statement, {"bad": BAD})
    database.close()


def verify(path: Path) -> None:
    with memoranda.open(path, create=False) as store:
        store.verify()


SWAP = """
UPDATE event SET (committed_at, hash, salts, envelope, operations) = (
    SELECT committed_at, hash, salts, envelope, operations FROM event AS other
    WHERE other.commit_ts = CASE event.commit_ts WHEN :bad THEN :bad + 1 ELSE :bad END
) WHERE commit_ts IN (:bad, :bad + 1)
"""


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE event SET committed_at = committed_at + 1 WHERE commit_ts = :bad",
        "UPDATE event SET committed_at = 1 WHERE commit_ts = :bad",
        "UPDATE event SET hash = randomblob(32) WHERE commit_ts = :bad",
        "UPDATE event SET salts = randomblob(length(salts)) WHERE commit_ts = :bad",
        "UPDATE event SET salts = randomblob(64) WHERE commit_ts = :bad",
        "UPDATE event SET salts = substr(salts, 1, 48) WHERE commit_ts = :bad",
        "UPDATE event SET envelope = CAST(replace(envelope, 'local', 'loca1') AS BLOB)"
        " WHERE commit_ts = :bad",
        "UPDATE event SET envelope = x'c1' WHERE commit_ts = :bad",
        "UPDATE event SET operations = x'c1' WHERE commit_ts = :bad",
        "UPDATE event SET operations = x'90' WHERE commit_ts = :bad",
        "UPDATE event SET operations = (SELECT operations FROM event WHERE commit_ts = :bad - 1)"
        " WHERE commit_ts = :bad",
        "DELETE FROM event WHERE commit_ts = :bad",
        SWAP,
    ],
)
def test_a_changed_event_is_named(path: Path, statement: str) -> None:
    verify(path)
    tamper(path, statement)
    with pytest.raises(ChainBroken, match=f"commit {BAD}") as caught:
        verify(path)
    assert caught.value.commit_ts == BAD


@pytest.mark.slow
def test_every_byte_of_an_event_counts(path: Path) -> None:
    database = apsw.Connection(str(path))
    for column in ("hash", "salts", "envelope", "operations"):
        ((content,),) = database.execute(f"SELECT {column} FROM event WHERE commit_ts = {BAD}")
        for index in range(len(content)):
            changed = bytearray(content)
            changed[index] ^= 1 << index % 8
            update = f"UPDATE event SET {column} = ? WHERE commit_ts = {BAD}"
            database.execute(update, (bytes(changed),))
            with pytest.raises(ChainBroken) as caught:
                verify(path)
            assert caught.value.commit_ts == BAD
            database.execute(update, (content,))
    database.close()
    verify(path)


def old_form(event: SealedEvent) -> SealedEvent:
    """Return an event with what version 1 leaves of an operation, which opens nothing."""
    leaf = chain.operation_leaves(event)[0]
    forged = Erased("default", "a", leaf[:32], 99, Write("default", "a", "k", 1, b"{}"))
    return rewritten(event, [codec.encode(forged), codec.split(event.operations)[1]])


@pytest.mark.parametrize("whole", [True, False])
def test_an_operation_cannot_be_passed_off_as_erased(path: Path, *, whole: bool) -> None:
    database = apsw.Connection(str(path))
    (row,) = database.execute("SELECT * FROM event WHERE commit_ts = ?", (BAD,))
    event = SealedEvent(*row)
    forged = erased(event, {0: None}) if whole else old_form(event)
    database.execute(
        "UPDATE event SET operations = ?, salts = ? WHERE commit_ts = ?",
        (forged.operations, forged.salts, BAD),
    )
    database.close()
    with pytest.raises(ChainBroken, match="erased" if whole else "another chain version") as caught:
        verify(path)
    assert caught.value.commit_ts == BAD


def test_nothing_stands_before_the_first_commit(path: Path) -> None:
    tamper(
        path,
        "INSERT INTO event SELECT 0, committed_at - 1, hash, salts, envelope, operations"
        " FROM event WHERE commit_ts = 1",
    )
    with pytest.raises(ChainBroken, match="commit 0"):
        verify(path)


def test_every_salt_is_its_own(path: Path) -> None:
    database = apsw.Connection(str(path))
    salts = [row[0] for row in database.execute("SELECT salts FROM event")]
    database.close()
    first, *others = salts  # an epoch and two writes, then two writes of other scopes each
    assert {other[17:81] for other in others} == {first[49:113]}, "a scope has its salts again"
    own = [slice(1, 17), slice(-32, -16), slice(-16, None)]
    other = [salt[at] for salt in salts for at in own]
    assert len(set(other)) == len(other)


def test_a_log_from_elsewhere_does_not_fit_the_id(path: Path) -> None:
    tamper(path, "UPDATE meta SET value = value || '0' WHERE name = 'log_id'")
    with pytest.raises(ChainBroken) as caught:
        verify(path)
    assert caught.value.commit_ts == 1


@pytest.mark.parametrize(
    ("statement", "view"),
    [
        ("UPDATE state SET value = '{\"n\":99}' WHERE id = 1", "state"),
        ("UPDATE state SET version = version + 1 WHERE id = 1", "state"),
        ("DELETE FROM state WHERE id = 2", "state"),
        ("UPDATE state_version SET position = 0 WHERE commit_ts = :bad", "state"),
        ("INSERT INTO state_reference VALUES (1, 'k', :bad)", "state"),
        ("INSERT INTO state_reference VALUES (0, 'k', :bad)", "state"),
        ("DELETE FROM event_scope WHERE commit_ts = :bad", "log"),
        ("UPDATE event_scope SET kinds = x'920601' WHERE commit_ts = :bad", "log"),
        ("INSERT INTO kind_count VALUES (1, :bad + 99, 4, 1)", "log"),
        ("UPDATE txn SET commit_ts = 1 WHERE commit_ts = :bad", "log"),
    ],
)
def test_a_changed_view_is_found_and_repaired_by_rebuilding(
    path: Path, statement: str, view: str
) -> None:
    def answers(store: memoranda.Store) -> list[object]:
        return [[*store.replay(agent_id="a")], [*store.history(agent_id="b", key="k")]]

    with memoranda.open(path) as store:
        before = answers(store)
    tamper(path, statement.replace("'{\"n\":99}'", "CAST('{\"n\":99}' AS BLOB)"))
    with memoranda.open(path) as store:
        assert store.rebuild().differing == (view,)
        assert store.rebuild().identical
        assert answers(store) == before
