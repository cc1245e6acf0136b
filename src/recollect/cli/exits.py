"""Exit codes: what a command's end tells a script."""

from __future__ import annotations

from collections.abc import Mapping

from recollect.errors import Conflict, Corruption, InvalidInput, NotFound, RecollectError

MEANINGS: Mapping[int, str] = {
    0: "It worked.",
    1: "Something went wrong; the message says what.",
    2: "The command was not understood, or a value it was given cannot be taken.",
    3: "Verification failed: the log was changed after it was written, or its bytes are damaged.",
    4: "What was asked for is not there: a key, a version, the store itself.",
    5: "Somebody else was first; read again and decide again.",
    130: "Interrupted with Ctrl-C.",
    141: "Whoever read the output closed it, as `head` does.",
}
FAILED = 1
INTERRUPTED = 130
OUTPUT_CLOSED = 141

_CODES: Mapping[type, int] = {
    RecollectError: FAILED,
    InvalidInput: 2,
    Corruption: 3,
    NotFound: 4,
    Conflict: 5,
}


def exit_code(error: RecollectError) -> int:
    """Return the code for an error: that of its class, or of the nearest one above it."""
    return next(_CODES[kind] for kind in type(error).__mro__ if kind in _CODES)
