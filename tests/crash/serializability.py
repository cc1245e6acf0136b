"""Whether a recorded history could have come from transactions that ran one after the other.

Keys have versions 1, 2, 3 …, so who wrote before whom, who read what, and whose read was overtaken
by which write are known, and nothing has to be guessed. They are the edges of a graph:

    ww   who wrote a version comes before who wrote the next one
    wr   who wrote a version comes before who read it
    rw   who read a version comes before who wrote the next one

A history is serializable if the graph has no cycle. The log promises more: its order is such an
order, so between two transactions in the log every edge leads from the earlier commit to the
later; and nobody reads what had been overwritten, and acknowledged, before they began.

A scan reads every key under its prefix: those it did not find, at version 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter


@dataclass(frozen=True)
class Done:
    """A transaction as its client saw it: what it read and wrote at which versions, and when."""

    name: str
    reads: dict[str, int] = field(default_factory=dict)
    scans: dict[str, dict[str, int]] = field(default_factory=dict)
    """For each prefix, the keys found under it."""
    writes: dict[str, int] = field(default_factory=dict)
    commit_ts: int | None = None
    """None: it only read."""
    begun: int = 0
    ended: int = 0


class Anomaly(AssertionError):
    """What no order of transactions explains."""


class History:
    """Every transaction of a run."""

    def __init__(self, transactions: Iterable[Done]) -> None:
        self._all = list(transactions)
        self._writers: dict[tuple[str, int], Done] = {}
        for done in self._all:
            for key, version in done.writes.items():
                if (other := self._writers.setdefault((key, version), done)) is not done:
                    raise Anomaly(f"{key} {version} was written by {other.name} and {done.name}")
        self._keys = {key for key, _ in self._writers}

    def check(self) -> int:
        """Raise `Anomaly` if no order explains it; return how many edges were looked at."""
        graph: TopologicalSorter[str] = TopologicalSorter()
        edges = 0
        for kind, first, second, about in self._edges():
            edges += 1
            self._check_order(kind, first, second, about)
            graph.add(second.name, first.name)
        for done in self._all:
            self._check_freshness(done)
        try:
            graph.prepare()
        except CycleError as error:
            raise Anomaly(f"a cycle: {' before '.join(error.args[1])}") from error
        return edges

    def _edges(self) -> Iterator[tuple[str, Done, Done, str]]:
        for (key, version), writer in self._writers.items():
            if version > 1:
                yield "ww", self._writer(key, version - 1), writer, f"{key} {version}"
        for done in self._all:
            for key, version in self._seen(done):
                yield from self._edges_of_read(done, key, version)

    def _edges_of_read(
        self, done: Done, key: str, version: int
    ) -> Iterator[tuple[str, Done, Done, str]]:
        if version:
            yield "wr", self._writer(key, version), done, f"{key} {version}"
        following = self._writers.get((key, version + 1))
        if following is not None and following is not done:
            yield "rw", done, following, f"{key} {version}"

    def _seen(self, done: Done) -> Iterator[tuple[str, int]]:
        yield from done.reads.items()
        for prefix, result in done.scans.items():
            for key in self._keys | result.keys():
                if key.startswith(prefix):
                    yield key, result.get(key, 0)

    def _writer(self, key: str, version: int) -> Done:
        try:
            return self._writers[key, version]
        except KeyError:
            raise Anomaly(f"nobody wrote {key} {version}") from None

    @staticmethod
    def _check_order(kind: str, first: Done, second: Done, about: str) -> None:
        if first.commit_ts is None or second.commit_ts is None:
            return
        if first.commit_ts >= second.commit_ts:
            raise Anomaly(
                f"{kind} on {about}: {first.name} (commit {first.commit_ts}) comes before "
                f"{second.name} (commit {second.commit_ts})"
            )

    def _check_freshness(self, done: Done) -> None:
        for key, version in self._seen(done):
            following = self._writers.get((key, version + 1))
            if following is not None and following.ended < done.begun:
                raise Anomaly(
                    f"{done.name} read {key} {version}, but {following.name} had been "
                    "acknowledged before it began"
                )
