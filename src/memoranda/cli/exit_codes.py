"""Exit codes, for scripts that run commands."""

from __future__ import annotations

from collections.abc import Mapping

from memoranda.errors import Conflict, Corruption, InvalidInput, MemorandaError, NotFound, NotProven

MEANINGS: Mapping[int, str] = {
    0: "Success.",
    1: "An error; the message says which.",
    2: "A usage error: an unknown command or option, or an invalid value.",
    3: "Verification failed: the log was changed after it was written, its bytes are damaged, a "
    "view differs from the log, or a proof does not hold.",
    4: "Not found: a key, a version, or the store itself.",
    5: "A conflict: another writer was first. Read again and retry.",
    6: "The chain holds, but some events are unproven: an erasure by an older version left parts "
    "of them that no hash covers.",
    130: "Interrupted by Ctrl-C.",
    141: "The reader of the output closed it, as `head` does.",
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
    """Return the exit code of an error: that of its class or of the nearest base class."""
    return code_of(type(error))


def code_of(kind: type[MemorandaError]) -> int:
    """Return the exit code of an error class."""
    return next(_CODES[base] for base in kind.__mro__ if base in _CODES)
