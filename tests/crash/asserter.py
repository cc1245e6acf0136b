"""A process that says where somebody works, while others do, and keeps account of it.

A line is written when, and only when, an assertion was acknowledged: its commit and its id.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random

import memoranda
from memoranda import Store

JOBS = ("acme", "globex", "initech")
SUBJECT, RELATION = "alice", "works at"
LEAST = 8
"""How many assertions there are at least, also on a busy machine."""


def assert_for(store: Store, name: str, seconds: float) -> None:
    """Assert at random instants, and now and then end what holds, until the time is over."""
    random, until = Random(name), time.monotonic() + seconds
    agent = store.bind(agent_id="all")
    for number in count():
        if time.monotonic() >= until and number >= LEAST:
            return
        at = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(days=random.randrange(60))
        if random.random() < 0.2:
            answer = agent.end_fact(subject=SUBJECT, relation=RELATION, at=at, allow_unknown=True)
        else:
            answer = agent.assert_fact(
                subject=SUBJECT,
                relation=RELATION,
                object=random.choice(JOBS),
                valid_from=at,
                txn_id=f"{name}-{number}",
            )
        line = f"{answer.commit_ts} {answer.assertion_id}\n"
        os.write(sys.stdout.fileno(), line.encode())


def main() -> None:
    """Begin once everybody is there."""
    path, name, seconds = sys.argv[1:]
    with memoranda.open(path, durability="relaxed") as store:
        os.write(sys.stdout.fileno(), b"ready\n")
        sys.stdin.readline()
        assert_for(store, name, float(seconds))


if __name__ == "__main__":
    main()
