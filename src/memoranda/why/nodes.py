"""Nodes: everything that beliefs rest on, each held once, before a tree is made of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from memoranda.graph.explaining import hidden_from, standing_of
from memoranda.log import pages
from memoranda.memory import transcripts, versions
from memoranda.memory.standing import Standing, text_of
from memoranda.memory.transcripts import WHOLE, TranscriptInfo
from memoranda.memory.versions import VersionStanding
from memoranda.model import redacted
from memoranda.model.memory import Span
from memoranda.model.refs import FactRef, KeyRef, MemoryRef, Ref, TranscriptRef
from memoranda.state.versions import KeyStanding, find_versions
from memoranda.why.facts import Account, Reliance, accounts
from memoranda.why.inquiry import Inquiry
from memoranda.why.reason import Kind, shortened


class Earlier(msgspec.Struct, frozen=True):
    """A version of a key that a later one of the same key goes on from, and so replaces."""

    ref: KeyRef


Name = KeyRef | Earlier | MemoryRef | Reliance | TranscriptRef
"""What a node is found by. What is said of some things depends on what relies on them."""
LOST = TranscriptRef("")
"""Words that are cited and no longer there."""
FORGOTTEN = "forgotten"
"""Why something is no longer believed that was erased."""


class Support(msgspec.Struct, frozen=True):
    """That a node rests on another one, and how."""

    relation: str
    name: Name


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is believed, or was."""

    name: Name
    kind: Kind
    ref: Ref | TranscriptRef | None
    summary: str = ""
    agent_id: str | None = None
    commit_ts: int | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    stale: tuple[str, ...] = ()
    hidden: bool = False
    supports: tuple[Support, ...] = ()
    transcript: TranscriptInfo | None = None
    """Where the words are that it quotes."""


def name_of(ref: Ref, relied_at: int | None = None) -> Name:
    """Return what the node is found by that a reference means, made in some commit."""
    return Reliance(ref.assertion_id, relied_at) if isinstance(ref, FactRef) else ref


def find(inquiry: Inquiry, names: Sequence[Name]) -> dict[Name, Node]:
    """Return the nodes that there are, by the names they were asked by."""
    found: dict[Name, Node] = {}
    for part in pages.cut(names):
        keys = [name for name in part if isinstance(name, KeyRef)]
        memories = [name for name in part if isinstance(name, MemoryRef)]
        facts = [name for name in part if isinstance(name, Reliance)]
        words = [name for name in part if isinstance(name, TranscriptRef)]
        found.update(_keys(inquiry, keys) if keys else ())
        found.update(_earlier(inquiry, part))
        found.update(_memories(inquiry, memories) if memories else ())
        found.update(_facts(inquiry, facts) if facts else ())
        found.update(_words(inquiry, words) if words else ())
    return found


def lost(name: Name) -> Node:
    """Return a node for what something rests on and is no longer there."""
    if isinstance(name, Reliance):
        return Node(name=name, kind="fact", ref=FactRef(name.assertion_id), stale=("gone",))
    if isinstance(name, TranscriptRef):
        known = None if name == LOST else name
        return Node(name=name, kind="transcript", ref=known, stale=("gone",))
    if isinstance(name, MemoryRef):
        return Node(name=name, kind="memory", ref=name, stale=("gone",))
    ref = name.ref if isinstance(name, Earlier) else name
    if ref.key == redacted.FORGOTTEN:
        return Node(name=name, kind="key", ref=None, stale=(FORGOTTEN,))
    return Node(name=name, kind="key", ref=ref, stale=("gone",))


def _keys(inquiry: Inquiry, refs: Sequence[KeyRef]) -> Iterator[tuple[Name, Node]]:
    for each in find_versions(inquiry.reader, refs, inquiry.asked.commit, inquiry.events):
        if each.live or each.asked.version is not None:
            yield each.asked, _key(each)


def _key(standing: KeyStanding) -> Node:
    found = standing.found
    stale: tuple[str, ...] = ()
    if standing.newest > found.version:
        stale = (f"key is now at version {standing.newest}" if standing.live else "deleted",)
    value = "deleted" if found.value is None else msgspec.json.encode(found.value).decode()
    return Node(
        name=standing.ref,
        kind="key",
        ref=standing.ref,
        summary=shortened(value),
        agent_id=standing.ref.agent_id,
        commit_ts=found.commit_ts,
        stale=stale,
        supports=tuple(_because(standing)),
    )


def _because(standing: KeyStanding) -> Iterator[Support]:
    """Yield what a value rests on; going on from its own earlier value is no ground for doubt."""
    own = (standing.ref.agent_id, standing.ref.namespace, standing.ref.key)
    for ref in standing.found.because:
        if isinstance(ref, KeyRef) and (ref.agent_id, ref.namespace, ref.key) == own:
            yield Support("because", Earlier(ref))
        else:
            yield Support("because", name_of(ref, standing.found.commit_ts))


