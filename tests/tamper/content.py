"""A store with every kind of content, to be attacked."""

from __future__ import annotations

import shutil
from pathlib import Path

import memoranda
from memoranda import Literal, Store
from memoranda.audit import signers
from memoranda.testing import FixedClock, FixedIds
from tests.scripts import load_script

NAMES = ("Ann", "Bo", "Cy")


def make_store(folder: Path) -> Path:
    """Make the store in a folder: begun in one file, gone on with in a copy of it."""
    golden = load_script("make_golden")
    start, path = folder / "begun.db", folder / "store.db"
    clock, ids = FixedClock(), FixedIds("tampering")
    with memoranda.open(start, clock=clock, ids=ids, durability="relaxed") as store:
        _sum_up(store)
        golden.fill(store, clock)
        for agent, namespace in (("planner", "team/ops"), ("helper", "team/eng")):
            _believe(store.bind(agent_id=agent, namespace=namespace))
            _learn(store.bind(agent_id=agent, namespace=namespace))
        _forget(store)
        golden.forget_shared(store)
    shutil.copyfile(start, path)
    with memoranda.open(path, clock=clock, ids=ids, durability="relaxed") as store:
        golden.go_on(store)
        _sign(store, folder)
        _write_together(store)
        for side in ("left", "right"):  # which of the two comes first matters to nothing
            store.write(agent_id=side, key="k", value={})
    return path


def _sum_up(store: Store) -> None:
    """A namespace of which only what held is left."""
    agent = store.bind(agent_id="early", namespace="old")
    for number in range(3):
        agent.write(key="k", value={"n": number})
    agent.compact(before=3, confirm=True)


def _forget(store: Store) -> None:
    """Something of each kind is erased, and what others built on it stays."""
    agent = store.bind(agent_id="helper", namespace="team/eng")
    memories = {memory.title: memory for memory in agent.list_memories()}
    agent.forget(memory_id=memories["story"].id, reason="asked to")
    agent.forget(transcript_id=next(iter(agent.list_transcripts())).id)
    agent.write(key="secret", value={"n": 1})
    agent.write(key="secret", value={"n": 2})
    agent.forget(key="secret")
    target = store.bind(agent_id="gone", namespace="team/ops")
    source = target.remember("overheard", title="rumour")
    target.assert_fact(subject="Ann", relation="likes", object="Bo", source=source.id)
    target.forget(facts_from=source.id)
    target.write(key="k", value={})
    store.forget(whole_agent="gone")


def _sign(store: Store, folder: Path) -> None:
    """A key that was retired, and one that signs the log."""
    first, second = (
        signers.create(folder / f"{number}.key", "example.com/log", ids=FixedIds(f"key {number}"))
        for number in (1, 2)
    )
    store.checkpoint(signer=first)
    store.trust_key(second)
    store.retire_key(first, reason="lost")
    store.checkpoint(signer=second)


def _write_together(store: Store) -> None:
    """One transaction of two agents: several operations in one event."""
    with store.begin_transaction() as transaction:
        for number in range(3):
            transaction.write(agent_id="planner", key=f"k{number}", value={"n": number})
            transaction.write(agent_id="helper", key=f"k{number}", value={"n": number})
        transaction.delete(agent_id="planner", key="k0")
        transaction.remember("both were there", agent_id="helper", title="meeting")


def _believe(agent: Store) -> None:
    """Memories with versions and long content, links that hold and that were closed, notices."""
    words = agent.store_transcript("what was said, " * 500)
    agent.store_transcript("and what nobody cites")
    long = agent.remember("a long story, " * 400, title="story", transcript=words.id)
    agent.update_memory(long.id, content="a longer story, " * 400)
    agent.touch(long.id)
    short = agent.remember("short", tier="short", tags=["t"], spans=[(0, 4), (5, 8)],
                           transcript=words.id, visibility="private")  # fmt: skip
    agent.retract_memory(agent.remember("wrong").id, reason="it was not so")
    agent.link(source=short.id, target=long.id, relation="related_to")
    agent.link(source=long.id, target=short.id, relation="contradicts")
    agent.unlink(source=long.id, target=short.id, relation="contradicts")
    base = agent.reflect("so it goes", on=[long.id], title="base")
    for title in ("first", "second", "third"):
        agent.reflect(f"{title} thought", on=[base.id], title=title)
    agent.supersede(old=base.id, new=agent.reflect("better", on=[long.id], title="newer").id)
    notices = [item for item in agent.invalidations() if item.kind == "reflection_invalidation"]
    agent.resolve_invalidation(notices[0].id, decision="keep", note="still right")
    other = agent.reflect("instead", on=[long.id])
    agent.resolve_invalidation(notices[1].id, decision="revise", replacement=other.id)
    agent.configure(max_reflection_depth=4, tiers={"mid": 3600})


def _learn(agent: Store) -> None:
    """Facts of both kinds, under names that other scopes have too."""
    agent.set_cardinality(relation="lives in", cardinality="single")
    for year, name in enumerate(NAMES, start=2020):
        for place in ("Oslo", "Rome"):
            agent.assert_fact(subject=name, relation="lives in", object=place,
                              valid_from=f"{year}-01-01T00:00:00Z")  # fmt: skip
        agent.assert_fact(subject=name, relation="knows", object="Ann", confidence=0.25)
        agent.assert_fact(subject=name, relation="age", object=Literal(year))
    agent.end_fact(subject="Bo", relation="knows", at="2030-01-01T00:00:00Z")
    agent.end_fact(subject="Cy", relation="knows", object="Ann", at="2030-01-01T00:00:00Z")
    agent.retract_fact(subject="Cy", relation="age", object=Literal(2022), reason="a guess")
    fact = agent.assert_fact(subject="Bo", relation="owes", object="Cy", visibility="private",
                             valid_to="2040-01-01T00:00:00Z")  # fmt: skip
    agent.end_fact(subject="Ann", relation="owes", visibility="private")
    agent.assert_fact(subject="Ann", relation="owes", object="Bo", visibility="private")
    agent.retract_fact(assertion_id=fact.assertion_id, reason="it is paid")
    agent.alias(entity="Bo", alias="Robert")
    agent.merge_entities(source="Cy", into="Ann", allow_large=True)
    agent.set_cardinality(relation="knows", cardinality="single")
    agent.set_cardinality(relation="knows", cardinality="multi")
