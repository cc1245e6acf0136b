"""Memories, links, notices, transcripts, audit events and origins as text for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import click

from memoranda.calls.as_json import time_text
from memoranda.cli.output import byte_size, fit, safe
from memoranda.cli.render.key_text import UNPROVEN, proof_mark
from memoranda.model.memory import NOTICE_KIND, one_line
from memoranda.model.refs import Belief, FactRef, KeyRef

if TYPE_CHECKING:
    from memoranda.audit.events import AuditEvent
    from memoranda.memory.records import Invalidation, Link, Memory, Origin
    from memoranda.sdk.store.store import Store
    from memoranda.sdk.store.transcripts import Transcript

_bold = partial(click.style, bold=True)
_dim = partial(click.style, dim=True)
_yellow = partial(click.style, fg="yellow")
_HEADLINE_CHARACTERS = 60
"""Characters by which a memory is named in a line about another one."""
_TYPE_COLUMNS = 19
"""Width of the event type's column: that of `memory.superseded`, plus two."""


WordsOf = Callable[[str], str]
"""Returns the words of a memory, by which a reader knows it better than by its id."""


def words_in(store: Store) -> WordsOf:
    """Return a function that finds a memory's words; the id of one that is not visible."""

    def words_of(memory_id: str) -> str:
        record = store.get_memory(memory_id)
        return memory_id if record is None else f"“{headline(record)}”"

    return words_of


def headline(record: Memory) -> str:
    """Return the title of a memory, or the beginning of its content."""
    text = one_line(record.title or record.content or record.id)
    columns = _HEADLINE_CHARACTERS
    return text if len(text) <= columns else f"{text[: columns - 1].rstrip()}…"


def memory(record: Memory, words_of: WordsOf = str) -> str:
    """Return a memory on one line: its id, kind, version, and its title or content.

    A superseded one has a second line with the words of the memory that replaced it.
    """
    tags = "".join(f" #{tag}" for tag in record.tags)
    mark = proof_mark(record)
    beside = f"{record.id}  {record.kind}  v{record.version}  {click.unstyle(mark)}"
    text = fit(safe(f"{record.title or record.content or ''}{tags}"), beside=beside)
    line = f"{_bold(record.id)}  {record.kind}  {_dim(f'v{record.version}')}  {text}{mark}"
    if record.superseded_by is None:
        return line
    return f"{line}\n  {_yellow(safe(f'superseded by {words_of(record.superseded_by)}'))}"


def fields(record: Memory, words_of: WordsOf = str) -> Iterator[tuple[str, str]]:
    """Yield the names and values of a memory's fields."""
    yield "id", record.id
    yield "content", record.content or ""
    for name in ("title", "kind", "tier", "visibility", "agent_id", "namespace", "version"):
        if (value := getattr(record, name)) is not None:
            yield name, str(value)
    yield "priority", f"{record.priority}, confidence {record.confidence:g}, source {record.source}"
    for name in ("created_at", "updated_at", "event_time", "expires_at", "last_accessed_at"):
        if (time := getattr(record, name)) is not None:
            yield name, time_text(time)
    if record.tags:
        yield "tags", ", ".join(record.tags)
    if record.reflection_depth:
        yield "reflection_depth", str(record.reflection_depth)
    yield from _successor(record, words_of)
    for name in ("source_uri", "entity_id", "confidence_source", "reason"):
        if (value := getattr(record, name)) is not None:
            yield name, str(value)
    if record.unproven:
        yield UNPROVEN, "an erasure left it, and no hash proves that it is the original"


def _successor(record: Memory, words_of: WordsOf) -> Iterator[tuple[str, str]]:
    """Yield the words and the id of the memory that superseded this one, if any."""
    if (successor := record.superseded_by) is not None:
        yield "superseded_by", "  ".join(dict.fromkeys((words_of(successor), successor)))


