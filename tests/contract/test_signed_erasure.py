"""Signatures, notes of refusals and the audit's index, where something is forgotten."""

from __future__ import annotations

import pytest

from memoranda import InvalidInput, LinkCycle, Store
from memoranda.audit.signers import Signer
from memoranda.model.event import REQUEST_SIGNED
from tests.cores import core_of

NAME = "ann-with-a-name"
ANN, ADMIN = Signer("a.key", b"a" * 32), Signer("admin", b"d" * 32)


@pytest.fixture
def ann(store: Store) -> Store:
    """Somebody who signs what is her own and what is bob's, and was refused something."""
    ann, bob = store.bind(agent_id=NAME, signer=ANN), store.bind(agent_id="bob")
    ann.write(key="k", value={"secret": "words"})
    mine, his = ann.remember("mine").id, bob.remember("his").id
    with ann.begin_transaction() as transaction:
        transaction.write(key="k", value={"secret": "more words"})
        transaction.write(key="k", value={}, agent_id="bob")
    ann.touch(his)
    ann.link(source=mine, target=his, relation="supersedes")
    with pytest.raises(LinkCycle):
        ann.link(source=his, target=mine, relation="supersedes")
    ann.write(key="last", value={})
    return ann


def check(store: Store, signed: int) -> None:
    """Check that the log, its signatures and its views are sound."""
    assert store.verify().signed == signed
    assert store.rebuild().identical
    assert store.verify().signed == signed


def told(store: Store) -> list[tuple[str, str, str]]:
    return [
        (audit_event.event_type, audit_event.agent_id, audit_event.attest_level)
        for audit_event in store.audit_events()
    ]


def test_a_signature_holds_when_content_is_forgotten(
    store: Store, ann: Store, attest_level: str
) -> None:
    before = store.verify().signed
    store.bind(agent_id=NAME).forget(key="k")
    check(store, before)
    assert ("content.erased", NAME, attest_level) in told(store)
    assert ("state.written", NAME, attest_level) in told(store)


def test_a_forgetting_is_signed_and_trusts_a_new_key(
    store: Store, ann: Store, attest_level: str
) -> None:
    before = store.verify().signed
    admin = store.bind(agent_id="admin", signer=ADMIN)
    certificate = admin.forget(whole_agent="bob", reason="asked to")
    assert store.certificate(certificate.erasure_id) == certificate
    assert told(store)[-2:] == [
        ("key.trusted", "admin", attest_level),
        ("erasure.carried_out", "admin", attest_level),
    ]
    check(store, before + 1)


def test_a_compaction_is_signed_and_signatures_outlast_it(
    store: Store, ann: Store, attest_level: str
) -> None:
    before = store.verify().signed
    admin = store.bind(agent_id="admin", signer=ADMIN)
    if attest_level == REQUEST_SIGNED:  # its slices are commits that a client cannot name
        with pytest.raises(InvalidInput, match="signer: cannot sign compact"):
            admin.compact(before=store.stats().commits, confirm=True)
        store.compact(before=store.stats().commits, confirm=True)
        check(store, before)
        return
    done = admin.compact(before=store.stats().commits, confirm=True)
    assert done.commit_ts is not None
    events = [item for item in told(store) if item[1] == "admin"]
    assert events[0] == ("key.trusted", "admin", "self-signed")
    assert {level for _, _, level in events} == {"self-signed"}
    check(store, before + 1)
    store.retire_key(ADMIN.public)
    ann.write(key="k", value={})
    with pytest.raises(InvalidInput, match="retired"):
        admin.compact(before=store.stats().commits, confirm=True)
    check(store, before + 2)


def test_who_may_not_sign_erases_nothing(store: Store, ann: Store) -> None:
    store.retire_key(ANN.public)
    before = list(store.replay(agent_id=NAME))
    with pytest.raises(InvalidInput, match="retired"):
        ann.forget(key="k")
    assert list(store.replay(agent_id=NAME)) == before
    check(store, 6)


def names_in(store: Store) -> list[str]:
    """Return the tables in which ann's name stands."""
    with core_of(store).engine.reading() as reader:
        tables = {
            "event": [
                row
                for number in range(1, core_of(store).head() + 1)
                if (row := reader.row("event_get", commit_ts=number))
            ],
            "event_scope": reader.rows("event_scope_rows"),
            "scope": reader.rows("scopes_of_agent", agent_id=NAME),
            "txn": reader.rows("txn_rows"),
            "public_key": reader.rows("public_key_rows"),
        }
    return [
        table
        for table, rows in tables.items()
        if any(NAME in str(row) or (table == "scope" and row) for row in rows)
    ]


@pytest.mark.parametrize("who", ["admin", "ann herself"])
def test_an_agent_that_is_forgotten_has_no_name_and_no_signature(
    request: pytest.FixtureRequest, sync_store: Store, who: str
) -> None:
    store = sync_store
    ann = request.getfixturevalue("sync_ann")
    assert set(names_in(store)) == {"event", "event_scope", "scope", "txn", "public_key"}
    actor = store.bind(agent_id="admin", signer=ADMIN) if who == "admin" else ann
    actor.forget(whole_agent=NAME)
    assert names_in(store) == []
    check(store, 1 if who == "admin" else 0)
    (refused,) = store.audit_events(event_type="link.cycle_refused")
    assert refused.agent_id.startswith("forgotten-")
    assert refused in list(store.audit_events(agent_id=refused.agent_id))
    (trusted, *_) = store.audit_events(event_type="key.trusted")
    assert (trusted.agent_id, trusted.attest_level) == (refused.agent_id, "unsigned")


@pytest.fixture
def sync_store() -> Store:
    from memoranda.testing import memory_store

    return memory_store()


@pytest.fixture
def sync_ann(sync_store: Store) -> Store:
    instance: Store = ann.__wrapped__(sync_store)  # type: ignore[attr-defined]
    return instance


def test_a_new_key_is_not_named_by_who_asks_to_be_forgotten(store: Store) -> None:
    store.bind(agent_id=NAME).write(key="k", value={})
    store.bind(agent_id=NAME, signer=ANN).forget(whole_agent=NAME)
    assert NAME not in str(told(store))
    assert list(store.audit_events(event_type="key.trusted")) == []
    check(store, 0)
