"""Metrics of a server: the numbers are those of what was done, and no label names a tenant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

import memoranda
from memoranda.calls.registry import CALLS
from memoranda.errors import ERROR_TABLE, InvalidInput, VersionMismatch
from memoranda.model.clock import FixedClock
from memoranda.server.http.settings import HttpSettings
from memoranda.server.jobs.settings import BackupSettings, JobSettings, ReindexSettings
from memoranda.server.metrics import METRICS, SURFACES, shown_name
from memoranda.server.stores import StoreOptions
from memoranda.server.traffic import LANES, UNEXPECTED, WRITE
from tests.patience import wait_until
from tests.server_process import ServerThread

HTTP = HttpSettings(port=0)
Labels = tuple[tuple[str, str], ...]


class Scrape:
    """The samples of one look at the metrics."""

    def __init__(self, text: str) -> None:
        self.families = [*text_string_to_metric_families(text)]
        self.samples: dict[tuple[str, Labels], float] = {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in self.families
            for sample in family.samples
        }

    def value(self, name: str, **labels: str) -> float:
        return self.samples.get((f"memoranda_{name}", tuple(sorted(labels.items()))), 0.0)

    def label_values(self) -> set[tuple[str, str]]:
        return {label for (name, labels) in self.samples for label in labels if name}


def scrape(server: ServerThread, **headers: str) -> Scrape:
    reply = httpx2.get(f"http://{server.server.http_address}/metrics", headers=headers)
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return Scrape(reply.text)


@contextmanager
def opened(server: ServerThread) -> Iterator[memoranda.Store]:
    with memoranda.open(f"grpc://{server.address}/acme") as store:
        yield store.bind(agent_id="alice")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerThread]:
    with ServerThread(folder=tmp_path, create=["acme", "zeta"], http=HTTP) as server:
        yield server


def test_counts_are_those_of_what_was_done(server: ServerThread) -> None:
    with opened(server) as store:
        for number in range(5):
            store.write(key="plan", value={"step": number})
        with pytest.raises(VersionMismatch):
            store.write(key="plan", value={"step": 9}, expect_version=1)
        assert len([*store.replay()]) == 5
        assert store.get_state(key="plan") is not None
    base = f"http://{server.server.http_address}/v1/stores/zeta/agents/bob/keys/mood"
    assert httpx2.put(base, json={"value": {"is": "calm"}}).status_code == 200
    assert httpx2.get(f"{base}-none").status_code == 404

    seen = scrape(server)
    assert seen.value("commits_total") == 6
    assert seen.value("commit_batch_size_sum") == 7, "the one that was refused was in a batch too"
    assert 1 <= seen.value("commit_batch_size_count") <= 7
    assert seen.value("storage_commit_seconds_count") >= seen.value("commit_batch_size_count")
    assert seen.value("calls_total", surface="grpc", call="write") == 6
    assert seen.value("calls_total", surface="grpc", call="get_state") == 1
    assert seen.value("calls_total", surface="http", call="write") == 1
    assert seen.value("calls_total", surface="http", call="get_state") == 1
    assert seen.value("errors_total", surface="grpc", error="VersionMismatch") == 1
    assert seen.value("errors_total", surface="http", error="NotFound") == 1
    assert seen.value("errors_total", surface="http", error=UNEXPECTED) == 0
    assert seen.value("events_sent_total", surface="grpc", call="replay") == 5
    assert seen.value("call_seconds_count", surface="http", lane=WRITE) == 1
    assert seen.value("call_seconds_count", surface="http", lane="short") == 1
    assert seen.value("open_stores") == 2
    assert seen.value("open_stores_limit") == StoreOptions().max_open
    assert seen.value("requests_in_flight", surface="http") == 1, "the one that asks"
    assert seen.value("lane_threads", lane="short") == 8
    assert seen.value("lane_finished_total", lane="short") >= 2
    assert seen.value("cache_limit_bytes") == server.server.stores.budget.limit
    assert seen.value("build_info", version=memoranda.__version__) == 1


def test_a_store_that_is_closed_keeps_its_share(server: ServerThread) -> None:
    with opened(server) as store:
        store.write(key="plan", value={"step": 1})
    before = scrape(server)

    async def close_all() -> None:
        stores = server.server.stores
        stores._idle_seconds = 0
        await stores.close_idle()

    wait_until(lambda: server.run(close_all()) is None and not server.server.stores.open_count)
    after = scrape(server)
    assert after.value("open_stores") == 0
    for name in ("commits_total", "commit_batch_size_count", "storage_commit_seconds_count"):
        assert after.value(name) >= before.value(name) >= 1


def test_every_metric_is_shown_and_documented(server: ServerThread) -> None:
    families = {
        family.name: family
        for family in scrape(server).families
        if family.name.startswith("memoranda_")
    }
    assert families.keys() == {f"memoranda_{name}" for name in METRICS}
    for name, kind in METRICS.items():
        family = families[f"memoranda_{name}"]
        assert (family.type, family.documentation) == (kind.type, kind.help)


def test_labels_are_bounded_and_name_no_tenant(server: ServerThread) -> None:
    with opened(server) as store:
        store.write(key="plan", value={"step": 1})
        store.remember("Ann lives in Oslo", title="home")
        assert store.recall("Oslo")
        with pytest.raises(InvalidInput):
            store.write(key="", value={"step": 1})
    httpx2.get(f"http://{server.server.http_address}/v1/stores/none-such/agents/eve/keys/k")
    bounds: dict[str, set[str]] = {
        "surface": {*SURFACES},
        "call": {*CALLS},
        "lane": {WRITE, *LANES},
        "error": {*(kind.__name__ for kind in ERROR_TABLE), UNEXPECTED},
        "version": {memoranda.__version__},
    }
    for name, value in scrape(server).label_values():
        assert name == "le" or value in bounds[name]


def test_jobs_are_counted(tmp_path: Path) -> None:
    jobs = JobSettings(
        reindex=ReindexSettings(every="1d"),
        backup=BackupSettings(every="1d", to=str(tmp_path / "missing")),
    )
    clock = FixedClock()
    with ServerThread(
        folder=tmp_path, create=["acme"], http=HTTP, jobs=jobs, clock=clock
    ) as server:
        scheduler = server.server.scheduler
        assert scheduler is not None
        server.run(scheduler.run_due())
        metrics = scrape(server)
        assert metrics.value("job_runs_total", scheduled_job="reindex", outcome="ok") == 1
        assert metrics.value("job_failing_stores", scheduled_job="reindex") == 0
        assert metrics.value("job_failing_stores", scheduled_job="backup") == 2


def test_servers_of_one_process_count_apart(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with (
        ServerThread(folder=tmp_path / "one", create=["acme"], http=HTTP) as first,
        ServerThread(folder=tmp_path / "two", create=["acme"], http=HTTP) as second,
    ):
        with opened(first) as store:
            store.write(key="plan", value={"step": 1})
        assert scrape(first).value("commits_total") == 1
        assert scrape(second).value("commits_total") == 0


def status(server: ServerThread, secret: str | None = None) -> int:
    headers = {} if secret is None else {"authorization": f"Bearer {secret}"}
    url = f"http://{server.server.http_address}/metrics"
    return httpx2.get(url, headers=headers).status_code


def test_where_tokens_are_asked_for_only_an_operator_sees_metrics(tmp_path: Path) -> None:
    with ServerThread(folder=tmp_path, create=["acme"], http=HTTP, tokens=True) as server:
        control: Any = server.server.dispatcher._control

        def token(**options: Any) -> str:
            secret, _ = control.tokens.create(**({"store": None} | options))
            return str(secret)

        assert status(server) == 401
        assert status(server, "nonsense") == 401
        assert status(server, token(verbs={"read", "write", "forget"})) == 403
        assert status(server, token(store="acme", verbs={"admin"})) == 403
        assert (
            status(server, token(verbs={"admin", "read"}, namespaces={"team/*"}, agent="bob"))
            == 403
        )
        assert status(server, token(verbs={"admin"})) == 200


def test_metrics_can_be_opened_to_all(tmp_path: Path) -> None:
    settings = HttpSettings(port=0, metrics_open=True)
    with ServerThread(folder=tmp_path, http=settings, tokens=True) as server:
        assert status(server) == 200


def test_the_page_lists_every_metric() -> None:
    page = (Path(__file__).parents[3] / "docs/howto/observe-a-server.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `memoranda_")]
    assert rows == [
        f"| `{shown_name(name)}` | {kind.type} | "
        f"{', '.join(f'`{label}`' for label in kind.labels)} | {kind.help} |"
        for name, kind in METRICS.items()
    ]


def test_names_of_counters_end_in_total() -> None:
    assert shown_name("commits") == "memoranda_commits_total"
    assert shown_name("open_stores") == "memoranda_open_stores"
