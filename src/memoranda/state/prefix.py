"""Prefixes as ranges of keys, in the order of UTF-8 bytes, which is that of code points."""

from __future__ import annotations

from memoranda.model.limits import MOST_KEY_BYTES

_LAST = "\U0010ffff"
BEYOND_ALL = _LAST * (MOST_KEY_BYTES // 4 + 1)
"""Sorts behind every key: no key can hold so many of the last character, four bytes each."""


def beyond(prefix: str) -> str:
    """Return the least text that sorts behind everything that begins with `prefix`."""
    trimmed = prefix.rstrip(_LAST)
    if not trimmed:
        return BEYOND_ALL
    following = ord(trimmed[-1]) + 1
    if 0xD800 <= following <= 0xDFFF:  # surrogates are no characters
        following = 0xE000
    return trimmed[:-1] + chr(following)
