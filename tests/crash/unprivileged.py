"""A child without privileges: opens a store, reads, writes, and tries once more when told to.

Permissions do not bind root, so it gives its privileges up, once everything it needs is loaded.
Each attempt is answered by a line: `ok` and what it gave, or the error's name and message. After
the first round it waits for a line on its standard input, and begins again with the same handle.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import memoranda

NOBODY = 65534


class Visitor:
    """Somebody who uses a store as far as it lets them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store: memoranda.Store | None = None

    def open(self) -> str:
        self.store = self.store or memoranda.open(self.path)
        return "opened"

    def read(self) -> int:
        assert self.store is not None
        return self.store.verify().commits

    def write(self) -> int:
        assert self.store is not None
        return self.store.write(agent_id="a", key="k", value={}).commit_ts

    def attempts(self) -> None:
        say(self.open)
        if self.store is not None:
            say(self.read)
            say(self.write)


def say(attempt: Callable[[], object]) -> None:
    try:
        line = f"ok {attempt()}"
    except memoranda.MemorandaError as error:
        line = f"{type(error).__name__} {error}"
    except Exception as error:  # noqa: BLE001 - what must not be raised is reported too
        line = f"foreign {error!r}"
    print(line, flush=True)  # noqa: T201


def give_up_privileges() -> None:
    with tempfile.TemporaryDirectory() as folder:
        warm = Visitor(Path(folder) / "store.db")
        warm.open()
        warm.write()
        warm.read()
        assert warm.store is not None
        warm.store.close()
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def main() -> None:
    give_up_privileges()
    visitor = Visitor(Path(sys.argv[1]))
    visitor.attempts()
    print(flush=True)  # noqa: T201
    sys.stdin.readline()
    visitor.attempts()


if __name__ == "__main__":
    main()
