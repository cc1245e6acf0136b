"""Text for people: JSON they can read, and nothing a terminal would obey.

What is in a store was written by others. A key may hold an escape sequence, a value a character
that turns the reading direction; such characters are always shown, never sent.
"""

from __future__ import annotations

import json
import re

_UNSAFE_IN_JSON = re.compile(
    "[\x7f-\x9f"  # a terminal takes U+009B for the beginning of an escape sequence
    "\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_UNSAFE = re.compile(f"[\x00-\x1f]|{_UNSAFE_IN_JSON.pattern}")
_SHORT = 20


def safe(text: str) -> str:
    """Return the text with every control character spelled out."""
    return _UNSAFE.sub(_spelled, text)


def safe_json(encoded: str) -> str:
    """Return JSON that says the same and holds no control character but its own newlines."""
    return _UNSAFE_IN_JSON.sub(_spelled, encoded)


def compact(value: object) -> str:
    """Return a value as JSON on one line."""
    return safe_json(json.dumps(value, ensure_ascii=False))


def pretty(value: object) -> str:
    """Return a value as indented JSON."""
    return safe_json(json.dumps(value, ensure_ascii=False, indent=2))


def abbreviate(name: str) -> str:
    """Return a long id by its two ends: ids made within a minute begin alike."""
    return safe(name if len(name) <= _SHORT else f"{name[:8]}…{name[-8:]}")


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return `1 event`, `2 events`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def sized(count: int) -> str:
    """Return `512 bytes`, `1.5 MiB`."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return counted(count, "byte")


def _spelled(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"
