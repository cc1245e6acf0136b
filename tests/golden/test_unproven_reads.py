"""Reads of what an erasure left in events of an older release say that nothing proves it.

What whoever has the file can do there is done here: append an erasure that vouches for another
operation in the place of an old one. The chain holds, and the mark is all that tells.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import astuple, replace

import memoranda
from memoranda import KeyRef, MemoryRef, Store
from memoranda.log import chain
from memoranda.log.erasure.rewrite_events import Tally
from memoranda.log.field_commitments import SaltSource
from memoranda.model import codec
from memoranda.model.event import Envelope, SealedEvent
from memoranda.model.memory import Content
from memoranda.model.operations import ENGINE_SCOPE, AnyOperation, Erase, Erased, is_unproven
from memoranda.model.operations.graph import Name
from memoranda.testing import FixedClock, FixedIds
from tests.chains import rewritten
from tests.cores import core_of
from tests.tamper.tables import opened
from tests.unit.cli.runner import Cli

HERE = Path(__file__).parent
TITLED, TOUCHED, TRIP, PARIS = 8, 11, 31, 29
"""Commits of the old store: a memory with versions, its use, a value, a fact that holds."""
ENDED = 25
"""The commit that ended where Ann lives, but for what was said to begin later."""
LIVES = {"subject": "Ann", "relation": "lives in"}
STUBS = 2
"""How many places of it stubs stand in."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of an older release."""
    shutil.copy(HERE / "0.6.0.db", tmp_path / "old.db")
    memoranda.open(tmp_path / "old.db", embedder=None).close()
    return tmp_path / "old.db"


def store_at(path: Path) -> Store:
    """Open it as of when it was made: some of its memories have expired since."""
    store = memoranda.open(path, embedder=None, clock=FixedClock())
    return store.bind(agent_id="planner", namespace="team/eng")


def forge(path: Path, commit_ts: int, position: int = 0, **changes: Any) -> None:
    """Let an operation say something else, and an erasure behind it vouch for that."""
    with opened(path) as database:
        query = "SELECT * FROM event WHERE commit_ts = ?"
        event = SealedEvent(*database.execute(query, (commit_ts,)).get)
        last = chain.head_after(
            database.execute("SELECT * FROM event ORDER BY commit_ts DESC LIMIT 1").get
        )
        old = codec.decode_operations(event.operations)[position]
        leaf, erasure = chain.operation_leaves(event)[position], last.commit_ts + 1
        rest: Any = replace(old, **changes)
        erased = Erased(old.namespace, old.agent_id, leaf, erasure, rest, bytes(16))
        parts = codec.split(event.operations)
        parts[position] = codec.encode(erased)
        new = rewritten(event, parts)
        digest, tally = sha256(parts[position]).digest(), Tally()
        tally.add((commit_ts, position), digest)
        scope = (ENGINE_SCOPE.namespace, ENGINE_SCOPE.agent_id)
        erase = Erase(*scope, "id", "key", "local", None, tally.count, tally.digest)
        erasing = chain.seal(
            last,
            last.committed_at + 1,
            SaltSource(FixedIds("erasing")).draw([erase]),
            Envelope("erasing", "local", bytes(32)),
            [erase],
        )
        database.execute(
            "UPDATE event SET salts = ?, operations = ? WHERE commit_ts = ?",
            (new.salts, new.operations, commit_ts),
        )
        database.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", astuple(erasing))
        row = (erasure, commit_ts, position, digest)
        database.execute("INSERT INTO erased VALUES (?, ?, ?, ?)", row)
    with memoranda.open(path, embedder=None) as store:
        store.rebuild()
        assert store.verify(deep=True).unproven == STUBS + 1, "it is not found otherwise"


def test_a_value_is_marked_wherever_it_is_read(path: Path) -> None:
    forge(path, TRIP, encoded=b'{"to":"forged"}')
    with store_at(path) as store:
        records = [
            store.get_state(key="trip"),
            store.get_state(key="trip", at=TRIP),
            store.get_state(key="trip", version=1),
            *store.scan_prefix(prefix="trip"),
            *store.scan_prefix(prefix="trip", at=TRIP),
            *store.history(key="trip"),
            *(change.after for change in store.diff(old=TRIP - 1, new=TRIP)),
        ]
        with store.begin_transaction() as transaction:
            records += [transaction.get_state(key="trip"), *transaction.scan_prefix(prefix="trip")]
        assert len(records) == 9
        for record in records:
            assert record is not None
            assert (record.value, record.unproven) == ({"to": "forged"}, True)
        assert [entry.key for entry in store.scan_prefix(prefix="") if entry.unproven] == ["trip"]
        store.write(key="trip", value={"to": "new"})
        now, then = store.get_state(key="trip"), store.get_state(key="trip", at=TRIP)
        assert now is not None
        assert then is not None
        assert (now.unproven, then.unproven) == (False, True)
        assert [entry.unproven for entry in store.history(key="trip")] == [True, False]
        assert [entry.unproven for entry in store.scan_prefix(prefix="trip", at=TRIP)] == [True]
        assert [entry.unproven for entry in store.scan_prefix(prefix="trip")] == [False]


def test_what_an_honest_erasure_left_is_marked_too(path: Path) -> None:
    with store_at(path) as store:
        store.forget(key="goal")
        marks = [version.unproven for version in store.history(key="step")]
        assert marks == [True, False], "the first rested on it; both stand in one commit"
        assert store.why(KeyRef("step", 1)).unproven
        assert not store.why(KeyRef("step", 2)).unproven
        assert not any(version.unproven for version in store.scan_prefix(prefix=""))
        unproven = sum(map(is_unproven, operations_of(store)))
        assert store.verify().unproven == unproven == STUBS + 1


