"""A lane of a client of Statehouse, which does not try anything again by itself."""

from __future__ import annotations

import time
from random import Random
from typing import Any

import grpc

from memoranda.server.statehouse import statehouse_pb2 as pb
from memoranda.server.statehouse.service import SERVICE
from memoranda.server.statehouse.statuses import ERROR_KEY
from tests.crash.server.journal import Journal
from tests.crash.server.lanes import PAUSE_SECONDS, Stop
from tests.patience import HANG_SECONDS
from tests.unit.server.statehouse.serving import struct_of


class StatehouseLane:
    """Begins, stages and commits transactions that the server keeps."""

    def __init__(self, channel: grpc.Channel, name: str, journal: Journal, seed: str) -> None:
        self._channel = channel
        self._name = name
        self._journal = journal
        self._random = Random(f"{seed}/{name}")

    def run(self, stopped: Stop) -> None:
        """Do one transaction after the other, until it is time to stop."""
        number = 0
        while not stopped():
            self.do(f"{self._name}-{number}")
            number += 1

    def do(self, name: str) -> None:
        """Write two keys in a transaction."""
        self._journal.intend(name, "statehouse")
        try:
            txn_id = self._call("BeginTransaction", pb.BeginTransactionResponse).txn_id
            for key in ("one", "two"):
                value = struct_of({"by": name})
                self._call(
                    "Write", pb.WriteResponse,
                    txn_id=txn_id, agent_id=self._name, key=key, value=value,
                )  # fmt: skip
            if self._random.random() < 0.1:
                self._call("Abort", pb.AbortResponse, txn_id=txn_id)
                raise AbandonedError
        except (grpc.RpcError, AbandonedError) as error:
            self._journal.refuse(name, error)
            time.sleep(PAUSE_SECONDS)
            return
        self._commit(name, txn_id)

    def _commit(self, name: str, txn_id: str) -> None:
        """Commit, again and again until the server knows what became of it, or nothing of it."""
        while True:
            try:
                answer = self._call("Commit", pb.CommitResponse, txn_id=txn_id)
            except grpc.RpcError as error:
                self._journal.leave_open(name, txn_id, error)
                if _code_of(error) != pb.UNKNOWN:
                    return
                time.sleep(PAUSE_SECONDS)
            else:
                self._journal.acknowledge(name, answer.commit_ts)
                return

    def _call(self, name: str, answer: Any, **fields: Any) -> Any:
        request = getattr(pb, f"{name}Request")(**fields)
        method = self._channel.unary_unary(
            f"/{SERVICE}/{name}", request.__class__.SerializeToString, answer.FromString
        )
        return method(request, timeout=HANG_SECONDS)


class AbandonedError(Exception):
    """The client has aborted its transaction."""


def _code_of(error: Any) -> int:
    """Return what Statehouse calls an error; 0 for one of the way to the server."""
    for key, value in error.trailing_metadata() or ():
        if key == ERROR_KEY:
            return int(pb.StatehouseError.FromString(value).code)
    return int(pb.UNKNOWN)
