"""Make the golden store of this version: a small store that every later version must open.

It writes `tests/golden/<version>.db` and, beside it, what the store answers. Run once per release;
a golden store that is there already is never written again.
"""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

import memoranda
from memoranda import (
    ALL_AGENTS,
    ALL_NAMESPACES,
    KeyRef,
    LinkCycle,
    Literal,
    ReplayEvent,
    Store,
)
from memoranda.audit import signers
from memoranda.model.refs import Ref
from memoranda.testing import FixedClock, FixedIds

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"


def main() -> int:
    """Write the store and its answers."""
    path = GOLDEN / f"{memoranda.__version__}.db"
    if path.exists():
        print(f"{path.name} is there already, and golden stores are never changed")
        return 1
    clock, ids = FixedClock(), FixedIds(f"golden {memoranda.__version__}")
    with memoranda.open(":memory:", clock=clock, ids=ids, embedder=None) as origin:
        fill(origin, clock)
        origin.fork(path, at=origin.stats().commits)
    with memoranda.open(path, clock=clock, ids=ids, embedder=None) as store:
        go_on(store)
        with tempfile.TemporaryDirectory() as folder:
            account(store, Path(folder), ids)
        store.reindex()
        store.bind(agent_id="planner", namespace="team/eng").remember("not in the index yet")
        answers = ask(store)
    path.with_suffix(".json").write_text(json.dumps(answers, indent=1) + "\n", "utf-8")
    return 0


def fill(store: Store, clock: FixedClock) -> None:
    """Use everything this version can write."""
    planner = store.bind(agent_id="planner", namespace="team/eng")
    planner.write(
        key="goal", value={"city": "Oslo", "nested": {"list": [1, 2.5, None, True, "é😀"]}}
    )
    clock.advance(60)
    with planner.begin_transaction(txn_id="golden-1") as transaction:
        transaction.write(key="step", value={"n": 1}, because=[KeyRef("goal")])
        transaction.write(key="step", value={"n": 2}, because=[KeyRef("step", version=1)])
        transaction.delete(key="never")
        transaction.write(agent_id="helper", key="k:%/'\"\x01\uffff", value={})
    clock.step(-3600)
    planner.delete(key="goal")
    planner.write(key="goal", value={"city": "Bergen"})
    store.write(agent_id="helper", key="k", value={"big": "x" * 5000, "least": -(2**63)})
    believe(planner)
    clock.advance(60)
    learn(planner)


def believe(planner: Store) -> None:
    """Use everything this version can write about memories."""
    planner.configure(max_reflection_depth=5, tiers={"short": 60}, transcript_retention=None)
    words = planner.store_transcript("é😀 I never fly.", occurred_at="2025-12-24T18:00:00+01:00")
    ground = planner.remember(
        "does not fly", title="flying", tags=["ann"], metadata={"n": 1}, tier="mid",
        transcript=words.id, spans=[words.find("never fly")],
    )  # fmt: skip
    planner.remember("never flies", title="flying", kind="claim")
    planner.remember("x" * 5000, visibility="private", agent_id="helper")
    planner.touch(ground.id)
    old = planner.reflect("travels slowly", on=[ground.id], title="old")
    planner.reflect("goes by train", on=[old.id], title="dependent")
    new = planner.reflect("travels calmly", on=[ground.id], title="new")
    planner.supersede(old=old.id, new=new.id)
    (notice,) = planner.invalidations()
    planner.resolve_invalidation(notice.id, decision="retract", note="gone")
    planner.unlink(source=old.id, target=ground.id, relation="reflects_on")


def learn(planner: Store) -> None:
    """Use everything this version can write about facts, and rest a value on some of it."""
    (words,) = planner.list_transcripts()
    (ground,) = (memory for memory in planner.list_memories() if memory.title == "flying")
    planner.set_cardinality(relation="Lives_In", cardinality="single")
    for place, since in (("Oslo", "2020"), ("Bergen", "2024"), ("Rome", "2022")):
        planner.assert_fact(
            subject="Ann", relation="lives in", object=place, valid_from=f"{since}-01-01T00:00:00Z"
        )
    planner.assert_fact(
        subject="Ann", relation="age|%", object=Literal(41), confidence=0.5, source=ground.id,
        valid_from="2025-01-01T00:00:00Z", valid_to="2026-01-01T00:00:00Z",
    )  # fmt: skip
    planner.assert_fact(subject="annie", relation="flies", object=Literal(False), source=words.id,
                        spans=[words.find("never fly")])  # fmt: skip
    told = planner.assert_fact(subject="Bo", relation="knows", object="Ann")
    planner.end_fact(subject="Ann", relation="lives in", at="2025-06-01T00:00:00Z")
    planner.end_fact(subject="Annie", relation="flies", source=words.id)
    planner.retract_fact(assertion_id=told.assertion_id, reason="a mix-up")
    planner.alias(entity="Ann", alias="Annie")
    planner.assert_fact(subject="Anne", relation="lives in", object="Paris")
    planner.merge_entities(source="Anne", into="Ann")
    planner.write(key="trip", value={}, because=[ground, *planner.facts(relation="lives in")])