def _earlier(inquiry: Inquiry, names: Sequence[Name]) -> Iterator[tuple[Name, Node]]:
    refs = [name.ref for name in names if isinstance(name, Earlier)]
    for ref, node in _keys(inquiry, refs) if refs else ():
        assert isinstance(ref, KeyRef), "they were asked for as such"
        yield Earlier(ref), msgspec.structs.replace(node, name=Earlier(ref), stale=())


def _memories(inquiry: Inquiry, refs: Sequence[MemoryRef]) -> Iterator[tuple[Name, Node]]:
    reader, at = inquiry.reader, inquiry.asked.commit
    standings = list(versions.find_versions(reader, refs, at, inquiry.viewer))
    ids = {each.asked.memory_id for each in standings if each.found is not None}
    supports: dict[str, list[Support]] = {memory_id: [] for memory_id in ids}
    for each in versions.groundings(reader, ids, at):
        supports[each.source].append(Support(each.relation, each.target))
    for memory_id, _, span, row in transcripts.cited_by(reader, ids, at):
        name = LOST if row[0] is None else _quotation(row[0], span)
        supports[memory_id].append(Support("quotes", name))
    for standing in standings:
        yield standing.asked, _memory(inquiry, standing, supports)


def _memory(
    inquiry: Inquiry, standing: VersionStanding, supports: dict[str, list[Support]]
) -> Node:
    found, current = standing.found, standing.current
    if found is None or current is None:
        told = f"a memory that {inquiry.viewer!r} may not see"
        return Node(name=standing.asked, kind="memory", ref=None, summary=told, hidden=True)
    ref = MemoryRef(found.memory_id, found.version)
    if found.forgotten:
        return Node(
            name=standing.asked,
            kind="memory",
            ref=standing.asked,
            agent_id=found.agent_id,
            commit_ts=standing.commit_ts,
            stale=(FORGOTTEN,),
            supports=tuple(each for each in supports[found.memory_id] if each.relation != "quotes"),
        )
    return Node(
        name=ref,
        kind="memory",
        ref=ref,
        summary=shortened(text_of(inquiry.reader, found)),
        agent_id=found.agent_id,
        commit_ts=standing.commit_ts,
        stale=tuple(_doubts(found, current, inquiry.asked.now)),
        supports=tuple(supports[found.memory_id]),
    )


def _doubts(found: Standing, current: Standing, now: int) -> Iterator[str]:
    """Yield why a version of a memory is no longer believed."""
    if current.superseded_by is not None:
        yield f"superseded by memory {current.superseded_by}"
    if current.retracted:
        yield "retracted" if current.reason is None else f"retracted: {current.reason}"
    elif current.version > found.version:
        yield f"revised: version {current.version}"
    if current.expired(now):
        yield "expired"


def _facts(inquiry: Inquiry, reliances: Sequence[Reliance]) -> Iterator[tuple[Name, Node]]:
    ids = [each.assertion_id for each in reliances]
    hidden = hidden_from(inquiry.reader, ids, inquiry.viewer)
    for name in reliances:
        if name.assertion_id in hidden:
            told = f"a fact that {inquiry.viewer!r} may not see"
            yield name, Node(name=name, kind="fact", ref=None, summary=told, hidden=True)
    reliances = [each for each in reliances if each.assertion_id not in hidden]
    for name, account in accounts(inquiry.reader, reliances, inquiry.asked, inquiry.viewer):
        yield name, _fact(name, account)
    for name in reliances:  # what something rests on was asserted once
        if name.relied_at and standing_of(inquiry.reader, name.assertion_id) is None:
            ref = FactRef(name.assertion_id) if name.assertion_id else None
            yield name, Node(name=name, kind="fact", ref=ref, stale=(FORGOTTEN,))


def _fact(name: Reliance, account: Account) -> Node:
    fact, sources = account.fact, list[Name]()
    for evidence in fact.sources:
        if isinstance(evidence, TranscriptRef):
            spans = evidence.spans or (WHOLE,)
            sources.extend(_quotation(evidence.transcript_id, span) for span in spans)
        else:
            sources.append(evidence)
    return Node(
        name=name,
        kind="fact",
        ref=FactRef(name.assertion_id),
        summary=shortened(str(fact)),
        agent_id=fact.agent_id,
        commit_ts=account.commit_ts,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
        stale=account.stale,
        supports=tuple(Support("source", source) for source in sources),
    )


def _quotation(transcript_id: str, span: Span) -> TranscriptRef:
    return TranscriptRef(transcript_id, () if span == WHOLE else (span,))


def _words(inquiry: Inquiry, refs: Sequence[TranscriptRef]) -> Iterator[tuple[Name, Node]]:
    """Yield nodes without a summary: words are read only where they are shown."""
    ids = {ref.transcript_id for ref in refs}
    found = transcripts.find(inquiry.reader, ids, inquiry.asked.commit)
    for ref in refs:
        if info := found.get(ref.transcript_id):
            yield (
                ref,
                Node(
                    name=ref,
                    kind="transcript",
                    ref=ref,
                    agent_id=info.agent_id,
                    commit_ts=info.commit_ts,
                    stale=(FORGOTTEN,) if info.erased else (),
                    transcript=None if info.erased else info,
                ),
            )
