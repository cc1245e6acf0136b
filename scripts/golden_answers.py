"""What a golden store answers: the same in every later version."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import msgspec

from memoranda import ALL_AGENTS, ALL_NAMESPACES, KeyRef, ReplayEvent, Store
from memoranda.model.refs import Ref


def ask(store: Store) -> dict[str, Any]:
    """Return what the store says of itself, in plain JSON."""
    return {
        **ask_log(store),
        **ask_beliefs(store),
        **ask_audit(store),
        **ask_rest(store),
        **ask_shared(store),
        **ask_grounds(store),
    }


def ask_log(store: Store) -> dict[str, Any]:
    """Return the head of the log, and what agents did."""
    return {
        "verification": store.verify().head_hash,
        "replay": {
            agent: [told(event) for event in store.replay(agent_id=agent, namespace=ALL_NAMESPACES)]
            for agent in ("planner", "helper", "_engine")
        },
        "traces": [
            [event.commit_ts, event.trace_id]
            for event in store.replay(agent_id="planner", namespace=ALL_NAMESPACES)
            if event.trace_id is not None
        ],
        "history": [
            [entry.version, entry.value, [named(ref) for ref in entry.because]]
            for entry in store.history(agent_id="planner", namespace="team/eng", key="step")
        ],
    }


def ask_beliefs(store: Store) -> dict[str, Any]:
    """Return what the agents of one namespace believe, and why."""
    return {
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
            for change in store.diff(agent_id="planner", namespace="team/eng", old=1, new=3)
        ],
    }


def ask_audit(store: Store) -> dict[str, Any]:
    """Return what was erased, signed and refused."""
    return {
        "erasures": [
            [item.target, item.commit_ts, item.by, item.reason, item.operations, item.digest]
            for item in store.erasures()
        ],
        "checkpoints": [[checkpoint.size, checkpoint.note] for checkpoint in store.checkpoints()],
        "audit": [
            [event.event_type, event.agent_id, event.attest_level, event.payload_hash]
            for event in store.audit_events()
        ],
        "left": [
            str(store.why("decision", agent_id="clerk", namespace="records"))
            for _ in store.list_keys(agent_id="clerk", namespace="records", prefix="decision")
        ],
    }


def ask_rest(store: Store) -> dict[str, Any]:
    """Return conversations, private facts, what a compaction left, and what is recalled."""
    return {
        "talks": [
            [talk.messages(), talk.text(), [*map(list, talk.message_spans())]]
            for talk in store.list_transcripts(namespace="team/talk")
        ],
        "told to": {
            viewer: sorted(
                str(fact)
                for fact in store.bind(agent_id=viewer, namespace="team/eng").facts(
                    agent_id="planner", include_closed=True
                )
            )
            for viewer in ("planner", "helper")
        },
        "ledger": [
            [memory.title, memory.version, memory.content, memory.access_count, sorted(memory.tags)]
            for memory in store.bind(agent_id="keeper").list_memories(
                namespace="ledger", content=True
            )
        ],
        "cursors": [list(cursor) for cursor in store.cursors()],
        "recalled": sorted(
            hit.text
            for hit in store.bind(agent_id="helper", namespace="team/eng").recall(
                "who never flies?", kinds=["memory"], known_at=store.stats().commits
            )
        ),
    }


def ask_shared(store: Store) -> dict[str, Any]:
    """Return what agents that share facts believe, now and after each change, and about whom."""
    agents = [
        store.bind(agent_id=name, namespace=namespace)
        for namespace in ("pool", "pool/below", "pool/old")
        for name in ("planner", "helper")
    ]
    return {
        "shared": [facts_of(agent) for agent in agents],
        "shared then": [
            facts
            for agent in agents[:-2]  # the last namespace is summed up
            for facts, _ in groupby(
                facts_of(agent, known_at=commit) for commit in range(1, store.stats().commits)
            )
        ],
        "people": [
            [entity.name, entity.aliases, entity.agent_id]
            for agent in agents
            for entity in agent.entities()
        ],
        "unknown": facts_of(store.bind(agent_id="planner", namespace="quotes")),
    }


def facts_of(agent: Store, **options: Any) -> list[Any]:
    """Return the facts that an agent sees, with who believes and who asserted each."""
    return [
        [str(fact), str(fact.valid_from), str(fact.valid_to), fact.agent_id, fact.asserted_by]
        for fact in agent.facts(include_closed=True, **options)
    ]


def ask_grounds(store: Store) -> dict[str, Any]:
    """Return what is stale and for whom, values with their grounds, metadata and languages."""
    end = store.stats().commits  # by now some have expired
    return {
        "stale": [
            [notice.agent_id, notice.kind, notice.change, notice.status, notice.decision]
            + [None if ref is None else named(ref) for ref in (notice.dependent, notice.evidence)]
            for notice in store.invalidations(agent_id=ALL_AGENTS, status="all")
        ],
        "grounds": [
            str(store.why(key, agent_id="planner", namespace=namespace))
            for namespace in ("stale", "quotes")
            for key in store.list_keys(agent_id="planner", namespace=namespace)
        ],
        "metadata": [
            memories
            for memories, _ in groupby(
                [
                    [memory.title, memory.version, memory.metadata, memory.tags, memory.priority]
                    for memory in store.list_memories(
                        agent_id="helper", namespace="stale", metadata={"city": "Bergen"}, at=at
                    )
                ]
                for at in range(1, end + 1)
            )
        ],
        "speakers": [talk.text() for talk in store.list_transcripts(namespace="quotes")],
        "languages": dict(store.stats().languages),
        "recalled in German": [
            hit.text
            for hit in store.recall(
                "Welcher Zug?", agent_id="planner", namespace="deutsch", known_at=end
            )
        ],
    }


def told(event: ReplayEvent) -> list[Any]:
    """Return everything an event tells."""
    operations = [
        [op.type.name, op.namespace, op.key, op.version, op.value] for op in event.operations
    ]
    return [event.commit_ts, event.timestamp, event.txn_id, event.actor, event.token, operations]


def named(ref: Ref) -> list[Any]:
    """Return what a value rests on."""
    if isinstance(ref, KeyRef):
        return [ref.key, ref.version]
    return list(msgspec.structs.astuple(ref))
