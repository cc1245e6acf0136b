"""Commands that erase: forget, sweep, purge, and erasure certificates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from memoranda.cli.completion import complete_agent, complete_id, complete_key, complete_namespace
from memoranda.cli.ids import full_id
from memoranda.cli.inputs import is_interactive
from memoranda.cli.options import Target, takes_limit, takes_store, takes_target
from memoranda.cli.output import plural, safe, write_each, write_fields, write_json
from memoranda.cli.progress import meter, spinner
from memoranda.errors import StoreBusy

if TYPE_CHECKING:
    from memoranda.log.erasure.certificate import Certificate
    from memoranda.log.erasure.preview import Preview

Command = Callable[..., None]
_MAX_LISTED = 20
"""Addresses that a preview lists, so that it fits on a screen; JSON has all of them."""


@click.group()
def forget() -> None:
    """Erase data for good and certify the erasure.

    Show what would be erased, and ask for confirmation; without a terminal, --yes is required. Data
    that others derived from it stays, and `why` marks its source as forgotten. --agent is recorded
    as the actor. In a large store, the bytes stay in the files until `memoranda purge`.
    """


def _takes_erasure_options(command: Command) -> Command:
    """Give a command the options of an erasure and of a `Target`."""

    @takes_target
    @wraps(command)
    def with_target(target: Target, **options: Any) -> None:
        command(target, **options)

    for option in (
        click.option("--yes", is_flag=True, help="Skip the confirmation."),
        click.option("--dry-run", is_flag=True, help="Show what would be erased."),
        click.option("--reason", metavar="TEXT", help="Reason, stored in the certificate."),
        click.option(
            "--purge/--no-purge",
            default=None,
            help="Remove the bytes from the files at once, or leave it to `memoranda purge`; "
            "default: at once in a store of up to 16 MiB.",
        ),
    ):
        with_target = option(with_target)
    return with_target


@forget.command()
@click.argument("memory_id", metavar="ID", shell_complete=complete_id("memory"))
@_takes_erasure_options
def memory(target: Target, *, memory_id: str, **options: Any) -> None:
    """Erase a memory, its versions and its facts.

    Its facts are those it is the source of.
    """
    _forget(target, {"memory_id": memory_id}, **options)


@forget.command()
@click.argument("transcript_id", metavar="ID", shell_complete=complete_id("transcript"))
@click.option("--derived", is_flag=True, help="Also erase the memories that cite it.")
@_takes_erasure_options
def transcript(target: Target, *, transcript_id: str, derived: bool, **options: Any) -> None:
    """Erase a transcript's text, and the facts it is the source of."""
    _forget(target, {"transcript_id": transcript_id, "derived": derived}, **options)


@forget.command()
@click.argument("key", shell_complete=complete_key)
@_takes_erasure_options
def key(target: Target, *, key: str, **options: Any) -> None:
    """Erase a key of the agent, its history and its name."""
    _forget(target, {"key": key}, **options)


@forget.command()
@click.argument("assertion_id", metavar="ID", shell_complete=complete_id("fact"))
@_takes_erasure_options
def fact(target: Target, *, assertion_id: str, **options: Any) -> None:
    """Erase an assertion, its end and its retraction."""
    _forget(target, {"fact": assertion_id}, **options)


@forget.command()
@click.argument("name")
@_takes_erasure_options
def entity(target: Target, *, name: str, **options: Any) -> None:
    """Erase an entity and every fact of the agent about it."""
    _forget(target, {"entity": name}, **options)


@forget.command()
@click.argument("agent_id", metavar="NAME", shell_complete=complete_agent)
@_takes_erasure_options
def agent(target: Target, *, agent_id: str, **options: Any) -> None:
    """Erase an agent in every namespace: all its data, and its name."""
    _forget(target, {"whole_agent": agent_id}, **options)


@forget.command()
@click.argument("path", metavar="PATH", shell_complete=complete_namespace)
@click.option("--children", is_flag=True, help="Also erase descendant namespaces.")
@_takes_erasure_options
def namespace(target: Target, *, path: str, children: bool, **options: Any) -> None:
    """Erase a namespace and its name, but not its descendants."""
    _forget(target, {"whole_namespace": path, "children": children}, **options)


