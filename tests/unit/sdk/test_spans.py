"""Spans of OpenTelemetry: what they are named, what they tell, and what they keep to themselves."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import memoranda
from memoranda import NotFound, Store
from memoranda.calls.registry import CALLS
from memoranda.sdk.memory_operations import OPERATIONS
from memoranda.sdk.spans import CONTENT_VARIABLE
from memoranda.server.http.settings import HttpSettings
from tests.server_process import ServerThread

SECRET = "Ann has measles"


class Recorded:
    """The spans that were recorded."""

    def __init__(self, provider: TracerProvider) -> None:
        self.exporter = InMemorySpanExporter()
        self.tracer = provider.get_tracer("test")
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def of_kind(self, kind: SpanKind) -> list[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.kind is kind]

    def take(self) -> list[ReadableSpan]:
        spans = [*self.exporter.get_finished_spans()]
        self.exporter.clear()
        return spans

    def one(self) -> ReadableSpan:
        (span,) = self.take()
        return span


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorded]:
    provider = TracerProvider()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    yield Recorded(provider)
    provider.shutdown()


@pytest.fixture
def store(tmp_path: Path, recorded: Recorded) -> Iterator[Store]:
    with memoranda.open(tmp_path / "a.db", embedder=None, durability="relaxed") as store:
        yield store.bind(agent_id="ann")


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def log_id(store: Store) -> str:
    return next(iter(store.replay())).log_id


def trace_id(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"{span.context.trace_id:032x}"


class TestEmbedded:
    def test_a_memory_is_created_found_updated_and_deleted(
        self, store: Store, recorded: Recorded
    ) -> None:
        memory = store.remember(SECRET)
        created = recorded.one()
        identity = log_id(store)
        recorded.take()
        assert (created.name, created.kind) == ("create_memory", SpanKind.INTERNAL)
        assert attributes(created) == {
            "gen_ai.operation.name": "create_memory",
            "gen_ai.memory.store.id": identity,
            "gen_ai.memory.record.id": memory.id,
            "gen_ai.memory.record.count": 1,
            "memoranda.call": "remember",
        }

        assert len(store.recall("measles")) == 1
        span = recorded.one()
        assert span.name == "search_memory"
        assert attributes(span)["gen_ai.memory.record.count"] == 1

        store.update_memory(memory.id, content="Ann is well")
        updated = recorded.one()
        assert updated.name == "update_memory"
        assert attributes(updated)["gen_ai.memory.record.id"] == memory.id

        store.forget(memory_id=memory.id)
        assert "delete_memory" in {span.name for span in recorded.take()}

    def test_with_a_title_a_memory_may_be_updated(self, store: Store, recorded: Recorded) -> None:
        store.remember(SECRET, title="health")
        assert recorded.one().name == "upsert_memory"

    def test_a_transaction_is_one_span(self, store: Store, recorded: Recorded) -> None:
        with store.begin_transaction() as transaction:
            transaction.write(key="a", value={})
            transaction.write(key="b", value={})
        (commit,) = [span for span in recorded.take() if span.name == "upsert_memory"]
        assert attributes(commit)["memoranda.call"] == "commit"
        assert attributes(commit)["gen_ai.memory.record.count"] == 2

    def test_what_is_no_memory_has_the_name_of_its_call(
        self, store: Store, recorded: Recorded
    ) -> None:
        store.stats()
        span = recorded.one()
        assert span.name == "memoranda.get_stats"
        assert "gen_ai.operation.name" not in attributes(span)

    def test_the_commit_is_found_by_the_trace(self, store: Store, recorded: Recorded) -> None:
        with recorded.tracer.start_as_current_span("step") as step:
            store.write(key="k", value={"n": 1})
        (event,) = store.replay()
        written = recorded.take()[0]
        assert written.parent is not None
        assert written.parent.span_id == step.get_span_context().span_id
        assert event.trace_id == trace_id(written) == f"{step.get_span_context().trace_id:032x}"

    def test_an_error_has_its_class_and_not_its_text(
        self, store: Store, recorded: Recorded
    ) -> None:
        with pytest.raises(NotFound):
            store.update_memory("no-such-memory", content=SECRET)
        span = recorded.one()
        assert span.status.status_code is StatusCode.ERROR
        assert attributes(span)["error.type"] == "NotFound"
        assert not span.status.description
        assert not span.events

    def test_content_is_left_out(self, store: Store, recorded: Recorded) -> None:
        store.remember(SECRET, title="measles of Ann")
        store.recall("measles")
        store.write(key="ann/health", value={"has": "measles"})
        for span in recorded.take():
            assert "measles" not in span.to_json()

    @pytest.mark.parametrize("value", ["true", "SPAN_ONLY", "span_and_event"])
    def test_content_is_recorded_where_the_standard_s_variable_asks_for_it(
        self, store: Store, recorded: Recorded, monkeypatch: pytest.MonkeyPatch, value: str
    ) -> None:
        monkeypatch.setenv(CONTENT_VARIABLE, value)
        memory = store.remember(SECRET)
        records = attributes(recorded.one())["gen_ai.memory.records"]
        assert json.loads(records) == [{"id": memory.id, "content": SECRET}]
        (hit,) = store.recall("measles")
        values = attributes(recorded.one())
        assert values["gen_ai.memory.query.text"] == "measles"
        assert json.loads(values["gen_ai.memory.records"]) == [
            {"id": memory.id, "content": SECRET, "score": hit.score}
        ]

    def test_asynchronous_stores_record_the_same(self, tmp_path: Path, recorded: Recorded) -> None:
        async def main() -> list[str | None]:
            path = tmp_path / "b.db"
            async with await memoranda.open_async(path, embedder=None) as opened:
                ann = opened.bind(agent_id="ann")
                with recorded.tracer.start_as_current_span("step"):
                    await ann.remember(SECRET)
                    async with ann.begin_transaction() as transaction:
                        transaction.write(key="a", value={})
                return [event.trace_id async for event in ann.replay()]

        traces = asyncio.run(main())
        spans = {span.name: span for span in recorded.take()}
        assert {"create_memory", "upsert_memory"} <= spans.keys()
        assert traces == [trace_id(spans["step"])] * 2


class TestServer:
    @pytest.mark.parametrize("scheme", ["grpc", "http"])
    def test_client_and_server_have_spans_of_one_trace(
        self, tmp_path: Path, recorded: Recorded, scheme: str
    ) -> None:
        with ExitStack() as stack:
            server = stack.enter_context(
                ServerThread(folder=tmp_path, create=["acme"], http=HttpSettings(port=0))
            )
            port = server.server.port if scheme == "grpc" else server.server.http_port
            url = f"{scheme}://127.0.0.1:{port}/acme"
            store = stack.enter_context(memoranda.open(url))
            ann = store.bind(agent_id="ann")
            memory = ann.remember(SECRET)
            assert len(ann.recall("measles")) == 1
            (event,) = ann.replay()
        for name in ("create_memory", "search_memory"):
            (client,) = [span for span in recorded.of_kind(SpanKind.CLIENT) if span.name == name]
            (served,) = [span for span in recorded.of_kind(SpanKind.SERVER) if span.name == name]
            assert client.context is not None
            assert served.parent is not None
            assert served.parent.span_id == client.context.span_id
            assert trace_id(client) == trace_id(served)
            values = attributes(client)
            assert values["server.port"] == port
            same = ("gen_ai.memory.store.id", "gen_ai.memory.record.count", "memoranda.call")
            assert [values[key] for key in same] == [attributes(served)[key] for key in same]
            if name == "create_memory":
                assert values["gen_ai.memory.record.id"] == memory.id
                assert event.trace_id == trace_id(client)
        assert not recorded.of_kind(SpanKind.INTERNAL)

    def test_a_request_over_http_continues_its_trace(
        self, tmp_path: Path, recorded: Recorded
    ) -> None:
        parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        with ServerThread(folder=tmp_path, create=["acme"], http=HttpSettings(port=0)) as server:
            url = f"http://{server.server.http_address}/v1/stores/acme/agents/ann/keys/k"
            body = {"value": {"has": "measles"}}
            assert httpx2.put(url, json=body, headers={"traceparent": parent}).status_code == 200
        (span,) = recorded.of_kind(SpanKind.SERVER)
        assert span.parent is not None
        assert (trace_id(span), f"{span.parent.span_id:016x}") == tuple(parent.split("-")[1:3])
        assert "measles" not in span.to_json()


def test_operations_are_named_for_calls_that_exist() -> None:
    assert OPERATIONS.keys() <= CALLS.keys()


_WITHOUT = """
import sys
import memoranda
with memoranda.open(sys.argv[1], embedder=None) as store:
    store.write(agent_id="ann", key="k", value={})
    (event,) = store.replay(agent_id="ann")
    assert event.trace_id is None
    print(type(store._calls).__name__, *(name for name in sys.modules if "opentelemetry" in name))
"""
_WITHOUT_SDK = "import opentelemetry.trace\n" + _WITHOUT.replace(
    ', *(name for name in sys.modules if "opentelemetry" in name)', ""
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "answer"), [(_WITHOUT, "LocalCalls"), (_WITHOUT_SDK, "TracedLocalCalls")]
)
def test_without_opentelemetry_nothing_of_it_is_imported(
    tmp_path: Path, script: str, answer: str
) -> None:
    command = [sys.executable, "-c", script, str(tmp_path / "a.db")]
    assert (
        subprocess.run(command, capture_output=True, text=True, check=True).stdout == f"{answer}\n"
    )


@pytest.mark.slow
def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs/howto/observe-a-server.md").read_text()
    (example,) = re.findall(r"^```py\n(.*?)^```", page, re.M | re.S)
    subprocess.run([sys.executable, "-c", example], cwd=tmp_path, check=True)
    with memoranda.open(tmp_path / "agent.db", embedder=None) as store:
        (event,) = store.replay(agent_id="planner")
        assert event.trace_id is not None
