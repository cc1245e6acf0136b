"""The journal of a client: what it is about to do, and what it was told of it.

An intent is written before anything is sent, and an outcome after the call has returned. The file
is the client's own, so it tells what a client knows, whatever the server has lost.
"""

from __future__ import annotations

import time
from collections import defaultdict
from pathlib import Path
from typing import Literal

import msgspec

Outcome = Literal["intended", "acknowledged", "unknown", "refused"]
"""`unknown`: it may be in the log or not. `refused`: it is certain that it is not."""


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a journal."""

    outcome: Outcome
    name: str
    """The name of a deed; no two have the same one."""
    at: float
    """When it was written, by the clock that all processes of this machine share."""
    kind: str = ""
    """Of an intent: what is done."""
    commit_ts: int = 0
    txn_id: str = ""
    """Of an unknown outcome: the id that it has if it is in the log."""
    error: str = ""


_DECODER = msgspec.json.Decoder(Line)


class Journal:
    """Written by one client."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)

    def intend(self, name: str, kind: str) -> None:
        """Note what is about to be done."""
        self._write(Line("intended", name, time.monotonic(), kind))

    def acknowledge(self, name: str, commit_ts: int) -> None:
        """Note that it is committed."""
        self._write(Line("acknowledged", name, time.monotonic(), commit_ts=commit_ts))

    def leave_open(self, name: str, txn_id: str, error: BaseException) -> None:
        """Note that it may be committed."""
        line = Line("unknown", name, time.monotonic(), txn_id=txn_id, error=type(error).__name__)
        self._write(line)

    def refuse(self, name: str, error: BaseException) -> None:
        """Note that it is not committed."""
        self._write(Line("refused", name, time.monotonic(), error=type(error).__name__))

    def close(self) -> None:
        self._file.close()

    def _write(self, line: Line) -> None:
        self._file.write(msgspec.json.encode(line) + b"\n")


class Deed(msgspec.Struct):
    """All that a journal has of one deed."""

    name: str
    kind: str
    client: str
    began_at: float
    lines: list[Line] = []

    @property
    def outcome(self) -> Outcome:
        """What the client was told last."""
        return self.lines[-1].outcome if self.lines else "intended"

    @property
    def commits(self) -> set[int]:
        """The commits that it was acknowledged as: one, or none."""
        return {line.commit_ts for line in self.lines if line.outcome == "acknowledged"}

    @property
    def txn_ids(self) -> set[str]:
        """The ids under which it may be in the log; empty: any."""
        return {line.txn_id for line in self.lines if line.txn_id}


def read_journals(folder: Path) -> dict[str, Deed]:
    """Return the deeds of all clients by name."""
    deeds: dict[str, Deed] = {}
    for path in sorted(folder.glob("*.journal")):
        for line in _DECODER.decode_lines(path.read_bytes()):
            if line.outcome == "intended":
                assert line.name not in deeds, f"{line.name} was intended twice"
                deeds[line.name] = Deed(line.name, line.kind, path.stem, line.at)
            else:
                deeds[line.name].lines.append(line)
    return deeds


def by_client(deeds: dict[str, Deed]) -> dict[str, list[Deed]]:
    """Return the deeds of each client, in their order."""
    clients: defaultdict[str, list[Deed]] = defaultdict(list)
    for deed in deeds.values():
        clients[deed.client].append(deed)
    return clients
