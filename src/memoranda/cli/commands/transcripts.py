"""Commands that store, import and list transcripts, and extract from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memoranda.cli import inputs
from memoranda.cli.completion import complete_id
from memoranda.cli.ids import full_id
from memoranda.cli.inputs import open_input
from memoranda.cli.options import Target, takes_limit, takes_namespace, takes_store, takes_target
from memoranda.cli.output import plural, safe, warn, write_each, write_json
from memoranda.cli.progress import Meter, meter
from memoranda.errors import InvalidInput, NotFound, Unavailable

if TYPE_CHECKING:
    from memoranda.calls.results import ExtractionReport, ImportedChat
    from memoranda.cli.formats.chat_files import DateOrder, ParsedTranscript
    from memoranda.extract.protocol import Extractor
    from memoranda.model.document import Document
    from memoranda.sdk.store.store import Store


# Transcripts.


@click.group()
def transcript() -> None:
    """Store, show and list transcripts."""


@transcript.command()
@click.argument("text")
@click.option("--occurred-at", metavar="TIME", help="Time of the conversation.")
@click.option("--ttl", metavar="DURATION", help="Keep it at least so long, such as 90d.")
@click.option("--txn-id", metavar="ID", help="Idempotency key for safe retries.")
@takes_target
def add(
    target: Target, *, text: str, occurred_at: str | None, ttl: str | None, txn_id: str | None
) -> None:
    """Store a text: TEXT itself, `-` for stdin, or `@file`."""
    from memoranda.cli.render import memory_text

    with target.agent_store(create=True) as store:
        record = store.store_transcript(
            inputs.text(text), occurred_at=occurred_at, ttl=ttl, txn_id=txn_id
        )
    if target.as_json:
        write_json(record)
    else:
        click.echo(f"stored {memory_text.transcript(record)}")


@transcript.command()
@click.argument("transcript_id", metavar="ID", shell_complete=complete_id("transcript"))
@takes_store
def show(target: Target, *, transcript_id: str) -> None:
    """Print a transcript's text."""
    from memoranda.calls.as_json import to_json
    from memoranda.cli.output import safe

    with target.reader() as store:
        transcript_id = full_id(store, transcript_id, "transcript")
        record = store.get_transcript(transcript_id)
        if record is None:
            raise NotFound(f"not found: transcript {transcript_id!r}")
        text = record.text()
        messages = record.messages() if target.as_json else []
    if target.as_json:
        content = {"messages": messages} if record.form == "messages" else {}
        write_json({**to_json(record), "text": text, **content})
    else:
        click.echo("\n".join(safe(line) for line in text.split("\n")))


@transcript.command(name="list")
@takes_limit
@takes_namespace
def list_transcripts(target: Target, *, limit: int | None) -> None:
    """List the transcripts of a namespace and its descendants."""
    from memoranda.cli.render import memory_text

    with target.reader() as store:
        write_each(
            islice(store.list_transcripts(), limit),
            as_json=target.as_json,
            text=memory_text.transcript,
            if_empty=f"no transcripts in namespace {target.namespace!r}",
        )


# Importing conversations, and extracting memories and facts.

_MAX_WARNINGS = 5
"""Skipped items that are listed one by one; JSON has all of them."""
_AUTO = "auto"
_extractor_option = partial(
    click.option,
    "--extractor",
    metavar="rules|URL#MODEL",
    help="The extractor: a model of a chat endpoint, or rules for a few kinds of plain English.",
)


_name_option = click.option(
    "--name",
    "names",
    metavar="ROLE=NAME",
    multiple=True,
    help="Name of a speaker, such as user=Ann. Repeatable.",
)


