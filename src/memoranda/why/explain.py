"""Explaining: the walk from beliefs to what they rest on, and the tree that is made of it.

Everything is looked up as of one moment, level by level, and held once however often it is named;
nothing here calls itself, so a tree may be as deep as its chain of reasons.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from memoranda.errors import NotFound
from memoranda.log.bylines import Byline, bylines
from memoranda.model.instant import to_datetime
from memoranda.model.refs import FactRef, KeyRef, Ref, TranscriptRef
from memoranda.why import nodes
from memoranda.why.inquiry import Inquiry
from memoranda.why.nodes import Name, Node, Support, name_of
from memoranda.why.reason import Reason
from memoranda.why.words import quote


def explain(inquiry: Inquiry, ref: Ref) -> Reason:
    """Return what a reference names and what that rests on, or raise `NotFound`."""
    root = name_of(ref)
    grounds = Grounds(inquiry, [root])
    if not grounds.has(root):
        raise NotFound(f"{_described(ref, inquiry.viewer)} as of commit {inquiry.asked.commit}")
    return grounds.tree(root)


class Grounds:
    """Everything that some beliefs rest on, and what of it is stale."""

    def __init__(self, inquiry: Inquiry, roots: Sequence[Name]) -> None:
        self._inquiry = inquiry
        self._nodes: dict[Name, Node] = {}
        self._walk(roots)
        self._stale = _tainted(self._nodes)
        self._quoted: dict[TranscriptRef, str] = {}
        self._bylines: dict[int, Byline] = {}

    def has(self, root: Name) -> bool:
        """Say whether a root is there to be seen."""
        return root in self._nodes and not self._nodes[root].hidden

    def is_stale(self, root: Name) -> bool:
        """Say whether a root, or anything that it rests on, is no longer believed."""
        return root in self._stale

    def tree(self, root: Name) -> Reason:
        """Return what a root rests on; what stands above already is not unfolded again."""
        branches = self._branches(root)
        self._read_what_is_shown(branches)
        built: dict[Name, Reason] = {}
        for name in reversed(branches):  # what a node unfolds was met after it
            because = []
            for support, met in branches[name]:
                under = self._mention(support) if met else built[support.name]
                because.append(replace(under, relation=support.relation))
            built[name] = replace(self._reason(name), because=tuple(because))
        return built[root]

    def _branches(self, root: Name) -> dict[Name, list[tuple[Support, bool]]]:
        """Return what each node rests on and whether that was met before, in reading order."""
        branches: dict[Name, list[tuple[Support, bool]]] = {root: []}
        path = [(root, iter(self._nodes[root].supports))]
        while path:
            name, left = path[-1]
            support = next(left, None)
            if support is None:
                path.pop()
                continue
            met = support.name in branches
            branches[name].append((support, met))
            if not met:
                branches[support.name] = []
                path.append((support.name, iter(self._nodes[support.name].supports)))
        return branches

    def _walk(self, roots: Sequence[Name]) -> None:
        frontier, above = list(dict.fromkeys(roots)), False
        while frontier:
            found = nodes.find(self._inquiry, frontier)
            following: dict[Name, None] = {}
            for name in frontier:
                node = found.get(name)
                if node is None and not above:
                    continue  # a root that is not there is the asker's error
                node = node or nodes.lost(name)
                self._nodes[name] = self._nodes[node.name] = node
                following.update(dict.fromkeys(support.name for support in node.supports))
            frontier = [name for name in following if name not in self._nodes]
            above = True

    def _read_what_is_shown(self, names: Iterable[Name]) -> None:
        """Read the words that are quoted, and who committed what and when."""
        reader, shown = self._inquiry.reader, [self._nodes[name] for name in names]
        self._quoted |= quote(
            reader,
            (
                (node.name, node.transcript)
                for node in shown
                if node.transcript is not None
                and isinstance(node.name, TranscriptRef)
                and node.name not in self._quoted
            ),
        )
        commits = {node.commit_ts for node in shown if node.commit_ts is not None}
        self._bylines |= bylines(reader, commits - self._bylines.keys())

    def _mention(self, support: Support) -> Reason:
        """Return a node that stands above; one that rests on nothing has nothing left out."""
        repeated = bool(self._nodes[support.name].supports)
        return replace(self._reason(support.name), repeated=repeated)

    def _reason(self, name: Name) -> Reason:
        node = self._nodes[name]
        byline = None if node.commit_ts is None else self._bylines.get(node.commit_ts)
        quoted = self._quoted.get(name) if isinstance(name, TranscriptRef) else None
        return Reason(
            kind=node.kind,
            ref=node.ref,
            summary=node.summary if quoted is None else quoted,
            agent_id=node.agent_id,
            actor=None if byline is None else byline.actor or None,
            commit_ts=node.commit_ts,
            committed_at=None if byline is None else to_datetime(byline.committed_at),
            valid_from=node.valid_from,
            valid_to=node.valid_to,
            stale=node.stale,
            is_stale=name in self._stale,
            hidden=node.hidden,
        )


def _tainted(found: Mapping[Name, Node]) -> set[Name]:
    """Return what is stale itself or rests on something that is; it spreads upwards only."""
    above: dict[Name, list[Name]] = {}
    for name, node in found.items():
        for support in node.supports:
            above.setdefault(support.name, []).append(name)
    waiting = [name for name, node in found.items() if node.stale]
    stale = set(waiting)
    while waiting:
        for name in above.get(waiting.pop(), ()):
            if name not in stale:
                stale.add(name)
                waiting.append(name)
    return stale


def _described(ref: Ref, viewer: str) -> str:
    if isinstance(ref, KeyRef):
        lacks = "no value" if ref.version is None else f"no version {ref.version}"
        return f"key {ref.key!r} of {ref.agent_id!r} in {ref.namespace!r} has {lacks}"
    if isinstance(ref, FactRef):
        return f"there is no fact {ref.assertion_id!r}"
    version = "" if ref.version is None else f" version {ref.version} of"
    return f"there is no{version} memory {ref.memory_id!r} that {viewer!r} can see"
