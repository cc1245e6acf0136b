"""Limits on the size of inputs, and the checks that enforce them."""

from __future__ import annotations

import os
import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from memoranda.errors import InvalidInput, NotFound

_KIB = 1024
_MIB = 1024 * _KIB
MAX_KEY_BYTES = 4 * _KIB
"""The highest value of `Limits.key_bytes`: state keys are bounded in indexes by it."""
_MAX_SECONDS = 1e9
"""The longest wait: about 31 years, which every system's timers take."""
MAX_REPR_CHARACTERS = 80
"""How much of a value an error message quotes."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Limits(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """Limits on input; a value above one is refused with `InvalidInput` before it is staged."""

    namespace_segments: int = 8
    namespace_bytes: int = 512
    agent_id_characters: int = 256
    key_bytes: int = 1024
    value_bytes: int = 1 * _MIB
    value_depth: int = 64
    txn_id_bytes: int = 512
    title_characters: int = 512
    tags: int = 50
    tag_bytes: int = 512
    metadata_bytes: int = 64 * _KIB
    content_bytes: int = 256 * _KIB
    transcript_bytes: int = 16 * _MIB
    note_bytes: int = 4 * _KIB
    name_bytes: int = 512
    literal_bytes: int = 4 * _KIB
    query_bytes: int = 64 * _KIB
    derived_statements: int = 100_000
    transaction_operations: int = 10_000
    transaction_bytes: int = 64 * _MIB

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            number = getattr(self, name)
            if type(number) is not int or number < 1:
                raise InvalidInput(
                    f"limits.{name}", f"{short_repr(number)} is not a positive number"
                )
        if self.key_bytes > MAX_KEY_BYTES:
            raise InvalidInput(
                "limits.key_bytes", f"{self.key_bytes} is over {MAX_KEY_BYTES}, the highest limit"
            )


WIDEST = Limits(
    key_bytes=MAX_KEY_BYTES,
    value_depth=512,
    **dict.fromkeys(
        [name for name in Limits.__struct_fields__ if name not in ("key_bytes", "value_depth")],
        2**31 - 1,
    ),
)
"""What any store may accept: for checks of arguments before they are sent to one."""


def check_text(field: str, text: object, *, max_bytes: int) -> str:
    """Return `text` if it is 1 to `max_bytes` bytes of storable UTF-8."""
    if type(text) is str and text.isascii() and "\0" not in text and 0 < len(text) <= max_bytes:
        return text  # fast path: ASCII, where one character is one byte
    exact = plain_text(field, text)
    size = len(exact.encode())
    if not size:
        raise InvalidInput(field, "is empty: give at least one character")
    if size > max_bytes:
        raise InvalidInput(field, f"has {size} bytes of UTF-8, and the limit is {max_bytes}")
    return exact


def check_seconds(field: str, seconds: object) -> float:
    """Return `seconds` if it is a length of time to wait, 0 included."""
    if not isinstance(seconds, (int, float)) or not 0 <= seconds <= _MAX_SECONDS:
        raise InvalidInput(field, f"{short_repr(seconds)} is not a number of seconds, 0 or more")
    return float(seconds)


def check_integer(
    field: str,
    value: object,
    *,
    minimum: int,
    maximum: int | None = None,
    noun: str = "a number",
) -> int:
    """Return `value` as a plain int if it is an integer within the bounds; a bool is none.

    `noun` names the quantity in the error message, such as "a number of commits".
    """
    if (
        isinstance(value, int)
        and not isinstance(value, bool)
        and minimum <= value
        and (maximum is None or value <= maximum)
    ):
        return int(value)
    bounds = f", {minimum} or more" if maximum is None else f" from {minimum} to {maximum}"
    raise InvalidInput(field, f"{short_repr(value)} is not {noun}{bounds}")


def check_flag(field: str, value: object) -> bool:
    """Return a bool, and refuse anything else."""
    if not isinstance(value, bool):
        raise InvalidInput(field, f"{short_repr(value)} is neither True nor False")
    return value


def check_callable(field: str, value: object) -> None:
    """Refuse a value that is neither None nor callable."""
    if value is not None and not callable(value):
        raise InvalidInput(field, f"{short_repr(value)} is not a function")


def check_type(field: str, value: object, kind: type) -> None:
    """Refuse a value that is neither None nor an instance of a type."""
    if value is not None and not isinstance(value, kind):
        raise InvalidInput(field, f"{short_repr(value)} is not a {kind.__name__}")


def check_items(field: str, value: object) -> Iterator[object]:
    """Return an iterator over a list or another iterable; refuse a single text."""
    if isinstance(value, str):
        raise InvalidInput(field, f"{short_repr(value)} is one text: give a list of them")
    if isinstance(value, bytes) or not isinstance(value, Iterable):
        raise InvalidInput(field, f"{short_repr(value)} is not a list")
    return iter(value)


def renamed(error: InvalidInput | NotFound, names: Mapping[str, str]) -> InvalidInput | NotFound:
    """Return an error under the name of the argument that the caller used."""
    if error.field is None or error.field not in names:
        return error
    if isinstance(error, InvalidInput):
        return InvalidInput(names[error.field], error.problem)
    return NotFound(error.problem, field=names[error.field])


class renamed_fields:  # noqa: N801
    """Raise an error of a check under the name of the argument that the caller used."""

    __slots__ = ("_names",)

    def __init__(self, **names: str) -> None:
        self._names = names

    def __enter__(self) -> None:
        """Begin the checks."""

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        """Rename the field of an error of the checks."""
        if isinstance(error, (InvalidInput, NotFound)) and error.field in self._names:
            raise renamed(error, self._names) from error


@contextmanager
def argument(field: str) -> Iterator[None]:
    """Let a `NotFound` say which argument names what was not found."""
    try:
        yield
    except NotFound as error:
        raise error.in_argument(field) from error


def check_printable(field: str, text: str) -> None:
    """Refuse a name with control characters."""
    if text.isprintable():  # the common case; other characters than controls are unprintable too
        return
    if match := _CONTROL.search(text):
        raise InvalidInput(field, f"{short_repr(text)} has the control character {match.group()!r}")


def plain_text(field: str, text: object) -> str:
    """Return `text` as a plain `str`; refuse U+0000 and lone surrogates.

    A subclass of `str`, such as a member of an enumeration, is replaced by its characters: its
    `__str__` could return a text that was not checked.
    """
    if not isinstance(text, str):
        raise InvalidInput(field, f"{short_repr(text)} is {type(text).__name__}, not text")
    exact = str.__str__(text)
    if "\0" in exact:
        raise InvalidInput(field, f"{short_repr(exact)} has the character U+0000: leave it out")
    if not exact.isascii():
        try:
            exact.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(field, f"{short_repr(exact)} has a lone surrogate") from error
    return exact


class _Brief(reprlib.Repr):
    """Prints values as `repr` does, with bounds on length and depth."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxstring = self.maxother = self.maxlong = 2 * MAX_REPR_CHARACTERS
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = 10

    def repr_int(self, x: int, level: int) -> str:
        """Print a large number by its size: converting thousands of digits is slow."""
        if (bits := int.bit_length(x)) > 256:
            return f"a number of {bits} bits"
        return super().repr_int(x, level)


