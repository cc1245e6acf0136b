"""How large things may be. Each limit is one named number, set for a store when it is opened."""

from __future__ import annotations

import re

import msgspec

from recollect.errors import InvalidInput

_KIB = 1024
_MIB = 1024 * _KIB
MOST_KEY_BYTES = 4 * _KIB
"""What `Limits.key_bytes` may be raised to."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What passes one of these is refused with `InvalidInput` before anything is staged."""

    namespace_segments: int = 8
    namespace_bytes: int = 512
    agent_id_characters: int = 256
    key_bytes: int = 1024
    value_bytes: int = 1 * _MIB
    value_depth: int = 64
    txn_id_bytes: int = 512
    transaction_operations: int = 10_000
    transaction_bytes: int = 64 * _MIB

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if (number := getattr(self, name)) < 1:
                raise InvalidInput(f"limits.{name}", f"{number} is not a positive number")
        if self.key_bytes > MOST_KEY_BYTES:
            raise InvalidInput(
                "limits.key_bytes", f"{self.key_bytes} is over {MOST_KEY_BYTES}, the most it can be"
            )


def check_text(field: str, text: object, *, most_bytes: int) -> str:
    """Return `text` if it is 1 to `most_bytes` bytes of storable UTF-8."""
    size = len(encode_text(field, text))
    if not size:
        raise InvalidInput(field, "is empty: give at least one character")
    if size > most_bytes:
        raise InvalidInput(field, f"has {size} bytes of UTF-8, and the limit is {most_bytes}")
    return str(text)


def check_prefix(field: str, text: object) -> str:
    """Return `text` if it can be the beginning of a key. Empty begins every key."""
    encode_text(field, text)
    return str(text)


def check_name(field: str, text: str) -> None:
    """Refuse control characters, which no name may have."""
    if found := _CONTROL.search(text):
        raise InvalidInput(field, f"{text!r} has the control character {found.group()!r}")


def encode_text(field: str, text: object) -> bytes:
    """Return the UTF-8 bytes of `text`, refusing what no text may hold."""
    if not isinstance(text, str):
        raise InvalidInput(field, f"{text!r} is {type(text).__name__}, not text")
    if "\0" in text:
        raise InvalidInput(field, f"{text!r} has the character U+0000: leave it out")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(field, f"{text!r} has a lone surrogate: {error.reason}") from error
