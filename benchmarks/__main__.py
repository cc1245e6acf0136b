"""`make bench`: every figure beside its limit, in some minutes.

The disk's limit is measured around each of our figures and averaged, because shared machines
are noisy; ratios bind where one fdatasync takes 200 µs or more.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median

import apsw

from benchmarks import (
    commits,
    embedding,
    facts,
    growth,
    hostile,
    http,
    hybrid,
    lanes,
    memories,
    page,
    paused,
    reads,
    recall,
    report,
    server,
    startup,
    statehouse,
    tenants,
    verify,
)
from benchmarks.limits import synced_appends
from benchmarks.report import Figure
from tests.bulk import write_events

RESULTS = Path(__file__).parent / "results"
APPENDS = "append + fdatasync, one at a time"
SECTIONS = (
    "commits",
    "reads",
    "memories",
    "facts",
    "search",
    "recall",
    "verify",
    "growth",
    "startup",
    "hostile",
    "server",
    "http",
    "page",
    "statehouse",
    "tenants",
)
"""Methods of `Bench`, in the order they are measured."""
ENGINES = {"sqlite": SECTIONS, "postgres": ("postgres",)}
"""The sections of each engine."""


def main() -> int:
    """Measure, print and write the report."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path.cwd(), help="on the disk to measure")
    parser.add_argument("--seconds", type=float, default=4.0, help="for each measurement")
    parser.add_argument("--million", action="store_true", help="grow the log to 1,000,000 events")
    parser.add_argument("--engine", choices=sorted(ENGINES), default="sqlite", help="of the store")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, help="print these, write no report")
    arguments = parser.parse_args()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=arguments.folder, prefix=".bench-") as name:
        bench = Bench(Path(name), arguments.seconds, million=arguments.million)
        figures: list[Figure] = []
        for section in arguments.only or ENGINES[arguments.engine]:
            figures += bench.measure(section)
    if arguments.only or arguments.engine == "postgres":
        return 0
    sync = 1e6 / median(bench.limits)
    binding = "they bind" if sync >= 200 else "below 200 µs, so the commit ratios do not bind"
    conditions = (
        f"One fdatasync takes {sync:.0f} µs ({binding}). Python {platform.python_version()}, "
        f"SQLite {apsw.sqlite_lib_version()}, {time.perf_counter() - start:.0f} s in all."
    )
    print("\n" + report.write(figures, conditions, RESULTS))
    return 0


