"""Commands that store, show, change and retract memories."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from memoranda.cli import inputs
from memoranda.cli.completion import complete_id
from memoranda.cli.ids import full_id
from memoranda.cli.options import Target, takes_limit, takes_moment, takes_target
from memoranda.cli.output import takes_wide, write_each, write_fields, write_json
from memoranda.errors import NotFound

if TYPE_CHECKING:
    from memoranda.memory.records import Memory
    from memoranda.sdk.store.store import Store

Command = Callable[..., None]
_FIELDS = (
    click.option("--kind", metavar="KIND", help="Kind, such as observation, decision or claim."),
    click.option("--tier", metavar="TIER", help="Retention tier: short, mid or long."),
    click.option("--tag", "tags", metavar="TAG", multiple=True, help="A tag. Repeatable."),
    click.option("--priority", metavar="N", type=int, help="Priority, 1 to 10."),
    click.option("--confidence", metavar="X", type=float, help="Confidence, 0 to 1."),
    click.option("--source", metavar="TEXT", help="Source label, such as user."),
    click.option("--metadata", metavar="JSON", help="Metadata: a JSON object, `-` or `@file`."),
    click.option("--ttl", metavar="DURATION", help="Time until it expires, such as 6h or 2w."),
    click.option("--event-time", metavar="TIME", help="Time of the event it describes."),
)
_NEW = (
    click.option(
        "--title", metavar="TEXT", help="Unique title; reusing it changes the given fields."
    ),
    click.option("--private", is_flag=True, help="Hide it from other agents."),
    click.option(
        "--transcript",
        metavar="ID",
        shell_complete=complete_id("transcript"),
        help="Source transcript.",
    ),
    click.option(
        "--quote",
        "quotes",
        metavar="TEXT",
        multiple=True,
        help="Exact quotation from the transcript. Repeatable.",
    ),
    click.option("--txn-id", metavar="ID", help="Idempotency key for safe retries."),
)


def takes_fields(*additional: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Give a command the options that set a memory's fields, after additional ones."""
    options: list[Callable[[Command], Command]] = [*additional, *_FIELDS]

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@click.command()
@click.argument("content")
@takes_fields(*_NEW)
@takes_target
def remember(target: Target, *, content: str, txn_id: str | None, **options: Any) -> None:
    """Store a memory.

    CONTENT is the text, `-` to read it from stdin, or `@file` to read it from a file.
    """
    with target.agent_store(create=True) as store:
        fields = _new_fields(store, options)
        _report(target, store.remember(inputs.text(content), txn_id=txn_id, **fields))


@click.command()
@click.argument("content")
@click.option(
    "--on",
    "on",
    metavar="ID",
    multiple=True,
    required=True,
    shell_complete=complete_id("memory"),
    help="Memory to reflect on. Repeatable.",
)
@takes_fields(*_NEW)
@takes_target
def reflect(
    target: Target, *, content: str, on: tuple[str, ...], txn_id: str | None, **options: Any
) -> None:
    """Store a reflection on other memories."""
    with target.agent_store(create=True) as store:
        fields = _new_fields(store, options)
        sources = [full_id(store, source, "memory") for source in on]
        _report(target, store.reflect(inputs.text(content), on=sources, txn_id=txn_id, **fields))


@click.command()
@click.argument("memory_id", metavar="ID", shell_complete=complete_id("memory"))
@click.option("--content", metavar="TEXT", help="New content, `-` or `@file`.")
@click.option("--title", metavar="TEXT", help="New title.")
@click.option(
    "--expect-version", metavar="N", type=int, help="Change only if this is the current version."
)
@click.option("--txn-id", metavar="ID", help="Idempotency key for safe retries.")
@takes_fields()
@takes_target
def edit(
    target: Target,
    *,
    memory_id: str,
    content: str | None,
    expect_version: int | None,
    txn_id: str | None,
    **options: Any,
) -> None:
    """Change fields of a memory; adds a version."""
    fields = _fields(options)
    if content is not None:
        fields["content"] = inputs.text(content)
    with target.agent_store() as store:
        memory = store.update_memory(
            full_id(store, memory_id, "memory"),
            expect_version=expect_version,
            txn_id=txn_id,
            **fields,
        )
        _report(target, memory)


@click.command()
@click.argument("memory_id", metavar="ID", shell_complete=complete_id("memory"))
@click.option("--reason", metavar="TEXT", help="Reason, stored in the log.")
@takes_target
def retract(target: Target, *, memory_id: str, reason: str | None) -> None:
    """Retract a memory; its history and links stay."""
    with target.agent_store() as store:
        _report(target, store.retract_memory(full_id(store, memory_id, "memory"), reason=reason))


