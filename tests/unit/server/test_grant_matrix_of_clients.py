"""The matrix of grants through the client of the SDK: a store that was opened with a token.

Every read is asked of a real server by the remote carrier, and must be answered as the handlers
answer in the process under the token's grant. Writes have ids of the client's choosing, so of those
only the refusals are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda import NotFound, PermissionDenied, Store, Unauthenticated
from memoranda.calls.call import Call, WriteCall, call_name
from memoranda.calls.grant import Grant
from memoranda.log import pages
from memoranda.wire.methods import METHODS
from tests.cores import core_of
from tests.grant_answers import InProcess, asked
from tests.grant_copies import NOTED, answered, linked, opened, whole
from tests.grant_reads import CASES
from tests.grant_servers import GrantServer
from tests.grant_worlds import ELSEWHERE, GRANTS, TEAM, World
from tests.grant_writes import WRITE_CASES

ONE_AGENT = "one agent in a namespace"
READS = [
    name
    for name in (call_name(method.kind) for method in METHODS.values() if not method.is_write)
    if CASES[name] is not None
]
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
RUNS = [
    pytest.param(ONE_AGENT, 17, id="some"),
    *(pytest.param(name, 1, id=name, marks=pytest.mark.slow) for name in GRANTS),
]
"""The grants under which calls are asked, and of how many questions one is: all if it is slow."""


@pytest.fixture(autouse=True)
def _short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAGE_ROWS", 5)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GrantServer]:
    with GrantServer(tmp_path_factory.mktemp("stores"), GRANTS.values()) as server:
        yield server


@pytest.fixture(scope="module")
def world(server: GrantServer) -> Iterator[World]:
    """A world in which what is covered rests on what is not, open in the server."""
    with server.serving("linked", linked()) as world:
        yield world


@pytest.fixture(params=["grpc", pytest.param("http", marks=pytest.mark.slow)])
def scheme(request: pytest.FixtureRequest) -> str:
    """How the client reaches the server."""
    return str(request.param)


def client(server: GrantServer, scheme: str, name: str, grant: Grant) -> Store:
    return memoranda.open(server.thread.url(scheme, name), token=server.secrets[grant])


class ThroughStore:
    """Sends calls by the carrier of a store, whose token has the grant."""

    def __init__(self, store: Store) -> None:
        self._calls = store._calls

    def answer(self, grant: Grant, call: Call[Any]) -> Any:
        calls = self._calls
        if isinstance(call, WriteCall):
            return calls.write(call)
        if call.shape == "value":
            return calls.ask(call)
        if call.shape == "pages":
            return [*iter(calls.open_pages(call).next_page, [])]
        feed = calls.new_feed(call)  # type: ignore[arg-type]
        calls.open_feed(feed)
        events = []
        while calls.fill_feed(feed) or not feed.caught_up:
            events += [feed.events.popleft() for _ in range(len(feed.events))]
        feed.close()
        return events


@pytest.mark.slow
@pytest.mark.parametrize(("grant_name", "step"), RUNS)
def test_reads_are_answered_as_by_their_handlers(
    grant_name: str, step: int, scheme: str, server: GrantServer, world: World
) -> None:
    grant, core = GRANTS[grant_name], core_of(world.store)
    calls = [call for name in READS for call in CASES[name](world.ids)[::step]]  # type: ignore[misc]
    assert {call_name(type(call)) for call in calls} == set(READS)
    with client(server, scheme, "linked", grant) as store:
        reach = ThroughStore(store)
        for call in calls:
            answers = [asked(core, grant, call, way) for way in (reach, InProcess(core))]
            if call.shape == "pages":
                answers = [_flat(answer) for answer in answers]
            assert answers[0] == answers[1], call


def _flat(answer: Any) -> Any:
    return answer if isinstance(answer, tuple) else [item for page in answer for item in page]


def masked(text: str) -> str:
    """Return a message without ids, which clients choose for what they write."""
    return ID.sub("…", text)


@pytest.mark.slow
@pytest.mark.parametrize(("grant_name", "step"), RUNS)
def test_writes_are_refused_as_by_their_handlers(
    grant_name: str, step: int, scheme: str, server: GrantServer, tmp_path: Path
) -> None:
    grant, refused = GRANTS[grant_name], 0
    name = f"{scheme}-{step}-{grant_name}".replace(" ", "-")
    with (
        server.serving(name, whole()) as served,
        client(server, scheme, name, grant) as store,
        opened(whole(), tmp_path) as other,
    ):
        calls = [call for row in WRITE_CASES.values() for call in row(served.ids)[::step]]
        reach = ThroughStore(store)
        for number, call in enumerate(calls):
            answer = answered(served, grant, call, number, reach)
            expected = answered(other, grant, call, number)
            assert isinstance(answer, tuple) == isinstance(expected, tuple), call
            if isinstance(answer, tuple):
                refused += 1
                assert answer[0] is expected[0], call
                if answer[0] not in NOTED:  # of several chains, the ids decide which one is named
                    assert masked(answer[1]) == masked(expected[1]), call
    assert refused


def test_a_store_acts_as_the_agent_of_its_token(
    scheme: str, server: GrantServer, world: World
) -> None:
    with client(server, scheme, "linked", GRANTS[ONE_AGENT]) as store:
        mine = store.bind(agent_id="a", namespace=TEAM)
        assert mine.write(key="mine", value={"n": 1}).version == 1
        *_, event = mine.replay()
        assert event.actor == "a"
        as_other = store.bind(agent_id="b", namespace=TEAM)
        assert [*as_other.replay()] == []
        assert as_other.get_state(key="plan") is None
        with pytest.raises(PermissionDenied):
            as_other.write(key="plan", value={})
        with pytest.raises(PermissionDenied):
            mine.bind(namespace=ELSEWHERE).write(key="plan", value={})
        with pytest.raises(PermissionDenied):
            store.verify()
    assert core_of(world.store).head() > 0


def test_a_store_is_opened_with_a_valid_token_only(
    scheme: str, server: GrantServer, world: World
) -> None:
    assert world.ids
    for token in (None, "nonsense"):
        with pytest.raises(Unauthenticated):
            memoranda.open(server.thread.url(scheme, "linked"), token=token)
    for name in ("linked", "absent"):
        with pytest.raises(NotFound, match=f"'{name}'"):
            memoranda.open(server.thread.url(scheme, name), token=server.secret_of_store)
