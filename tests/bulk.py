"""Long logs, written quickly: many transactions in one storage transaction."""

from __future__ import annotations

from pathlib import Path

import memoranda
from memoranda.log import pages
from memoranda.log.commit.staged_transaction import Request
from memoranda.model import codec
from memoranda.model.scope import Scope
from memoranda.state.requests import WriteKey
from memoranda.storage.port import Writer
from tests.cores import core_of


def write_events(path: Path, count: int, *, agents: int = 1) -> None:
    """Append `count` transactions of one write each, by agents `a`, `a1`, `a2` … in turn."""
    with memoranda.open(path, durability="relaxed") as store:
        core = core_of(store)
        batch = core.committer._writer

        def append(writer: Writer) -> None:
            for number in range(count):
                agent = f"a{number % agents or ''}"
                write = WriteKey(Scope("default", agent), f"k{number % 100}", b'{"n":%d}' % number)
                encoded = codec.join([codec.encode(write)])
                request = Request(
                    f"t{number:08}", False, agent, (write,), encoded, frozenset(), 0, 0
                )
                head = pages.head(writer, batch._genesis)
                operations = batch._decide(writer, request, head)
                batch._append(writer, request, head, operations)

        core.engine.write(append)