def link(record: Link) -> str:
    """Return a link on one line, and a line for each owner it notified."""
    line = f"{safe(record.source)} {_bold(record.relation)} {safe(record.target)}"
    if record.valid_until is not None:
        line += _dim(f"  until {time_text(record.valid_until)}")
    return "\n".join((line, *(f"  notified the owner of {id_}" for id_ in record.notified)))


def notice(record: Invalidation, words_of: WordsOf = str) -> str:
    """Return a notice as a block: what happened to the evidence, and what to do about it."""
    verb = "reflects" if record.kind == NOTICE_KIND else "rests"
    newer = record.invalidating_id
    by = "" if newer is None else f" by {safe(words_of(newer))}"
    lines = [
        f"{_yellow(record.id)}  {record.status}  {_dim(time_text(record.created_at))}",
        f"  {_belief(record.dependent, words_of)} of {safe(record.agent_id)} {verb} on "
        f"{_belief(record.evidence, words_of)},",
        f"  which {safe(record.by)} {record.change}{by}",
    ]
    if record.decision is None:
        choices = "keep | retract | revise --with ID"
        if isinstance(record.dependent, KeyRef):
            choices = "keep, or write or delete the key"
        elif isinstance(record.dependent, FactRef):
            choices = "keep, or retract the fact"
        lines.append(_dim(f"  decide: memoranda resolve {record.id} {choices}"))
    else:
        reason = f": {safe(record.note)}" if record.note else ""
        lines.append(f"  {record.decision} by {safe(record.resolved_by or '')}{reason}")
    return "\n".join(lines)


def _belief(ref: Belief | None, words_of: WordsOf) -> str:
    """Return a key, a memory or a fact in words."""
    if isinstance(ref, KeyRef):
        return f"key {safe(ref.key)} (version {ref.version})"
    if isinstance(ref, FactRef):
        return f"fact {ref.assertion_id}"
    return "something forgotten" if ref is None else safe(words_of(ref.memory_id))


def transcript(record: Transcript) -> str:
    """Return a transcript on one line: its id, its time and its size."""
    time = time_text(record.occurred_at or record.created_at)
    return f"{_bold(record.id)}  {_dim(time)}  {byte_size(record.original_size)}"


def audit_event(event: AuditEvent) -> str:
    """Return an audit event on one line: its time, id, type and agent."""
    attest = "" if event.signature is None else f"  {click.style(event.attest_level, fg='green')}"
    event_type = _bold(safe(event.event_type).ljust(_TYPE_COLUMNS))
    heading = f"{_dim(event.timestamp)}  {event.id}  {event_type}"
    return f"{heading}  {safe(event.agent_id)}{attest}"


class OriginBranch(NamedTuple):
    """A node of a tree of origins, and the number of links from the root to it."""

    origin: Origin
    depth: int


def branches(root: Origin) -> Iterator[OriginBranch]:
    """Yield the nodes of a tree of origins depth first, with a stack: it may be very deep."""
    stack = [OriginBranch(root, 0)]
    while stack:
        branch = stack.pop()
        yield branch
        stack.extend(
            OriginBranch(child, branch.depth + 1) for child in reversed(branch.origin.origins)
        )


def origin(branch: OriginBranch) -> str:
    """Return a memory of a tree of origins, indented, and the quotations it cites."""
    node, indent = branch.origin, "  " * branch.depth
    states = [name for name in ("expired", "repeated") if getattr(node, name)]
    if node.memory.retracted:
        states.append("retracted")
    if node.memory.superseded_by:
        states.append("superseded")
    if node.memory.unproven:
        states.append(UNPROVEN)
    beside = f"{indent}{node.memory.kind} "
    text = fit(safe(node.memory.content or node.memory.id), beside=beside)
    marks = _yellow(f"  ({', '.join(states)})") if states else ""
    lines = [f"{indent}{_bold(node.memory.kind)} {text}{marks}"]
    for source in node.sources:
        for excerpt in source.excerpts:
            quotation = fit(safe(f"“{excerpt}”"), beside=f"{indent}  ")
            lines.append(f"{indent}  {_dim(quotation)}")
    return "\n".join(lines)
