"""A process that writes to a store, and goes on after errors: `URL NAME`.

It prints each acknowledged write with its commit, and ends with its input.
"""

from __future__ import annotations

import sys
import threading
import time

import memoranda
from memoranda import CommitUnknown, LogForked, StoreBusy, Unavailable

_PAUSE = 0.02
"""Seconds between two tries of a write."""


def open_store(url: str) -> memoranda.Store:
    """Open a store of a database, without vectors, or one of a server."""
    if url.startswith("postgresql://"):
        return memoranda.open(url, embedder=None)
    return memoranda.open(url)


def main(url: str, name: str) -> None:
    """Write until the input ends: every number once, tried with the same id until it is there."""
    is_over = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        is_over.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    with open_store(url) as store:
        number = 0
        while not is_over.is_set():
            commit_ts = _write(store, name, number)
            if commit_ts is not None:
                _say(f"{number} {commit_ts}")
                number += 1


def _write(store: memoranda.Store, name: str, number: int) -> int | None:
    try:
        with store.begin_transaction(txn_id=f"{name}-{number}") as transaction:
            transaction.write(agent_id=name, key="number", value={"n": number})
            transaction.write(agent_id="shared", key=name, value={"n": number})
            return transaction.commit()
    except LogForked as error:
        _say(f"LogForked: {error}")
        raise SystemExit(3) from error
    except (CommitUnknown, StoreBusy, Unavailable):
        time.sleep(_PAUSE)
        return None


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
