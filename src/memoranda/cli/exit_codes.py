"""The meanings of exit codes, for scripts that run commands; `ERROR_TABLE` has those of errors."""

from __future__ import annotations

from collections.abc import Mapping

from memoranda.errors import Corruption, MemorandaError, NotFound, report_of

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
FAILED = report_of(MemorandaError).exit_code
DAMAGED = report_of(Corruption).exit_code
NOT_FOUND = report_of(NotFound).exit_code
UNPROVEN = 6
"""The log holds, but an older version left parts of it that no hash covers."""
INTERRUPTED = 130
"""As shells report a process that SIGINT ended: 128 + 2."""
OUTPUT_CLOSED = 141
"""As shells report a process that SIGPIPE ended: 128 + 13."""


def exit_code(error: MemorandaError) -> int:
    """Return the exit code of an error."""
    return report_of(type(error)).exit_code
