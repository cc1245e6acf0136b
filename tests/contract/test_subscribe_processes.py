"""Subscribe across processes: who writes elsewhere is followed, who is killed resumes."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import count, pairwise
from pathlib import Path

import pytest

import memoranda
from memoranda import ALL_AGENTS, ALL_NAMESPACES
from tests.contract.events import Background, commits_of
from tests.contract.opener import Opener
from tests.patience import HANG_SECONDS

WRITER = """
import sys, time
import memoranda
path, agent, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with memoranda.open(path, durability="relaxed") as store:
    for number in range(count):
        store.write(agent_id=agent, namespace=f"n{number % 7}", key="k", value={"n": number})
        if number % 20 == 0:
            time.sleep(0.02)
"""
FOLLOWER = """
import sys
import memoranda
store = memoranda.open(sys.argv[1])
subscription = store.subscribe(agent_id="a", cursor="indexer", after_commit=0)
for event in subscription:
    print(event.commit_ts, flush=True)
    subscription.ack(event)
"""
ASYNC_FOLLOWER = """
import asyncio, sys
import memoranda
async def follow():
    store = await memoranda.open_async(sys.argv[1])
    subscription = store.subscribe(agent_id="a", cursor="indexer", after_commit=0)
    async for event in subscription:
        print(event.commit_ts, flush=True)
        await subscription.ack(event)
asyncio.run(follow())
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_what_other_processes_write(reopen: Opener, location: str) -> None:
    store = reopen()
    everything = store.subscribe(
        agent_id=ALL_AGENTS, namespace=ALL_NAMESPACES, after_commit=0, timeout=HANG_SECONDS
    )
    of_one = store.subscribe(
        agent_id="w1", namespace=ALL_NAMESPACES, after_commit=0, timeout=HANG_SECONDS
    )
    writers = [start(WRITER, location, f"w{number}", 200) for number in range(3)]
    reading = Background(lambda: [next(of_one) for _ in range(200)])
    result = [next(everything) for _ in range(600)]
    mine = reading.answer()
    for writer in writers:
        writer.communicate(timeout=HANG_SECONDS)
        assert writer.returncode == 0
    assert commits_of(result) == [*range(1, 601)]
    for name in ("w0", "w1", "w2"):
        writes = [
            operation.value["n"]  # type: ignore[index]
            for event in result
            for operation in event.operations
            if operation.agent_id == name
        ]
        assert writes == [*range(200)]
    assert mine == list(store.replay(agent_id="w1", namespace=ALL_NAMESPACES))
    for subscription in (everything, of_one):
        subscription.close()


@pytest.mark.slow
@pytest.mark.parametrize("follower", [FOLLOWER, ASYNC_FOLLOWER], ids=["sync", "async"])
def test_a_killed_follower_resumes_and_nothing_is_lost(tmp_path: Path, follower: str) -> None:
    path = tmp_path / "store.db"

    def write() -> list[int]:
        """Write until the followers are killed: however much one reads, the next finds more."""
        with memoranda.open(path, durability="relaxed") as store:
            for number in count():
                store.write(agent_id="a" if number % 3 else "other", key="k", value={"n": number})
                if number >= 240 and enough.wait(0.02):
                    break
                pause.wait(0.003)
            return commits_of(store.replay(agent_id="a"))

    def follow(is_enough: Callable[[list[int]], bool]) -> list[int]:
        """Return what a follower printed until it was killed."""
        printed: list[int] = []
        with start(follower, path) as process:
            assert process.stdout is not None
            while not is_enough(printed):
                printed.append(int(process.stdout.readline()))
            process.kill()
            return printed + [int(line) for line in process.stdout]

    pause, enough = threading.Event(), threading.Event()
    memoranda.open(path).close()
    writing = Background(write)
    runs = [follow(lambda printed, lives=lives: len(printed) == lives) for lives in (1, 20, 30, 15)]  # type: ignore[misc]
    enough.set()
    target = writing.answer()
    runs.append(follow(lambda printed: target[-1] in printed))
    assert len(target) >= 160
    for run in runs:
        begin = target.index(run[0])
        assert run == target[begin : begin + len(run)], "in order, without a gap"
    for run, resumed in pairwise(runs):
        behind = target.index(resumed[0]) - target.index(run[-1])
        assert behind in (0, 1), "what was printed last was acknowledged, or comes again"
    assert {commit for run in runs for commit in run} == set(target)
