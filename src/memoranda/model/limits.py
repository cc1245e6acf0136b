"""How large things may be. Each limit is one named number, set for a store when it is opened."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Iterator

import msgspec

from memoranda.errors import InvalidInput

_KIB = 1024
_MIB = 1024 * _KIB
MOST_KEY_BYTES = 4 * _KIB
"""What `Limits.key_bytes` may be raised to."""
_MOST_SECONDS = 1e9
SHOWN_CHARACTERS = 80
"""How much of a value an error message shows."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Limits(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """What passes one of these is refused with `InvalidInput` before anything is staged."""

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
                raise InvalidInput(f"limits.{name}", f"{shown(number)} is not a positive number")
        if self.key_bytes > MOST_KEY_BYTES:
            raise InvalidInput(
                "limits.key_bytes", f"{self.key_bytes} is over {MOST_KEY_BYTES}, the most it can be"
            )


def check_text(field: str, text: object, *, most_bytes: int) -> str:
    """Return `text` if it is 1 to `most_bytes` bytes of storable UTF-8."""
    if type(text) is str and text.isascii() and "\0" not in text and 0 < len(text) <= most_bytes:
        return text  # as nearly all are
    exact = plain_text(field, text)
    size = len(exact.encode())
    if not size:
        raise InvalidInput(field, "is empty: give at least one character")
    if size > most_bytes:
        raise InvalidInput(field, f"has {size} bytes of UTF-8, and the limit is {most_bytes}")
    return exact


def check_seconds(field: str, seconds: object) -> float:
    """Return `seconds` if it is a length of time to wait, which may be none at all."""
    if not isinstance(seconds, (int, float)) or not 0 <= seconds <= _MOST_SECONDS:
        raise InvalidInput(field, f"{shown(seconds)} is not a number of seconds, 0 or more")
    return float(seconds)


def check_flag(field: str, value: object) -> bool:
    """Return what is True or False, and nothing else is."""
    if not isinstance(value, bool):
        raise InvalidInput(field, f"{shown(value)} is neither True nor False")
    return value


def check_callable(field: str, value: object) -> None:
    """Refuse what is neither None nor a function, before any work is done."""
    if value is not None and not callable(value):
        raise InvalidInput(field, f"{shown(value)} is not a function")


def check_kind(field: str, value: object, kind: type) -> None:
    """Refuse what is neither None nor of a kind that is asked for."""
    if value is not None and not isinstance(value, kind):
        raise InvalidInput(field, f"{shown(value)} is not a {kind.__name__}")


def check_items(field: str, value: object) -> Iterator[object]:
    """Return an iterator over a list or another iterable; one text is not taken for its letters."""
    if isinstance(value, str):
        raise InvalidInput(field, f"{shown(value)} is one text: give a list of them")
    if isinstance(value, bytes) or not isinstance(value, Iterable):
        raise InvalidInput(field, f"{shown(value)} is not a list")
    return iter(value)


def check_name(field: str, text: str) -> None:
    """Refuse control characters, which no name may have."""
    if found := _CONTROL.search(text):
        raise InvalidInput(field, f"{shown(text)} has the control character {found.group()!r}")


def plain_text(field: str, text: object) -> str:
    """Return `text` as a plain string, refusing what no text may hold.

    What is checked is what is used: a subclass of `str`, such as an enumeration's member, is taken
    for its characters, however it would print itself.
    """
    if not isinstance(text, str):
        raise InvalidInput(field, f"{shown(text)} is {type(text).__name__}, not text")
    exact = str.__str__(text)
    if "\0" in exact:
        raise InvalidInput(field, f"{shown(exact)} has the character U+0000: leave it out")
    if not exact.isascii():
        try:
            exact.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(field, f"{shown(exact)} has a lone surrogate") from error
    return exact


class _Brief(reprlib.Repr):
    """Prints values as `repr` does, while they are small, flat and well-behaved."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxstring = self.maxother = self.maxlong = 2 * SHOWN_CHARACTERS
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = 10

    def repr_int(self, x: int, level: int) -> str:
        """Print a number without turning thousands of digits into text."""
        if (bits := int.bit_length(x)) > 256:
            return f"a number of {bits} bits"
        return super().repr_int(x, level)


def shown(value: object) -> str:
    """Return a value for a message: never long, and never an error of its own."""
    text = _Brief().repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 3]}…"
