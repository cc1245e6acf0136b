"""The metrics of a server, in the text format of Prometheus.

Everything is counted as plain numbers where it happens, and read here when metrics are requested,
so calls do not pay for a library. Labels have bounded sets of values, which `METRICS` names. There
is never one for a store, an agent, a namespace or a token.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

import msgspec
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from memoranda import __version__
from memoranda.model.histogram import Histogram
from memoranda.server.jobs.scheduler import Scheduler
from memoranda.server.stores import StoreSet
from memoranda.server.traffic import Traffic

SURFACES = ("grpc", "http", "mcp", "statehouse")
_PREFIX = "memoranda_"

Labels = tuple[str, ...]
Sample = tuple[Labels, float | Histogram]
"""The values of a metric's labels, and what was measured."""


class MetricKind(msgspec.Struct, frozen=True):
    """A metric: its type, its labels and what it means."""

    type: Literal["counter", "gauge", "histogram"]
    help: str
    labels: Labels = ()


METRICS: Mapping[str, MetricKind] = {
    "build_info": MetricKind("gauge", "Always 1; the label has the version.", ("version",)),
    "commits": MetricKind("counter", "Transactions that were committed, in all stores."),
    "commit_batch_size": MetricKind(
        "histogram", "Requests that were written together, and share one sync of the disk."
    ),
    "commit_queue_requests": MetricKind("gauge", "Requests that wait to be written."),
    "commit_queue_bytes": MetricKind("gauge", "The bytes of these requests."),
    "storage_commit_seconds": MetricKind(
        "histogram",
        "Time in which the storage made a write durable, its sync included; also of index writes.",
    ),
    "writes_in_flight": MetricKind("gauge", "Writes that were staged and are not answered yet."),
    "open_transactions": MetricKind(
        "gauge", "Transactions that the server keeps for clients of Statehouse."
    ),
    "calls": MetricKind("counter", "Calls by protocol and name.", ("surface", "call")),
    "call_seconds": MetricKind(
        "histogram",
        "Time from when a call was admitted until its answer was known; streams are not in it.",
        ("surface", "lane"),
    ),
    "requests_in_flight": MetricKind("gauge", "Requests that are being answered.", ("surface",)),
    "errors": MetricKind(
        "counter", "Errors that callers were told of, by class.", ("surface", "error")
    ),
    "events_sent": MetricKind(
        "counter", "Events that replays and subscriptions have sent.", ("surface", "call")
    ),
    "lane_threads": MetricKind("gauge", "Threads for calls.", ("lane",)),
    "lane_running": MetricKind("gauge", "Threads that work on a call.", ("lane",)),
    "lane_waiting": MetricKind("gauge", "Calls that wait for a thread.", ("lane",)),
    "lane_finished": MetricKind("counter", "Calls, and parts of calls, that were done.", ("lane",)),
    "index_backlog_documents": MetricKind(
        "gauge", "About how many documents of open stores are not indexed yet."
    ),
    "failing_indexes": MetricKind("gauge", "Open stores whose last attempt to index has failed."),
    "cache_bytes": MetricKind("gauge", "Bytes that the caches of all stores hold."),
    "cache_limit_bytes": MetricKind("gauge", "Bytes that they may hold."),
    "cache_evictions": MetricKind("counter", "Entries that made room for others."),
    "open_stores": MetricKind("gauge", "Stores that are open."),
    "open_stores_limit": MetricKind("gauge", "Stores that may be open at a time."),
    "job_runs": MetricKind(
        "counter",
        "Runs of scheduled jobs on a store, by their outcome.",
        ("scheduled_job", "outcome"),
    ),
    "job_failing_stores": MetricKind(
        "gauge", "Stores on which the last run of a scheduled job has failed.", ("scheduled_job",)
    ),
}
"""By name, without the prefix; a counter's name ends in `_total` where it is shown."""


def shown_name(name: str) -> str:
    """Return the name under which a metric is shown."""
    return _PREFIX + name + ("_total" if METRICS[name].type == "counter" else "")


