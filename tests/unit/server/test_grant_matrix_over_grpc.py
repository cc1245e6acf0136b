"""The matrix of grants over the service `memoranda.v1`, with tokens, for every method that it has.

Methods are enumerated from the service's descriptor. Every question of the matrix is sent to a real
server with a token for the grant, and must be answered as the handlers answer in the process,
errors included: that those hide what is not covered is what their own matrix is about. What comes
back is also looked through as bytes, before anything is decoded, trailers included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memoranda.calls.call import VERBS, call_name
from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.calls.key_writes import Write
from memoranda.calls.log import Replay
from memoranda.calls.registry import CALLS, handle
from memoranda.errors import MemorandaError, NotFound, PermissionDenied, Unauthenticated
from memoranda.log import pages
from memoranda.wire import codec
from memoranda.wire.batches import outcomes_in, write_batch
from memoranda.wire.methods import METHODS, SERVICE, WRITE_OUTCOMES, WRITE_STREAM, Method
from memoranda.wire.v1 import memoranda_pb2
from tests.cores import core_of
from tests.grant_answers import asked
from tests.grant_checks import ONE_AGENT, assert_nothing_foreign, example, flat
from tests.grant_copies import answered, linked, opened, whole
from tests.grant_reads import CASES
from tests.grant_servers import GrantServer
from tests.grant_worlds import GRANTS, World, comparable
from tests.grant_writes import WRITE_CASES
from tests.quick import only

RESTRICTED = {verb: Grant(verbs=frozenset(VERBS) - {verb}) for verb in VERBS}
"""Grants that cover everything, and lack one verb each."""
READS = [call_name(method.kind) for method in METHODS.values() if not method.is_write]
WRITES = [call_name(method.kind) for method in METHODS.values() if method.is_write]
REFUSED = [name for name in (*READS, *WRITES) if name not in WRITE_CASES and CASES[name] is None]
QUICK_STEP = 7
RUNS = [
    pytest.param(ONE_AGENT, QUICK_STEP, id="some"),
    *(pytest.param(name, 1, id=name, marks=pytest.mark.slow) for name in GRANTS),
]
"""The grants under which calls are asked, and of how many questions one is: all if it is slow."""
OTHER_METHODS = {"WriteStream"}
"""Methods that are not of one call."""


@pytest.fixture(autouse=True)
def _short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pages so short that what is not covered would show in their lengths."""
    monkeypatch.setattr(pages, "PAGE_ROWS", 5)
    monkeypatch.setattr(pages.ResumablePages, "rows", 5)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GrantServer]:
    grants = (*GRANTS.values(), EVERYTHING, *RESTRICTED.values())
    with GrantServer(tmp_path_factory.mktemp("stores"), grants) as server:
        yield server


@pytest.fixture(scope="module")
def world(server: GrantServer) -> Iterator[World]:
    """A world in which what is covered rests on what is not, open in the server."""
    with server.serving("linked", linked()) as world:
        yield world


def test_every_method_of_the_service_is_asked() -> None:
    service = memoranda_pb2.DESCRIPTOR.services_by_name[SERVICE.rpartition(".")[2]]
    assert set(service.methods_by_name) == METHODS.keys() | OTHER_METHODS
    assert {*READS, *WRITES} <= CASES.keys() | WRITE_CASES.keys()


@pytest.mark.parametrize(("grant_name", "step"), RUNS)
@pytest.mark.parametrize("name", [name for name in READS if CASES[name] is not None])
def test_a_read_is_answered_as_by_its_handler(
    name: str, grant_name: str, step: int, server: GrantServer, world: World
) -> None:
    grant, reach, core = GRANTS[grant_name], server.reach("linked"), core_of(world.store)
    row = CASES[name]
    assert row is not None
    for call in row(world.ids)[::step]:
        answer = flat(call, asked(core, grant, call, reach))
        if grant_name == ONE_AGENT:
            assert_nothing_foreign(call, world, reach.received)
        assert answer == flat(call, asked(core, grant, call)), call


@pytest.mark.parametrize("way", only(("unary",), ("unary", "stream")))
@pytest.mark.parametrize(("grant_name", "step"), RUNS)
@pytest.mark.parametrize("name", [name for name in WRITES if name in WRITE_CASES])
def test_a_write_is_answered_as_by_its_handler(
    name: str, grant_name: str, step: int, way: str, server: GrantServer, tmp_path: Path
) -> None:
    grant = GRANTS[grant_name]
    store = f"{name}-{grant_name}-{step}-{way}".lower().replace(" ", "-")
    reach = server.stream_reach(store) if way == "stream" else server.reach(store)
    with server.serving(store, whole()) as served, opened(whole(), tmp_path) as other:
        for number, call in [*enumerate(WRITE_CASES[name](served.ids))][::step]:
            answer = answered(served, grant, call, number, reach)
            if grant_name == ONE_AGENT:
                assert_nothing_foreign(call, served, reach.received)
            assert answer == answered(other, grant, call, number), call
        assert log_of(served) == log_of(other)


