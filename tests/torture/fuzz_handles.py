"""A fuzz of what calls give back: transcripts, replay entries, subscriptions, their async twins."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from memoranda import AsyncStore, Store
from tests.torture.hostile import hostile

_TALK = [{"role": "Ann", "content": "I live in Oslo.\nBen: hi"}, {"role": "Ben", "content": "hm"}]


def handles(store: Store) -> list[Any]:
    """Return transcripts of both forms, and what a memory is made of."""
    agent = store.bind(agent_id="a")
    talk = agent.store_transcript(_TALK)
    memory = agent.remember("Ann lives in Oslo", transcript=talk.id, spans=[talk.find("Oslo")])
    text = agent.store_transcript("Ann: I live in Oslo.")
    return [talk, text, *agent.replay_transcripts(memory.id)]


def subscribed(store: Store, random: Random) -> Iterator[Any]:
    """Yield what can be done with a subscription that waits for nothing, one after the other."""
    with store.subscribe(after_commit=0, timeout=0.0) as subscription:
        yield lambda: next(subscription, None)
        yield lambda: subscription.ack(hostile(random))
        yield subscription.close
        yield lambda: next(subscription, None)
        yield lambda: subscription.ack(hostile(random))


async def async_handles(store: AsyncStore) -> list[Any]:
    """Return asynchronous transcripts, and a transaction."""
    talk = await store.store_transcript(_TALK)
    text = await store.store_transcript("Ann: I live in Oslo.")
    return [talk, text, store.begin_transaction()]