class ServerMetrics(Collector):
    """Reads the numbers of one server; it is used in its event loop."""

    def __init__(
        self,
        stores: StoreSet,
        traffic: Mapping[str, Traffic],
        *,
        requests: Callable[[], Mapping[str, int]],
        transactions: Callable[[], int],
        scheduler: Scheduler | None,
    ) -> None:
        self._stores = stores
        self._traffic = traffic
        """By surface."""
        self._requests = requests
        """Returns how many requests each surface answers at the moment."""
        self._transactions = transactions
        """Returns how many transactions are kept for clients."""
        self._scheduler = scheduler
        self._families: list[Metric] = []
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    async def text(self) -> bytes:
        """Return all metrics; numbers are read at once, and the text is made in a thread."""
        self._families = [_family(name, samples) for name, samples in self._read().items()]
        return await asyncio.to_thread(generate_latest, self._registry)

    def describe(self) -> Iterable[Metric]:
        """Return nothing: metrics are not registered in advance."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Return the metrics that were read last."""
        return self._families

    def _read(self) -> dict[str, list[Sample]]:
        totals, budget = self._stores.totals(), self._stores.budget
        single: dict[str, float | Histogram] = {
            "commits": totals.commits,
            "commit_batch_size": totals.batch_sizes,
            "commit_queue_requests": totals.queued_commits,
            "commit_queue_bytes": totals.queued_bytes,
            "storage_commit_seconds": totals.commit_seconds,
            "writes_in_flight": totals.writes_in_flight,
            "open_transactions": self._transactions(),
            "index_backlog_documents": totals.unindexed_documents,
            "failing_indexes": totals.failing_indexes,
            "cache_bytes": budget.used,
            "cache_limit_bytes": budget.limit,
            "cache_evictions": budget.evictions,
            "open_stores": self._stores.open_count,
            "open_stores_limit": self._stores.max_open,
        }
        samples: dict[str, list[Sample]] = {name: [((), part)] for name, part in single.items()}
        samples["build_info"] = [((__version__,), 1)]
        return samples | self._read_traffic() | self._read_lanes() | self._read_jobs()

    def _read_traffic(self) -> dict[str, list[Sample]]:
        traffic = self._traffic.items()
        return {
            "calls": [*_labelled((surface, part.calls) for surface, part in traffic)],
            "errors": [*_labelled((surface, part.errors) for surface, part in traffic)],
            "events_sent": [*_labelled((surface, part.events) for surface, part in traffic)],
            "call_seconds": [*_labelled((surface, part.seconds) for surface, part in traffic)],
            "requests_in_flight": [
                ((surface,), count) for surface, count in self._requests().items()
            ],
        }

    def _read_jobs(self) -> dict[str, list[Sample]]:
        scheduler = self._scheduler
        runs = {} if scheduler is None else scheduler.counts
        failing = {} if scheduler is None else scheduler.failing_stores
        return {
            "job_runs": [((job, outcome), count) for (job, outcome), count in runs.items()],
            "job_failing_stores": [((job,), count) for job, count in failing.items()],
        }

    def _read_lanes(self) -> dict[str, list[Sample]]:
        loads = self._stores.lane_loads().items()
        return {
            "lane_threads": [((lane,), load.threads) for lane, load in loads],
            "lane_running": [((lane,), load.running) for lane, load in loads],
            "lane_waiting": [((lane,), load.waiting) for lane, load in loads],
            "lane_finished": [((lane,), load.finished) for lane, load in loads],
        }


def _labelled(
    parts: Iterable[tuple[str, Mapping[str, int] | Mapping[str, Histogram]]],
) -> Iterator[Sample]:
    for surface, numbers in parts:
        for name, number in numbers.items():
            yield (surface, name), number


def _family(name: str, samples: Iterable[Sample]) -> Metric:
    kind = METRICS[name]
    full_name = _PREFIX + name
    if kind.type == "histogram":
        histograms = HistogramMetricFamily(full_name, kind.help, labels=kind.labels)
        for labels, histogram in samples:
            assert isinstance(histogram, Histogram), f"{name} is a histogram"
            histograms.add_metric(labels, _buckets(histogram), histogram.total)
        return histograms
    family_type = CounterMetricFamily if kind.type == "counter" else GaugeMetricFamily
    family = family_type(full_name, kind.help, labels=kind.labels)
    for labels, number in samples:
        assert not isinstance(number, Histogram), f"{name} is a number"
        family.add_metric(labels, number)
    return family


def _buckets(histogram: Histogram) -> list[tuple[str, float]]:
    """Return how many values are at most as large as each bound."""
    count, buckets = 0, []
    for bound, bucket_count in zip((*histogram.bounds, "+Inf"), [*histogram.counts], strict=True):
        count += bucket_count
        buckets.append((str(bound), float(count)))
    return buckets