def operations_of(store: Store) -> Iterator[AnyOperation]:
    with core_of(store).engine.snapshot() as reader:
        for commit in range(1, store.stats().commits + 1):
            row = reader.row("event_get", commit_ts=commit)
            assert row is not None
            yield from codec.decode_operations(row[5])


def memory_id(store: Store) -> str:
    event = next(store.replay(after_commit=TITLED - 1))
    return event.operations[0].key.removeprefix("memory:")


def test_a_memory_is_marked_at_the_versions_it_concerns(path: Path) -> None:
    forge(path, TITLED, content=Content("a forged word", None, 0))
    with store_at(path) as store:
        id_ = memory_id(store)
        first, *later = store.memory_history(id_)
        assert (first.content, first.unproven) == ("a forged word", True)
        then = store.get_memory(id_, at=TITLED)
        assert then is not None
        assert then.unproven
        assert [memory.unproven for memory in later] == [False], "content and details were replaced"
        assert not any(
            memory.unproven for memory in store.list_memories(at=TOUCHED) if memory.id == id_
        )


def test_what_a_memory_keeps_of_an_older_version_counts(path: Path) -> None:
    forge(path, TITLED + 1, content=Content("a forged word", None, 0))
    with store_at(path) as store:
        id_ = memory_id(store)
        assert reads(store, id_) == {True}
        store.touch(id_)
        assert reads(store, id_) == {True}, "it was used, and says what it said"
        store.update_memory(id_, tags=["new"])
        assert reads(store, id_) == {True}, "its content is still the old one"
        with store.begin_transaction() as transaction:
            transaction.update_memory(id_, content="new words")
            staged = transaction.get_memory(id_)
            assert staged is not None
            transaction.abort()
        store.update_memory(id_, content="new words")
        assert reads(store, id_) == {False}
        marks = [item.unproven for item in store.memory_history(id_)]
        assert marks == [False, True, True, False]
        (hit,) = store.recall("forged word", known_at=TITLED + 1, k=1)
        assert hit.memory is not None
        assert hit.memory.unproven


def reads(store: Store, id_: str) -> set[bool]:
    """Return whether a memory is marked, by all the ways it is read."""
    with store.begin_transaction() as transaction:
        result = [store.get_memory(id_), transaction.get_memory(id_)]
    origin = store.origins(id_)
    assert origin is not None
    result.append(origin.memory)
    result += [memory for memory in store.list_memories() if memory.id == id_]
    result += [memory.memory for memory in store.recall("word words forged") if memory.id == id_]
    assert len(result) >= 4
    return {memory.unproven for memory in result if memory is not None} | {
        store.why(MemoryRef(id_)).unproven
    }


def test_a_fact_is_marked_on_both_axes(path: Path) -> None:
    forge(path, PARIS, object=Name("Atlantis", "atlantis"))
    with store_at(path) as store:
        (stored_value,) = store.facts(relation="lives in")
        assert (str(stored_value.object), stored_value.unproven) == ("Atlantis", True)
        (reference,) = store.facts(subject="Anne", relation="lives in", known_at=PARIS)
        assert reference.unproven
        assert not any(fact.unproven for fact in store.facts(known_at=PARIS - 1))
        marks = {str(fact.object): fact.unproven for fact in store.timeline(**LIVES)}
        assert marks.pop("Atlantis")
        assert len(marks) == 3
        assert not any(marks.values())
        with store.begin_transaction() as transaction:
            staged = transaction.timeline(**LIVES)
            assert {str(fact.object) for fact in staged if fact.unproven} == {"Atlantis"}
        assert [fact.via.unproven for fact in store.neighbors("Ann", relation="lives in")] == [True]
        assert store.why(stored_value.ref).unproven
        (hit,) = (fact for fact in store.recall("Atlantis") if fact.fact is not None)
        assert hit.fact is not None
        assert hit.fact.unproven


def test_a_fact_whose_end_nothing_proves_is_marked(path: Path) -> None:
    with store_at(path) as store:
        (last,) = (fact for fact in store.timeline(**LIVES) if str(fact.object) == "Bergen")
        assert last.valid_to is not None
        assert not last.unproven
    forge(path, ENDED)
    with store_at(path) as store:
        for reference in (None, ENDED, ENDED - 1):
            timeline = store.timeline(**LIVES, known_at=reference)
            marked = {str(fact.object) for fact in timeline if fact.unproven}
            assert marked == (set() if reference == ENDED - 1 else {"Bergen"})
        with store.begin_transaction() as transaction:
            staged = transaction.timeline(**LIVES)
            assert {str(fact.object) for fact in staged if fact.unproven} == {"Bergen"}


def test_the_command_line_says_so(path: Path, tmp_path: Path) -> None:
    forge(path, TRIP, encoded=b"{}")
    command = Cli(tmp_path)
    command.env |= {"MEMORANDA_DB": str(path), "MEMORANDA_NAMESPACE": "team/eng"}
    assert command.row("get", "trip")["unproven"] is True
    assert [row.get("unproven") for row in command.rows("scan", "trip")] == [True]
    assert [row.get("unproven") for row in command.rows("history", "trip")] == [True]
    assert not any("unproven" in row for row in command.rows("scan", "s"))
    assert "unproven" in command("scan", "trip")
    assert "unproven" in command("history", "trip")
    assert "unproven" not in command("scan", "step")
