"""Waiting in tests for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable

HANG_SECONDS = 300.0
"""Seconds after which something hangs: a limit that ends a test, and never decides one."""
LONG_SECONDS = 60.0
"""Seconds that are waited for, at most, for what is over in a moment on a quiet machine."""


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + HANG_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.01)
