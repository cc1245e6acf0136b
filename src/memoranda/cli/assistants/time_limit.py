"""The time limit of hooks: a hook always ends in time and with exit code 0.

A client waits for its hooks, and an exit code other than 0 can block the user's prompt. So the end
is certain: a thread ends the process at its limit, also while a call into SQLite or the operating
system does not return. Commits are atomic, so nothing is half written, and the next hook continues.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable
from typing import NoReturn

from memoranda.cli.configuration.variables import HOOK_SECONDS

SECONDS = 1.5
"""Seconds: two, less the time that the interpreter needs to start and to end."""


def always_succeed(work: Callable[[], None]) -> NoReturn:
    """Run the work and end the process with 0, when it is done or its time is over."""
    watchdog = threading.Timer(_limit(), _end_late)
    watchdog.daemon = True
    watchdog.start()
    try:
        work()
    finally:
        # No exception leaves: the process ends here, with whatever was written.
        _report(sys.exc_info()[1])
        os._exit(0)


def _limit() -> float:
    try:
        return min(max(float(os.environ[HOOK_SECONDS]), 0.0), threading.TIMEOUT_MAX)
    except (KeyError, ValueError):
        return SECONDS


def _end_late() -> None:
    os.write(2, b"memoranda hook: out of time; the next hook goes on\n")
    os._exit(0)


def _report(error: BaseException | None) -> None:
    """Write the traceback of an error that no command expects."""
    if error is not None and not isinstance(error, SystemExit):
        traceback.print_exception(error, file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()
