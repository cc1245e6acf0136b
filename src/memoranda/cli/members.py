"""What changed inside a value: its members, one by one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

_PLAIN_NAME = re.compile(r"[^\W\d][\w-]*")
_MOST_COMPARED = 1_000_000
"""Longer lists are compared place by place: aligning them takes time by the product."""


@dataclass(frozen=True)
class MemberChange:
    """A member that came, went or changed; `path` leads to it from the value's outside."""

    kind: Literal["added", "removed", "changed"]
    path: str
    before: object = None
    after: object = None


def compare(before: object, after: object, path: str = "") -> Iterator[MemberChange]:
    """Yield what to do to `before` to get `after`."""
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _compare_objects(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _compare_lists(before, after, path)
    elif _text(before) != _text(after):  # in Python 1 == True == 1.0, in JSON they are three
        yield MemberChange("changed", path, before, after)


def _compare_objects(
    before: dict[str, Any], after: dict[str, Any], path: str
) -> Iterator[MemberChange]:
    for name, value in before.items():
        if name in after:
            yield from compare(value, after[name], _member(path, name))
        else:
            yield MemberChange("removed", _member(path, name), before=value)
    for name, value in after.items():
        if name not in before:
            yield MemberChange("added", _member(path, name), after=value)


def _compare_lists(before: list[Any], after: list[Any], path: str) -> Iterator[MemberChange]:
    """Align the lists first, so that one insertion is not a change of everything behind it."""
    for old_start, old_end, new_start, new_end in _unlike(before, after):
        paired = min(old_end - old_start, new_end - new_start)
        for offset in range(paired):
            place = f"{path}[{new_start + offset}]"
            yield from compare(before[old_start + offset], after[new_start + offset], place)
        for index in range(old_start + paired, old_end):
            yield MemberChange("removed", f"{path}[{index}]", before=before[index])
        for index in range(new_start + paired, new_end):
            yield MemberChange("added", f"{path}[{index}]", after=after[index])


def _unlike(before: list[Any], after: list[Any]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the parts that differ, as ranges of the one list and of the other."""
    if len(before) * len(after) > _MOST_COMPARED:
        yield 0, len(before), 0, len(after)
        return
    old, new = [_text(item) for item in before], [_text(item) for item in after]
    for tag, *ranges in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            old_start, old_end, new_start, new_end = ranges
            yield old_start, old_end, new_start, new_end


def _member(path: str, name: str) -> str:
    if not _PLAIN_NAME.fullmatch(name):
        return f"{path}[{json.dumps(name, ensure_ascii=False)}]"
    return f"{path}.{name}" if path else name


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)