class Bench:
    """Runs the measurements in a folder."""

    def __init__(self, folder: Path, seconds: float, *, million: bool = False) -> None:
        self._folder = folder
        self._seconds = seconds
        self._million = million
        self._stores = 0
        self.limits: list[float] = []

    def measure(self, section: str) -> list[Figure]:
        """Measure a section, and print its figures at once."""
        figures: list[Figure] = getattr(self, section)()
        for figure in figures:
            print(report.row(figure), flush=True)
        return figures

    def commits(self) -> list[Figure]:
        return [
            self._one_committer(),
            self._beside_appends("commits, 32 threads", commits.threads, 1.3, 2.5),
            self._beside_appends("commits, 32 asyncio tasks", commits.tasks, 2.0, 4.0),
            self._beside_paused_readers(),
        ]

    def reads(self) -> list[Figure]:
        path = self._path()
        self._say("writing 100,000 events by 100 agents")
        write_events(path, 100_000, agents=reads.AGENTS)
        self._say("replay of one agent among 100")
        replayed, bare_replay = reads.replay(path, self._seconds)
        self._say("get_state")
        read, bare_read = reads.point_reads(path, self._seconds)
        return [
            Figure(
                "replay of 1 agent in 100",
                replayed,
                bare_replay,
                "/s",
                "bare SELECT, decoded",
                0.6,
                0.8,
            ),
            Figure("get_state", read, bare_read, "/s", "same SELECT, decoded", 0.5, 0.7),
            *self._buckets(),
        ]

    def _buckets(self) -> list[Figure]:
        """Measure buckets over the log of one agent; a million events have a limit of 200 ms."""
        path, events = self._path(), 1_000_000 if self._million else 100_000
        self._say(f"counting {events:,} events of one agent in buckets")
        write_events(path, events)
        ours, bare = reads.buckets(path, 100, self._seconds)
        work = f"{events:,} events in 100 buckets"
        figures = [Figure(work, ours * 1e3, bare * 1e3, "ms", "GROUP BY", 0.5, 0.25, True)]
        if self._million:
            ours, _ = reads.buckets(path, 2_000, self._seconds)
            work = f"{events:,} events in 2,000 buckets"
            figures.append(Figure(work, ours * 1e3, 200, "ms", "limit", 1.0, 0.75, True))
        return figures

    def memories(self) -> list[Figure]:
        self._say("10,000 memories with links and spans")
        folder = self._folder / "ingest"
        folder.mkdir()
        ours, plain = memories.ingest(folder)
        figures = [
            Figure("memories with links and spans", ours, plain, "/s", "state writes", 0.5, 0.7)
        ]
        path = self._path()
        self._say("the union of 5,000 transcripts")
        top = memories.fill_union(path)
        queries, hops = memories.union_queries(path, top)
        replayed, bare = memories.union(path, top, self._seconds)
        figures += [
            Figure(
                "queries of a union replay",
                queries,
                hops,
                "",
                "one a hop, and one",
                1.1,
                1.1,
                True,
            ),
            Figure("transcripts of a union replay", replayed, bare, "/s", "bare SELECTs", 0.2, 0.4),
        ]
        path = self._path()
        self._say("10,000 memories listed")
        memories.fill_list(path)
        for filtered in ("all", "kind", "tags"):
            rate, bare = memories.listed(path, self._seconds, filtered)
            work = "memories listed" + ("" if filtered == "all" else f", by {filtered}")
            figures.append(Figure(work, rate, bare, "/s", "bare SELECTs of all", 0.2, 0.4))
        rate, bare = memories.listed(path, self._seconds, "metadata")
        work = "memories listed, ten by metadata"
        figures.append(Figure(work, rate, bare, "/s", "bare SELECTs of all", 5, 20))
        return figures

    def facts(self) -> list[Figure]:
        dated = facts.dated_facts()
        self._say(f"{len(dated):,} dated facts, in transactions of {facts.BATCH_SIZE}")
        folder = self._folder / "facts"
        folder.mkdir()
        rates = facts.imports(folder, dated)
        figures = [
            Figure("facts imported", rates.many, rates.states, "/s", "state writes", 0.3, 0.5),
            Figure(
                "facts imported, one at a time", rates.one, rates.states, "/s", "same", 0.3, 0.5
            ),
            Figure("being right about time", rates.one, rates.many, "/s", "append only", 0.5, 0.9),
        ]
        for kind, single in (("one at a time", True), ("many at a time", False)):
            self._say(f"asserting into timelines, {kind}")
            steps = {
                n: facts.steps_of_an_assertion(folder, n, single=single) for n in facts.LENGTHS
            }
            shortest, *longer = facts.LENGTHS
            for length in longer:
                name = f"an assertion into {length:,} edges, {kind}"
                limit = f"into {shortest}"
                figures.append(
                    Figure(name, steps[length], steps[shortest], "steps", limit, 1.5, 1.1, True)
                )
        self._say("a neighbourhood of two hops")
        path = self._path()
        facts.fill_star(path)
        reads, hops = facts.neighbourhood(path)
        figures.append(
            Figure("reads of two hops in the past", reads, hops, "", "one a hop", 1.0, 1.0, True)
        )
        return figures

    def search(self) -> list[Figure]:
        self._say(f"vectors of {embedding.MEMORIES:,} memories")
        folder = self._folder / "embedding"
        folder.mkdir()
        stored_rate, model_rate = embedding.ingest(folder)
        self._say(f"{hybrid.MEMORIES:,} memories to recall from")
        path = self._path()
        hybrid.fill(path)
        ours, bare = hybrid.hybrid(path)
        word, bare_word = hybrid.one_word(path)
        return [
            Figure(
                "vectors made and kept", stored_rate, model_rate, "/s", "the model alone", 0.8, 0.9
            ),
            Figure(
                f"recall from {hybrid.MEMORIES:,} memories, p50",
                ours * 1e3,
                bare * 1e3,
                "ms",
                "bare full text, and a product",
                3.0,
                2.0,
                True,
            ),
            Figure(
                "recall by one word, p50",
                word * 1e3,
                bare_word * 1e3,
                "ms",
                "bare full text, same rows",
                1.2,
                1.2,
                True,
            ),
        ]

    def recall(self) -> list[Figure]:
        self._say(f"{recall.MEMORIES:,} memories, with full text and without")
        folder = self._folder / "recall"
        folder.mkdir()
        return recall.figures_of_words(folder)

    def hostile(self) -> list[Figure]:
        self._say("one writer while hostile text is indexed")
        return hostile.figures(self._path())

    def verify(self) -> list[Figure]:
        self._say("verifying a log, and committing with its chain and without")
        folder = self._folder / "verify"
        folder.mkdir()
        figures = verify.figures(
            folder, self._seconds, 1_000_000 if self._million else verify.EVENTS
        )
        path = self._path()
        write_events(path, lanes.EVENTS)
        beside, alone = lanes.reads_beside_verifications(path)
        name = "get_state beside six deep verifications, asyncio, p99"
        return [
            *figures,
            Figure(name, beside * 1e6, alone * 1e6, "µs", "alone", 10.0, 5.0, True),
        ]

    def growth(self) -> list[Figure]:
        logs: dict[int, Path] = {}
        for events in (10_000, 100_000, 1_000_000)[: 3 if self._million else 2]:
            self._say(f"a log of {events:,} events")
            logs[events] = self._path()
            write_events(logs[events], events, agents=reads.AGENTS)
        figures = []
        for work, seconds in growth.measure(logs).items():
            (_, limit), *longer = seconds.items()
            for events, ours in longer:
                name = f"{work} at {events:,} events"
                figures.append(
                    Figure(name, ours * 1e6, limit * 1e6, "µs", "at 10,000", 1.5, 1.1, True)
                )
        return figures

    def startup(self) -> list[Figure]:
        self._say("starting the package and the command line")
        return [*startup.figures(self._folder), startup.mcp_figure(self._folder)]

    def server(self) -> list[Figure]:
        self._say("a server, its clients, and the same work embedded")
        folder = self._folder / "server"
        folder.mkdir()
        return server.figures(folder, self._seconds)

    def http(self) -> list[Figure]:
        self._say("a server over HTTP")
        folder = self._folder / "http"
        folder.mkdir()
        return http.figures(folder)

    def page(self) -> list[Figure]:
        self._say(f"the page on a log of {page.EVENTS:,} events")
        return page.figures(self._path())

    def statehouse(self) -> list[Figure]:
        self._say("the wire of Statehouse")
        return statehouse.figures(self._path())

    def tenants(self) -> list[Figure]:
        self._say(f"a server with a noisy tenant of {tenants.MEMORIES:,} memories")
        folder = self._folder / "tenants"
        folder.mkdir()
        return tenants.figures(folder)

    def postgres(self) -> list[Figure]:
        from benchmarks import postgres

        self._say("a store in PostgreSQL, and pgbench")
        folder = self._folder / "postgres"
        folder.mkdir()
        return postgres.figures(folder, self._seconds)

    def _one_committer(self) -> Figure:
        work = "commits, 1 committer"
        self._say(work)
        ours, limit = commits.one_beside_appends(self._path(), 2 * self._seconds)
        self.limits.append(limit)
        return Figure(work, ours, limit, "/s", APPENDS, 0.65, 0.85)

    def _beside_appends(
        self, work: str, measure: Callable[[Path, float], float], must: float, wanted: float
    ) -> Figure:
        """Measure in three turns, the disk before and after each."""
        self._say(work)
        ours, limits = [], [self._appends()]
        for _ in range(3):
            ours.append(measure(self._path(), self._seconds / 2))
            limits.append(self._appends())
        self.limits += limits
        return Figure(work, mean(ours), mean(limits), "/s", APPENDS, must, wanted)

    def _beside_paused_readers(self) -> Figure:
        work = "commits beside paused readers"
        self._say(work)
        ours, limit = paused.commits(self._path(), self._seconds)
        return Figure(work, ours, limit, "/s", "beside an idle process", 0.9, 0.95)

    def _appends(self) -> float:
        return synced_appends(self._folder, self._seconds / 4)

    def _path(self) -> Path:
        self._stores += 1
        return self._folder / f"store-{self._stores}.db"

    @staticmethod
    def _say(message: str) -> None:
        print(f"… {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