@click.command()
@click.argument("memory_id", metavar="[ID]", required=False, shell_complete=complete_id("memory"))
@click.option("--title", metavar="TEXT", help="Show the memory with this title.")
@click.option("--version", metavar="N", type=int, help="Show this version.")
@click.option("--history", "all_versions", is_flag=True, help="Show every version, oldest first.")
@takes_moment
@takes_wide
@takes_target
def show(
    target: Target,
    *,
    memory_id: str | None,
    title: str | None,
    version: int | None,
    all_versions: bool,
    at: str | None,
) -> None:
    """Show a memory, now or as of a past moment."""
    from memoranda.cli.render import memory_text

    with target.reader() as store:
        if memory_id is not None:
            memory_id = full_id(store, memory_id, "memory")
        if all_versions and memory_id is not None:
            write_each(
                store.memory_history(memory_id),
                as_json=target.as_json,
                text=memory_text.memory,
                if_empty=f"memory {memory_id} has no versions left",
            )
            return
        memory = store.get_memory(memory_id, title=title, version=version, at=inputs.moment(at))
        if memory is not None:
            if target.as_json:
                write_json(memory)
            else:
                write_fields(memory_text.fields(memory, memory_text.words_in(store)))
            return
    raise NotFound(
        f"not found: memory {memory_id or title!r}: it may be expired, retracted or private; "
        "`memoranda show --history` shows its versions"
    )


@click.command()
@click.option("--kind", metavar="KIND", help="Filter by kind.")
@click.option("--tier", metavar="TIER", help="Filter by tier.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="Filter by tag. Repeatable.")
@click.option("--metadata", metavar="JSON", help="Filter by metadata members.")
@click.option("--after", metavar="TIME", help="Created at this time or later.")
@click.option("--before", metavar="TIME", help="Created before this time.")
@click.option("--of", "owner", metavar="AGENT", help="Filter by owner.")
@click.option("--content", "with_content", is_flag=True, help="Include the content in JSON.")
@takes_moment
@takes_limit
@takes_wide
@takes_target
def memories(
    target: Target,
    *,
    kind: str | None,
    tier: str | None,
    tags: tuple[str, ...],
    metadata: str | None,
    after: str | None,
    before: str | None,
    owner: str | None,
    with_content: bool,
    at: str | None,
    limit: int | None,
) -> None:
    """List the memories of a namespace and its descendants."""
    from memoranda.cli.render import memory_text

    with target.reader() as store:
        records = store.list_memories(
            kind=kind,
            tier=tier,
            tags=tags,
            metadata=None if metadata is None else inputs.document(metadata, "metadata"),
            created_after=after,
            created_before=before,
            agent_id=owner,
            at=inputs.moment(at),
            content=with_content or not target.as_json,
        )
        write_each(
            islice(records, limit),
            as_json=target.as_json,
            text=partial(memory_text.memory, words_of=memory_text.words_in(store)),
            if_empty=f"no memories in namespace {target.namespace!r}",
        )


def _new_fields(store: Store, options: dict[str, Any]) -> dict[str, Any]:
    """Return the given options of a new memory as arguments of the library."""
    transcript = options["transcript"]
    if transcript is not None:
        options = {**options, "transcript": full_id(store, transcript, "transcript")}
    return _fields(options, lambda quote: _find(store, options["transcript"], quote))


def _fields(
    options: dict[str, Any], find: Callable[[str], tuple[int, int]] | None = None
) -> dict[str, Any]:
    """Return the given options as arguments of the library; `find` turns quotations into spans."""
    fields = {name: value for name, value in options.items() if value not in (None, (), False)}
    if "metadata" in fields:
        fields["metadata"] = inputs.document(fields["metadata"], "metadata")
    if fields.pop("private", False):
        fields["visibility"] = "private"
    quotes = fields.pop("quotes", ())
    if quotes and find is not None:
        fields["spans"] = [find(quote) for quote in quotes]
    return fields


def _find(store: Store, transcript_id: str | None, quote: str) -> tuple[int, int]:
    """Return the span of a quotation in a transcript, in bytes."""
    if transcript_id is None:
        raise click.UsageError("--quote needs --transcript")
    transcript = store.get_transcript(transcript_id)
    if transcript is None:
        raise NotFound(f"not found: transcript {transcript_id!r}")
    start, end = transcript.find(quote)
    return start, end


def _report(target: Target, memory: Memory) -> None:

    if target.as_json:
        write_json(memory)
    else:
        click.echo(f"{memory.outcome} {memory.id}  version {memory.version}")
