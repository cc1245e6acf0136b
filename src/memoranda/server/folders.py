"""Answers and errors for callers elsewhere: they name no folder and no database of the server.

Callers do not need the folders of a server, and their names may reveal other tenants.
"""

from __future__ import annotations

import os
import re
from copy import copy
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from memoranda.calls.core import Core
from memoranda.errors import MemorandaError
from memoranda.log.erasure.certificate import Certificate

Answer = TypeVar("Answer")
_FROM_DATABASE = re.compile(r" \(PostgreSQL: .*\)|postgresql://[^\s?]*\?store=", re.DOTALL)
"""Matches the address of a PostgreSQL server, and its messages."""


def without_folders(answer: Answer) -> Answer:
    """Return an answer whose paths are file names: a certificate lists copies of the store."""
    if isinstance(answer, Certificate) and answer.copies:
        return replace(answer, copies=tuple(Path(path).name for path in answer.copies))
    return answer


def error_without_folders(error: MemorandaError, core: Core) -> MemorandaError:
    """Return an error of an open store whose texts do not name the folder of the store."""
    path = core.engine.path
    return error_without(None if path is None else path.parent, error)


def error_without(parent: Path | None, error: MemorandaError) -> MemorandaError:
    """Return an error without a folder in its texts; None: without a database's messages."""
    secret = _FROM_DATABASE if parent is None else re.compile(re.escape(f"{parent}{os.sep}"))
    texts = {name: text for name, text in vars(error).items() if type(text) is str}
    if not any(secret.search(text) for text in (*texts.values(), str(error))):
        return error
    cut = copy(error)
    cut.args = tuple(secret.sub("", part) if isinstance(part, str) else part for part in error.args)
    vars(cut).update({name: secret.sub("", text) for name, text in texts.items()})
    return cut