@forget.command()
@click.argument("source", metavar="ID", shell_complete=complete_id("memory", "transcript"))
@_takes_erasure_options
def facts(target: Target, *, source: str, **options: Any) -> None:
    """Erase the facts of a source, but not the source.

    The source is a memory or a transcript.
    """
    _forget(target, {"facts_from": source}, **options)


_ID_KINDS = {
    "memory_id": ("memory",),
    "transcript_id": ("transcript",),
    "fact": ("fact",),
    "facts_from": ("memory", "transcript"),
}
"""Argument of `forget` that takes an id -> the kinds of ids."""


def _forget(target: Target, subject: dict[str, Any], *, reason: str | None, **options: Any) -> None:
    needs_agent = bool({"key", "entity"} & subject.keys())
    with target.agent_store() if needs_agent else target.store() as store:
        for name in _ID_KINDS.keys() & subject.keys():
            subject[name] = full_id(store, subject[name], *_ID_KINDS[name])
        _erase(target, partial(store.forget, **subject, reason=reason), **options)


@click.command()
@click.option(
    "--expired-for",
    metavar="DURATION",
    help="Erase memories that expired at least so long ago; default: 30d.",
)
@click.option(
    "--all-namespaces",
    is_flag=True,
    help="Sweep every namespace, not just this one and its descendants.",
)
@_takes_erasure_options
def sweep(
    target: Target,
    *,
    expired_for: str | None,
    all_namespaces: bool,
    reason: str | None,
    **options: Any,
) -> None:
    """Erase expired memories and transcripts that nothing cites.

    Sources of remaining memories and facts stay.
    """
    from memoranda.model.scope import ALL_NAMESPACES

    arguments: dict[str, Any] = {"expired_for": expired_for, "reason": reason}
    arguments = {name: value for name, value in arguments.items() if value is not None}
    if all_namespaces:
        arguments["namespace"] = ALL_NAMESPACES
    with target.store() as store:
        call = partial(store.sweep, **arguments)
        with spinner("Looking"):
            preview = call(dry_run=True)
        if preview is not None:
            _erase(target, call, **options)
        elif target.as_json:
            write_json(None)
        else:
            click.echo("There is nothing to sweep.")


def _erase(
    target: Target,
    call: Callable[..., Certificate | None],
    *,
    dry_run: bool,
    yes: bool,
    purge: bool | None,
) -> None:
    """Show what would be erased, ask for confirmation, and erase it."""
    with spinner("Looking"):
        planned = call(dry_run=True)
    assert planned is not None, "there is something to erase"
    assert planned.preview is not None, "a dry run has a preview"
    if dry_run:
        _write_preview(target, planned.preview, planned.copies)
        return
    if not yes:
        _confirm(planned.preview, planned.copies)
    with spinner("Erasing"):
        erasure = call(purge=purge)
    assert erasure is not None, "there was something to erase"
    _write_certificate(target, erasure)


def _confirm(preview: Preview, copies: Sequence[str]) -> None:
    """Show what would be erased, and ask; without a terminal, --yes is required."""
    for line in (*_preview_lines(preview), *_copy_lines(copies)):
        click.echo(line, err=True)
    if not is_interactive():
        raise click.UsageError("an erasure cannot be undone: give --yes to confirm it")
    click.confirm("Erase this? It cannot be undone.", abort=True, err=True)


def _preview_lines(preview: Preview) -> list[str]:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in preview.by_type.items())
    operations, events = plural(preview.operations, "operation"), plural(preview.events, "event")
    lines = [f"Would erase {operations} in {events}: {kinds or 'their actors'}."]
    if preview.resting:
        lines.append(f"{plural(len(preview.resting), 'dependent')} would lose a source:")
        lines.extend(f"  {safe(address)}" for address in preview.resting[:_MAX_LISTED])
        if len(preview.resting) > _MAX_LISTED:
            lines.append(f"  … and {len(preview.resting) - _MAX_LISTED:,} more")
    if preview.cursors:
        lines.append(f"Would delete {plural(len(preview.cursors), 'cursor')}.")
    return [*lines, *_mention_lines(preview)]