@click.command(name="chat")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@_extractor_option()
@_name_option
@click.option(
    "--occurred-at", metavar="TIME", help="Time of the conversation, if its messages have no dates."
)
@click.option(
    "--day-first/--month-first",
    "day_first",
    default=None,
    help="Order of dates with slashes, if the file does not show it.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice([_AUTO, "plain", "json", "jsonl"]),
    default=_AUTO,
    show_default=True,
    help="Format of the files; auto detects it for each.",
)
@takes_target
def import_chat(
    target: Target,
    *,
    files: tuple[str, ...],
    extractor: str | None,
    names: tuple[str, ...],
    occurred_at: str | None,
    day_first: bool | None,
    form: str,
) -> None:
    """Import conversations as transcripts; `-` is stdin.

    A plain file has one message a line, `Name: text` or `[2024-05-03 10:21] Name: text`; any other
    line continues the message above. A JSON file is a list of objects, or one object a line, with a
    role, speaker or name, a content or text, and optionally a timestamp. Each day becomes a
    transcript of its own.

    An export of ChatGPT or Claude, its conversations.json or the whole zip archive, and JSON Lines
    with a list of `messages` each hold several conversations. Each becomes a transcript, whose
    first line is its title.

    With --name, the messages of a role are stored with the name of a person. Each file must have
    messages of that role; a plain file has names of its own.

    With --extractor, extract memories and facts that cite the transcripts. A file that is imported
    twice is stored once, and an interrupted import continues.

    Example: memoranda import chat talk.txt --extractor rules
    """
    from memoranda.calls.as_json import to_json

    parsed_extractor = None if extractor is None else _extractor(extractor)
    speakers = _names(names)
    order = _order(day_first, occurred_at)
    kind = None if form == _AUTO else form
    with target.agent_store(create=True) as store, meter("Importing chats") as progress:
        counter = _Counter(progress, _count(files, kind, order) if progress.enabled else None)
        for file in files:
            chats = _import(store, file, kind, order, speakers, parsed_extractor, counter)
            if target.as_json:
                for title, chat in chats:
                    title_fields = {"title": title} if title else {}
                    progress.clear()
                    write_json({"file": file, **title_fields, **to_json(chat)})
            else:
                imported = [chat for _, chat in chats]
                progress.clear()
                _report(file, imported)


class _Counter:
    """Shows the number of transcripts; for a single one, how far its extraction is."""

    def __init__(self, progress: Meter, total: int | None) -> None:
        self._progress = progress
        self._total = total
        self._count = 0

    def add(self) -> None:
        """Count a transcript that was imported."""
        self._count += 1
        self._progress(self._count, self._total)

    @property
    def extraction(self) -> Meter | None:
        """The display for an extraction, unless it would hide the number of transcripts."""
        return self._progress if self._total == 1 else None


def _count(files: Sequence[str], form: str | None, order: DateOrder) -> int | None:
    """Return the number of transcripts in the files; None if one of them can be read only once."""
    from memoranda.cli.formats.chat_files import read_transcripts

    if not all(Path(file).is_file() for file in files):
        return None
    total = 0
    for file in files:
        with open_input(file) as stream:
            total += sum(1 for _ in read_transcripts(stream, file, form, order=order))
    return total


@click.command()
@click.argument("transcript_id", metavar="ID", shell_complete=complete_id("transcript"))
@_extractor_option(required=True)
@_name_option
@takes_target
def extract(target: Target, *, transcript_id: str, extractor: str, names: tuple[str, ...]) -> None:
    """Extract memories and facts from a transcript.

    The same extractor does not extract the same transcript twice.

    Example: memoranda extract 01a1e27a-6f0c-7d3e-8f7b-0c2f4d9a1b55 --extractor rules
    """
    parsed_extractor = _extractor(extractor)
    with target.store() as store, meter("Extracting") as progress:
        transcript_id = full_id(store, transcript_id, "transcript")
        report = store.extract(
            transcript_id,
            extractor=parsed_extractor,
            names=_names(names),
            progress=progress,
        )
    if target.as_json:
        write_json(report)
        return
    click.echo(f"{_summary([report])} from transcript {safe(transcript_id)}.")
    _warn_of_skipped([report])


def _names(options: Sequence[str]) -> dict[str, str]:
    """Return the names of speakers by role."""
    from memoranda.memory.speakers import check_names
    from memoranda.model.limits import Limits

    for option in options:
        if "=" not in option:
            raise InvalidInput("names", f"{option!r} has no `=`: give a role and a name, user=Ann")
    return check_names(dict(option.partition("=")[::2] for option in options), Limits())


def _extractor(option: str) -> Extractor:
    """Return the extractor that an option names."""
    from memoranda.cli.main import FIELD_NAMES
    from memoranda.extract.extractors import parse_extractor

    click.get_current_context().meta[FIELD_NAMES] = {
        "endpoint": "--extractor",
        "model": "--extractor",
    }
    return parse_extractor(option)


def _order(day_first: bool | None, occurred_at: str | None) -> DateOrder:  # noqa: FBT001
    from memoranda.cli.formats.chat_files import DateOrder
    from memoranda.model.clock import to_datetime, to_micros

    if occurred_at is None:
        return DateOrder(day_first)
    return DateOrder(day_first, to_datetime(to_micros("occurred_at", occurred_at)))


