"""Explanations: the walk from a belief to its evidence, and the tree made of it.

The walk is a breadth-first search over keys, memories, facts and transcripts, as of one commit and
one time. Each level takes a constant number of queries, whatever its size. A node is read once,
even if many others rest on it. Nothing here recurses, because a chain of reasons may be longer than
Python's recursion limit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from memoranda.errors import NotFound
from memoranda.graph.fact_explanation import TimelineCache, assertion_lifetime, private_assertions
from memoranda.log import pages
from memoranda.log.pages import SplitEventCache
from memoranda.log.read.as_of import AsOf, CommitInfo, commit_infos
from memoranda.log.read.visibility import hidden_refs
from memoranda.memory import snapshots, transcripts
from memoranda.memory.snapshots import MemorySnapshot, VersionSnapshot, text_of
from memoranda.memory.transcripts import WHOLE_TRANSCRIPT, TranscriptInfo
from memoranda.model.clock import to_datetime
from memoranda.model.memory import Span, one_line
from memoranda.model.operations import redacted
from memoranda.model.refs import FactRef, KeyRef, MemoryRef, Ref, TranscriptRef
from memoranda.state.reads import KeyVersion, find_versions
from memoranda.storage.port import Reader
from memoranda.why.facts import FactStatus, FactUse, fact_statuses
from memoranda.why.reason import Kind, Reason, shortened


class ExplainContext(msgspec.Struct, frozen=True):
    """The snapshot, the moment and the viewer of an explanation, with caches for it."""

    reader: Reader
    as_of: AsOf
    viewer: str
    events: SplitEventCache = msgspec.field(default_factory=SplitEventCache)
    timelines: TimelineCache = msgspec.field(default_factory=TimelineCache)


# Nodes: the beliefs and their evidence, before a tree is made of them.


class PreviousVersion(msgspec.Struct, frozen=True):
    """An earlier version of a key, as evidence for a later version of the same key.

    It is a node of its own: the later version replaced it, and that does not make it stale here.
    """

    ref: KeyRef


NodeKey = KeyRef | PreviousVersion | MemoryRef | FactUse | TranscriptRef
"""Identifies a node. A fact's status depends on when it was used, so a use has its own node."""
_MARK_CHARACTERS = 60
"""Characters of a superseding memory's text in a mark, which stands at the end of a line."""
MISSING_TRANSCRIPT = TranscriptRef("")
"""The node of a cited transcript that is no longer stored."""
FORGOTTEN_MARK = "forgotten"
"""The stale mark of a node that was erased."""
MISSING_MARK = "gone"
"""The stale mark of a node that is referenced, but not stored."""


