"""Commands that erase for good: forgetting, its certificates, and letting the bytes go."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial, wraps
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from memoranda.cli.options import Target, takes_limit, takes_target
from memoranda.cli.output import write_each, write_facts, write_json
from memoranda.cli.progress import waiting
from memoranda.cli.text import counted, safe
from memoranda.errors import StoreBusy

if TYPE_CHECKING:
    from memoranda.log.certificates import Certificate
    from memoranda.log.previewing import Preview

Command = Callable[..., None]
_SHOWN = 20
"""How many of what rests on something are named before it is erased."""


@click.group()
def forget() -> None:
    """Erase something for good, and get a certificate of it.

    What would go is shown first, and asked about on a terminal; elsewhere give --yes. What others
    built on it stays, and `why` shows that its ground is forgotten. --agent is who asks.
    """


def _takes_choices(command: Command) -> Command:
    """Give a command what all of them take."""

    @takes_target
    @wraps(command)
    def chosen(target: Target, **given: Any) -> None:
        command(target, **given)

    for option in (
        click.option("--yes", is_flag=True, help="Do not ask."),
        click.option("--dry-run", is_flag=True, help="Show what would go, and erase nothing."),
        click.option("--reason", metavar="TEXT", help="Why: it stands in the certificate."),
    ):
        chosen = option(chosen)
    return chosen


@forget.command()
@click.argument("memory_id", metavar="ID")
@_takes_choices
def memory(target: Target, *, memory_id: str, **choices: Any) -> None:
    """Forget a memory, all versions of it, and the facts it is the source of."""
    _forget(target, {"memory_id": memory_id}, **choices)


@forget.command()
@click.argument("transcript_id", metavar="ID")
@click.option("--derived", is_flag=True, help="Forget the memories that cite it, too.")
@_takes_choices
def transcript(target: Target, *, transcript_id: str, derived: bool, **choices: Any) -> None:
    """Forget a transcript's words, and the facts it is the source of."""
    _forget(target, {"transcript_id": transcript_id, "derived": derived}, **choices)


@forget.command()
@click.argument("key")
@_takes_choices
def key(target: Target, *, key: str, **choices: Any) -> None:
    """Forget a key of the agent's, with its history and its name."""
    _forget(target, {"key": key}, **choices)


@forget.command()
@click.argument("assertion_id", metavar="ID")
@_takes_choices
def fact(target: Target, *, assertion_id: str, **choices: Any) -> None:
    """Forget one assertion, with the end that was said with it and its withdrawal."""
    _forget(target, {"fact": assertion_id}, **choices)


@forget.command()
@click.argument("name")
@_takes_choices
def entity(target: Target, *, name: str, **choices: Any) -> None:
    """Forget an entity of the agent's: all its names, and every fact that mentions it."""
    _forget(target, {"entity": name}, **choices)


@forget.command()
@click.argument("agent_id", metavar="NAME")
@_takes_choices
def agent(target: Target, *, agent_id: str, **choices: Any) -> None:
    """Forget an agent in every namespace: all it wrote, and its name."""
    _forget(target, {"agent_id": agent_id}, **choices)


@forget.command()
@click.argument("path", metavar="PATH")
@click.option("--children", is_flag=True, help="Forget the namespaces below it, too.")
@_takes_choices
def namespace(target: Target, *, path: str, children: bool, **choices: Any) -> None:
    """Forget everything in exactly this namespace, and its name; those below it stay."""
    _forget(target, {"namespace": path, "children": children}, **choices)


@forget.command()
@click.argument("source", metavar="ID")
@_takes_choices
def facts(target: Target, *, source: str, **choices: Any) -> None:
    """Forget the facts that a memory or a transcript is the source of, and keep that."""
    _forget(target, {"facts_from": source}, **choices)


def _forget(target: Target, what: dict[str, Any], *, reason: str | None, **choices: Any) -> None:
    opened = target.agents_store if {"key", "entity"} & what.keys() else target.store
    with opened() as store:
        _erase(target, partial(store.forget, **what, reason=reason), **choices)


@click.command()
@click.option(
    "--expired-for",
    metavar="SECONDS",
    type=float,
    help="How long a memory's time must have been over; 30 days, if not said.",
)
@click.option("--all-namespaces", is_flag=True, help="Every namespace, not just this and below.")
@_takes_choices
def sweep(
    target: Target,
    *,
    expired_for: float | None,
    all_namespaces: bool,
    reason: str | None,
    **choices: Any,
) -> None:
    """Erase memories whose time is long over, and transcripts that nothing cites any more.

    What a memory that stays rests on stays, and what facts come from.
    """
    from memoranda.model.scope import ALL_NAMESPACES

    said = {"expired_for": expired_for, "reason": reason}
    given: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    if all_namespaces:
        given["namespace"] = ALL_NAMESPACES
    with target.store() as store:
        call = partial(store.sweep, **given)
        if call(dry_run=True) is not None:
            _erase(target, call, **choices)
        elif target.as_json:
            write_json(None)
        else:
            click.echo("There is nothing to sweep.")