def short_repr(value: object) -> str:
    """Return the repr of a value for an error message, shortened; it never raises."""
    text = _Brief().repr(value)
    return text if len(text) <= MAX_REPR_CHARACTERS else f"{text[: MAX_REPR_CHARACTERS - 3]}…"


# Paths.

MAX_FILE_NAME_BYTES: Final = 247
"""The common limit of 255 bytes, without the suffix `-journal` that SQLite appends."""
MAX_PATH_BYTES: Final = 4000
"""Below the 4096 bytes of Linux, with room for suffixes."""


def check_path(field: str, path: object) -> Path:
    """Return a path with plain characters, and refuse one that no file can have."""
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidInput(field, f"{short_repr(path)} is {type(path).__name__}, not a path")
    target = Path(plain_text(field, os.fspath(path)))
    check_path_length(field, target)
    return target


def check_path_length(field: str, path: Path) -> None:
    """Refuse a path that is too long for file systems, with the suffixes of SQLite's files."""
    longest = max((len(os.fsencode(part)) for part in path.parts), default=0)
    if longest > MAX_FILE_NAME_BYTES or len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise InvalidInput(
            field,
            f"{short_repr(str(path))} is too long: a name has at most {MAX_FILE_NAME_BYTES} "
            "bytes, and a "
            f"path {MAX_PATH_BYTES}",
        )
