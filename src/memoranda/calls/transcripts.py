"""Calls that read transcripts, and that trace memories to the words they come from."""

from __future__ import annotations

from memoranda.calls.arguments import check_namespace, check_viewer
from memoranda.calls.call import AnyMoment, Call, Handlers
from memoranda.calls.core import Core, check_optional_integer
from memoranda.calls.grant import Grant
from memoranda.errors import NotFound
from memoranda.log import pages as log_pages
from memoranda.log.pages import Pages
from memoranda.log.read.as_of import resolve_as_of
from memoranda.memory import provenance, snapshots, transcripts
from memoranda.memory.provenance import ReplayedTranscript
from memoranda.memory.reads import Filters
from memoranda.memory.records import Origin, TranscriptLink
from memoranda.memory.requests import check_id
from memoranda.memory.transcripts import TranscriptInfo, Transcripts
from memoranda.model.scope import DEFAULT_ACTOR


class GetTranscript(Call[TranscriptInfo | None], frozen=True):
    """Read a transcript without its words."""

    reach = "id"

    transcript_id: str
    at: AnyMoment = None


class LoadTranscript(Call[bytes], frozen=True):
    """Read the stored words of a transcript: its text, or its messages as JSON."""

    reach = "id"

    transcript_id: str


class ListTranscripts(Call[TranscriptInfo], frozen=True):
    """List the transcripts of a namespace and its children, in the order of storing."""

    shape = "pages"

    namespace: str | None
    """None: all namespaces."""
    children: bool = True
    at: AnyMoment = None


class TranscriptsFor(Call[list[TranscriptLink]], frozen=True):
    """List the transcripts that a memory itself cites, and the spans."""

    reach = "id"

    memory_id: str
    at: AnyMoment = None
    agent_id: str | None = None


class MemoriesFor(Call[list[TranscriptLink]], frozen=True):
    """List the memories that cite a transcript, in the order of their ids."""

    reach = "id"

    transcript_id: str
    at: AnyMoment = None
    agent_id: str | None = None


class ReplayTranscripts(Call[list[ReplayedTranscript]], frozen=True):
    """List the transcripts that a memory comes from, in the order of when they took place."""

    reach = "walk"

    memory_id: str
    depth: int | None = None
    """None: any."""
    at: AnyMoment = None
    agent_id: str | None = None


class Origins(Call[Origin | None], frozen=True):
    """Read the provenance of a memory, as a tree of memories with the words they cite."""

    reach = "walk"

    memory_id: str
    at: AnyMoment = None
    agent_id: str | None = None


def get_transcript(core: Core, _: Grant, call: GetTranscript) -> TranscriptInfo | None:
    """Return the transcript, or None."""
    transcript_id = check_id("transcript_id", call.transcript_id)
    with core.engine.snapshot() as reader:
        commit = resolve_as_of(reader, core.clock, call.at).commit
        return transcripts.get(reader, transcript_id, commit)


def load_transcript(core: Core, _: Grant, call: LoadTranscript) -> bytes:
    """Return the words; raise `NotFound` once they are erased."""
    transcript_id = check_id("transcript_id", call.transcript_id)
    with core.engine.snapshot() as reader:
        info = transcripts.get(reader, transcript_id, log_pages.head_commit(reader))
        if info is None:
            raise NotFound(f"transcript {transcript_id!r} was forgotten: its words are erased")
        return transcripts.load_content(reader, info)


def list_transcripts(core: Core, _: Grant, call: ListTranscripts) -> Pages[TranscriptInfo]:
    """Return the transcripts."""
    filters = Filters(
        namespace=check_namespace(core, call.namespace),
        children=call.children,
        agent_id=None,
        kind=None,
        tier=None,
        tags=frozenset(),
        metadata={},
        viewer=DEFAULT_ACTOR,
    )
    return Transcripts(core.engine, core.as_of(call.at), filters)


def transcripts_for(core: Core, grant: Grant, call: TranscriptsFor) -> list[TranscriptLink]:
    """Return the citations."""
    viewer = check_viewer(core, grant, call.agent_id)
    return cited_transcripts(core, check_id("memory_id", call.memory_id), call.at, viewer)


def cited_transcripts(
    core: Core, memory_id: str, at: AnyMoment, viewer: str
) -> list[TranscriptLink]:
    """Return the transcripts that a memory cites; none if the viewer may not see it."""
    with core.engine.snapshot() as reader:
        commit = resolve_as_of(reader, core.clock, at).commit
        if snapshots.find_one(reader, memory_id, commit, viewer=viewer) is None:
            return []
        return transcripts.links_of_memory(reader, memory_id, commit)


def memories_for(core: Core, grant: Grant, call: MemoriesFor) -> list[TranscriptLink]:
    """Return the citations."""
    viewer = check_viewer(core, grant, call.agent_id)
    transcript_id = check_id("transcript_id", call.transcript_id)
    with core.engine.snapshot() as reader:
        commit = resolve_as_of(reader, core.clock, call.at).commit
        info = transcripts.find(reader, [transcript_id], commit).get(transcript_id)
        if info is None:
            return []
        return transcripts.links_of_transcript(reader, info, commit, viewer)


def replay_transcripts(
    core: Core, grant: Grant, call: ReplayTranscripts
) -> list[ReplayedTranscript]:
    """Return the transcripts, each with the memories that cite it."""
    viewer = check_viewer(core, grant, call.agent_id)
    memory_id = check_id("memory_id", call.memory_id)
    depth = check_optional_integer("depth", call.depth, minimum=0)
    with core.engine.snapshot() as reader:
        as_of = resolve_as_of(reader, core.clock, call.at)
        return provenance.replay_transcripts(reader, memory_id, depth, as_of, viewer)


def origins(core: Core, grant: Grant, call: Origins) -> Origin | None:
    """Return the tree, or None if there is no such memory."""
    viewer = check_viewer(core, grant, call.agent_id)
    memory_id = check_id("memory_id", call.memory_id)
    with core.engine.snapshot() as reader:
        as_of = resolve_as_of(reader, core.clock, call.at)
        return provenance.origins(reader, memory_id, as_of, viewer)


HANDLERS: Handlers = {
    GetTranscript: get_transcript,
    LoadTranscript: load_transcript,
    ListTranscripts: list_transcripts,
    TranscriptsFor: transcripts_for,
    MemoriesFor: memories_for,
    ReplayTranscripts: replay_transcripts,
    Origins: origins,
}
