"""The dashboard and the alerts that come with the project ask for metrics that a server has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from memoranda.errors import ERROR_TABLE
from memoranda.server.http.settings import HttpSettings
from memoranda.server.metrics import METRICS, shown_name
from memoranda.server.traffic import UNEXPECTED
from tests.server_process import ServerThread

DEPLOY = Path(__file__).parents[3] / "deploy"
NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
QUOTED, RANGES, LABELS = re.compile(r'"[^"]*"'), re.compile(r"\[[^\]]*\]"), re.compile(r"\{[^}]*\}")
GROUPS = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)")
FUNCTION = re.compile(r"\b[a-z_]+\s*(?=\()")
OPERATORS = {"and", "or", "unless", "bool", "offset"}
FROM_PROMETHEUS = {"up"}
"""What Prometheus itself adds to every target."""


def names_in(query: str) -> set[str]:
    """Return the metrics that a query names."""
    for pattern in (QUOTED, RANGES, LABELS, GROUPS, FUNCTION):
        query = pattern.sub(" ", query)
    return {*NAME.findall(query)} - OPERATORS


def dashboard_queries() -> Iterator[str]:
    dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["definition"].removeprefix("label_values(").partition(",")[0]


def alert_rules() -> list[dict[str, Any]]:
    rules = yaml.safe_load((DEPLOY / "prometheus-alerts.yaml").read_text())
    return [rule for group in rules["groups"] for rule in group["rules"]]


def alert_queries() -> list[str]:
    return [rule["expr"] for rule in alert_rules()]


@pytest.fixture(scope="module")
def shown_names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the names of all samples that a server shows."""
    folder = tmp_path_factory.mktemp("stores")
    with ServerThread(folder=folder, create=["acme"], http=HttpSettings(port=0)) as server:
        base = f"http://{server.server.http_address}"
        httpx2.put(f"{base}/v1/stores/acme/agents/a/keys/k", json={"value": {}})
        httpx2.get(f"{base}/v1/stores/acme/agents/a/events", params={"limit": 1})
        text = httpx2.get(f"{base}/metrics").text
    families = [*text_string_to_metric_families(text)]
    samples = {sample.name for family in families for sample in family.samples}
    return samples | {shown_name(name) for name, kind in METRICS.items() if kind.labels}


def test_a_query_names_metrics_and_not_functions_or_labels() -> None:
    query = 'histogram_quantile(0.99, sum by (le, lane) (rate(a_bucket{b=~"c|d"}[10m]))) > 1 and e'
    assert names_in(query) == {"a_bucket", "e"}


@pytest.mark.parametrize("queries", [dashboard_queries, alert_queries])
def test_every_query_names_metrics_that_exist(queries: Any, shown_names: set[str]) -> None:
    texts = [*queries()]
    assert len(texts) > 10
    for query in texts:
        names = names_in(query)
        assert names, query
        assert names <= shown_names | FROM_PROMETHEUS, query


def test_every_metric_is_on_the_dashboard() -> None:
    names = {name for query in dashboard_queries() for name in names_in(query)}
    for name, kind in METRICS.items():
        wanted = shown_name(name) + ("_bucket" if kind.type == "histogram" else "")
        assert wanted in names


def test_labels_of_queries_have_values_that_exist() -> None:
    errors = {kind.__name__ for kind in ERROR_TABLE} | {UNEXPECTED}
    for query in (*dashboard_queries(), *alert_queries()):
        for names in re.findall(r'error=~?"([^"]*)"', query):
            assert {*names.split("|")} <= errors, query


def test_the_page_says_what_to_do_about_every_alert() -> None:
    page = (DEPLOY.parent / "docs/howto/observe-a-server.md").read_text()
    assert re.findall(r"^\| `(Memoranda\w+)`", page, re.M) == [
        rule["alert"] for rule in alert_rules()
    ]


def test_every_alert_says_how_urgent_it_is_and_what_is_wrong() -> None:
    rules = alert_rules()
    assert len({rule["alert"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert "$labels.instance" in rule["annotations"]["summary"]