def _mention_lines(preview: Preview) -> list[str]:
    """Return lines that list where the erased name would still appear."""
    count = len(preview.mentions) + preview.hidden_mentions
    if not count:
        return []
    lines = [f"The name would still appear in {plural(count, 'record')}; erase those separately:"]
    lines.extend(f"  {safe(address)}" for address in preview.mentions[:_MAX_LISTED])
    if len(preview.mentions) > _MAX_LISTED:
        lines.append(f"  … and {len(preview.mentions) - _MAX_LISTED:,} more")
    if preview.hidden_mentions:
        hidden = plural(preview.hidden_mentions, "private memory", "private memories")
        lines.append(f"  … and {hidden} of other agents")
    return lines


def _copy_lines(copies: Sequence[str]) -> list[str]:
    if not copies:
        return []
    return [
        "Unfinished copies may also contain it; delete these files yourself:",
        *(f"  {safe(copy)}" for copy in copies),
    ]


def _write_preview(target: Target, preview: Preview, copies: Sequence[str]) -> None:
    from memoranda.calls.as_json import to_json

    if target.as_json:
        write_json({**to_json(preview), "copies": list(copies)})
        return
    for line in (*_preview_lines(preview), *_copy_lines(copies)):
        click.echo(line)


@click.command()
@takes_store
def purge(target: Target) -> None:
    """Remove the bytes of erased data from the files.

    The file is rewritten, which takes the time and the disk space of a copy. Other programs read
    meanwhile, and wait to write. After an interruption the store is as before, and this can be
    repeated.
    """
    with target.store() as store, meter("Rewriting the file") as progress:
        if not store.purge(progress=progress):
            raise StoreBusy(
                "another process is reading an older snapshot of the store: end it and try again"
            )
    if target.as_json:
        write_json({"pending_purge": False})
        return
    click.echo("The files hold no erased data.")


@click.command()
@click.argument("erasure_id", metavar="[ID]", required=False, shell_complete=complete_id("erasure"))
@takes_limit
@takes_store
def certificate(target: Target, *, erasure_id: str | None, limit: int | None) -> None:
    """Show an erasure certificate, or list them all."""
    with target.reader() as store:
        if erasure_id is not None:
            whole = full_id(store, erasure_id, "erasure")
            _write_certificate(target, store.certificate(whole))
            return
        write_each(
            islice(store.erasures(), limit),
            as_json=target.as_json,
            json_form=_json,
            text=_line,
            if_empty="no erasures",
        )


def _json(certificate: Certificate) -> dict[str, Any]:
    from memoranda.calls.as_json import to_json

    return {name: member for name, member in to_json(certificate).items() if name != "preview"}


def _line(certificate: Certificate) -> str:
    pending = "  pending purge" if certificate.pending_purge else ""
    time, operations = (
        _json(certificate)["committed_at"],
        plural(certificate.operations, "operation"),
    )
    return f"{certificate.erasure_id}  {time}  {certificate.target}: {operations}{pending}"


def _write_certificate(target: Target, certificate: Certificate) -> None:
    members = _json(certificate)
    if target.as_json:
        write_json(members)
        return
    purged = "yes"
    if certificate.pending_purge:
        purged = f"no, {certificate.pending_reason}"
    write_fields(
        (
            ("erasure", certificate.erasure_id),
            ("target", certificate.target),
            ("operations", f"{certificate.operations:,} in {plural(certificate.events, 'event')}"),
            ("commit", f"{certificate.commit_ts} at {members['committed_at']}"),
            ("by", certificate.by),
            ("reason", certificate.reason or "none given"),
            ("digest", certificate.digest),
            ("pseudonym", certificate.pseudonym or "none"),
            ("purged", purged),
        )
    )
    for line in _copy_lines(certificate.copies):
        click.echo(line)
