"""Random graphs of reflections, and which words they are made of: compared with a plain model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoranda import LinkCycle, Store
from memoranda.storage.sqlite.engine import SqliteEngine
from memoranda.testing import FixedClock, memory_store
from tests.cores import core_of

MOST = 7
TEXT = "abcdefghij"
KINDS = ("observation", "reflection", "reflection", "decision")

Edge = tuple[int, int]
Span = tuple[int, int]


@dataclass
class Node:
    kind: str
    private: bool
    expires: bool
    retracted: bool


@dataclass
class Graph:
    """What is to be made: nodes, links, those of them that are closed, and what cites what."""

    nodes: list[Node]
    edges: list[Edge]
    closed: set[Edge]
    by_hand: list[Edge]
    transcripts: list[int | None]
    """When each was said; None: when it was stored."""
    citations: list[tuple[int, int, Span | None]]


numbers = st.integers(0, MOST - 1)
edges = st.tuples(numbers, numbers)
spans = st.one_of(
    st.none(),
    st.tuples(st.integers(0, 8), st.integers(1, 9)).filter(lambda span: span[0] < span[1]),
)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    nodes = draw(
        st.lists(
            st.builds(Node, st.sampled_from(KINDS), st.booleans(), st.booleans(), st.booleans()),
            min_size=MOST,
            max_size=MOST,
        )
    )
    instance = draw(st.lists(edges, max_size=14, unique=True))
    closed = {edge for edge in instance if draw(st.integers(0, 3)) == 0}
    return Graph(
        nodes=nodes,
        edges=instance,
        closed=closed,
        by_hand=draw(st.lists(edges, max_size=3, unique=True)),
        transcripts=draw(
            st.lists(st.one_of(st.none(), st.integers(-3, 3)), min_size=3, max_size=3)
        ),
        citations=draw(
            st.lists(st.tuples(numbers, st.integers(0, 2), spans), max_size=12, unique=True)
        ),
    )


@dataclass
class Made:
    """The store, the ids it gave, and the links it took."""

    store: Store
    clock: FixedClock
    graph: Graph
    ids: list[str] = field(default_factory=list)
    transcripts: list[str] = field(default_factory=list)
    instants: dict[str, int] = field(default_factory=dict)
    links: set[Edge] = field(default_factory=set)

    def __post_init__(self) -> None:
        owner = self.store
        owner.configure(max_reflection_depth=100)
        for node in self.graph.nodes:
            visibility = "private" if node.private else "namespace"
            memory = owner.remember("m", kind=node.kind, visibility=visibility)
            self.ids.append(memory.id)
        for text in self.graph.transcripts:
            self.clock.step(1)
            self._keep(text)
        for number, transcript, span in self.graph.citations:
            owner.link_transcript(
                memory_id=self.ids[number],
                transcript_id=self.transcripts[transcript],
                spans=None if span is None else [span],
            )
        for source, target in self.graph.edges:
            self._link(source, target)
        for node, memory_id in zip(self.graph.nodes, self.ids, strict=True):
            if node.retracted:
                owner.retract_memory(memory_id)
            elif node.expires:
                owner.update_memory(memory_id, ttl=1)
        self.clock.step(60)

    def _keep(self, moment: int | None) -> None:
        now = self.clock.now()
        occurred = None if moment is None else now + moment * 1_000_000
        from memoranda.model.clock import to_datetime

        time = None if occurred is None else to_datetime(occurred)
        transcript = self.store.store_transcript(TEXT, occurred_at=time)
        self.transcripts.append(transcript.id)
        self.instants[transcript.id] = transcript._info.instant

    def _link(self, source: int, target: int) -> None:
        ends = {"source": self.ids[source], "target": self.ids[target]}
        try:
            self.store.link(**ends, relation="reflects_on")
        except LinkCycle:
            return
        self.links.add((source, target))
        if (source, target) in self.graph.closed:
            self.store.unlink(**ends, relation="reflects_on")
            self.links.remove((source, target))

    def write_by_hand(self) -> None:
        """Add links behind the guards' back, cycles among them."""
        database = cast(SqliteEngine, core_of(self.store).engine)._writer.database
        for source, target in self.graph.by_hand:
            if (source, target) not in self.links:
                database.execute(
                    "INSERT INTO memory_link SELECT s.id, 'reflects_on', t.id, 1, 999, 0, ?, NULL "
                    "FROM memory s, memory t WHERE s.memory_id = ? AND t.memory_id = ?",
                    (2**63 - 1, self.ids[source], self.ids[target]),
                )
                self.links.add((source, target))


def walked(made: Made, root: int, depth: int | None, viewer: str) -> list[tuple[int, int]]:
    """Return the nodes in the order a reader would find them, and how far away they are."""
    nodes = made.graph.nodes
    if nodes[root].private and viewer != "owner":
        return []
    levels = [[root]]
    while (
        nodes[root].kind == "reflection" and levels[-1] and (depth is None or len(levels) <= depth)
    ):
        reference = {number for level in levels for number in level}
        following: list[int] = []
        for here in levels[-1]:
            below = sorted((made.ids[end], end) for start, end in made.links if start == here)
            for _, end in below:
                hidden = nodes[end].private and viewer != "owner"
                if end not in reference and end not in following and not hidden:
                    following.append(end)
        levels.append(following)
    return [(number, hop) for hop, level in enumerate(levels) for number in level]


def expected(made: Made, root: int, depth: int | None, viewer: str) -> list[object]:
    """Return what the replay must give, worked out from the definitions."""
    order = walked(made, root, depth, viewer)
    result: list[tuple[int, str, object]] = []
    for index, transcript_id in enumerate(made.transcripts):
        anchors = []
        for number, hop in order:
            by_name = {
                span
                for citing, cited, span in made.graph.citations
                if (citing, cited) == (number, index)
            }
            if not by_name:
                continue
            plain = (
                ()
                if by_name == {None}
                else tuple(sorted(span or (0, len(TEXT)) for span in by_name))
            )
            anchors.append((made.ids[number], hop, plain))
        if anchors:
            first = made.graph.nodes[made.ids.index(anchors[0][0])]
            target = first.expires and not first.retracted
            entry = (transcript_id, anchors[0][0], tuple(anchors), target, first.retracted)
            result.append((made.instants[transcript_id], transcript_id, entry))
    return [entry for _, _, entry in sorted(result, key=lambda item: item[:2])]


def replayed(made: Made, root: int, depth: int | None, viewer: str) -> list[object]:
    store = made.store.bind(agent_id=viewer)
    return [
        (
            replay_transcript.transcript.id,
            replay_transcript.memory_id,
            tuple(map(tuple, replay_transcript.anchors)),
            replay_transcript.expired,
            replay_transcript.retracted,
        )
        for replay_transcript in store.replay_transcripts(made.ids[root], depth=depth)
    ]


def compare(made: Made) -> None:
    for root in range(MOST):
        for depth in (None, *range(MOST + 1)):
            for viewer in ("owner", "other"):
                assert replayed(made, root, depth, viewer) == expected(made, root, depth, viewer)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(graph=graphs())
def test_replay_equals_the_model(graph: Graph) -> None:
    clock = FixedClock()
    with memory_store(clock=clock) as opened:
        instance = Made(opened.bind(agent_id="owner"), clock, graph)
        compare(instance)
        assert instance.store.rebuild().identical
        compare(instance)
        names = set(instance.links)
        instance.write_by_hand()
        compare(instance)
        instance.store.rebuild()
        instance.links = names
        compare(instance)
