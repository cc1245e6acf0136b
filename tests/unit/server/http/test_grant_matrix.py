"""The matrix of grants over HTTP, with tokens, for every route.

Every question of the matrix is sent to a real server with a token for the grant, and must be
answered as the handlers answer in the process, errors included. What comes back is also looked
through as bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memoranda.calls.call import VERBS, Call, call_name
from memoranda.calls.erasure_writes import Forget, PreviewErasure
from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.calls.registry import CALLS
from memoranda.errors import MemorandaError, NotFound, PermissionDenied, Unauthenticated
from memoranda.log import pages
from memoranda.server.http.routes import ROUTES, Route
from memoranda.server.http.settings import HttpSettings
from tests.cores import core_of
from tests.grant_answers import InProcess
from tests.grant_checks import ONE_AGENT, assert_nothing_foreign
from tests.grant_copies import answered, linked, opened, whole
from tests.grant_reads import CASES
from tests.grant_servers import GrantServer
from tests.grant_worlds import GRANTS, StepIds, World
from tests.grant_writes import WRITE_CASES
from tests.http_reach import OverHttp, json_of
from tests.http_requests import request_of

RESTRICTED = {verb: Grant(verbs=frozenset(VERBS) - {verb}) for verb in VERBS}
READS = sorted(name for name in CASES if CASES[name] is not None and CALLS[name].local_only is None)
WRITES = sorted(WRITE_CASES)
REFUSED = sorted(
    name for name, row in CASES.items() if row is None and CALLS[name].local_only is None
)
RUNS = [
    pytest.param(ONE_AGENT, 23, id="some"),
    *(pytest.param(name, 3, id=name, marks=pytest.mark.slow) for name in GRANTS),
]
"""The grants under which calls are asked, and of how many questions one is."""
PER_STORE = ("digest", "payload_hash", "token", "era", "hash")
"""Members that depend on the whole chain of a store."""


@pytest.fixture(autouse=True)
def _short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pages so short that what is not covered would show in their lengths."""
    monkeypatch.setattr(pages, "PAGE_ROWS", 5)
    monkeypatch.setattr(pages.ResumablePages, "rows", 5)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GrantServer]:
    grants = (*GRANTS.values(), EVERYTHING, *RESTRICTED.values())
    folder = tmp_path_factory.mktemp("stores")
    with GrantServer(folder, grants, http=HttpSettings(port=0)) as server:
        yield server


@pytest.fixture(scope="module")
def world(server: GrantServer) -> Iterator[World]:
    """A world in which what is covered rests on what is not, open in the server."""
    with server.serving("linked", linked()) as world:
        yield world


@pytest.fixture
def reach(server: GrantServer) -> Iterator[OverHttp]:
    with closing(OverHttp(server.thread.server.http_port, server.secrets, "linked")) as over:
        yield over


def example(kind: type[Call[Any]], world: World) -> Call[Any]:
    """Return a call of a kind: the first of its row, or one with some arguments."""
    name = call_name(kind)
    row = CASES.get(name) or WRITE_CASES.get(name)
    if row is not None:
        return row(world.ids)[0]
    if kind is PreviewErasure:
        return PreviewErasure(Forget(memory_id="m"))
    required = [field for field in kind.__struct_fields__ if field in _REQUIRED.get(name, ())]
    return kind(**dict.fromkeys(required, "1"))


_REQUIRED: dict[str, tuple[str, ...]] = {
    "prove": ("commit_ts",),
    "prove_growth": ("old",),
    "certificate": ("erasure_id",),
    "prove_erasure": ("erasure_id",),
    "compact": ("namespace", "before"),
    "drop_cursor": ("cursor",),
    "acknowledge": ("cursor", "token"),
    "sql": ("query",),
    "trust_key": ("key",),
    "retire_key": ("key",),
    "rotate_key": ("old", "new"),
    "sweep": ("namespace",),
}
"""Arguments of calls that the matrix only sees refused."""


@pytest.mark.parametrize(("grant_name", "step"), RUNS)
@pytest.mark.parametrize("name", READS)
def test_a_read_is_answered_as_by_its_handler(
    name: str, grant_name: str, step: int, reach: OverHttp, world: World
) -> None:
    grant, core = GRANTS[grant_name], core_of(world.store)
    row = CASES[name]
    assert row is not None
    for call in row(world.ids)[::step]:
        expected = json_of(call, _raw(core, grant, call))
        if call.shape == "stream":
            count = len(expected) if isinstance(expected, list) else 0
            answer = _attempt(lambda: reach.events(grant, call, count))  # noqa: B023
        else:
            assert isinstance(core.ids, StepIds)
            core.ids.begin(10_000)
            answer = reach.answer(grant, call)
        if grant_name == ONE_AGENT:
            assert_nothing_foreign(call, world, reach.received)
        assert answer == expected, call


