"""A process that reflects on what another one supersedes meanwhile, or the other way round."""

from __future__ import annotations

import sys

import memoranda
from memoranda import Store

GROUNDS = 25
ROUNDS = 4


def grounds(store: Store) -> list[str]:
    """Return the reflections that both processes know."""
    return [memory.id for memory in store.list_memories(namespace="ground")]


def reflect(store: Store) -> None:
    """Draw reflections on each ground, again and again."""
    for _ in range(ROUNDS):
        for ground in grounds(store):
            store.reflect("rests on it", on=[ground], namespace="reflecting")


def supersede(store: Store) -> None:
    """Supersede each ground, again and again by something else."""
    for _ in range(ROUNDS):
        for ground in grounds(store):
            newer = store.remember("newer", kind="reflection", namespace="superseding")
            store.supersede(old=ground, new=newer.id)


def main() -> None:
    """Do one's part, once both are there."""
    path, part = sys.argv[1:]
    with memoranda.open(path, durability="relaxed") as store:
        print("ready", flush=True)  # noqa: T201
        sys.stdin.readline()
        bound = store.bind(agent_id=part)
        (reflect if part == "reflect" else supersede)(bound)


if __name__ == "__main__":
    main()
