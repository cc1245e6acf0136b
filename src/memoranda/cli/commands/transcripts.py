"""Commands about transcripts: words kept as they were said."""

from __future__ import annotations

from itertools import islice

import click

from memoranda.cli import inputs
from memoranda.cli.options import Target, takes_limit, takes_target
from memoranda.cli.output import write_each, write_json
from memoranda.errors import NotFound


@click.group()
def transcript() -> None:
    """Keep, show and list words as they were said."""


@transcript.command()
@click.argument("text")
@click.option("--occurred-at", metavar="TIME", help="When it was said.")
@click.option("--ttl", metavar="SECONDS", type=float, help="How long it is kept at least.")
@click.option("--txn-id", metavar="ID", help="Name the write: tried again, it happens once.")
@takes_target
def add(
    target: Target, *, text: str, occurred_at: str | None, ttl: float | None, txn_id: str | None
) -> None:
    """Keep a text: TEXT itself, `-` for stdin, or `@file`."""
    from memoranda.cli import belief_lines, belief_shapes

    with target.agents_store(create=True) as store:
        made = store.store_transcript(
            inputs.text(text), occurred_at=occurred_at, ttl=ttl, txn_id=txn_id
        )
    if target.as_json:
        write_json(belief_shapes.transcript(made))
    else:
        click.echo(f"stored {belief_lines.transcript(made)}")


@transcript.command()
@click.argument("transcript_id", metavar="ID")
@takes_target
def show(target: Target, *, transcript_id: str) -> None:
    """Print a transcript's text."""
    from memoranda.cli import belief_shapes
    from memoranda.cli.text import safe

    with target.store() as store:
        found = store.get_transcript(transcript_id)
        if found is None:
            raise NotFound(f"there is no transcript {transcript_id!r}")
        text = found.text()
        messages = found.messages() if target.as_json else []
    if target.as_json:
        said = {"messages": messages} if found.form == "messages" else {}
        write_json({**belief_shapes.transcript(found), "text": text, **said})
    else:
        click.echo("\n".join(safe(line) for line in text.split("\n")))


@transcript.command(name="list")
@takes_limit
@takes_target
def list_them(target: Target, *, limit: int | None) -> None:
    """List the transcripts of a namespace and those below it."""
    from memoranda.cli import belief_lines, belief_shapes

    with target.store() as store:
        write_each(
            islice(store.list_transcripts(), limit),
            as_json=target.as_json,
            shape=belief_shapes.transcript,
            lines=belief_lines.transcript,
            nothing=f"no transcripts in namespace {target.namespace!r}",
        )
