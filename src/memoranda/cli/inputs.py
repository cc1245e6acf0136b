"""What people type, turned into what the store takes. Whether it is right, the store decides."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, overload

from memoranda.errors import InvalidInput

_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,1000}")
_LONGEST_NAME = 250


@overload
def moment(text: str) -> int | str: ...
@overload
def moment(text: None) -> None: ...
def moment(text: str | None) -> int | str | None:
    """Return the commit number a text spells; any other text is taken for a time."""
    if text is not None and _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    return text


def document(text: str) -> Any:
    """Return the JSON that was typed, or that is in what was named: `-` or `@file`."""
    try:
        return json.loads(_source(text))
    except ValueError as error:
        raise InvalidInput("value", f"is not JSON: {error}") from error
    except RecursionError as error:
        raise InvalidInput("value", "is nested too deeply") from error


def text(typed: str) -> str:
    """Return the text that was typed, or that is in what was named: `-` or `@file`."""
    if len(typed) < _LONGEST_NAME and Path(typed).is_file():
        raise InvalidInput("text", f"{typed!r} is a file: give @{typed} for what is in it")
    source = _source(typed, "text")
    try:
        return source if isinstance(source, str) else source.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput("text", f"is not UTF-8: {error}") from error


def duration(field: str, typed: str) -> float | None:
    """Return the seconds that were typed; `never` means for ever."""
    if typed == "never":
        return None
    try:
        return float(typed)
    except ValueError as error:
        raise InvalidInput(field, f"{typed!r} is neither seconds nor `never`") from error


def _source(text: str, field: str = "value") -> str | bytes:
    if text == "-":
        return sys.stdin.buffer.read()
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_bytes()
    except OSError as error:
        problem = f"cannot read the file {text[1:]!r}: {error.strerror}"
        raise InvalidInput(field, problem) from error
