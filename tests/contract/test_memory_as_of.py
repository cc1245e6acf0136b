"""The past of memories: every read answers as it did before what came since."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoranda import Store
from memoranda.testing import FixedClock

Ids = dict[str, str]


@pytest.fixture
def beliefs(agent: Store) -> Ids:
    """A reflection on two observations with words of their own."""
    instance: Ids = {}
    for name in ("tea", "rain"):
        words = agent.store_transcript(f"the words about {name}")
        memory = agent.remember(name, transcript=words.id, spans=[words.find(name)])
        instance[name] = memory.id
    instance["top"] = agent.reflect("stays inside", on=[instance["tea"], instance["rain"]]).id
    instance["other"] = agent.remember("goes out", kind="reflection").id
    return instance


CHANGES: dict[str, Callable[[Store, Ids], Any]] = {
    "update": lambda store, ids: store.update_memory(ids["tea"], content="coffee", tags=["new"]),
    "supersede": lambda store, ids: store.supersede(old=ids["top"], new=ids["other"]),
    "unlink": lambda store, ids: store.unlink(
        source=ids["top"], target=ids["tea"], relation="reflects_on"
    ),
    "retract": lambda store, ids: store.retract_memory(ids["tea"]),
    "retract the top": lambda store, ids: store.retract_memory(ids["top"]),
    "touch": lambda store, ids: store.touch(ids["tea"]),
    "link": lambda store, ids: store.link(
        source=ids["top"], target=ids["other"], relation="reflects_on"
    ),
    "cite": lambda store, ids: store.link_transcript(
        memory_id=ids["top"], transcript_id=store.store_transcript("later").id
    ),
}


def everything(store: Store, ids: Ids, at: Any = None) -> list[Any]:
    replayed = store.replay_transcripts(ids["top"], at=at)
    return [
        *(store.get_memory(value, at=at) for value in ids.values()),
        *(store.links(value, at=at) for value in ids.values()),
        *(store.transcripts_for(value, at=at) for value in ids.values()),
        *(store.dependents(value, depth=None, at=at) for value in ids.values()),
        store.origins(ids["top"], at=at),
        [(value.anchors, value.expired, value.retracted, value.excerpts()) for value in replayed],
        list(store.list_memories(at=at, content=True)),
    ]


@pytest.mark.parametrize("change", CHANGES)
def test_the_past_stays_as_it_was(
    agent: Store, beliefs: Ids, clock: FixedClock, change: str
) -> None:
    head = agent.stats().commits
    time = agent.stats().last_committed_at
    before = everything(agent, beliefs)
    clock.advance(3600)
    CHANGES[change](agent, beliefs)
    assert everything(agent, beliefs) != before
    assert everything(agent, beliefs, at=head) == before
    assert everything(agent, beliefs, at=time) == before
    assert agent.rebuild().identical
    assert everything(agent, beliefs, at=head) == before
