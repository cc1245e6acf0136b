"""Keys, versions, changes and events as text for a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from typing import Any, Literal, Protocol

import click

from memoranda.calls.as_json import time_text
from memoranda.cli.output import abbreviate, compact, fit, safe
from memoranda.model.event import ReplayEvent
from memoranda.model.operations import AnyOperation, Write
from memoranda.model.ref_text import format_ref
from memoranda.model.refs import Ref
from memoranda.state.reads import StateChange, StateRecord, StateVersion

# Comparing two JSON values member by member.

_PLAIN_NAME = re.compile(r"[^\W\d][\w-]*")
_MAX_ALIGNED_PAIRS = 1_000_000
"""Largest product of two lists' lengths that are aligned, which takes about a second.

Longer lists are compared index by index.
"""


@dataclass(frozen=True)
class MemberChange:
    """A member that was added, removed or changed, and its path in the value."""

    kind: Literal["added", "removed", "changed"]
    path: str
    before: object = None
    after: object = None


def compare(before: object, after: object, path: str = "") -> Iterator[MemberChange]:
    """Yield the changes that turn `before` into `after`."""
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _compare_objects(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _compare_lists(before, after, path)
    elif _text(before) != _text(after):  # Python's 1 == True == 1.0 differ in JSON
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
    """Align the lists first, so that an insertion does not change every later item."""
    for old_start, old_end, new_start, new_end in _differing_ranges(before, after):
        pairs = min(old_end - old_start, new_end - new_start)
        for offset in range(pairs):
            item_path = f"{path}[{new_start + offset}]"
            yield from compare(before[old_start + offset], after[new_start + offset], item_path)
        for index in range(old_start + pairs, old_end):
            yield MemberChange("removed", f"{path}[{index}]", before=before[index])
        for index in range(new_start + pairs, new_end):
            yield MemberChange("added", f"{path}[{index}]", after=after[index])


def _differing_ranges(before: list[Any], after: list[Any]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the ranges that differ: start and end in `before`, start and end in `after`."""
    if len(before) * len(after) > _MAX_ALIGNED_PAIRS:
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


# Text of keys, versions and events.

_SIGNS = {"added": ("+", "green"), "removed": ("-", "red"), "changed": ("~", "yellow")}
_KIND_COLUMNS = len("delete")
_CONTEXT_CHARACTERS = 16
"""Characters that are shown before the first difference of two long values."""
_bold = partial(click.style, bold=True)
_dim = partial(click.style, dim=True)
_yellow = partial(click.style, fg="yellow")
_red = partial(click.style, fg="red")
_green = partial(click.style, fg="green")
UNPROVEN = "unproven"
"""Marks the residue of an erasure that no hash proves."""


class Provable(Protocol):
    """A record that knows whether a hash proves it."""

    @property
    def unproven(self) -> bool:
        """Whether no hash proves it."""
        ...


def proof_mark(record: Provable) -> str:
    """Return the mark at the end of an unproven record's line."""
    return _yellow(f"  {UNPROVEN}") if record.unproven else ""


def entry(record: StateRecord) -> str:
    """Return a key, its version and its value on one line."""
    key, version_number, mark = safe(record.key), f"v{record.version}", proof_mark(record)
    value = fit(compact(record.value), beside=f"{key}  {version_number}  {click.unstyle(mark)}")
    return f"{_bold(key)}  {_dim(version_number)}  {value}{mark}"


def version(record: StateVersion) -> str:
    """Return a version of a key as a block: a heading, its value, and its references."""
    heading = "  ".join(
        (
            _yellow(f"version {record.version}"),
            f"commit {record.commit_ts}",
            _dim(time_text(record.committed_at)),
            safe(record.actor),
        )
    )
    heading += proof_mark(record)
    if record.value is None:
        return f"{heading}\n  {_red('deleted')}"
    value = fit(compact(record.value), beside="  ")
    return "\n".join((heading, f"  {value}", *_because(record.because, "  ")))


def change(record: StateChange) -> str:
    """Return a changed key as a block: a heading, then a line for each changed member."""
    sign, colour = _SIGNS[record.kind]
    states = (record.before, record.after)
    versions = " → ".join(f"v{state.version}" for state in states if state)
    heading = f"{click.style(sign, fg=colour)} {_bold(safe(record.key))}  {_dim(versions)}"
    before, after = (state.value if state else {} for state in states)
    return "\n".join((heading, *map(_member_line, compare(before, after))))


def event(record: ReplayEvent, *, with_namespace: bool, with_agent: bool = False) -> str:
    """Return a transaction as a block: a heading, its operations, and an empty line."""
    heading = "  ".join(
        (
            _yellow(f"commit {record.commit_ts}"),
            _dim(record.timestamp),
            f"txn {abbreviate(record.txn_id)}",
            safe(record.actor),
            *((f"trace {record.trace_id}",) if record.trace_id else ()),
            *(("summary of compacted commits",) if record.summary else ()),
        )
    )
    lines = [heading + proof_mark(record)]
    for operation in record.operations:
        names = [operation.agent_id] * with_agent + [operation.namespace] * with_namespace
        lines.extend(_operation(operation, "".join(f"{safe(name)}  " for name in names)))
    return "\n".join((*lines, ""))


def _operation(operation: AnyOperation, scope: str) -> Iterator[str]:
    kind = operation.type.value.ljust(_KIND_COLUMNS)
    key, version_number, value = safe(operation.key), f"v{operation.version}", operation.value
    styled_kind = click.style(kind, fg="red" if value is None else "green")
    line = f"  {styled_kind}  {scope and _dim(scope)}{_bold(key)}  {_dim(version_number)}"
    if value is None:
        yield line
    else:
        beside = f"  {kind}  {scope}{key}  {version_number}  "
        yield f"{line}  {fit(compact(value), beside=beside)}"
    if isinstance(operation, Write):
        yield from _because(operation.because, " " * (_KIND_COLUMNS + 4))


def _because(refs: Iterable[Ref], indent: str) -> Iterator[str]:
    names = ", ".join(safe(format_ref(ref)) for ref in refs)
    if names:
        yield f"{indent}{_dim(f'because {names}')}"


def _member_line(member: MemberChange) -> str:
    sign, colour = _SIGNS[member.kind]
    path, before, after = safe(member.path), compact(member.before), compact(member.after)
    if member.kind == "changed":
        return _changed_member(path, before, after)
    value = fit(after if member.kind == "added" else before, beside=f"    + {path}: ")
    return click.style(f"    {sign} {path}: {value}", fg=colour)


def _changed_member(path: str, before: str, after: str) -> str:
    """Return both values on one line if they fit; else on two, from shortly before they differ."""
    line = f"{before} → {after}"
    start = f"    {_yellow('~')} {path}:"
    if fit(line, beside=f"    ~ {path}: ") == line:
        return f"{start} {_red(before)} → {_green(after)}"
    pairs = enumerate(zip(before, after, strict=False))
    first_difference = next((index for index, (a, b) in pairs if a != b), 0)
    skip = max(first_difference - _CONTEXT_CHARACTERS, 0)
    tails = [f"…{text[skip:]}" if skip else text for text in (before, after)]
    before, after = (fit(text, beside=" " * 8) for text in tails)
    return f"{start}\n      {_red(f'- {before}')}\n      {_green(f'+ {after}')}"