def go_on(store: Store) -> None:
    """Write in the fork, and leave a reader's cursor in the middle of it."""
    store.write(agent_id="planner", key="after the fork", value={"n": 1})
    with store.subscribe(
        agent_id="planner", namespace="team/eng", cursor="indexer", after_commit=0
    ) as subscription:
        subscription.ack(next(subscription))


def account(store: Store, folder: Path, ids: FixedIds) -> None:
    """Erase, sum up, sign and be refused, in scopes of their own."""
    log, own = (
        signers.create(folder / f"{name}.key", f"example.com/{name}", ids=ids)
        for name in ("log", "signing")
    )
    clerk = store.bind(agent_id="clerk", namespace="records")
    for number in range(3):
        clerk.write(key="count", value={"n": number})
    words = clerk.store_transcript("what was said, and is gone")
    memory = clerk.remember("gone", title="gone", transcript=words.id)
    clerk.assert_fact(subject="Ann", relation="lives in", object="Oslo", source=memory.id)
    clerk.write(key="decision", value={"n": 1}, because=[memory])
    clerk.forget(memory_id=memory.id, reason="asked to")
    clerk.forget(transcript_id=words.id)
    clerk.write(key="secret", value={"word": "gone"})
    clerk.forget(key="secret")
    store.bind(agent_id="left", namespace="records").write(key="k", value={})
    store.forget(agent_id="left", reason="it left")
    clerk.compact(before=store.stats().commits, confirm=True, reason="the year is over")
    signing = store.bind(agent_id="signing", namespace="records", signer=own)
    first, second = signing.remember("first"), signing.remember("second")
    signing.link(source=first.id, target=second.id, relation="derived_from")
    with suppress(LinkCycle):
        signing.link(source=second.id, target=first.id, relation="derived_from")
    store.checkpoint(signer=log)


def named(ref: Ref) -> list[Any]:
    """Return what a value rests on."""
    if isinstance(ref, KeyRef):
        return [ref.key, ref.version]
    return list(msgspec.structs.astuple(ref))


def ask(store: Store) -> dict[str, Any]:
    """Return what the store says of itself, in plain JSON."""
    return {
        "verification": store.verify().head_hash,
        "replay": {
            agent: [told(event) for event in store.replay(agent_id=agent, namespace=ALL_NAMESPACES)]
            for agent in ("planner", "helper", "_engine")
        },
        "history": [
            [entry.version, entry.value, [named(ref) for ref in entry.because]]
            for entry in store.history(agent_id="planner", namespace="team/eng", key="step")
        ],
        "memories": [
            [memory.title, memory.version, memory.content, memory.reflection_depth]
            for memory in store.bind(agent_id="helper").list_memories(
                namespace="team/eng",
                content=True,
                at=store.stats().commits,  # by now some have expired
            )
        ],
        "notices": [
            [notice.namespace, notice.decision, notice.note]
            for notice in store.invalidations(agent_id=ALL_AGENTS, status="all")
        ],
        "words": [
            [transcript.text(), str(transcript.occurred_at)]
            for transcript in store.list_transcripts(namespace="team/eng")
        ],
        "facts": [
            [str(fact), str(fact.valid_from), str(fact.valid_to), fact.confidence]
            for fact in store.facts(agent_id="planner", namespace="team/eng", include_closed=True)
        ],
        "believed": [
            [str(fact), str(fact.valid_from), str(fact.valid_to)]
            for commit in range(1, store.stats().commits)
            for fact in store.facts(
                agent_id="planner", namespace="team/eng", include_closed=True, known_at=commit
            )
        ],
        "why": [
            str(store.why("trip", agent_id="planner", namespace="team/eng", at=at))
            for at in (1, store.stats().commits)
            if store.get_state(agent_id="planner", namespace="team/eng", key="trip", at=at)
        ],
        "past": [
            [change.kind, change.key]
            for change in store.diff(agent_id="planner", namespace="team/eng", a=1, b=3)
        ],
        "erasures": [
            [made.target, made.commit_ts, made.by, made.reason, made.operations, made.digest]
            for made in store.erasures()
        ],
        "checkpoints": [[each.size, each.note] for each in store.checkpoints()],
        "audit": [
            [each.event_type, each.agent_id, each.attest_level, each.payload_hash]
            for each in store.audit_events()
        ],
        "left": [
            str(store.why("decision", agent_id="clerk", namespace="records"))
            for _ in store.list_keys(agent_id="clerk", namespace="records", prefix="decision")
        ],
        "cursors": [list(cursor) for cursor in store.cursors()],
        "recalled": sorted(
            hit.text
            for hit in store.bind(agent_id="helper", namespace="team/eng").recall(
                "who never flies?", kinds=["memory"], known_at=store.stats().commits
            )
        ),
    }


def told(event: ReplayEvent) -> list[Any]:
    """Return everything an event tells."""
    operations = [
        [op.type.name, op.namespace, op.key, op.version, op.value] for op in event.operations
    ]
    return [event.commit_ts, event.timestamp, event.txn_id, event.actor, event.token, operations]


if __name__ == "__main__":
    sys.exit(main())
