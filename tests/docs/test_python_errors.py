"""Every error that the Python reference names for a call can be provoked with that call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

import memoranda
from memoranda import FactRef, KeyRef, MemorandaError, Store
from scripts.python_pages import ERRORS

NOBODY = "00000000-0000-7000-8000-000000000000"
"""An id that nothing has."""
Provocation = Callable[[Store, Path], object]
PROVOCATIONS: dict[tuple[str, str], Provocation] = {}


def provokes(call: str, error: str) -> Callable[[Provocation], Provocation]:
    """Register how a call is brought to raise an error."""

    def register(provocation: Provocation) -> Provocation:
        assert (call, error) not in PROVOCATIONS
        PROVOCATIONS[call, error] = provocation
        return provocation

    return register


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


@pytest.mark.parametrize(("call", "error"), [(call, e) for call in ERRORS for e in ERRORS[call]])
def test_the_error_of_a_call_can_be_provoked(call: str, error: str, path: Path) -> None:
    assert (call, error) in PROVOCATIONS, "show here how the call raises it"
    with memoranda.open(path, embedder=None) as store:
        agent = store.bind(agent_id="planner")
        agent.write(key="goal", value={"city": "Oslo"})
        with pytest.raises(MemorandaError) as caught:
            PROVOCATIONS[call, error](agent, path)
    assert type(caught.value) is getattr(memoranda, error)


def test_no_provocation_is_left_over() -> None:
    assert set(PROVOCATIONS) == {(call, error) for call in ERRORS for error in ERRORS[call]}


SIMPLE: dict[tuple[str, str], Callable[[Store], object]] = {
    ("Store.write", "NotFound"): lambda a: a.write(key="k", value={}, because=[KeyRef("no")]),
    ("Store.write", "VersionMismatch"): lambda a: a.write(key="k", value={}, expect_version=3),
    ("Store.delete", "VersionMismatch"): lambda a: a.delete(key="k", expect_version=3),
    ("Store.remember", "NotFound"): lambda a: a.remember("x", transcript=NOBODY),
    ("Store.reflect", "NotFound"): lambda a: a.reflect("x", on=[NOBODY]),
    ("Store.update_memory", "NotFound"): lambda a: a.update_memory(NOBODY, content="x"),
    ("Store.update_memory", "VersionMismatch"): lambda a: a.update_memory(
        a.remember("x").id, content="y", expect_version=7
    ),
    ("Store.retract_memory", "NotFound"): lambda a: a.retract_memory(NOBODY),
    ("Store.touch", "NotFound"): lambda a: a.touch(NOBODY),
    ("Store.promote", "NotFound"): lambda a: a.promote(NOBODY),
    ("Store.link", "NotFound"): lambda a: a.link(
        source=NOBODY, target=a.remember("x").id, relation="related_to"
    ),
    ("Store.unlink", "NotFound"): lambda a: a.unlink(
        source=NOBODY, target=a.remember("x").id, relation="related_to"
    ),
    ("Store.supersede", "NotFound"): lambda a: a.supersede(old=NOBODY, new=a.remember("x").id),
    ("Store.resolve_invalidation", "NotFound"): lambda a: a.resolve_invalidation(
        NOBODY, decision="keep"
    ),
    ("Store.link_transcript", "NotFound"): lambda a: a.link_transcript(
        memory_id=a.remember("x").id, transcript_id=NOBODY
    ),
    ("Store.extract", "NotFound"): lambda a: a.extract(NOBODY, extractor="rules"),
    ("Store.assert_fact", "NotFound"): lambda a: a.assert_fact(
        subject="Ann", relation="likes", object="tea", source=NOBODY
    ),
    ("Store.assert_facts", "NotFound"): lambda a: a.assert_facts(
        [{"subject": "Ann", "relation": "likes", "object": "tea", "source": NOBODY}]
    ),
    ("Store.end_fact", "NotFound"): lambda a: a.end_fact(
        subject="Ann", relation="likes", object="tea", source=NOBODY
    ),
    ("Store.retract_fact", "NotFound"): lambda a: a.retract_fact(assertion_id=NOBODY),
    ("Store.merge_entities", "NotFound"): lambda a: a.merge_entities(source="Ann", into="Anne"),
    ("Store.neighbors", "NotFound"): lambda a: a.neighbors("Ann"),
    ("Store.find_id", "NotFound"): lambda a: a.find_id("0000"),
    ("Store.why", "NotFound"): lambda a: a.why("no such key"),
    ("Store.explain", "NotFound"): lambda a: a.explain(FactRef(NOBODY)),
    ("Store.prove", "NotFound"): lambda a: a.prove(1),
    ("Store.prove_growth", "NotFound"): lambda a: a.prove_growth(1),
    ("Store.forget", "NotFound"): lambda a: a.forget(memory_id=NOBODY),
    ("Store.certificate", "NotFound"): lambda a: a.certificate(NOBODY),
    ("Store.prove_erasure", "NotFound"): lambda a: a.prove_erasure(NOBODY),
}
PROVOCATIONS |= {
    pair: (lambda agent, _, call=call: call(agent))  # type: ignore[misc]
    for pair, call in SIMPLE.items()
}


# Titles, cycles and depths.


@provokes("Store.remember", "TitleTaken")
def remember_a_taken_title(agent: Store, _: Path) -> None:
    agent.remember("x", title="t")
    agent.remember("y", title="t", on_conflict="error")


@provokes("Store.reflect", "TitleTaken")
def reflect_under_a_taken_title(agent: Store, _: Path) -> None:
    ground = agent.remember("x", title="t")
    agent.reflect("y", on=[ground.id], title="t", on_conflict="error")


@provokes("Store.update_memory", "TitleTaken")
def take_a_taken_title(agent: Store, _: Path) -> None:
    agent.remember("x", title="t")
    agent.update_memory(agent.remember("y").id, title="t")


@provokes("Store.remember", "ReflectionTooDeep")
def remember_a_forbidden_reflection(agent: Store, _: Path) -> None:
    agent.configure(max_reflection_depth=0)
    agent.remember("x", kind="reflection")


@provokes("Store.reflect", "ReflectionTooDeep")
def reflect_too_deep(agent: Store, _: Path) -> None:
    agent.configure(max_reflection_depth=1)
    ground = agent.reflect("x", on=[agent.remember("w").id])
    agent.reflect("y", on=[ground.id])


@provokes("Store.link", "ReflectionTooDeep")
def link_too_deep(agent: Store, _: Path) -> None:
    agent.configure(max_reflection_depth=1)
    ground = agent.reflect("x", on=[agent.remember("w").id])
    agent.link(source=agent.remember("y").id, target=ground.id, relation="reflects_on")


@provokes("Store.link", "LinkCycle")
def link_in_a_circle(agent: Store, _: Path) -> None:
    one, other = agent.remember("x").id, agent.remember("y").id
    agent.link(source=one, target=other, relation="derived_from")
    agent.link(source=other, target=one, relation="derived_from")


@provokes("Store.supersede", "LinkCycle")
def supersede_in_a_circle(agent: Store, _: Path) -> None:
    one, other = agent.remember("x").id, agent.remember("y").id
    agent.supersede(old=one, new=other)
    agent.supersede(old=other, new=one)


@provokes("Store.resolve_invalidation", "Conflict")
def decide_twice(agent: Store, _: Path) -> None:
    ground = agent.reflect("x", on=[agent.remember("w").id])
    agent.reflect("y", on=[ground.id])
    agent.supersede(old=ground.id, new=agent.reflect("z", on=[agent.remember("v").id]).id)
    (notice,) = agent.invalidations()
    agent.resolve_invalidation(notice.id, decision="keep")
    agent.resolve_invalidation(notice.id, decision="retract")


# Transactions.


def change_the_goal(agent: Store) -> None:
    """Change, through another handle, what a transaction has read."""
    agent.write(key="goal", value={"city": "Bergen"})


@provokes("Transaction.commit", "TransactionConflict")
def commit_after_a_change(agent: Store, _: Path) -> None:
    transaction = agent.begin_transaction()
    transaction.get_state(key="goal")
    transaction.write(key="plan", value={})
    change_the_goal(agent)
    transaction.commit()


@provokes("Store.transact", "TransactionConflict")
def run_without_retries(agent: Store, _: Path) -> None:
    def work(transaction: memoranda.Transaction) -> None:
        transaction.get_state(key="goal")
        transaction.write(key="plan", value={})
        change_the_goal(agent)

    agent.transact(work, retries=0)


@provokes("Transaction.commit", "TransactionExpired")
def commit_too_late(agent: Store, _: Path) -> None:
    transaction = agent.begin_transaction(timeout=1e-9)
    transaction.write(key="plan", value={})
    transaction.commit()


@provokes("Store.transact", "TransactionExpired")
def run_too_late(agent: Store, _: Path) -> None:
    agent.transact(lambda transaction: transaction.write(key="plan", value={}), timeout=1e-9)


@provokes("Transaction.commit", "TransactionClosed")
def commit_twice(agent: Store, _: Path) -> None:
    transaction = agent.begin_transaction()
    transaction.commit()
    transaction.commit()


@provokes("Transaction.abort", "TransactionClosed")
def abort_a_committed_one(agent: Store, _: Path) -> None:
    transaction = agent.begin_transaction()
    transaction.commit()
    transaction.abort()


@provokes("Transaction.commit", "NotFound")
def commit_without_the_reason(agent: Store, _: Path) -> None:
    transaction = agent.begin_transaction()
    transaction.write(key="plan", value={}, because=[KeyRef("no")])
    transaction.commit()


@provokes("Transaction.commit", "VersionMismatch")
def commit_another_version(agent: Store, _: Path) -> None:
    transaction = agent.begin_transaction()
    transaction.write(key="plan", value={}, expect_version=9)
    transaction.commit()


@provokes("Transaction.commit", "TitleTaken")
def commit_a_taken_title(agent: Store, _: Path) -> None:
    agent.remember("x", title="t")
    transaction = agent.begin_transaction()
    transaction.remember("y", title="t", on_conflict="error")
    transaction.commit()


@provokes("Transaction.commit", "LinkCycle")
def commit_a_circle(agent: Store, _: Path) -> None:
    one, other = agent.remember("x").id, agent.remember("y").id
    transaction = agent.begin_transaction()
    transaction.link(source=one, target=other, relation="derived_from")
    transaction.link(source=other, target=one, relation="derived_from")
    transaction.commit()


@provokes("Transaction.commit", "ReflectionTooDeep")
def commit_too_deep(agent: Store, _: Path) -> None:
    agent.configure(max_reflection_depth=0)
    transaction = agent.begin_transaction()
    transaction.remember("x", kind="reflection")
    transaction.commit()


# The log and its proofs.


def foreign_token(path: Path) -> str:
    """Return a resume token of another log."""
    with memoranda.open(path.with_name("other.db"), embedder=None) as other:
        other.write(agent_id="planner", key="k", value={})
        (event,) = other.replay(agent_id="planner")
        return event.token


@provokes("Store.replay", "LogForked")
def replay_another_log(agent: Store, path: Path) -> None:
    list(agent.replay(after_commit=foreign_token(path)))


@provokes("Store.subscribe", "LogForked")
def follow_another_log(agent: Store, path: Path) -> None:
    list(agent.subscribe(after_commit=foreign_token(path), timeout=0))


@provokes("Store.audit_events", "LogForked")
def audit_another_log(agent: Store, path: Path) -> None:
    list(agent.audit_events(after_commit=foreign_token(path)))


@provokes("Store.verify", "ChainBroken")
def verify_a_changed_event(agent: Store, path: Path) -> None:
    tamper(path, "UPDATE event SET hash = zeroblob(32)")
    agent.verify()


@provokes("Store.verify", "ViewsDiffer")
def verify_a_changed_view(agent: Store, path: Path) -> None:
    tamper(path, "DELETE FROM state_version")
    agent.verify(deep=True)


@provokes("Store.verify", "NotProven")
def verify_a_note_of_nobody(agent: Store, path: Path) -> None:
    signer = memoranda.create_signer(path.with_name("log.key"), name="log")
    with memoranda.open(path.with_name("other.db"), embedder=None) as other:
        other.write(agent_id="planner", key="k", value={})
        note = other.checkpoint(signer=signer).note
    agent.verify(checkpoint=note)


def tamper(path: Path, statement: str) -> None:
    """Change the file behind the store's back."""
    connection = apsw.Connection(str(path))
    connection.execute(statement)
    connection.close()


