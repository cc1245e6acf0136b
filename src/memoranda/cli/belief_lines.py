"""What the store answers about memories, as the lines a person reads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import click

from memoranda.cli.output import fit
from memoranda.cli.shapes import time_text
from memoranda.cli.text import safe, sized

if TYPE_CHECKING:
    from memoranda.audit.events import AuditEvent
    from memoranda.cli.belief_shapes import Mention
    from memoranda.memory.records import Invalidation, Link, Memory
    from memoranda.sdk.transcript import Transcript

_bold = partial(click.style, bold=True)
_dim = partial(click.style, dim=True)
_warned = partial(click.style, fg="yellow")
_TYPE_WIDTH = 19
"""As wide as the types of audit events are that are seen every day."""


def memory(found: Memory) -> str:
    """Return a memory on a line: its id, what it is, and its title or its first words."""
    said = found.title or found.content or ""
    beside = f"{found.id}  {found.kind}  v{found.version}  "
    tags = "".join(f" #{tag}" for tag in found.tags)
    told = fit(safe(f"{said}{tags}"), beside=beside)
    return f"{_bold(found.id)}  {found.kind}  {_dim(f'v{found.version}')}  {told}"


def facts(found: Memory) -> Iterator[tuple[str, str]]:
    """Yield everything that is known of a memory, by name."""
    yield "id", found.id
    yield "content", found.content or ""
    for name in ("title", "kind", "tier", "visibility", "agent_id", "namespace", "version"):
        if (value := getattr(found, name)) is not None:
            yield name, str(value)
    yield "priority", f"{found.priority}, confidence {found.confidence:g}, source {found.source}"
    for name in ("created_at", "updated_at", "event_time", "expires_at", "last_accessed_at"):
        if (time := getattr(found, name)) is not None:
            yield name, time_text(time)
    if found.tags:
        yield "tags", ", ".join(found.tags)
    if found.reflection_depth:
        yield "reflection_depth", str(found.reflection_depth)
    for name in ("superseded_by", "source_uri", "entity_id", "confidence_source", "reason"):
        if (value := getattr(found, name)) is not None:
            yield name, str(value)


def link(found: Link) -> str:
    """Return a link on a line, and who was told because of it."""
    line = f"{safe(found.source)} {_bold(found.relation)} {safe(found.target)}"
    if found.valid_until is not None:
        line += _dim(f"  until {time_text(found.valid_until)}")
    return "\n".join((line, *(f"  told the owner of {each}" for each in found.notified)))


def notice(found: Invalidation) -> str:
    """Return what there is to decide, or what was decided, as a block."""
    lines = [
        f"{_warned(found.id)}  {found.status}  {_dim(time_text(found.created_at))}",
        f"  {found.dependent_id} of {safe(found.agent_id)} reflects on {found.invalidated_id},",
        f"  which {safe(found.by)} superseded by {found.invalidating_id}",
    ]
    if found.decision is None:
        lines.append(
            _dim(f"  decide: memoranda resolve {found.id} keep | retract | revise --with ID")
        )
    else:
        told = f": {safe(found.note)}" if found.note else ""
        lines.append(f"  {found.decision} by {safe(found.resolved_by or '')}{told}")
    return "\n".join(lines)


def transcript(found: Transcript) -> str:
    """Return a transcript on a line."""
    time = time_text(found.occurred_at or found.created_at)
    return f"{_bold(found.id)}  {_dim(time)}  {sized(found.original_size)}"


def audit_event(found: AuditEvent) -> str:
    """Return something that was done on a line."""
    signed = "" if found.signature is None else f"  {click.style(found.attest_level, fg='green')}"
    where = f"{_dim(found.timestamp)}  {found.id}"
    done = _bold(safe(found.event_type).ljust(_TYPE_WIDTH))
    return f"{where}  {done}  {safe(found.agent_id)}{signed}"


def origin(mention: Mention) -> str:
    """Return one memory of a tree of origins, indented, and the words it comes from."""
    found, indent = mention.origin, "  " * mention.depth
    marks = [name for name in ("expired", "repeated") if getattr(found, name)]
    if found.memory.retracted:
        marks.append("retracted")
    if found.memory.superseded_by:
        marks.append("superseded")
    beside = f"{indent}{found.memory.kind} "
    said = fit(safe(found.memory.content or found.memory.id), beside=beside)
    mark = _warned(f"  ({', '.join(marks)})") if marks else ""
    lines = [f"{indent}{_bold(found.memory.kind)} {said}{mark}"]
    for source in found.sources:
        for excerpt in source.excerpts:
            quoted = fit(safe(f"“{excerpt}”"), beside=f"{indent}  ")
            lines.append(f"{indent}  {_dim(quoted)}")
    return "\n".join(lines)
