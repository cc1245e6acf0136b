"""Every route answers what its call answers, as the document says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from msgspec.structs import replace

from memoranda import MemorandaError
from memoranda.calls.call import Call, WriteCall, call_name
from memoranda.calls.grant import EVERYTHING
from memoranda.calls.maintenance import Sql
from memoranda.calls.registry import CALLS
from memoranda.model.clock import FixedClock
from memoranda.server.http.answers import answer_json
from memoranda.server.http.openapi import document
from memoranda.server.http.routes import ROUTES
from tests.grant_answers import InProcess
from tests.grant_copies import linked
from tests.grant_reads import CASES
from tests.grant_worlds import StepIds
from tests.grant_writes import WRITE_CASES
from tests.http_app import OPTIONS, Reply, Served, run
from tests.http_requests import request_of, route_of

MAX_QUESTIONS = 25
"""Of one call: the matrix has hundreds of some."""
MAX_WRITES = 10
ALONE: dict[str, Call[Any]] = {
    name: CALLS[name]()
    for name in ("checkpoints", "trusted_keys", "erasures", "get_stats", "sql_views", "get_head")
} | {"sql": Sql("SELECT 1 AS one, x'ff' AS two"), "verify": CALLS["verify"](deep=True)}
"""Calls that the matrix does not ask, since they are refused under its grants."""
READS = sorted(
    name for name, kind in CALLS.items() if kind.local_only is None and kind.shape != "stream"
    and not issubclass(kind, WriteCall) and (CASES.get(name) is not None or name in ALONE)
)  # fmt: skip
LAST = ("retract_memory", "forget")
"""Writes after which others find nothing."""
WRITES = sorted(WRITE_CASES, key=lambda name: (LAST.index(name) if name in LAST else -1, name))


def strict(schema: Any) -> Any:
    """Return a schema that allows no members that it does not have."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    copied = {name: strict(part) for name, part in schema.items()}
    if "properties" in copied and "additionalProperties" not in copied:
        copied["unevaluatedProperties"] = False
    if "allOf" in copied:
        copied["allOf"] = [_open(part) for part in copied["allOf"]]
        copied["unevaluatedProperties"] = False
    return copied


def _open(schema: Any) -> Any:
    return {name: part for name, part in schema.items() if name != "unevaluatedProperties"}


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    return document()


class Validators:
    """Checks bodies against the document, operation by operation."""

    def __init__(self, described: dict[str, Any]) -> None:
        self._components = described["components"]
        self._paths = described["paths"]
        self._made: dict[tuple[str, str], Any] = {}

    def check(self, operation: str, reply: Reply) -> None:
        key = (operation, str(reply.status))
        if key not in self._made:
            self._made[key] = self._make(*key)
        self._made[key].validate(reply.json)

    def _make(self, operation: str, status: str) -> Any:
        route = ROUTES[operation]
        response = self._paths[route.template][route.method.lower()]["responses"][status]
        if "$ref" in response:
            response = self._components["responses"]["Problem"]
        media = "application/json" if status == "200" else "application/problem+json"
        components = dict(self._components)
        if "allOf" not in str(response):
            components = strict(components)
        schema = strict(response["content"][media]["schema"])
        return jsonschema_rs.validator_for({**schema, "components": components})


async def answered(served: Served, call: Call[Any]) -> Reply:
    method, target, body = request_of(call)
    return await served.client.send(method, target, body)


async def whole(served: Served, call: Call[Any], check: Any) -> Any:
    """Return the JSON of a call; of a long answer, the items of all pages."""
    method, target, body = request_of(call)
    reply = await served.client.send(method, target, body)
    if call_name(type(call)) == "load_transcript" and reply.status == 200:
        return reply.body.hex()
    check(route_of(call).name, reply)
    if call.shape != "pages" or reply.status != 200:
        return reply.json if reply.status == 200 else (reply.json["error"], reply.json["detail"])
    separator, items = "&" if "?" in target else "?", reply.json["items"]
    while token := reply.json["next_page_token"]:
        page = f"{target}{separator}limit=7&page_token={token}"
        reply = await served.client.send(method, page, body)
        assert reply.status == 200, reply.json
        items += reply.json["items"]
    return items


def expected(served_core: Any, call: Call[Any]) -> Any:
    """Return what the handler answers in this process, as JSON."""
    try:
        answer = InProcess(served_core).answer(EVERYTHING, call)
    except MemorandaError as error:
        return type(error).__name__, str(error)
    if answer is None and route_of(call).missing is not None:
        return "NotFound", route_of(call).missing
    if call.shape == "pages":
        value: Any = [answer_json(call, item) for page in answer for item in page]
    else:
        value = answer_json(call, answer)
    return msgspec.json.decode(msgspec.json.encode(value))


def placed(folder: Path) -> dict[str, Any]:
    """Put a world into a folder, and return how to serve it."""
    saved = linked()
    (folder / "acme.db").write_bytes(saved.file)
    options = replace(OPTIONS, clock=FixedClock(saved.now), ids=StepIds())
    return {"options": options}


@pytest.mark.slow
def test_every_read_answers_as_in_process(tmp_path: Path, described: dict[str, Any]) -> None:
    settings, validators, ids = placed(tmp_path), Validators(described), linked().ids

    async def work(served: Served) -> None:
        async with served.stores.use("acme") as opened:
            for name in READS:
                row = CASES.get(name)
                calls = [ALONE[name]] if row is None else row(ids)
                step = max(1, len(calls) // MAX_QUESTIONS)
                for call in calls[::step]:
                    answer = await whole(served, call, validators.check)
                    if name not in ("get_stats", "begin"):  # caches grow, and ids are new
                        assert answer == expected(opened.core, call), call

    run(tmp_path, work, **settings)


@pytest.mark.slow
def test_every_write_answers_as_the_document_says(
    tmp_path: Path, described: dict[str, Any]
) -> None:
    settings, validators, ids = placed(tmp_path), Validators(described), linked().ids

    async def work(served: Served) -> None:
        outcomes: dict[str, set[int]] = {}
        for name in WRITES:
            row: Any = WRITE_CASES[name]
            calls = [] if row is None else row(ids)
            for call in (*calls[:: max(1, len(calls) // MAX_WRITES)], *calls[-2:]):
                reply = await answered(served, call)
                validators.check(name, reply)
                outcomes.setdefault(name, set()).add(reply.status)
        assert {name for name, statuses in outcomes.items() if 200 not in statuses} == set()
        assert not any(status >= 500 for statuses in outcomes.values() for status in statuses)

    run(tmp_path, work, **settings)
