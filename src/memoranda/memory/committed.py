"""What became of a transaction: the commit it made, if it made one, and what stands in that."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from memoranda.log import retries
from memoranda.model import codec
from memoranda.model.operations import AnyOperation
from memoranda.storage.port import Reader


class Committed(msgspec.Struct, frozen=True):
    """A transaction that was committed, and who is told of it."""

    commit: int
    txn_id: str
    actor: str
    viewer: str

    def is_own(self, reader: Reader) -> bool:
        """Say whether it became that commit, or changed nothing and so became none."""
        return retries.commit_of(reader, self.txn_id, self.actor) == self.commit


def operations_of(reader: Reader, commit: int) -> Sequence[AnyOperation]:
    """Return what a commit did, as far as it is still there."""
    row = reader.row("event_get", commit_ts=commit)
    assert row is not None, "a transaction's own commit is there"
    return codec.decode_standing(row[5])
