"""What the store answers, as the lines a person reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import click

from memoranda.cli import shapes
from memoranda.cli.members import MemberChange, compare
from memoranda.cli.output import fit
from memoranda.cli.refs import spelled
from memoranda.cli.text import abbreviate, compact, safe
from memoranda.model.event import ReplayEvent
from memoranda.model.operations import AnyOperation, Write
from memoranda.model.refs import Ref
from memoranda.state.records import StateChange, StateEntry, StateVersion

_SIGNS = {"added": ("+", "green"), "removed": ("-", "red"), "changed": ("~", "yellow")}
_KIND_WIDTH = 6
_CONTEXT = 16
"""How many characters two long values still share where they are shown to part."""
_bold = partial(click.style, bold=True)
_dim = partial(click.style, dim=True)
_number = partial(click.style, fg="yellow")
_gone = partial(click.style, fg="red")
_new = partial(click.style, fg="green")


def entry(found: StateEntry) -> str:
    """Return a key, its version and its value on a line."""
    key, version = safe(found.key), f"v{found.version}"
    value = fit(compact(found.value), beside=f"{key}  {version}  ")
    return f"{_bold(key)}  {_dim(version)}  {value}"


def version(step: StateVersion) -> str:
    """Return one step of a key's history as a block."""
    heading = "  ".join(
        (
            _number(f"version {step.version}"),
            f"commit {step.commit_ts}",
            _dim(shapes.time_text(step.committed_at)),
            safe(step.actor),
        )
    )
    if step.value is None:
        return f"{heading}\n  {_gone('deleted')}"
    value = fit(compact(step.value), beside="  ")
    return "\n".join((heading, f"  {value}", *_because(step.because, "  ")))


def change(found: StateChange) -> str:
    """Return how a key differs between two moments: a heading, then what is different in it."""
    sign, colour = _SIGNS[found.kind]
    versions = " → ".join(f"v{record.version}" for record in (found.before, found.after) if record)
    heading = f"{click.style(sign, fg=colour)} {_bold(safe(found.key))}  {_dim(versions)}"
    before = found.before.value if found.before else {}
    after = found.after.value if found.after else {}
    return "\n".join((heading, *map(_member, compare(before, after))))


def event(found: ReplayEvent, *, with_namespace: bool, with_agent: bool = False) -> str:
    """Return a replayed transaction as a block: a heading, its operations, an empty line."""
    heading = "  ".join(
        (
            _number(f"commit {found.commit_ts}"),
            _dim(found.timestamp),
            f"txn {abbreviate(found.txn_id)}",
            safe(found.actor),
            *(("summary of all before",) if found.summary else ()),
        )
    )
    lines = [heading]
    for operation in found.operations:
        names = [operation.agent_id] * with_agent + [operation.namespace] * with_namespace
        lines.extend(_operation(operation, "".join(f"{safe(name)}  " for name in names)))
    return "\n".join((*lines, ""))


def _operation(found: AnyOperation, place: str) -> Iterator[str]:
    kind = found.type.value.ljust(_KIND_WIDTH)
    key, version, value = safe(found.key), f"v{found.version}", found.value
    colour = "red" if value is None else "green"
    line = f"  {click.style(kind, fg=colour)}  {place and _dim(place)}{_bold(key)}  {_dim(version)}"
    if value is None:
        yield line
    else:
        beside = f"  {kind}  {place}{key}  {version}  "
        yield f"{line}  {fit(compact(value), beside=beside)}"
    if isinstance(found, Write):
        yield from _because(found.because, " " * (_KIND_WIDTH + 4))


def _because(refs: Iterable[Ref], indent: str) -> Iterator[str]:
    named = ", ".join(safe(spelled(ref)) for ref in refs)
    if named:
        yield f"{indent}{_dim(f'because {named}')}"


def _member(found: MemberChange) -> str:
    sign, colour = _SIGNS[found.kind]
    path, before, after = safe(found.path), compact(found.before), compact(found.after)
    if found.kind == "changed":
        return _changed_member(path, before, after)
    value = fit(after if found.kind == "added" else before, beside=f"    + {path}: ")
    return click.style(f"    {sign} {path}: {value}", fg=colour)


def _changed_member(path: str, before: str, after: str) -> str:
    """Return both values on a line if there is room, else under each other from where they part."""
    line = f"{before} → {after}"
    start = f"    {click.style('~', fg='yellow')} {path}:"
    if fit(line, beside=f"    ~ {path}: ") == line:
        return f"{start} {_gone(before)} → {_new(after)}"
    pairs = enumerate(zip(before, after, strict=False))
    alike = max(next((place for place, (a, b) in pairs if a != b), 0) - _CONTEXT, 0)
    shown = [f"…{text[alike:]}" if alike else text for text in (before, after)]
    before, after = (fit(text, beside=" " * 8) for text in shown)
    return f"{start}\n      {_gone(f'- {before}')}\n      {_new(f'+ {after}')}"