def log_of(world: World) -> list[Any]:
    """Return every event that was written since the world was made."""
    call = Replay(None, None, after_commit=whole().head)
    answer: Any = handle(core_of(world.store), EVERYTHING, call)
    return [comparable(page) for page in iter(answer.next_page, [])]


@pytest.mark.parametrize("name", REFUSED)
def test_a_call_about_the_whole_store_is_refused(
    name: str, server: GrantServer, world: World
) -> None:
    reach, call = server.reach("linked"), example(CALLS[name], world)
    for grant in GRANTS.values():
        with pytest.raises(PermissionDenied, match=f"{name} needs a grant that covers every"):
            reach.answer(grant, call)


@pytest.mark.parametrize("grant_name", GRANTS)
def test_events_as_fields_show_what_stored_events_show(
    grant_name: str, server: GrantServer, world: World
) -> None:
    reach, call = server.reach("linked"), Replay(None, None)
    messages = reach.messages(server.secrets[GRANTS[grant_name]], call, stored=False)
    if grant_name == ONE_AGENT:
        assert_nothing_foreign(call, world, reach.received)
    events = flat(call, reach.answer(GRANTS[grant_name], call))
    assert bool(events) == (grant_name != "nothing")
    assert [
        (event.commit_ts, part.type, part.namespace, part.agent_id, part.key, part.version)
        for message in messages
        for event in message.events
        for part in event.operations
    ] == [
        (event.commit_ts, part.type.value, part.namespace, part.agent_id, part.key, part.version)
        for event in events
        for part in event.operations
    ]


# What holds for every method, whatever its arguments are.


def refusal(ask: Callable[..., object], *arguments: object) -> tuple[type[MemorandaError], str]:
    with pytest.raises(MemorandaError) as caught:
        ask(*arguments)
    return type(caught.value), str(caught.value)


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: str(method.name))
def test_without_a_valid_token_nothing_is_answered(
    method: Method, server: GrantServer, world: World
) -> None:
    """The refusal comes before the message is read: one that is none makes no difference."""
    reach, call = server.reach("linked"), example(method.kind, world)
    some_secret = server.secrets[EVERYTHING]
    for secret in ("", "nonsense", some_secret[:-1], f"{some_secret}x"):
        assert refusal(reach.messages, secret, call) == (Unauthenticated, str(Unauthenticated()))
        with pytest.raises(Unauthenticated):
            reach.send(method.path, secret, b"\xff")
    assert refusal(reach.messages, None, call)[0] is Unauthenticated


def test_a_stream_of_writes_needs_a_valid_token_for_its_store(server: GrantServer) -> None:
    reach = server.stream_reach("linked")
    batch = write_batch([(7, codec.request_of(Write("a", "n", "k", {})))], store="linked")
    for secret in (None, "nonsense"):
        with pytest.raises(Unauthenticated):
            reach.send(WRITE_STREAM, secret, batch.SerializeToString())
    data = reach.send(
        WRITE_STREAM, server.secret_of_store, batch.SerializeToString(), lambda _: True
    )
    ((_, outcome),) = outcomes_in(WRITE_OUTCOMES.FromString(data[0]))
    assert isinstance(outcome, NotFound)


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: str(method.name))
def test_another_store_looks_like_one_that_does_not_exist(
    method: Method, server: GrantServer, world: World
) -> None:
    call, secret = example(method.kind, world), server.secret_of_store
    there, absent = (
        refusal(server.reach(name).messages, secret, call) for name in ("linked", "absent")
    )
    assert there[0] is NotFound
    assert there == (absent[0], absent[1].replace("'absent'", "'linked'"))


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: str(method.name))
def test_a_token_that_lacks_a_verb_is_refused_it(
    method: Method, server: GrantServer, world: World
) -> None:
    reach, call, verb = server.reach("linked"), example(method.kind, world), method.kind.verb
    head = core_of(world.store).head()
    with pytest.raises(PermissionDenied, match=f"has no verb '{verb}'"):
        reach.answer(RESTRICTED[verb], call)
    assert core_of(world.store).head() == head
