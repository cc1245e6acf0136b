"""Commands about conversations: importing them, and extracting what they say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from memoranda.cli.options import Target, takes_target
from memoranda.cli.output import warn, write_json
from memoranda.cli.progress import Meter, meter
from memoranda.cli.source_files import opened_file
from memoranda.cli.text import counted, safe
from memoranda.errors import Unavailable

if TYPE_CHECKING:
    from memoranda.cli.chat_days import Order
    from memoranda.extract.protocol import Extractor
    from memoranda.sdk.extraction import ExtractionReport, ImportedChat
    from memoranda.sdk.store import Store

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
    "--occurred-at", metavar="TIME", help="When it was said, where the messages name no day."
)
@click.option(
    "--day-first/--month-first",
    "day_first",
    default=None,
    help="How days with slashes are written, where no other day of the file tells.",
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
    day_first: bool | None,
    form: str,
) -> None:
    """Keep conversations as transcripts; `-` is stdin.

    A plain transcript has a message a line, `Name: text`, or `[2024-05-03 10:21] Name: text`; lines
    that do not begin so belong to the message above. JSON is a list, or an object a line, with a
    role, speaker or name, a content or text, and perhaps a timestamp. Where the day changes,
    another transcript begins.

    With --extract or --extractor, memories and facts are drawn from what was said, and cite it. A
    file that was imported is not imported again; what failed half-way goes on.

    Example: memoranda import chat talk.txt --extract
    """
    from memoranda.cli import shapes

    chosen = _chosen(extractor, default=extracting)
    order = _order(day_first, occurred_at)
    with target.agents_store(create=True) as store, meter("Importing") as progress:
        for file in files:
            kind = None if form == _AUTO else form
            made = _imported(store, file, kind, order, chosen, progress)
            if target.as_json:
                for each in made:
                    write_json({"file": file, **shapes.report(each)})
            else:
                _report(file, list(made))


@click.command()
@click.argument("transcript_id", metavar="ID")
@_extractor_option
@takes_target
def extract(target: Target, *, transcript_id: str, extractor: str | None) -> None:
    """Draw memories and facts from a transcript, which they cite.

    Whatever was drawn from it before by the same extractor is not drawn again.

    Example: memoranda extract 01a1e27a-6f0c-7d3e-8f7b-0c2f4d9a1b55
    """
    chosen = _chosen(extractor, default=True)
    with target.store() as store, meter("Extracting") as progress:
        report = store.extract(transcript_id, extractor=chosen, progress=progress)
    if target.as_json:
        write_json(report)
        return
    click.echo(f"{_drawn([report])} from transcript {safe(transcript_id)}.")
    _warn_of_skipped([report])


def _chosen(typed: str | None, *, default: bool) -> Extractor | None:
    """Return what is to extract, if anything; its errors are then told by the option's name."""
    from memoranda.cli.main import FIELD_NAMES
    from memoranda.extract.choosing import RULES, extractor_of

    if typed is None and not default:
        return None
    click.get_current_context().meta[FIELD_NAMES] = {
        "endpoint": "--extractor",
        "model": "--extractor",
    }
    return extractor_of(typed or RULES)


def _order(day_first: bool | None, occurred_at: str | None) -> Order:  # noqa: FBT001
    from memoranda.cli.chat_days import Order
    from memoranda.cli.fact_inputs import instant
    from memoranda.model.instant import to_datetime, to_micros

    if occurred_at is None:
        return Order(day_first)
    return Order(day_first, to_datetime(to_micros("occurred_at", instant(occurred_at))))


def _imported(
    store: Store,
    file: str,
    form: str | None,
    order: Order,
    extractor: Extractor | None,
    progress: Meter,
) -> Iterator[ImportedChat]:
    """Import a file, and yield what became of each transcript of it."""
    from memoranda.cli.chat_files import pieces

    name, undated = _name(file), False
    with opened_file(file) as opened:
        for piece in pieces(opened, name, form, order=order):
            if piece.undated and order.began is None and not undated:
                undated = True
                warn(f"{name} has times but no day: taken to be of today; give --occurred-at")
            made = store.import_chat(piece.words, occurred_at=piece.began or order.began)
            yield made if extractor is None else _extracted(store, made, extractor, progress)


def _extracted(
    store: Store, made: ImportedChat, extractor: Extractor, progress: Meter
) -> ImportedChat:
    """Draw from what was imported; if that fails, say where the words are."""
    from msgspec.structs import replace

    try:
        report = store.extract(made.transcript_id, extractor=extractor, progress=progress)
    except Unavailable as error:
        kept = made.transcript_id
        raise Unavailable(
            f"{error}; the words are kept as transcript {kept}: `memoranda extract {kept}`, or the "
            "same import, tries again"
        ) from error
    return replace(made, extraction=report)


def _report(file: str, made: Sequence[ImportedChat]) -> None:
    """Say what became of a file, all its transcripts taken together."""
    known = "already imported" if all(each.already for each in made) else "imported"
    number = counted(sum(each.messages for each in made), "message")
    kept = f"transcript {made[0].transcript_id}"
    if len(made) > 1:
        old = sum(each.already for each in made)
        kept = f"{len(made):,} transcripts" + (f", {old:,} of them before" if old else "")
    reports = [each.extraction for each in made if each.extraction is not None]
    drawn = f": {_drawn(reports)}" if reports else ""
    click.echo(f"{safe(_name(file))}: {known}, {number}, {kept}{drawn}")
    _warn_of_skipped(reports)


def _name(file: str) -> str:
    return "stdin" if file == "-" else file


def _drawn(reports: Sequence[ExtractionReport]) -> str:
    memories = counted(sum(len(each.memories) for each in reports), "memory", "memories")
    drawn = f"{memories} and {counted(sum(len(each.facts) for each in reports), 'fact')}"
    already = any(each.already for each in reports) and not any(each.is_new for each in reports)
    return f"{drawn} already extracted" if already else f"extracted {drawn}"


def _warn_of_skipped(reports: Sequence[ExtractionReport]) -> None:
    """Tell of what was set aside: the first of it, and how much more there is."""
    skipped = [each for report in reports for each in report.skipped]
    for each in skipped[:_MOST_SHOWN]:
        warn(f"set aside: {each.what} ({each.reason})")
    more = len(skipped) - _MOST_SHOWN
    if more > 0:
        warn(f"set aside: {counted(more, 'more item')} (--json has them all)")