class Support(msgspec.Struct, frozen=True):
    """An edge from a node to its evidence."""

    relation: str
    key: NodeKey


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A belief or a piece of evidence, with the edges to its own evidence."""

    key: NodeKey
    kind: Kind
    ref: Ref | None
    summary: str = ""
    agent_id: str | None = None
    commit_ts: int | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    stale: tuple[str, ...] = ()
    hidden: bool = False
    unproven: bool = False
    supports: tuple[Support, ...] = ()
    transcript: TranscriptInfo | None = None
    """The transcript to read the summary from, when the node is shown."""


def node_key(ref: Ref, used_at: int | None = None) -> NodeKey:
    """Return the node of a reference; `used_at` is the commit that made the reference."""
    return FactUse(ref.assertion_id, used_at) if isinstance(ref, FactRef) else ref


def find_nodes(context: ExplainContext, keys: Sequence[NodeKey]) -> dict[NodeKey, Node]:
    """Return the nodes that exist, with a constant number of queries for each chunk of keys."""
    nodes: dict[NodeKey, Node] = {}
    for chunk in pages.chunks(keys):
        key_refs = [key for key in chunk if isinstance(key, KeyRef)]
        memory_refs = [key for key in chunk if isinstance(key, MemoryRef)]
        fact_uses = [key for key in chunk if isinstance(key, FactUse)]
        transcript_refs = [key for key in chunk if isinstance(key, TranscriptRef)]
        nodes.update(_key_nodes(context, key_refs) if key_refs else ())
        nodes.update(_previous_version_nodes(context, chunk))
        nodes.update(_memory_nodes(context, memory_refs) if memory_refs else ())
        nodes.update(_fact_nodes(context, fact_uses) if fact_uses else ())
        nodes.update(_transcript_nodes(context, transcript_refs) if transcript_refs else ())
    return nodes


def missing_node(key: NodeKey) -> Node:
    """Return a stale node for evidence that is referenced, but not stored."""
    if isinstance(key, FactUse):
        return Node(key=key, kind="fact", ref=FactRef(key.assertion_id), stale=(MISSING_MARK,))
    if isinstance(key, TranscriptRef):
        transcript = None if key == MISSING_TRANSCRIPT else key
        return Node(key=key, kind="transcript", ref=transcript, stale=(MISSING_MARK,))
    if isinstance(key, MemoryRef):
        return Node(key=key, kind="memory", ref=key, stale=(MISSING_MARK,))
    ref = key.ref if isinstance(key, PreviousVersion) else key
    if ref.key == redacted.ERASED_REFERENT:
        return Node(key=key, kind="key", ref=None, stale=(FORGOTTEN_MARK,))
    return Node(key=key, kind="key", ref=ref, stale=(MISSING_MARK,))


def absent_nodes(context: ExplainContext, keys: Iterable[NodeKey]) -> dict[NodeKey, Node]:
    """Return nodes for evidence that was not found: it is not stored, or not covered."""
    if context.reader.coverage is None:
        return {key: missing_node(key) for key in keys}
    refs = {key: _ref_of(key) for key in keys}
    hidden = hidden_refs(context.reader, refs.values(), context.viewer)
    return {
        key: _hidden_node(context, key, missing_node(key).kind)
        if ref in hidden
        else missing_node(key)
        for key, ref in refs.items()
    }


def _ref_of(key: NodeKey) -> Ref:
    if isinstance(key, FactUse):
        return FactRef(key.assertion_id)
    return key.ref if isinstance(key, PreviousVersion) else key


def _hidden_node(context: ExplainContext, key: NodeKey, kind: Kind) -> Node:
    """Return a node for evidence that the viewer may not see."""
    summary = f"a {kind} that {context.viewer!r} may not see"
    return Node(key=key, kind=kind, ref=None, summary=summary, hidden=True)


def _key_nodes(context: ExplainContext, refs: Sequence[KeyRef]) -> Iterator[tuple[KeyRef, Node]]:
    for version in find_versions(context.reader, refs, context.as_of.commit, context.events):
        if version.live or version.requested.version is not None:
            yield version.requested, _key_node(version)


def _key_node(version: KeyVersion) -> Node:
    state = version.version
    stale: tuple[str, ...] = ()
    if version.newest > state.version:
        stale = (f"key is now at version {version.newest}" if version.live else "deleted",)
    value = "deleted" if state.value is None else msgspec.json.encode(state.value).decode()
    return Node(
        key=version.ref,
        kind="key",
        ref=version.ref,
        summary=shortened(value),
        agent_id=version.ref.agent_id,
        commit_ts=state.commit_ts,
        stale=stale,
        unproven=state.unproven,
        supports=tuple(_key_supports(version)),
    )


def _key_supports(version: KeyVersion) -> Iterator[Support]:
    own_key = (version.ref.agent_id, version.ref.namespace, version.ref.key)
    for ref in version.version.because:
        if isinstance(ref, KeyRef) and (ref.agent_id, ref.namespace, ref.key) == own_key:
            yield Support("because", PreviousVersion(ref))
        elif isinstance(ref, TranscriptRef):
            for quotation in _quotations(ref):
                yield Support("because", quotation)
        else:
            yield Support("because", node_key(ref, version.version.commit_ts))


def _previous_version_nodes(
    context: ExplainContext, keys: Sequence[NodeKey]
) -> Iterator[tuple[NodeKey, Node]]:
    refs = [key.ref for key in keys if isinstance(key, PreviousVersion)]
    for ref, node in _key_nodes(context, refs) if refs else ():
        key = PreviousVersion(ref)
        yield key, replace(node, key=key, stale=())


def _memory_nodes(
    context: ExplainContext, refs: Sequence[MemoryRef]
) -> Iterator[tuple[NodeKey, Node]]:
    reader, at = context.reader, context.as_of.commit
    versions = list(snapshots.find_versions(reader, refs, at, context.viewer))
    ids = {version.ref.memory_id for version in versions if version.snapshot is not None}
    supports: dict[str, list[Support]] = {memory_id: [] for memory_id in ids}
    for link in snapshots.evidence_links(reader, ids, at):
        supports[link.source].append(Support(link.relation, link.target))
    for memory_id, _, span, row in transcripts.citations_of(reader, ids, at):
        key = MISSING_TRANSCRIPT if row[0] is None else _quotation(row[0], span)
        supports[memory_id].append(Support("quotes", key))
    successors = _successor_texts(context, versions)
    for version in versions:
        yield version.ref, _memory_node(context, version, supports, successors)


def _successor_texts(
    context: ExplainContext, versions: Sequence[VersionSnapshot]
) -> dict[str, str]:
    """Map the ids of the memories that supersede some of these to the beginnings of their texts."""
    currents = (version.current for version in versions if version.current is not None)
    ids = {current.superseded_by for current in currents if current.superseded_by is not None}
    if not ids:
        return {}
    snapshots_by_id = snapshots.find(
        context.reader, ids, context.as_of.commit, viewer=context.viewer
    )
    return {
        memory_id: one_line(text_of(context.reader, snapshot))
        for memory_id, snapshot in snapshots_by_id.items()
        if not snapshot.forgotten
    }


def _memory_node(
    context: ExplainContext,
    version: VersionSnapshot,
    supports: dict[str, list[Support]],
    successors: Mapping[str, str],
) -> Node:
    snapshot, current = version.snapshot, version.current
    if snapshot is None or current is None:
        return _hidden_node(context, version.ref, "memory")
    ref = MemoryRef(snapshot.memory_id, snapshot.version)
    links = supports[snapshot.memory_id]
    if snapshot.forgotten:
        return Node(
            key=version.ref,
            kind="memory",
            ref=version.ref,
            agent_id=snapshot.agent_id,
            commit_ts=version.commit_ts,
            stale=(FORGOTTEN_MARK,),
            supports=tuple(support for support in links if support.relation != "quotes"),
        )
    return Node(
        key=ref,
        kind="memory",
        ref=ref,
        summary=shortened(text_of(context.reader, snapshot)),
        agent_id=snapshot.agent_id,
        commit_ts=version.commit_ts,
        stale=tuple(_memory_marks(snapshot, current, successors, context.as_of.now)),
        unproven=snapshot.unproven,
        supports=tuple(links),
    )


def _memory_marks(
    version: MemorySnapshot, current: MemorySnapshot, successors: Mapping[str, str], now: int
) -> Iterator[str]:
    """Yield why a version of a memory is no longer believed."""
    if current.superseded_by is not None:
        words = successors.get(current.superseded_by)
        unknown = f"superseded by memory {current.superseded_by}"
        yield unknown if words is None else f"superseded by “{_cut(words)}”"
    if current.retracted:
        yield "retracted" if current.reason is None else f"retracted: {current.reason}"
    elif current.version > version.version:
        yield f"revised: version {current.version}"
    if current.expired(now):
        yield "expired"


def _cut(text: str) -> str:
    """Return the beginning of a text that is named in a mark."""
    limit = _MARK_CHARACTERS
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def _fact_nodes(context: ExplainContext, uses: Sequence[FactUse]) -> Iterator[tuple[NodeKey, Node]]:
    reader, viewer = context.reader, context.viewer
    private_ids = private_assertions(reader, [use.assertion_id for use in uses], viewer)
    visible = []
    for use in uses:
        if use.assertion_id in private_ids:
            yield use, _hidden_node(context, use, "fact")
        else:
            visible.append(use)
    statuses = fact_statuses(reader, visible, context.as_of, viewer, context.timelines)
    for use, status in statuses:
        yield use, _fact_node(use, status)
    for use in visible:
        # Only an existing assertion can be used as evidence: if it has no row, it was erased.
        if use.used_at and assertion_lifetime(reader, use.assertion_id) is None:
            ref = FactRef(use.assertion_id) if use.assertion_id else None
            yield use, Node(key=use, kind="fact", ref=ref, stale=(FORGOTTEN_MARK,))


def _fact_node(use: FactUse, status: FactStatus) -> Node:
    fact, sources = status.fact, list[NodeKey]()
    for evidence in fact.sources:
        if isinstance(evidence, TranscriptRef):
            sources.extend(_quotations(evidence))
        else:
            sources.append(evidence)
    return Node(
        key=use,
        kind="fact",
        ref=FactRef(use.assertion_id),
        summary=shortened(str(fact)),
        agent_id=fact.agent_id,
        commit_ts=status.commit_ts,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
        stale=status.stale,
        unproven=fact.unproven,
        supports=tuple(Support("source", source) for source in sources),
    )


def _quotation(transcript_id: str, span: Span) -> TranscriptRef:
    return TranscriptRef(transcript_id, () if span == WHOLE_TRANSCRIPT else (span,))


def _quotations(ref: TranscriptRef) -> Iterator[TranscriptRef]:
    """Yield a reference for each span of one, so that equal quotations are one node."""
    for span in ref.spans or (WHOLE_TRANSCRIPT,):
        yield _quotation(ref.transcript_id, span)


def _transcript_nodes(
    context: ExplainContext, refs: Sequence[TranscriptRef]
) -> Iterator[tuple[NodeKey, Node]]:
    """Yield nodes without summaries: only `EvidenceGraph.tree` reads the texts it shows."""
    ids = {ref.transcript_id for ref in refs}
    infos = transcripts.find(context.reader, ids, context.as_of.commit)
    for ref in refs:
        if info := infos.get(ref.transcript_id):
            yield (
                ref,
                Node(
                    key=ref,
                    kind="transcript",
                    ref=ref,
                    agent_id=info.agent_id,
                    commit_ts=info.commit_ts,
                    stale=(FORGOTTEN_MARK,) if info.erased else (),
                    transcript=None if info.erased else info,
                ),
            )


# Quotations: the texts of transcripts that a tree shows.

_QUOTATION_BYTES = 2048
"""Bytes to decode for a summary: its 400 characters have at most 4 bytes each."""

Quotation = tuple[TranscriptRef, TranscriptInfo]


def quote(reader: Reader, quotations: Iterable[Quotation]) -> dict[TranscriptRef, str]:
    """Return the text of each reference's spans, or the transcript's beginning if it has none.

    Each transcript is read once.
    """
    by_transcript: dict[str, list[Quotation]] = {}
    for ref, info in quotations:
        by_transcript.setdefault(info.id, []).append((ref, info))
    texts: dict[TranscriptRef, str] = {}
    for group in by_transcript.values():
        text = transcripts.load(reader, group[0][1])
        for ref, _ in group:
            excerpts = (
                text[start : min(end, start + _QUOTATION_BYTES)].decode(errors="ignore")
                for start, end in ref.spans or ((0, len(text)),)
            )
            texts[ref] = shortened(" … ".join(excerpts))
    return texts


# The walk, and the tree.


def explain(context: ExplainContext, ref: Ref) -> Reason:
    """Return the tree of evidence for a reference; raise `NotFound` if it does not exist."""
    root = node_key(ref)
    graph = EvidenceGraph(context, [root])
    if not graph.has(root):
        raise NotFound(
            f"{_not_found(ref, context.viewer)} as of commit {context.as_of.commit}", field="ref"
        )
    return graph.tree(root)


class EvidenceGraph:
    """The nodes that some beliefs rest on, and which of them are stale.

    The graph is closed: the evidence of every node in it is also in it. Therefore a node added
    later cannot make an older one stale, and `add` only has to look at new nodes.
    """

    def __init__(self, context: ExplainContext, roots: Sequence[NodeKey]) -> None:
        self._context = context
        self._nodes: dict[NodeKey, Node] = {}
        self._stale: set[NodeKey] = set()
        self._quotations: dict[TranscriptRef, str] = {}
        self._commits: dict[int, CommitInfo] = {}
        self.add(context, roots)

    def __len__(self) -> int:
        """Return the number of node keys."""
        return len(self._nodes)

    def add(self, context: ExplainContext, roots: Sequence[NodeKey]) -> None:
        """Add beliefs and their evidence; `context` must be of the same commit and time."""
        self._context = context
        nodes = self._walk(roots)
        self._nodes |= nodes
        self._stale |= _stale_keys(nodes, self._stale)

    def has(self, root: NodeKey) -> bool:
        """Say whether a root exists and the viewer may see it."""
        return root in self._nodes and not self._nodes[root].hidden

    def is_stale(self, root: NodeKey) -> bool:
        """Say whether a root, or any evidence below it, is no longer believed."""
        return root in self._stale

    def tree(self, root: NodeKey) -> Reason:
        """Return the tree below a root; a node that occurs again is not expanded again."""
        branches = self._branches(root)
        self._load_shown(branches)
        reasons: dict[NodeKey, Reason] = {}
        for key in reversed(branches):  # children come after their parent, so they are built first
            because = []
            for support, is_repeated in branches[key]:
                child = self._repeated(support) if is_repeated else reasons[support.key]
                because.append(replace(child, relation=support.relation))
            reasons[key] = replace(self._reason(key), because=tuple(because))
        return reasons[root]

    def _branches(self, root: NodeKey) -> dict[NodeKey, list[tuple[Support, bool]]]:
        """Return the edges of each node, depth first, and whether their end was seen before."""
        branches: dict[NodeKey, list[tuple[Support, bool]]] = {root: []}
        path = [(root, iter(self._nodes[root].supports))]
        while path:
            key, supports = path[-1]
            support = next(supports, None)
            if support is None:
                path.pop()
                continue
            is_repeated = support.key in branches
            branches[key].append((support, is_repeated))
            if not is_repeated:
                branches[support.key] = []
                path.append((support.key, iter(self._nodes[support.key].supports)))
        return branches

    def _walk(self, roots: Sequence[NodeKey]) -> dict[NodeKey, Node]:
        """Return the nodes that are new, by each of their keys, breadth first.

        A reference without a version and one with the newest version have the same node: it is
        stored under the key that was looked up and under its own.
        """
        new_nodes: dict[NodeKey, Node] = {}
        frontier = [key for key in dict.fromkeys(roots) if key not in self._nodes]
        is_root = True
        while frontier:
            nodes = find_nodes(self._context, frontier)
            if not is_root:  # of a root that is not found, the caller raises NotFound
                absent = [key for key in frontier if key not in nodes]
                nodes |= absent_nodes(self._context, absent) if absent else {}
            following: dict[NodeKey, None] = {}
            for key in frontier:
                node = nodes.get(key)
                if node is not None:
                    new_nodes[key] = new_nodes[node.key] = node
                    following.update(dict.fromkeys(support.key for support in node.supports))
            frontier = [key for key in following if key not in new_nodes and key not in self._nodes]
            is_root = False
        return new_nodes

    def _load_shown(self, keys: Iterable[NodeKey]) -> None:
        """Read the quotations and the commit data of the nodes that a tree shows."""
        reader, nodes = self._context.reader, [self._nodes[key] for key in keys]
        self._quotations |= quote(
            reader,
            (
                (node.key, node.transcript)
                for node in nodes
                if node.transcript is not None
                and isinstance(node.key, TranscriptRef)
                and node.key not in self._quotations
            ),
        )
        commits = {node.commit_ts for node in nodes if node.commit_ts is not None}
        self._commits |= commit_infos(reader, commits - self._commits.keys())

    def _repeated(self, support: Support) -> Reason:
        """Return a node that occurs again; one without evidence is complete as it is."""
        repeated = bool(self._nodes[support.key].supports)
        return replace(self._reason(support.key), repeated=repeated)

    def _reason(self, key: NodeKey) -> Reason:
        node = self._nodes[key]
        commit = None if node.commit_ts is None else self._commits.get(node.commit_ts)
        quotation = self._quotations.get(key) if isinstance(key, TranscriptRef) else None
        return Reason(
            kind=node.kind,
            ref=node.ref,
            summary=node.summary if quotation is None else quotation,
            agent_id=node.agent_id,
            actor=None if commit is None else commit.actor or None,
            commit_ts=node.commit_ts,
            committed_at=None if commit is None else to_datetime(commit.committed_at),
            valid_from=node.valid_from,
            valid_to=node.valid_to,
            stale=node.stale,
            is_stale=key in self._stale,
            hidden=node.hidden,
            unproven=node.unproven,
        )


def _stale_keys(nodes: Mapping[NodeKey, Node], stale_before: Collection[NodeKey]) -> set[NodeKey]:
    """Return the new nodes that are stale themselves or rest on a stale node.

    Staleness spreads from evidence to its dependents only, never down.
    """
    dependents: dict[NodeKey, list[NodeKey]] = {}
    for key, node in nodes.items():
        for support in node.supports:
            dependents.setdefault(support.key, []).append(key)
    queue = [
        key
        for key, node in nodes.items()
        if node.stale or any(support.key in stale_before for support in node.supports)
    ]
    stale = set(queue)
    while queue:
        for key in dependents.get(queue.pop(), ()):
            if key not in stale:
                stale.add(key)
                queue.append(key)
    return stale


def _not_found(ref: Ref, viewer: str) -> str:
    if isinstance(ref, KeyRef):
        absent = "no value" if ref.version is None else f"no version {ref.version}"
        return f"key {ref.key!r} of {ref.agent_id!r} in {ref.namespace!r} has {absent}"
    if isinstance(ref, FactRef):
        return f"there is no fact {ref.assertion_id!r}"
    if isinstance(ref, TranscriptRef):
        return f"there is no transcript {ref.transcript_id!r}"
    version = "" if ref.version is None else f" version {ref.version} of"
    return f"there is no{version} memory {ref.memory_id!r} that {viewer!r} can see"
