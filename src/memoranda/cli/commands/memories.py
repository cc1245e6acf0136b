"""Commands about memories: remembering, showing, changing and taking back."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from memoranda.cli import inputs
from memoranda.cli.options import Target, takes_limit, takes_moment, takes_target
from memoranda.cli.output import write_each, write_facts, write_json
from memoranda.errors import NotFound

if TYPE_CHECKING:
    from memoranda.memory.records import Memory

Command = Callable[..., None]
_FIELDS = (
    click.option("--kind", metavar="KIND", help="What it is: observation, decision, claim, …"),
    click.option("--tier", metavar="TIER", help="How long it lasts: short, mid or long."),
    click.option("--tag", "tags", metavar="TAG", multiple=True, help="A tag. Repeatable."),
    click.option("--priority", metavar="N", type=int, help="1 to 10."),
    click.option("--confidence", metavar="X", type=float, help="0 to 1."),
    click.option("--source", metavar="TEXT", help="Where it comes from."),
    click.option("--metadata", metavar="JSON", help="A JSON object, `-` or `@file`."),
    click.option("--ttl", metavar="SECONDS", type=float, help="How long it lasts, in seconds."),
    click.option("--event-time", metavar="TIME", help="When what it says happened."),
)
_NEW = (
    click.option("--title", metavar="TEXT", help="Its name: said again, it is a new version."),
    click.option("--private", is_flag=True, help="Let no other agent see it."),
    click.option("--transcript", metavar="ID", help="The transcript it comes from."),
    click.option(
        "--quote", "quotes", metavar="TEXT", multiple=True, help="Exact words. Repeatable."
    ),
    click.option("--txn-id", metavar="ID", help="Name the write: tried again, it happens once."),
)


def takes_fields(*more: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Give a command the options that say something of a memory."""
    options: list[Callable[[Command], Command]] = [*more, *_FIELDS]

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@click.command()
@click.argument("content")
@takes_fields(*_NEW)
@takes_target
def remember(target: Target, *, content: str, txn_id: str | None, **said: Any) -> None:
    """Remember something.

    CONTENT is the text, `-` to read it from stdin, or `@file` to read it from a file.
    """
    with target.agents_store(create=True) as store:
        fields = _fields(said, lambda quote: _find(store, said["transcript"], quote))
        _report(target, store.remember(inputs.text(content), txn_id=txn_id, **fields))


@click.command()
@click.argument("content")
@click.option("--on", "on", metavar="ID", multiple=True, required=True, help="Repeatable.")
@takes_fields(*_NEW)
@takes_target
def reflect(
    target: Target, *, content: str, on: tuple[str, ...], txn_id: str | None, **said: Any
) -> None:
    """Draw a reflection on other memories."""
    with target.agents_store(create=True) as store:
        fields = _fields(said, lambda quote: _find(store, said["transcript"], quote))
        _report(target, store.reflect(inputs.text(content), on=on, txn_id=txn_id, **fields))


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option("--content", metavar="TEXT", help="The new words, `-` or `@file`.")
@click.option("--title", metavar="TEXT", help="The new name.")
@click.option("--expect-version", metavar="N", type=int, help="Change only this version.")
@click.option("--txn-id", metavar="ID", help="Name the write: tried again, it happens once.")
@takes_fields()
@takes_target
def edit(
    target: Target,
    *,
    memory_id: str,
    content: str | None,
    expect_version: int | None,
    txn_id: str | None,
    **said: Any,
) -> None:
    """Change some of what is said of a memory: a new version."""
    fields = _fields(said)
    if content is not None:
        fields["content"] = inputs.text(content)
    with target.agents_store() as store:
        made = store.update_memory(
            memory_id, expect_version=expect_version, txn_id=txn_id, **fields
        )
        _report(target, made)


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option("--reason", metavar="TEXT", help="Why.")
@takes_target
def retract(target: Target, *, memory_id: str, reason: str | None) -> None:
    """Take a memory back. Its history and its links stay."""
    with target.agents_store() as store:
        _report(target, store.retract_memory(memory_id, reason=reason))


@click.command()
@click.argument("memory_id", metavar="[ID]", required=False)
@click.option("--title", metavar="TEXT", help="Show the memory of this name instead.")
@click.option("--version", metavar="N", type=int, help="As it was at this version.")
@click.option("--history", "all_versions", is_flag=True, help="Every version, oldest first.")
@takes_moment
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
    """Show a memory, now or at some moment."""
    from memoranda.cli import belief_lines, belief_shapes

    with target.store() as store:
        if all_versions and memory_id is not None:
            write_each(
                store.memory_history(memory_id),
                as_json=target.as_json,
                shape=belief_shapes.memory,
                lines=belief_lines.memory,
                nothing=f"no memory {memory_id}",
            )
            return
        found = store.get_memory(memory_id, title=title, version=version, at=inputs.moment(at))
    if found is None:
        raise NotFound(
            f"there is no memory {memory_id or title!r} to be seen: it may have expired, been "
            "retracted, or be private; `memoranda show --history` shows its versions"
        )
    if target.as_json:
        write_json(belief_shapes.memory(found))
    else:
        write_facts(belief_lines.facts(found))


@click.command()
@click.option("--kind", metavar="KIND", help="Only of this kind.")
@click.option("--tier", metavar="TIER", help="Only of this tier.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="Only with this. Repeatable.")
@click.option("--metadata", metavar="JSON", help="Only with these members.")
@click.option("--after", metavar="TIME", help="Only those made at this time or later.")
@click.option("--before", metavar="TIME", help="Only those made earlier than this.")
@click.option("--of", "owner", metavar="AGENT", help="Only of this agent.")
@click.option("--content", "with_content", is_flag=True, help="With their content.")
@takes_moment
@takes_limit
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
    """List the memories of a namespace and those below it."""
    from memoranda.cli import belief_lines, belief_shapes

    with target.store() as store:
        found = store.list_memories(
            kind=kind,
            tier=tier,
            tags=tags,
            metadata=None if metadata is None else inputs.document(metadata),
            created_after=after,
            created_before=before,
            agent_id=owner,
            at=inputs.moment(at),
            content=with_content or not target.as_json,
        )
        write_each(
            islice(found, limit),
            as_json=target.as_json,
            shape=belief_shapes.memory,
            lines=belief_lines.memory,
            nothing=f"no memories in namespace {target.namespace!r}",
        )


def _fields(
    said: dict[str, Any], find: Callable[[str], tuple[int, int]] | None = None
) -> dict[str, Any]:
    """Return what was said in the words of the library; what was not said is left out."""
    fields = {name: value for name, value in said.items() if value not in (None, (), False)}
    if "metadata" in fields:
        fields["metadata"] = inputs.document(fields["metadata"])
    if fields.pop("private", False):
        fields["visibility"] = "private"
    quotes = fields.pop("quotes", ())
    if quotes and find is not None:
        fields["spans"] = [find(quote) for quote in quotes]
    return fields


def _find(store: Any, transcript_id: str | None, quote: str) -> tuple[int, int]:
    """Return where words stand in the transcript that was named."""
    if transcript_id is None:
        raise click.UsageError("--quote needs --transcript, the transcript it is from")
    transcript = store.get_transcript(transcript_id)
    if transcript is None:
        raise NotFound(f"there is no transcript {transcript_id!r}")
    start, end = transcript.find(quote)
    return start, end


def _report(target: Target, made: Memory) -> None:
    from memoranda.cli import belief_shapes

    if target.as_json:
        write_json(belief_shapes.memory(made))
    else:
        click.echo(f"{made.outcome} {made.id}  version {made.version}")
