"""Calls that store transcripts, and cite them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Self

from msgspec.structs import replace

from memoranda.calls.call import AnyDuration, AnyInstant, WriteCall
from memoranda.calls.core import Core
from memoranda.calls.open_transaction import OpenTransaction
from memoranda.calls.requests import check_memory_id, check_transcript_ref
from memoranda.calls.transcripts import cited_transcripts
from memoranda.calls.write import WriteHandler, Writes, Written
from memoranda.errors import NotFound
from memoranda.log import pages
from memoranda.memory import transcripts
from memoranda.memory.messages import TEXT, plain_messages
from memoranda.memory.records import TranscriptLink
from memoranda.memory.requests import CiteTranscript, StoreMessages
from memoranda.memory.requests import StoreTranscript as StoreRequest
from memoranda.memory.transcripts import TranscriptInfo, check_transcript
from memoranda.model.clock import check_duration, check_time
from memoranda.model.codec import pack
from memoranda.model.document import Document
from memoranda.model.limits import WIDEST
from memoranda.model.memory import Span
from memoranda.model.operations import Cite
from memoranda.model.receipt import Outcome
from memoranda.model.refs import TranscriptRef


class StoreTranscript(WriteCall[TranscriptInfo], frozen=True):
    """Store a conversation: a text, or messages with a `role` and a `content`."""

    agent_id: str
    namespace: str
    text: str | list[Document]
    """A text, or a list of messages as JSON."""
    names: Mapping[str, str] | None = None
    """Role -> the name of the speaker, for messages that have none."""
    occurred_at: AnyInstant = None
    ttl: AnyDuration = None

    def plain(self) -> Self:
        """Return it with messages as JSON, which may be objects of a library."""
        if isinstance(self.text, str) or not isinstance(self.text, Iterable):
            return self
        return replace(self, text=plain_messages("text", self.text, WIDEST))

    @property
    def looks_up(self) -> bool:
        """Whether it takes long: its content is rendered, and compressed."""
        return True


class LinkTranscript(WriteCall[TranscriptLink], frozen=True):
    """Cite a transcript as the source of a memory: these spans of it, or all of it."""

    reach = "id"

    memory_id: str
    transcript: TranscriptRef
    spans: tuple[Span, ...] | None = None
    agent_id: str | None = None

    @property
    def looks_up(self) -> bool:
        """Whether it cites spans, which are checked."""
        return True


def stage_transcript(transaction: OpenTransaction, call: StoreTranscript) -> str:
    """Stage a transcript, and return its id."""
    scope = transaction.owner(call.namespace, call.agent_id)
    content = check_transcript(call.text, transaction.limits, call.names)
    occurred = check_time("occurred_at", call.occurred_at)
    lifetime = check_duration("ttl", call.ttl)
    transcript_id = transaction.new_id()
    digest, size = content.digest, len(content.content)
    arguments = (scope, transcript_id, digest, size, occurred, lifetime)
    request = StoreRequest(*arguments)
    if content.form != TEXT:
        request = StoreMessages(*arguments, content.form, len(content.text))
    transaction.add_memory(request, blobs={digest: pack(content.content)})
    transaction.add_transcript(transcript_id, digest, size, content.form, content.text)
    return transcript_id


def stage_citation(transaction: OpenTransaction, call: LinkTranscript) -> None:
    """Stage a citation."""
    by, memory_id = transaction.acting(call.agent_id), check_memory_id("memory_id", call.memory_id)
    source = transaction.check_quotation(
        check_transcript_ref("transcript_id", call.transcript), call.spans
    )
    transaction.add_memory(CiteTranscript(by, memory_id, source.transcript_id, source.spans))


def _answer_transcript(core: Core, _: StoreTranscript, written: Written) -> TranscriptInfo:
    assert written.item_id is not None, "a transcript has an id"
    with core.engine.reading() as reader:
        info = transcripts.get(reader, written.item_id, pages.head_commit(reader))
    if info is None:  # it is a retry, and comes behind an erasure
        raise NotFound(f"transcript {written.item_id!r} was forgotten")
    return info


def _answer_citation(core: Core, call: LinkTranscript, written: Written) -> TranscriptLink:
    committed, transcript_id = written.committed, call.transcript.transcript_id
    for link in cited_transcripts(core, call.memory_id, None, committed.viewer):
        if link.transcript_id == transcript_id:
            break
    else:  # it is a retry, and comes behind an erasure
        raise NotFound(f"memory {call.memory_id!r} or transcript {transcript_id!r} was forgotten")
    with core.engine.reading() as reader:
        outcome: Outcome = "unchanged"
        for operation in committed.own_operations(reader):
            if isinstance(operation, Cite):  # there may have been other spans before
                outcome = "created" if {*operation.spans} == {*link.spans} else "updated"
        return replace(link, **committed.answer(reader, outcome))


WRITES: Writes = {
    StoreTranscript: WriteHandler(stage_transcript, _answer_transcript),
    LinkTranscript: WriteHandler(stage_citation, _answer_citation),
}
