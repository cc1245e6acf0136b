"""Files that a command reads, or stdin in their place."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from memoranda.errors import InvalidInput, NotFound


@contextmanager
def opened_file(file: str) -> Iterator[BinaryIO]:
    """Open a file for reading, `-` for stdin, or say why it cannot be read."""
    if file == "-":
        yield sys.stdin.buffer
        return
    with ExitStack() as stack:
        try:
            opened = stack.enter_context(Path(file).open("rb"))
        except FileNotFoundError as error:
            raise NotFound(f"there is no file {file!r}") from error
        except OSError as error:
            raise InvalidInput("path", f"cannot read {file!r}: {error.strerror}") from error
        yield opened