def _import(
    store: Store,
    file: str,
    form: str | None,
    order: DateOrder,
    names: Mapping[str, str],
    extractor: Extractor | None,
    counter: _Counter,
) -> Iterator[tuple[str, ImportedChat]]:
    """Import a file, and yield the title of each transcript, if it has one, and a report."""
    from memoranda.cli.formats.chat_files import read_transcripts

    name, warned = _name(file), False
    with (
        open_input(file) as stream,
        closing(read_transcripts(stream, name, form, order=order)) as transcripts,
    ):
        for transcript, speakers in _with_names(transcripts, names):
            if transcript.undated and order.first_time is None and not warned:
                warned = True
                warn(f"{name} has times but no dates: assuming today; give --occurred-at")
            time = transcript.first_time or order.first_time
            chat = store.import_chat(transcript.content, names=speakers, occurred_at=time)
            if extractor is not None:
                chat = _extract(store, chat, extractor, counter.extraction)
            counter.add()
            yield transcript.title, chat


def _with_names(
    transcripts: Iterator[ParsedTranscript], names: Mapping[str, str]
) -> Iterator[tuple[ParsedTranscript, dict[str, str]]]:
    """Yield the transcripts of a file, each with the names of the roles that it has.

    If there are names, the whole file is checked before its first transcript is imported: one that
    was stored with a misspelled role would be stored again under the right one.
    """
    from memoranda.memory.speakers import check_roles, names_of_roles

    if not names:
        yield from ((transcript, {}) for transcript in transcripts)
        return
    file = [(transcript, _messages(transcript)) for transcript in transcripts]
    check_roles([message for _, messages in file for message in messages], names)
    for transcript, messages in file:
        yield transcript, names_of_roles(messages, names)


def _messages(transcript: ParsedTranscript) -> list[Document]:
    """Return the messages of a transcript; a text takes no names."""
    from memoranda.memory.speakers import names_of_a_text

    if isinstance(transcript.content, str):
        raise names_of_a_text()
    return transcript.content


def _extract(
    store: Store, chat: ImportedChat, extractor: Extractor, progress: Meter | None
) -> ImportedChat:
    """Extract from an imported chat; if the model fails, name the transcript to retry with."""
    from memoranda.sdk.extraction import with_extraction

    try:
        report = store.extract(chat.transcript_id, extractor=extractor, progress=progress)
    except Unavailable as error:
        transcript_id = chat.transcript_id
        raise Unavailable(
            f"{error}; the conversation is stored as transcript {transcript_id}: run `memoranda "
            f"extract {transcript_id}` or the same import to try again"
        ) from error
    return with_extraction(chat, report)


def _report(file: str, chats: Sequence[ImportedChat]) -> None:
    """Print a summary of a file's transcripts."""
    outcome = "already imported" if all(chat.already for chat in chats) else "imported"
    messages = plural(sum(chat.messages for chat in chats), "message")
    transcripts = f"transcript {chats[0].transcript_id}"
    if len(chats) > 1:
        old = sum(chat.already for chat in chats)
        transcripts = f"{len(chats):,} transcripts" + (f", {old:,} of them before" if old else "")
    reports = [chat.extraction for chat in chats if chat.extraction is not None]
    extraction = f": {_summary(reports)}" if reports else ""
    click.echo(f"{safe(_name(file))}: {outcome}, {messages}, {transcripts}{extraction}")
    _warn_of_skipped(reports)


def _name(file: str) -> str:
    return "stdin" if file == "-" else file


def _summary(reports: Sequence[ExtractionReport]) -> str:
    memories = plural(sum(len(report.memories) for report in reports), "memory", "memories")
    facts = plural(sum(len(report.facts) for report in reports), "fact")
    is_new = any(report.is_new for report in reports)
    if any(report.already for report in reports) and not is_new:
        return f"{memories} and {facts} already extracted"
    return f"extracted {memories} and {facts}"


def _warn_of_skipped(reports: Sequence[ExtractionReport]) -> None:
    """Warn of the first items that were skipped, and of the number of the others."""
    items = [item for report in reports for item in report.skipped]
    for item in items[:_MAX_WARNINGS]:
        warn(f"skipped: {item.what} ({item.reason})")
    remaining = len(items) - _MAX_WARNINGS
    if remaining > 0:
        warn(f"skipped: {plural(remaining, 'more item')} (--json lists them all)")
