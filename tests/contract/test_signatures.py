"""An agent's own signature: on everything done through its handle, and held to by `verify`."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda import InvalidInput, Store
from memoranda.audit import signers
from memoranda.audit.signers import Signer
from memoranda.model.event import REQUEST_SIGNED
from memoranda.testing import FixedIds, memory_store
from tests.contract.opener import Opener
from tests.patience import HANG_SECONDS


def signer(name: str, number: int = 1) -> Signer:
    return Signer(name, bytes([number]) * 32)


@pytest.fixture
def ann(store: Store) -> Store:
    return store.bind(agent_id="ann", signer=signer("ann"))


def levels(store: Store) -> list[tuple[str, str]]:
    return [
        (audit_event.event_type, audit_event.attest_level) for audit_event in store.audit_events()
    ]


def link_twice(ann: Any, source: str, target: str) -> None:
    for name in ("once", "again"):
        ann.link(source=source, target=target, relation="related_to", txn_id=name)


WORK: dict[str, Callable[[Any], object]] = {
    "write": lambda ann: ann.write(key="k", value={}),
    "delete": lambda ann: ann.delete(key="k"),
    "remember": lambda ann: ann.remember("x" * 5000),
    "reflect": lambda ann: ann.reflect("r", on=[ann.remember("ground").id]),
    "transcript": lambda ann: ann.store_transcript("words"),
    "fact": lambda ann: ann.assert_fact(subject="a", relation="r", object="b"),
    "facts": lambda ann: ann.assert_facts(
        [{"subject": f"s{n}", "relation": "r", "object": "o"} for n in range(7)], batch=3
    ),
    "configure": lambda ann: ann.configure(max_reflection_depth=2),
    "transact": lambda ann: ann.transact(lambda tx: tx.write(key="k", value={})),
    "named": lambda ann: ann.write(key="k", value={}, txn_id="once"),
    "without effect": lambda ann: link_twice(ann, *(ann.remember(text).id for text in "ab")),
    "trust": lambda ann: ann.trust_key(signer("other", 9).public),
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_everything_through_the_handle_is_signed(
    store: Store, ann: Store, attest_level: str, work: Callable[[Any], object]
) -> None:
    work(ann)
    reports = levels(store)
    assert {level for _, level in reports} == {attest_level}
    report = store.verify()
    assert report.signed == report.commits > 0
    assert report.request_signed == (report.signed if attest_level == REQUEST_SIGNED else 0)
    store.write(agent_id="ann", key="by nobody", value={})
    assert store.verify().signed == report.signed


def test_a_key_is_trusted_with_the_first_transaction(store: Store, ann: Store) -> None:
    assert list(store.audit_events()) == []
    ann.write(key="k", value={})
    ann.write(key="k", value={})
    assert [kind for kind, _ in levels(store)] == [
        "log.epoch_begun",
        "key.trusted",
        "state.written",
        "state.written",
    ]
    (event,) = store.audit_events(event_type="key.trusted")
    assert (event.agent_id, event.commit_ts) == ("ann", 1)


def test_what_changes_nothing_trusts_nobody(ann: Store, store: Store) -> None:
    with ann.begin_transaction():
        pass
    assert store.stats().commits == 0


def test_a_signature_is_shown(store: Store, ann: Store, attest_level: str) -> None:
    ann.write(key="k", value={})
    store.bind(agent_id="bob").write(key="k", value={})
    mine, his = list(store.audit_events(event_type="state.written"))
    assert mine.signature is not None
    assert len(bytes.fromhex(mine.signature)) == 64
    assert (his.signature, his.attest_level) == (None, "unsigned")
    (event,) = ann.replay()
    assert (event.signature, event.attest_level) == (mine.signature, attest_level)
    (other,) = store.replay(agent_id="bob")
    assert (other.signature, other.attest_level) == (None, "unsigned")


def test_a_signer_stays_with_its_agent(store: Store, ann: Store, attest_level: str) -> None:
    ann.bind(namespace="team").write(key="k", value={})
    ann.bind(agent_id="ann").write(key="k", value={})
    ann.bind(agent_id="bob").write(key="k", value={})
    attest_levels = [
        audit_event.attest_level for audit_event in store.audit_events(event_type="state.written")
    ]
    assert attest_levels == [attest_level, attest_level, "unsigned"]


def test_a_signer_can_be_given_as_its_file(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "ann.key"
    signers.create(path, "ann", ids=FixedIds("file"))
    store.bind(agent_id="ann", signer=path).write(key="k", value={})
    store.bind(agent_id="ann", signer=str(path)).write(key="k", value={})
    assert store.verify().signed == 2


def test_who_may_not_sign(store: Store, ann: Store) -> None:
    ann.write(key="k", value={})
    with pytest.raises(InvalidInput, match=r"agent_id: .*a signer signs for an agent"):
        store.bind(signer=signer("ann"))
    with pytest.raises(InvalidInput, match="signer: "):
        store.bind(agent_id="ann", signer=7)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="signs for agent 'ann' already"):
        store.bind(agent_id="bob", signer=signer("ann")).write(key="k", value={})
    store.trust_key(signer("log", 5).public)
    with pytest.raises(InvalidInput, match="signs for the log already"):
        store.bind(agent_id="ann", signer=signer("log", 5)).write(key="k", value={})
    store.retire_key(signer("ann").public)
    with pytest.raises(InvalidInput, match=r"was retired at commit 3.*create a new signer"):
        store.bind(agent_id="ann", signer=signer("ann")).write(key="k", value={})


def test_a_plain_store_says_so_when_it_is_bound() -> None:
    with memory_store() as store:
        store.bind(agent_id="ann", signer=signer("ann")).write(key="k", value={})
        with pytest.raises(InvalidInput, match="signs for agent 'ann' already"):
            store.bind(agent_id="bob", signer=signer("ann"))


def test_it_is_checked_again_when_it_signs(store: Store, ann: Store) -> None:
    early = store.bind(agent_id="bob", signer=signer("ann"))
    ann.write(key="k", value={})
    with pytest.raises(InvalidInput, match="signs for agent 'ann' already"):
        early.write(key="k", value={})
    store.retire_key(signer("ann").public)
    head = store.stats().commits
    with pytest.raises(InvalidInput, match="was retired"):
        ann.write(key="k", value={})
    with pytest.raises(InvalidInput, match="was retired"):
        ann.transact(lambda tx: tx.write(key="k", value={}))
    assert store.stats().commits == head
    assert store.verify().signed == 1


def test_an_agent_can_retire_its_own_key_and_go_on_with_another(store: Store, ann: Store) -> None:
    ann.write(key="k", value={})
    ann.retire_key(signer("ann").public)
    store.bind(agent_id="ann", signer=signer("ann", 2)).write(key="k", value={})
    assert [kind for kind, _ in levels(store)] == [
        "log.epoch_begun", "key.trusted", "state.written", "key.retired", "key.trusted",
        "state.written",
    ]  # fmt: skip
    assert store.verify().signed == 3


def test_a_key_that_is_rotated_stays_the_agents(store: Store, ann: Store) -> None:
    ann.write(key="k", value={})
    store.rotate_key(old=signer("ann").public, new=signer("ann", 2).public)
    store.bind(agent_id="ann", signer=signer("ann", 2)).write(key="k", value={})
    assert [trusted_key.agent_id for trusted_key in store.trusted_keys()] == ["ann", "ann"]
    assert store.verify().signed == 2


def test_two_keys_of_one_agent(store: Store, ann: Store) -> None:
    other = store.bind(agent_id="ann", signer=signer("ann-phone", 2))
    ann.write(key="k", value={})
    other.write(key="k", value={})
    ann.write(key="k", value={})
    assert store.verify().signed == 3


def test_a_key_is_not_given_away_by_what_it_signs(store: Store, ann: Store) -> None:
    ann.trust_key(signer("ann").public, agent_id="ann")
    assert len(list(store.audit_events(event_type="key.trusted"))) == 1
    new = store.bind(agent_id="carl", signer=signer("carl", 3))
    with pytest.raises(InvalidInput, match="signer: "):
        new.trust_key(signer("carl", 3).public, agent_id="dora")
    assert store.verify().signed == 1
    assert store.rebuild().identical


def test_a_retry_is_the_same_whoever_signs_it(store: Store, ann: Store) -> None:
    first = ann.write(key="k", value={}, txn_id="t").commit_ts
    assert ann.write(key="k", value={}, txn_id="t").commit_ts == first
    plain = store.bind(agent_id="ann")
    assert plain.write(key="k", value={}, txn_id="t").commit_ts == first
    rotated = store.bind(agent_id="ann", signer=signer("ann", 2))
    assert rotated.write(key="k", value={}, txn_id="t").commit_ts == first
    assert store.stats().commits == 1


def test_copies_and_forks_hold(reopen: Opener, tmp_path: Path) -> None:
    store = reopen()
    ann = store.bind(agent_id="ann", signer=signer("ann"))
    for number in range(3):
        ann.write(key="k", value={"n": number})
    store.backup(tmp_path / "copy.db")
    store.fork(tmp_path / "fork.db", at=2)
    for name, commits in (("copy.db", 3), ("fork.db", 2)):
        with memoranda.open(tmp_path / name) as other:
            assert other.verify().signed == commits
            other.bind(agent_id="ann", signer=signer("ann")).write(key="k", value={})
            assert other.verify().signed == commits + 1


def test_many_tasks_at_once(tmp_path: Path) -> None:
    async def work() -> tuple[int, int, int]:
        async with await memoranda.open_async(tmp_path / "s.db", durability="relaxed") as store:
            agents = [
                store.bind(agent_id=f"a{n % 4}", signer=signer(f"a{n % 4}", 1 + n % 4))
                for n in range(64)
            ]
            await asyncio.gather(*(agent.write(key="k", value={}) for agent in agents))
            report = await store.verify()
            trusted = [
                audit_event async for audit_event in store.audit_events(event_type="key.trusted")
            ]
            return report.commits, report.signed, len(trusted)

    assert asyncio.run(work()) == (64, 64, 4)


PROCESS = """
import sys
import memoranda
from memoranda.audit.signers import Signer
path, agent, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
with memoranda.open(path, durability="relaxed") as store:
    handle = store.bind(agent_id=agent, signer=Signer(agent, bytes([number]) * 32))
    sys.stdin.readline()
    for n in range(40):
        handle.write(key=f"k{n % 3}", value={"n": n})
"""


@pytest.mark.slow
def test_two_processes_sign_for_one_agent_and_a_third_for_another(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    memoranda.open(path).close()
    command = [sys.executable, "-c", PROCESS, str(path)]
    started = [
        subprocess.Popen([*command, name, number], stdin=subprocess.PIPE, text=True)
        for name, number in (("ann", "1"), ("ann", "1"), ("bob", "2"))
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.close()
    for process in started:
        process.wait(HANG_SECONDS)
    assert [process.returncode for process in started] == [0, 0, 0]
    with memoranda.open(path) as store:
        report = store.verify()
        assert (report.commits, report.signed) == (120, 120)
        trusted = store.audit_events(event_type="key.trusted")
        assert sorted(item.agent_id for item in trusted) == ["ann", "bob"]
        assert store.rebuild().identical
