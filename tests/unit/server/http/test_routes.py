"""Every call has one route, and a request of it is the call that was meant."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from memoranda import InvalidInput
from memoranda.calls.arguments import TypedText
from memoranda.calls.call import Call
from memoranda.calls.facts import IterFacts
from memoranda.calls.key_writes import Write
from memoranda.calls.keys import GetState
from memoranda.calls.log import Replay
from memoranda.calls.memories import ListMemories
from memoranda.calls.registry import CALLS
from memoranda.calls.transactions import Commit
from memoranda.model.refs import FactRef, KeyRef, MemoryRef, TranscriptRef
from memoranda.server.http.arguments import RouteArguments, decode_json
from memoranda.server.http.routes import ROUTES, Router
from tests.grant_reads import CASES
from tests.grant_worlds import FOREIGN, LINKS, OWN
from tests.grant_writes import WRITE_CASES
from tests.http_requests import request_of, route_of

OTHER_OPERATIONS = {"get_memory_by_title"}
"""Routes of calls that have one already."""
IDS = {step.label: f"id-of-{step.label}" for step in (*OWN, *FOREIGN, *LINKS)}
IDS |= {f"notice {number}": f"notice-{number}" for number in range(4)}
STORE_PARTS = 3
"""Parts of a path before those below the store."""


def decoded(call: Call[Any], actor: str | None = None) -> Call[Any]:
    """Return the call that the request of a call stands for."""
    method, target, body = request_of(call)
    path, _, query = target.partition("?")
    match = Router().find(path.split("/")[STORE_PARTS + 1 :])
    assert match is not None
    routes, texts = match
    assert routes[method] is route_of(call)
    sent = None if body is None else decode_json("body", msgspec.json.encode(body))
    made, own = RouteArguments(routes[method]).call(texts, query.encode(), sent, actor, frozenset())
    assert own == {}
    return made


def as_arrived(value: Any) -> Any:
    """Return what arrives of a value: JSON has lists only, and their items are compared."""
    if isinstance(value, Call):
        return type(value), [as_arrived(getattr(value, name)) for name in value.__struct_fields__]
    return [as_arrived(item) for item in value] if isinstance(value, (tuple, list)) else value


def test_every_call_that_may_leave_the_process_has_one_route() -> None:
    sendable = {name for name, kind in CALLS.items() if kind.local_only is None}
    assert ROUTES.keys() - OTHER_OPERATIONS == sendable
    assert all(ROUTES[name].kind is CALLS[name] for name in sendable)
    addresses = [(route.method, route.template) for route in ROUTES.values()]
    assert len(set(addresses)) == len(addresses)


def test_nothing_that_changes_something_is_got() -> None:
    for route in ROUTES.values():
        assert (route.method == "GET") <= (route.kind.verb in ("read", "admin")), route
        assert not (route.method == "GET" and route.is_write), route


def test_no_argument_is_a_parameter_of_pages() -> None:
    for route in ROUTES.values():
        if route.kind.shape == "pages":
            names = {part.name for part in RouteArguments(route).query}
            assert not names & {"limit", "page_token"}, route


@pytest.mark.parametrize("name", sorted({**CASES, **WRITE_CASES}))
def test_a_request_is_the_call_that_was_meant(name: str) -> None:
    row: Any = {**CASES, **WRITE_CASES}[name]
    calls = [] if row is None else row(IDS)
    for call in calls[:60]:
        assert as_arrived(decoded(call)) == as_arrived(call)


def test_arguments_have_their_types() -> None:
    refs = (KeyRef("k", 2, "b", "n"), MemoryRef("m"), FactRef("f"), TranscriptRef("t", ((0, 4),)))
    calls: list[Call[Any]] = [
        GetState("a/b", "team/eng", "k ü/?&#", 3),
        GetState("a", "n", "k", at=17),
        GetState("a", "n", "k", at="2026-01-01T00:00:00Z"),
        Replay(None, None, after_commit=5, through_commit=9, kinds=("WRITE", "DELETE")),
        Replay("a", "n", after_commit="log.5.ff"),
        ListMemories(None, children=False, tags=("x", "y"), metadata={"m": [1, None]}),
        IterFacts("a", "n", object=TypedText("integer", "5")),
        Write("a", "n", "k", {"deep": {"list": [1, 2.5, "x", None, True]}}, 0, refs, txn_id="t"),
        Commit((Write("a", "n", "k", {}, because=refs),), since=4, timeout=2.5, txn_id="t"),
    ]
    for call in calls:
        assert decoded(call) == call


def test_what_is_known_may_be_left_out() -> None:
    body = {"calls": [{"call": "write", "key": "k", "value": {}}]}
    made, _ = RouteArguments(ROUTES["commit"]).call([], b"", body, "a", frozenset())
    assert made == Commit((Write("a", "default", "k", {}),))
    made, _ = RouteArguments(ROUTES["replay"]).call([], b"", None, "a", frozenset())
    assert made == Replay("a", "default")
    made, _ = RouteArguments(ROUTES["get_memory_by_title"]).call(
        ["t"], b"", None, None, frozenset()
    )
    assert made == CALLS["get_memory"](None, "t", "default")


@pytest.mark.parametrize(
    ("route", "query", "body", "field"),
    [
        ("replay", b"", None, "agent_id"),
        ("replay", b"agent_id=a&agent_id=b", None, "agent_id"),
        ("replay", b"agent_id=a&through_commit=x", None, "through_commit"),
        ("replay", b"agent_id=a&all_namespaces=yes", None, "all_namespaces"),
        ("replay", b"agent_id=a&agent=b", None, "agent"),
        ("replay", b"agent_id=%ff", None, "query"),
        ("replay", b"&".join([b"kinds=a"] * 300), None, "query"),
        ("list_memories", b"children=1", None, "children"),
        ("list_memories", b"metadata=x", None, "metadata"),
        ("recall", b"k=1", {"query": "x"}, "k"),
        ("recall", b"", ["x"], "body"),
        ("recall", b"", {"qery": "x", "query": "x"}, "qery"),
        ("recall", b"", {}, "query"),
        ("why", b"", {"ref": {"x": 1}}, "ref"),
        ("why", b"", {"ref": {"memory_id": "m", "key": "k"}}, "ref.key"),
        ("why", b"", {"ref": {"memory_id": 5}}, "ref"),
        ("verify", b"", {"deep": 1}, "deep"),
        ("forget", b"", {"purge": "no"}, "purge"),
        ("commit", b"", {"calls": {}}, "calls"),
        ("commit", b"", {"calls": [5]}, "calls[0]"),
        ("commit", b"", {"calls": [{"call": "wirte"}]}, "calls[0].call"),
        ("commit", b"", {"calls": [{"call": "write", "agent_id": "a"}]}, "key"),
        ("find_same_transcript", b"", {"agent_id": "a", "digests": ["?"], "size": 1}, "digests[0]"),
        ("assert_fact", b"", {"object": {"kind": "integer"}}, "object"),
    ],
)
def test_what_is_not_understood_is_named(route: str, query: bytes, body: Any, field: str) -> None:
    arguments = RouteArguments(ROUTES[route])
    with pytest.raises(InvalidInput) as refused:
        arguments.call([], query, body, None, frozenset())
    assert refused.value.field == field


def test_an_address_cannot_be_given_again_in_the_body() -> None:
    arguments = RouteArguments(ROUTES["write"])
    for body in ({"key": "k"}, {"agent_id": "a"}, {"namespace": "n"}):
        with pytest.raises(InvalidInput, match="part of the address"):
            arguments.call(["a", "k"], b"", {"value": {}, **body}, None, frozenset())


def test_paths_that_there_are_not() -> None:
    router = Router()
    for path in ("nothing", "agents/a/keys/", "agents//keys", "agents/a/keys/k/", "memories/"):
        assert router.find(path.split("/")) is None, path
    with pytest.raises(InvalidInput):
        router.find(["memories", "%ff"])