@provokes("Store.checkpoint", "NotFound")
def sign_without_a_key(agent: Store, path: Path) -> None:
    agent.checkpoint(signer=path.with_name("no.key"))


@provokes("Store.retire_key", "NotFound")
def retire_an_unknown_key(agent: Store, path: Path) -> None:
    agent.retire_key(memoranda.create_signer(path.with_name("log.key"), name="log"))


# Opening.


@provokes("open", "NotFound")
def open_nothing(_: Store, path: Path) -> None:
    memoranda.open(path.with_name("no.db"), create=False)


@provokes("open", "StoreReadOnly")
def open_an_outdated_store_to_read(_: Store, path: Path) -> None:
    tamper(path, "UPDATE meta SET value = 'old' WHERE name LIKE 'view:%'")
    memoranda.open(path, read_only=True)


@provokes("open", "UnsupportedFormat")
def open_a_newer_store(agent: Store, path: Path) -> None:
    agent.close()
    tamper(path, "PRAGMA user_version = 99")
    memoranda.open(path)


@provokes("copy", "NotFound")
def copy_nothing(_: Store, path: Path) -> None:
    memoranda.copy(path.with_name("no.db"), path.with_name("new.db"))


@provokes("copy", "LogForked")
def copy_to_a_changed_copy(_: Store, path: Path) -> None:
    memoranda.copy(path, path.with_name("new.db"))
    with memoranda.open(path.with_name("new.db"), embedder=None) as store:
        store.write(agent_id="planner", key="goal", value={"city": "Bergen"})
    memoranda.copy(path, path.with_name("new.db"))


@provokes("restore", "NotFound")
def restore_nothing(_: Store, path: Path) -> None:
    memoranda.restore(path.with_name("no.db"), path.with_name("new.db"))
