"""Erasures in the log: the hash stays, the salt goes, and only what a commit says is accepted."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import apsw
import pytest

import memoranda
from memoranda import ChainBroken
from memoranda.log import chain
from memoranda.model import codec
from memoranda.model.erasure import Forget, Target
from memoranda.model.event import SealedEvent
from memoranda.model.operations import Erase, Redacted
from memoranda.model.scope import Scope
from tests.chains import erased
from tests.leftovers import leftovers

KEPT, GONE, ERASURE = 1, 2, 4


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of which the key written by commit 2 was forgotten by commit 4."""
    path = tmp_path / "store.db"
    with memoranda.open(path) as store:
        ann = store.bind(agent_id="ann")
        ann.write(key="kept", value={"n": 1})
        ann.write(key="gone", value={"n": 2})
        ann.write(key="after", value={"n": 3})
        ann.forget(key="gone")
    return path


def rows(path: Path, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
    database = apsw.Connection(str(path))
    try:
        return list(database.execute(statement, values))
    finally:
        database.close()


def broken(path: Path) -> ChainBroken:
    with memoranda.open(path) as store, pytest.raises(ChainBroken) as caught:
        store.verify()
    return caught.value


def test_the_hash_stays_and_the_salts_go(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with memoranda.open(path) as store:
        ann = store.bind(agent_id="ann")
        ann.write(key="k", value={"n": 1})
        ((before, salts),) = rows(path, "SELECT hash, salts FROM event")
        ann.forget(key="k")
        ((after, remainder),) = rows(path, "SELECT hash, salts FROM event WHERE commit_ts = 1")
        store.verify()
    assert before == after
    # the envelope, the scope of the epoch of the new log, that of the write, the epoch, the write
    assert (len(salts), len(remainder)) == (1 + 7 * 16, 1 + 5 * 16)
    assert remainder == salts[:1] + bytes(16) + salts[17:49] + salts[81:97] + bytes(16)


def test_the_erasing_event_says_nothing_that_can_be_guessed(path: Path) -> None:
    ((salts, envelope, operations),) = rows(
        path, "SELECT salts, envelope, operations FROM event WHERE commit_ts = ?", (ERASURE,)
    )
    queries = codec.encode_all((Forget(Target("key", "gone", Scope("default", "ann")), "ann", ""),))
    reference = codec.decode_envelope(envelope).request_hash
    assert len(reference) == 32
    assert chain.request_hash(salts, queries, 1) != reference
    (text,) = codec.decode_operations(operations)
    assert isinstance(text, Erase)
    assert b"gone" not in operations
    assert (text.target, text.count) == ("key", 2)


@pytest.mark.parametrize(
    ("statement", "commit_ts"),
    [
        ("DELETE FROM erased", GONE),
        ("UPDATE erased SET digest = zeroblob(32)", GONE),
        ("UPDATE erased SET erasure = erasure - 1", GONE),
        ("UPDATE erased SET commit_ts = commit_ts + 1", GONE),
        ("UPDATE erased SET position = position + 2", GONE),
        ("INSERT INTO erased SELECT erasure, 3, position, digest FROM erased", GONE),
        ("INSERT INTO erased SELECT 3, commit_ts, position, digest FROM erased", 3),
        ("INSERT INTO erased SELECT erasure, 0, -9, digest FROM erased LIMIT 1", ERASURE),
        (f"INSERT INTO erased SELECT erasure, {-(2**63)}, 0, digest FROM erased LIMIT 1", ERASURE),
        ("UPDATE event SET salts = randomblob(length(salts)) WHERE commit_ts = 2", GONE),
        (
            "UPDATE event SET salts = CAST(substr(salts, 1, 17) || randomblob(16) AS BLOB)"
            " WHERE commit_ts = 2",
            GONE,
        ),
    ],
)
def test_what_was_erased_is_vouched_for(path: Path, statement: str, commit_ts: int) -> None:
    rows(path, statement)
    assert broken(path).commit_ts == commit_ts


def forge(path: Path, erasure: int, *, vouched: bool) -> None:
    """Erase the operation of commit 1 by hand, as if a commit had done it."""
    (row,) = rows(path, "SELECT * FROM event WHERE commit_ts = ?", (KEPT,))
    event = erased(SealedEvent(*row), {1: None}, erasure)
    rows(
        path,
        "UPDATE event SET operations = ?, salts = ? WHERE commit_ts = ?",
        (event.operations, event.salts, KEPT),
    )
    if vouched:
        digest = sha256(codec.split(event.operations)[1]).digest()
        rows(path, "INSERT INTO erased VALUES (?, ?, ?, ?)", (erasure, KEPT, 1, digest))


@pytest.mark.parametrize("erasure", [0, 3, ERASURE, 99])
@pytest.mark.parametrize("vouched", [False, True])
def test_nothing_can_be_passed_off_as_erased(path: Path, erasure: int, *, vouched: bool) -> None:
    forge(path, erasure, vouched=vouched)
    assert broken(path).commit_ts == KEPT


def test_what_was_erased_cannot_be_given_back_unseen(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with memoranda.open(path) as store:
        ann = store.bind(agent_id="ann")
        ann.write(key="k", value={"n": 1})
        (row,) = rows(path, "SELECT salts, operations FROM event WHERE commit_ts = 1")
        ann.forget(key="k")
    rows(path, "UPDATE event SET salts = ?, operations = ? WHERE commit_ts = 1", row)
    assert broken(path).commit_ts == 1


def test_an_erased_envelope_is_vouched_for(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with memoranda.open(path) as store:
        store.bind(agent_id="ann").write(agent_id="bob", key="k", value={"n": 1})
        store.forget(whole_agent="ann")
        (event,) = store.replay(agent_id="bob")
        assert (event.txn_id, event.actor[:10]) == ("", "forgotten-")
        assert event.operations[0].value == {"n": 1}
        store.verify()
    rows(path, "DELETE FROM erased WHERE position = -1")
    assert broken(path).commit_ts == 1


def test_what_was_left_first_cannot_be_guessed_when_more_of_it_is_erased(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with memoranda.open(path) as store:
        ann = store.bind(agent_id="ann")
        ann.remember("words")
        memory = ann.remember("more words")
        ann.forget(memory_id=memory.id)
        ((operations,),) = rows(path, "SELECT operations FROM event WHERE commit_ts = 2")
        (remainder,) = codec.decode_operations(operations)
        assert isinstance(remainder, Redacted)
        assert len(remainder.salt) == 16
        store.forget(whole_agent="ann")
        store.verify()
        reference = [row[0] for row in rows(path, "SELECT digest FROM erased")]
        guess = codec.encode(remainder)
        assert sha256(guess).digest() in reference  # whoever has the salt can tell
    assert leftovers(path, [remainder.salt]) == set()
