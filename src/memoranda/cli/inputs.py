"""Parsing of arguments, and of the files they name."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, overload

from memoranda.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from memoranda.graph.requests import Object

_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,1000}")
_MAX_FILE_NAME = 250
"""Characters; a longer text is not looked up as a file name, which no file system would take."""


@overload
def moment(text: str) -> int | str: ...
@overload
def moment(text: None) -> None: ...
def moment(text: str | None) -> int | str | None:
    """Return a commit number if the text is an integer, else the text, which is a time.

    So a year alone is a commit number; its first month is the same instant.
    """
    if text is not None and _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    return text


def document(text: str, field: str = "value") -> Any:
    """Parse JSON: the text itself, stdin for `-`, or the file of `@file`."""
    try:
        return json.loads(_source(text))
    except ValueError as error:
        example = """'{"text": "hello"}'"""
        raise InvalidInput(field, f"is not JSON, such as {example}: {error}") from error
    except RecursionError as error:
        raise InvalidInput(field, "is nested too deeply") from error


def text(argument: str) -> str:
    """Return a text: the argument itself, stdin for `-`, or the file of `@file`."""
    if len(argument) < _MAX_FILE_NAME and Path(argument).is_file():
        raise InvalidInput("text", f"{argument!r} is a file: give @{argument} to read it")
    source = _source(argument, "text")
    try:
        return source if isinstance(source, str) else source.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput("text", f"is not UTF-8: {error}") from error


def duration(argument: str) -> str | None:
    """Return a length of time as the SDK parses it; `never` is None."""
    return None if argument == "never" else argument


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


# Spans and objects of facts.

_SPAN = re.compile(r"(\d{1,18}):(\d{1,18})", re.ASCII)


def span(text: str) -> tuple[int, int]:
    """Parse a span of a transcript, `START:END` in bytes."""
    match = _SPAN.fullmatch(text)
    if match is None:
        raise InvalidInput("spans", f"{text!r} is not START:END in bytes, such as 0:11")
    return int(match[1]), int(match[2])


@overload
def fact_object(text: str, kind: str | None) -> Object: ...
@overload
def fact_object(text: None, kind: str | None) -> None: ...
def fact_object(text: str | None, kind: str | None) -> Object | None:
    """Return the object of a fact: an entity's name, or a literal of the kind."""
    from memoranda.graph.entities import parse_literal

    return text if text is None or kind is None else parse_literal(kind, text)


# Input files.


@contextmanager
def open_input(file: str) -> Iterator[BinaryIO]:
    """Open a file to read, or stdin for `-`; raise our error if that fails."""
    if file == "-":
        yield sys.stdin.buffer
        return
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(Path(file).open("rb"))
        except FileNotFoundError as error:
            raise NotFound(f"there is no file {file!r}") from error
        except OSError as error:
            raise InvalidInput("path", f"cannot read {file!r}: {error.strerror}") from error
        yield stream


def is_interactive() -> bool:
    """Return whether stdin is a terminal, so that a user can answer."""
    return sys.stdin.isatty()