def _raw(core: Any, grant: Grant, call: Call[Any]) -> Any:
    """Return the answer of the handler as it is, with nothing taken out."""
    core.ids.begin(10_000)
    try:
        return InProcess(core).answer(grant, call)
    except MemorandaError as error:
        return type(error), str(error)


def _attempt(work: Any) -> Any:
    try:
        return work()
    except MemorandaError as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize(("grant_name", "step"), RUNS)
@pytest.mark.parametrize("name", WRITES)
def test_a_write_is_answered_as_by_its_handler(
    name: str, grant_name: str, step: int, server: GrantServer, tmp_path: Path
) -> None:
    grant = GRANTS[grant_name]
    store = f"{name}-{grant_name}-{step}".lower().replace(" ", "-")
    with (
        closing(OverHttp(server.thread.server.http_port, server.secrets, store)) as over,
        server.serving(store, whole()) as served,
        opened(whole(), tmp_path) as other,
    ):
        for number, call in [*enumerate(WRITE_CASES[name](served.ids))][::step]:
            answer = answered(served, grant, call, number, _Raising(over))
            if grant_name == ONE_AGENT:
                assert_nothing_foreign(call, served, over.received)
            expected = answered(other, grant, call, number)
            assert _stripped(answer) == _stripped(_json(call, expected)), call


class _Raising:
    """A reach whose errors are raised, as `answered` wants them."""

    def __init__(self, over: OverHttp) -> None:
        self._over = over

    def answer(self, grant: Grant, call: Call[Any]) -> Any:
        return self._over.json(self._over._secrets[grant], call)


def _json(call: Call[Any], answer: Any) -> Any:
    return json_of(call, answer) if not isinstance(answer, tuple) else answer[:2]


def _stripped(answer: Any) -> Any:
    if isinstance(answer, tuple):
        return answer[:2]
    if isinstance(answer, dict):
        return {name: part for name, part in answer.items() if name not in PER_STORE}
    return answer


@pytest.mark.parametrize("name", REFUSED)
def test_a_call_about_the_whole_store_is_refused(name: str, reach: OverHttp, world: World) -> None:
    call = example(CALLS[name], world)
    for grant in GRANTS.values():
        with pytest.raises(PermissionDenied, match=f"{name} needs a grant that covers every"):
            reach.json(reach._secrets[grant], call)


# What holds for every route, whatever its arguments are.


@pytest.mark.parametrize("route", ROUTES.values(), ids=lambda route: str(route.name))
def test_without_a_valid_token_nothing_is_answered(
    route: Route, reach: OverHttp, server: GrantServer, world: World
) -> None:
    method, target, body = request_of(example(route.kind, world), "linked")
    for secret in (None, "", "nonsense", f"{server.secrets[EVERYTHING]}x"):
        with pytest.raises(Unauthenticated):
            reach.send(method, target, secret, body)


@pytest.mark.parametrize("route", ROUTES.values(), ids=lambda route: str(route.name))
def test_another_store_looks_like_one_that_does_not_exist(
    route: Route, server: GrantServer, world: World
) -> None:
    call, texts = example(route.kind, world), []
    for name in ("linked", "absent"):
        with closing(OverHttp(server.thread.server.http_port, server.secrets, name)) as over:
            with pytest.raises(NotFound) as refused:
                over.json(server.secret_of_store, call)
            texts.append(str(refused.value).replace("'absent'", "'linked'"))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("route", ROUTES.values(), ids=lambda route: str(route.name))
def test_a_token_that_lacks_a_verb_is_refused_it(
    route: Route, reach: OverHttp, world: World
) -> None:
    call, verb = example(route.kind, world), route.kind.verb
    head = core_of(world.store).head()
    with pytest.raises(PermissionDenied, match=f"has no verb '{verb}'"):
        reach.json(reach._secrets[RESTRICTED[verb]], call)
    assert core_of(world.store).head() == head


def test_the_matrix_asks_every_route() -> None:
    asked_for = {*READS, *WRITES, *REFUSED}
    assert {call_name(route.kind) for route in ROUTES.values()} == asked_for
