"""Settings of the interpreter and of the operating system for a server process.

These settings are of the whole process, so a library must leave them alone: only `memoranda serve`
makes them.
"""

from __future__ import annotations

import gc
import logging
import sys

_log = logging.getLogger("memoranda.server")

SWITCH_SECONDS = 0.0005
"""Seconds that a computing thread may keep the interpreter from a waiting one; Python's default is
ten times as long. A commit waits at each statement, so a search of one tenant would add tens of
milliseconds to the commits of another."""
_COLLECT_AFTER = (10_000, 10, 20)
"""Thresholds of the garbage collector. A full collection stops every thread, for some tens of
milliseconds with a few hundred stores. Little here needs one: most objects are freed at once."""
_HANDLES_OF_STORE = 10
"""File handles of an open store: six, and two more for each connection that reads beside them."""
_OTHER_HANDLES = 1024
"""File handles for connections of clients, the control store and the process itself."""


def tune_interpreter() -> None:
    """Let short work of one thread wait less for long work of another."""
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.collect()
    gc.freeze()  # what was imported stays, and is not looked at again
    gc.set_threshold(*_COLLECT_AFTER)


def fitting_stores(max_open: int) -> int:
    """Raise the limit of file handles as far as `max_open` stores need it and the system allows.

    Return how many stores can be open under it; warn if these are fewer.
    """
    limit = _raise_handle_limit(max_open * _HANDLES_OF_STORE + _OTHER_HANDLES)
    if limit is None:
        return max_open
    other_handles = min(_OTHER_HANDLES, limit // 2)
    fitting = max(min(max_open, (limit - other_handles) // _HANDLES_OF_STORE), 1)
    if fitting < max_open:
        _log.warning(
            "only %d stores can be open at a time, as the process may have %d file handles: raise "
            "that limit (ulimit -n) to keep %d open",
            fitting,
            limit,
            max_open,
        )
    return fitting


if sys.platform == "win32":

    def _raise_handle_limit(handles: int) -> int | None:  # noqa: ARG001
        """Return None: Windows has no such limit."""
        return None

else:
    import resource

    def _raise_handle_limit(handles: int) -> int | None:
        """Return the limit of file handles, after raising it if it can be; None: there is none."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft == resource.RLIM_INFINITY:
            return None
        if soft < handles:
            soft = handles if hard == resource.RLIM_INFINITY else min(handles, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return soft
