"""The command that changes the settings of a namespace."""

from __future__ import annotations

from typing import Any

import click

from memoranda.cli import inputs
from memoranda.cli.options import Target, takes_target
from memoranda.cli.output import write_json


@click.command()
@click.option(
    "--max-reflection-depth",
    metavar="N",
    type=int,
    help="Most levels of reflections; 0 forbids them.",
)
@click.option(
    "--tier",
    "tiers",
    metavar="TIER=DURATION",
    multiple=True,
    help="Lifetime of a tier's memories, such as 7d, or `never`. Repeatable.",
)
@click.option("--retention", metavar="DURATION", help="Retention of transcripts, or `never`.")
@click.option(
    "--log-retention", metavar="DURATION", help="Retention of the log, for `compact --retention`."
)
@click.option(
    "--facts",
    type=click.Choice(["own", "shared"]),
    help="Whether its agents have facts of their own or share one history.",
)
@click.option("--allow-large", is_flag=True, help="Allow to derive many facts again.")
@takes_target
def configure(
    target: Target,
    *,
    max_reflection_depth: int | None,
    tiers: tuple[str, ...],
    retention: str | None,
    log_retention: str | None,
    facts: str | None,
    allow_large: bool,
) -> None:
    """Change the settings of a namespace and its descendants."""
    settings: dict[str, Any] = {}
    if facts is not None:
        settings |= {"facts": facts, "allow_large": allow_large}
    if max_reflection_depth is not None:
        settings["max_reflection_depth"] = max_reflection_depth
    if tiers:
        pairs = (text.partition("=")[::2] for text in tiers)
        settings["tiers"] = {name: inputs.duration(length) for name, length in pairs}
    if retention is not None:
        settings["transcript_retention"] = inputs.duration(retention)
    if log_retention is not None:
        settings["log_retention"] = inputs.duration(log_retention)
    with target.store(create=True) as store:
        receipt = store.configure(**settings)
    if target.as_json:
        write_json({"namespace": target.namespace, "commit_ts": receipt.commit_ts})
    else:
        click.echo(f"configured {target.namespace}  commit {receipt.commit_ts}")
