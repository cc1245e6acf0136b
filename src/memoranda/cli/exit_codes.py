"""Exit codes: what a command's end tells a script."""

from __future__ import annotations

from collections.abc import Mapping

from memoranda.errors import Conflict, Corruption, InvalidInput, NotFound, NotProven, MemorandaError

MEANINGS: Mapping[int, str] = {
    0: "It worked.",
    1: "Something went wrong; the message says what.",
    2: "The command was not understood, or a value it was given cannot be taken.",
    3: "Verification failed: the log was changed after it was written, its bytes are damaged, a "
    "view is not what the log says, or a proof does not hold.",
    4: "What was asked for is not there: a key, a version, the store itself.",
    5: "Somebody else was first; read again and decide again.",
    6: "The chain holds, and nothing proves some places in it: an erasure left something of events "
    "that an older version has written.",
    130: "Interrupted with Ctrl-C.",
    141: "Whoever read the output closed it, as `head` does.",
}
FAILED = 1
DAMAGED = 3
NOT_FOUND = 4
UNPROVEN = 6
INTERRUPTED = 130
OUTPUT_CLOSED = 141

_CODES: Mapping[type, int] = {
    MemorandaError: FAILED,
    InvalidInput: 2,
    Corruption: DAMAGED,
    NotFound: NOT_FOUND,
    NotProven: DAMAGED,
    Conflict: 5,
}


def exit_code(error: MemorandaError) -> int:
    """Return the code for an error: that of its class, or of the nearest one above it."""
    return code_of(type(error))


def code_of(kind: type[MemorandaError]) -> int:
    """Return the code for errors of a class."""
    return next(_CODES[each] for each in kind.__mro__ if each in _CODES)
