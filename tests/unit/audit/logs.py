"""Stores whose log is signed, for tests, and ways to spoil them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw

import memoranda
from memoranda import Signer, Store, create_signer
from memoranda.audit import keys
from memoranda.log import chain
from memoranda.model.event import Head, SealedEvent

NAME = "example.com/agents"


def write(store: Store, commits: int) -> None:
    for number in range(commits):
        store.write(agent_id="a", key=f"k{number % 7}", value={"n": number})


def signer_in(folder: Path, name: str = NAME, file: str = "ours.key") -> Signer:
    return create_signer(folder / file, name=name)


def open_store(path: Path, **options: object) -> Store:
    return memoranda.open(path, **{"durability": "relaxed", **options})  # type: ignore[arg-type]


def spoil(path: Path, statement: str, *values: object) -> None:
    """Change a closed store behind its back."""
    database = apsw.Connection(str(path))
    database.execute(statement, values)
    database.close()


def rechain(path: Path, commit_ts: int, change: Callable[[SealedEvent], SealedEvent]) -> None:
    """Change an event, and give it and all behind it hashes that fit, as a forger would."""
    database = apsw.Connection(str(path))
    rows = list(
        database.execute(
            "SELECT commit_ts, committed_at, hash, salts, envelope, operations FROM event "
            "WHERE commit_ts >= ? ORDER BY commit_ts",
            (commit_ts - 1,),
        )
    )
    first, *others = [SealedEvent(*row) for row in rows]
    last = Head(first.commit_ts, first.committed_at, first.hash)
    for event in others:
        sealed = chain.seal_again(last, change(event) if event.commit_ts == commit_ts else event)
        database.execute(
            "UPDATE event SET committed_at = ?, hash = ? WHERE commit_ts = ?",
            (sealed.committed_at, sealed.hash, sealed.commit_ts),
        )
        last = Head(sealed.commit_ts, sealed.committed_at, sealed.hash)
    database.close()


def seeded(name: str, number: int) -> Signer:
    """Return a signer that has no file."""
    return Signer(name, bytes([number]) * keys.SEED_SIZE)
