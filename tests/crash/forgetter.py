"""The child that gets killed while it forgets, or while it lets the bytes go.

It is given a store, what to forget of it, and a failpoint to die at; without one it says on its
output that it begins, and is killed from outside.
"""

from __future__ import annotations

import sys
from pathlib import Path

from memoranda import Store
from memoranda.calls.defaults import Defaults
from memoranda.log.commit.failpoints import no_failpoint
from memoranda.sdk.local.calls import LocalCalls
from tests.crash.stores import open_core
from tests.crash.worker import dies_at


def main(path: str, field: str, name: str, failpoint: str) -> None:
    """Forget what is asked for, and say so."""
    dying = dies_at(failpoint, 1) if failpoint else no_failpoint
    core = open_core(Path(path), failpoint=dying)
    store = Store(LocalCalls(core), Defaults("ann"))
    _say("begun")
    certificate = store.forget(**{field: name})  # type: ignore[arg-type]
    _say(certificate.erasure_id)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