def _erase(
    target: Target, call: Callable[..., Certificate | None], *, dry_run: bool, yes: bool
) -> None:
    """Show what would go, ask, and let it."""
    with waiting("Looking"):
        found = call(dry_run=True)
    assert found is not None, "there is something to erase"
    assert found.preview is not None, "a dry run has a preview"
    if dry_run:
        _write_preview(target, found.preview, found.copies)
        return
    if not yes:
        _confirm(found.preview, found.copies)
    with waiting("Erasing"):
        made = call()
    assert made is not None, "there was something to erase"
    _write_certificate(target, made)


def _confirm(preview: Preview, copies: Sequence[str]) -> None:
    """Show what would go, and ask; where nobody can be asked, it must have been said before."""
    for line in (*_preview_lines(preview), *_copy_lines(copies)):
        click.echo(line, err=True)
    if not _is_terminal():
        raise click.UsageError("it cannot be undone, and nobody is there to ask: give --yes")
    click.confirm("Erase it? It cannot be undone.", abort=True, err=True)


def _is_terminal() -> bool:
    return sys.stdin.isatty()


def _preview_lines(preview: Preview) -> list[str]:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in preview.by_type.items())
    operations, events = counted(preview.operations, "operation"), counted(preview.events, "event")
    lines = [f"Would erase {operations} in {events}: {kinds or 'who asked for them'}."]
    if preview.resting:
        lines.append(f"{counted(len(preview.resting), 'thing')} would be left without ground:")
        lines.extend(f"  {safe(address)}" for address in preview.resting[:_SHOWN])
        if len(preview.resting) > _SHOWN:
            lines.append(f"  … and {len(preview.resting) - _SHOWN:,} more")
    if preview.cursors:
        lines.append(f"{counted(len(preview.cursors), 'cursor')} of its own would go.")
    return [*lines, *_mention_lines(preview)]


def _mention_lines(preview: Preview) -> list[str]:
    """Say where the name would still stand."""
    count = len(preview.mentions) + preview.hidden_mentions
    if not count:
        return []
    lines = [
        f"The name would still stand in {counted(count, 'thing')}; forget what should go, too:"
    ]
    lines.extend(f"  {safe(address)}" for address in preview.mentions[:_SHOWN])
    if len(preview.mentions) > _SHOWN:
        lines.append(f"  … and {len(preview.mentions) - _SHOWN:,} more")
    if preview.hidden_mentions:
        hidden = counted(preview.hidden_mentions, "private memory", "private memories")
        lines.append(f"  … and {hidden} of others")
    return lines


def _copy_lines(copies: Sequence[str]) -> list[str]:
    if not copies:
        return []
    return [
        "It may also be in copies that nobody finished, which are yours to remove:",
        *(f"  {safe(copy)}" for copy in copies),
    ]


def _write_preview(target: Target, preview: Preview, copies: Sequence[str]) -> None:
    from memoranda.cli import shapes

    if target.as_json:
        write_json({**shapes.report(preview), "copies": list(copies)})
        return
    for line in (*_preview_lines(preview), *_copy_lines(copies)):
        click.echo(line)


@click.command()
@takes_target
def purge(target: Target) -> None:
    """Let the bytes of what was erased leave the files, if that was not done at once.

    The file is written anew, which takes as long as copying it, and room for a copy.
    """
    with target.store() as store, waiting("Writing the file anew"):
        if not store.purge():
            raise StoreBusy(
                "somebody reads the store and holds what was there before: end it, and try again"
            )
    if target.as_json:
        write_json({"pending_purge": False})
        return
    click.echo("Nothing that was erased is left in the files.")


@click.command()
@click.argument("erasure_id", metavar="[ID]", required=False)
@takes_limit
@takes_target
def certificate(target: Target, *, erasure_id: str | None, limit: int | None) -> None:
    """Show what an erasure came to; without an ID, list all of them."""
    with target.store() as store:
        if erasure_id is not None:
            _write_certificate(target, store.certificate(erasure_id))
            return
        write_each(
            islice(store.erasures(), limit),
            as_json=target.as_json,
            shape=_shape,
            lines=_line,
            nothing="nothing was ever erased",
        )


def _shape(found: Certificate) -> dict[str, Any]:
    from memoranda.cli import shapes

    shape = shapes.report(found)
    shape.pop("preview")
    return shape


def _line(found: Certificate) -> str:
    pending = "  pending purge" if found.pending_purge else ""
    shape, what = _shape(found), counted(found.operations, "operation")
    return f"{found.erasure_id}  {shape['committed_at']}  {found.target}: {what}{pending}"


def _write_certificate(target: Target, found: Certificate) -> None:
    shape = _shape(found)
    if target.as_json:
        write_json(shape)
        return
    purged = "no, a reader is in the way: run `memoranda purge`" if found.pending_purge else "yes"
    told = (
        ("erasure", found.erasure_id),
        ("target", found.target),
        ("operations", f"{found.operations:,} in {counted(found.events, 'event')}"),
        ("commit", f"{found.commit_ts} at {shape['committed_at']}"),
        ("by", found.by),
        ("reason", found.reason or "none given"),
        ("digest", found.digest),
        ("pseudonym", found.pseudonym or "none"),
        ("left the files", purged),
    )
    write_facts(told)
    for line in _copy_lines(found.copies):
        click.echo(line)
