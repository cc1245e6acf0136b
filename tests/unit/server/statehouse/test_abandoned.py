"""Ten thousand transactions that are begun and left do not stay in a server's memory.

The server is another process (`python -m … PATH`). For each line of its input, it lets two minutes
pass for its transactions, and prints how many there are, and how much memory and how many file
handles it has before and after.
"""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
from pathlib import Path

import grpc
import msgspec
import pytest

from memoranda.server.statehouse.transactions import ServerTransactions
from memoranda.testing import FixedClock
from tests.patience import HANG_SECONDS
from tests.unit.server.statehouse.serving import Client, Refusal, server_of

ROOT = Path(__file__).parents[4]
TRANSACTIONS = 10_000
TASKS = 20
VALUE = {"text": "x" * 4_000}
GROWTH_BYTES = TRANSACTIONS * 2_000
"""By which memory may differ by chance; two rounds that stay would take four times as much."""


class Report(msgspec.Struct):
    """A server before and after its transactions have expired."""

    counts: tuple[int, int]
    memory: tuple[int, int]
    handles: tuple[int, int]


async def leave(client: Client, number: int) -> None:
    """Begin transactions, stage a write in each, and leave them."""
    for _ in range(number):
        txn_id = await client.begin()
        await client.call("Write", txn_id=txn_id, agent_id="a", key="k", value=VALUE)


async def rounds(process: subprocess.Popen[str], address: str) -> list[Report]:
    """Leave all transactions a server takes, and let them expire, again and again."""
    assert process.stdin is not None
    assert process.stdout is not None
    reports = []
    async with grpc.aio.insecure_channel(address) as channel:
        client = Client(channel)
        for _ in range(3):
            await asyncio.gather(*(leave(client, TRANSACTIONS // TASKS) for _ in range(TASKS)))
            with pytest.raises(Refusal, match="transactions of this caller are open"):
                await client.begin()
            process.stdin.write("\n")
            process.stdin.flush()
            reports.append(msgspec.json.decode(process.stdout.readline(), type=Report))
        assert await client.write("k", {"n": 1}) == 1, "nothing else was ever written"
    return reports


@pytest.mark.slow
def test_a_server_lets_go_of_abandoned_transactions(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.unit.server.statehouse.test_abandoned"]
    with subprocess.Popen(
        [*command, str(tmp_path / "store.db")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            reports = asyncio.run(asyncio.wait_for(rounds(process, address), HANG_SECONDS))
        finally:
            process.kill()

    assert [report.counts for report in reports] == [(TRANSACTIONS, 0)] * 3
    first, _, last = reports  # what the first round took is used again by the others
    assert last.memory[1] < first.memory[1] + GROWTH_BYTES
    assert last.handles[1] <= first.handles[1]


# The server.


def memory() -> int:
    """Return the resident memory of this process in bytes."""
    pages = Path("/proc/self/statm").read_text("utf-8").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def handles() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def serve(path: Path) -> None:
    clock = FixedClock()
    transactions = ServerTransactions(clock=clock)
    async with server_of(path, transactions=transactions) as address:
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()
        while await asyncio.to_thread(sys.stdin.readline):
            before = transactions.count, memory(), handles()
            for _ in range(2):  # they expire, and then it is forgotten how they ended
                clock.advance(120)
                transactions.sweep()
            gc.collect()
            after = transactions.count, memory(), handles()
            report = Report(*zip(before, after, strict=True))
            sys.stdout.write(f"{msgspec.json.encode(report).decode()}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
