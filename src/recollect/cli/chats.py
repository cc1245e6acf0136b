"""Commands about conversations: importing them, and extracting what they say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from recollect.cli.options import Target, takes_target
from recollect.cli.output import warn, write_json
from recollect.cli.progress import Meter, meter
from recollect.cli.source_files import opened_file
from recollect.cli.text import counted, safe

if TYPE_CHECKING:
    from recollect.extract.protocol import Extractor
    from recollect.sdk.extraction import ExtractionReport, ImportedChat
    from recollect.sdk.store import Store

_MOST_SHOWN = 5
_AUTO = "auto"
_extractor_option = click.option(
    "--extractor",
    metavar="rules|URL#MODEL",
    help="What extracts: rules for plain English, or a model behind a chat endpoint.",
)


@click.command(name="chat")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@click.option("--extract", "extracting", is_flag=True, help="Draw memories and facts from it.")
@_extractor_option
@click.option(
    "--occurred-at", metavar="TIME", help="When it was said; not given, as the first message says."
)
@click.option(
    "--format",
    "form",
    type=click.Choice([_AUTO, "plain", "json", "jsonl"]),
    default=_AUTO,
    show_default=True,
    help="The form of the files; each is looked at if it is not given.",
)
@takes_target
def import_chat(
    target: Target,
    *,
    files: tuple[str, ...],
    extracting: bool,
    extractor: str | None,
    occurred_at: str | None,
    form: str,
) -> None:
    """Keep conversations as transcripts; `-` is stdin.

    A plain transcript has a message a line, `Name: text`, or `[2024-05-03 10:21] Name: text`; lines
    that do not begin so belong to the message above. JSON is a list, or an object a line, with a
    role, speaker or name, a content or text, and perhaps a timestamp.

    With --extract or --extractor, memories and facts are drawn from what was said, and cite it. A
    file that was imported is not imported again; what failed half-way goes on.

    Example: recollect import chat talk.txt --extract
    """
    from recollect.cli.fact_inputs import instant

    chosen = _chosen(extractor, default=extracting)
    when = instant(occurred_at)
    with target.agents_store(create=True) as store, meter("Importing") as progress:
        for file in files:
            kind = None if form == _AUTO else form
            for made, messages in _imported(store, file, kind, when, chosen, progress):
                _report(target, file, made, messages)


@click.command()
@click.argument("transcript_id", metavar="ID")
@_extractor_option
@takes_target
def extract(target: Target, *, transcript_id: str, extractor: str | None) -> None:
    """Draw memories and facts from a transcript, which they cite.

    Whatever was drawn from it before by the same extractor is not drawn again.

    Example: recollect extract 01a1e27a-6f0c-7d3e-8f7b-0c2f4d9a1b55
    """
    chosen = _chosen(extractor, default=True)
    with target.store() as store, meter("Extracting") as progress:
        report = store.extract(transcript_id, extractor=chosen, progress=progress)
    if target.as_json:
        write_json(report)
        return
    click.echo(f"{_drawn(report)} from transcript {safe(transcript_id)}.")
    _warn_of_skipped(report)


def _chosen(typed: str | None, *, default: bool) -> Extractor | None:
    """Return what is to extract, if anything; its errors are then told by the option's name."""
    from recollect.cli.main import FIELD_NAMES
    from recollect.extract.choosing import RULES, extractor_of

    if typed is None and not default:
        return None
    click.get_current_context().meta[FIELD_NAMES] = {
        "endpoint": "--extractor",
        "model": "--extractor",
    }
    return extractor_of(typed or RULES)


def _imported(
    store: Store,
    file: str,
    form: str | None,
    when: str | None,
    extractor: Extractor | None,
    progress: Meter,
) -> Iterator[tuple[ImportedChat, int]]:
    """Import a file, and yield what became of each transcript of it."""
    from recollect.cli.chat_files import pieces

    with opened_file(file) as opened:
        for piece in pieces(opened, "stdin" if file == "-" else file, form):
            made = store.import_chat(
                piece.text,
                occurred_at=when,
                extractor=extractor,
                progress=progress,
            )
            yield made, piece.messages


def _report(target: Target, file: str, made: ImportedChat, messages: int) -> None:
    if target.as_json:
        write_json({"file": file, "messages": messages, **_shape(made)})
        return
    known = "already imported" if made.already else "imported"
    name, number = safe("stdin" if file == "-" else file), counted(messages, "message")
    drawn = "" if made.extraction is None else f": {_drawn(made.extraction)}"
    click.echo(f"{name}: {known}, {number}, transcript {made.transcript_id}{drawn}")
    if made.extraction is not None:
        _warn_of_skipped(made.extraction)


def _shape(made: ImportedChat) -> dict[str, object]:
    return {
        "transcript_id": made.transcript_id,
        "already": made.already,
        "extraction": made.extraction,
    }


def _drawn(report: ExtractionReport) -> str:
    memories = counted(len(report.memories), "memory", "memories")
    drawn = f"{memories} and {counted(len(report.facts), 'fact')}"
    return f"{drawn} already extracted" if report.already else f"extracted {drawn}"


def _warn_of_skipped(report: ExtractionReport) -> None:
    """Tell of what was set aside: the first of it, and how much more there is."""
    for each in report.skipped[:_MOST_SHOWN]:
        warn(f"set aside: {each.what} ({each.reason})")
    more = len(report.skipped) - _MOST_SHOWN
    if more > 0:
        warn(f"set aside: {counted(more, 'more item')} (--json has them all)")
