"""A log of which something was erased by hand, as the stored format says."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from struct import pack

import apsw
import msgspec

import memoranda
from memoranda.log import chain
from memoranda.log.field_commitments import SaltSource
from memoranda.model import codec
from memoranda.model.event import Envelope, Head, SealedEvent
from memoranda.model.operations import ENGINE_SCOPE, Erase
from memoranda.testing import FixedIds
from tests.chains import erased

Place = tuple[int, int]


class Eraser:
    """Erases operations of a store's log, in its file, which nobody has open."""

    def __init__(self, path: Path) -> None:
        self._database = apsw.Connection(str(path))

    def close(self) -> None:
        self._database.close()

    def event(self, commit_ts: int) -> SealedEvent:
        (row,) = self._database.execute(
            "SELECT commit_ts, committed_at, hash, salts, envelope, operations FROM event"
            " WHERE commit_ts = ?",
            (commit_ts,),
        )
        return SealedEvent(*row)

    def erase(self, *places: Place) -> int:
        """Erase what is at these places, and append the event that says so."""
        ((head,),) = self._database.execute("SELECT MAX(commit_ts) FROM event")
        digest = sha256()
        for commit_ts, position in sorted(places):
            remainder = self._replace(commit_ts, position, head + 1)
            digest.update(pack(">qq", commit_ts, position) + remainder)
            self._database.execute(
                "INSERT INTO erased VALUES (?, ?, ?, ?)", (head + 1, commit_ts, position, remainder)
            )
        self.append([self.erasing(len(places), digest.digest())])
        return int(head) + 1

    def erasing(self, count: int, digest: bytes) -> Erase:
        scope = (ENGINE_SCOPE.namespace, ENGINE_SCOPE.agent_id)
        return Erase(*scope, "erasure-1", "key", "local", None, count, digest)

    def append(self, operations: Sequence[Erase]) -> None:
        ((head,),) = self._database.execute("SELECT MAX(commit_ts) FROM event")
        last = self.event(head)
        salts = SaltSource(FixedIds(last.hash.hex())).draw(operations)
        event = chain.seal(
            Head(last.commit_ts, last.committed_at, last.hash),
            last.committed_at + 1,
            salts,
            Envelope(f"erasing-{head}", "local", b"\0" * 32),
            operations,
        )
        self._database.execute(
            "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", msgspec.structs.astuple(event)
        )

    def put(self, event: SealedEvent) -> None:
        """Write an event over what stands in its place."""
        self._database.execute("DELETE FROM event WHERE commit_ts = ?", (event.commit_ts,))
        self._database.execute(
            "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", msgspec.structs.astuple(event)
        )

    def _replace(self, commit_ts: int, position: int, erasure: int) -> bytes:
        event = erased(self.event(commit_ts), {position: None}, erasure)
        self._database.execute(
            "UPDATE event SET salts = ?, operations = ? WHERE commit_ts = ?",
            (event.salts, event.operations, commit_ts),
        )
        self._database.execute(
            "DELETE FROM blob WHERE commit_ts = ? AND position = ?", (commit_ts, position)
        )
        return sha256(codec.split(event.operations)[position]).digest()


def erased_store(path: Path) -> None:
    """Make a store in which some operations were erased, one of them twice."""
    with memoranda.open(path, durability="relaxed") as store:
        for number in range(8):
            with store.begin_transaction() as transaction:
                transaction.write(agent_id="a", key="k", value={"n": number})
                transaction.write(agent_id="b", key="k", value={"n": number})
        store.store_transcript("secret words " * 500, agent_id="a")
    eraser = Eraser(path)
    eraser.erase((3, 0), (5, 1), (9, 0))
    eraser.erase((3, 0), (7, 0), (7, 1))
    eraser.close()
