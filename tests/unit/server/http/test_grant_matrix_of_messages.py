"""The matrix of grants over HTTP in the messages of `memoranda.v1`, for every method.

Every question of the matrix is sent to a real server with a token for the grant, and must be
answered as the handlers answer in the process, errors included. What comes back of reads is also
looked through as bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memoranda.calls.call import VERBS, call_name
from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.calls.key_writes import Write
from memoranda.errors import InvalidInput, NotFound, PermissionDenied, Unauthenticated
from memoranda.log import pages
from memoranda.server.http.settings import HttpSettings
from memoranda.wire import codec
from memoranda.wire.batches import outcomes_in, write_batch
from memoranda.wire.methods import METHODS, WRITE_OUTCOMES
from memoranda.wire.over_http import WRITES as WRITE_METHOD
from tests.cores import core_of
from tests.grant_answers import asked
from tests.grant_checks import ONE_AGENT, assert_nothing_foreign, example, flat
from tests.grant_copies import answered, linked, opened, whole
from tests.grant_reads import CASES
from tests.grant_servers import GrantServer
from tests.grant_worlds import GRANTS, World
from tests.grant_writes import WRITE_CASES
from tests.http_reach import OverMessages, OverWriteBatches

RESTRICTED = {verb: Grant(verbs=frozenset(VERBS) - {verb}) for verb in VERBS}
READS = [
    name
    for name in (call_name(method.kind) for method in METHODS.values() if not method.is_write)
    if CASES[name] is not None
]
RUNS = [
    pytest.param(ONE_AGENT, 17, id="some"),
    *(pytest.param(name, 1, id=name, marks=pytest.mark.slow) for name in GRANTS),
]
"""The grants under which calls are asked, and of how many questions one is."""


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


def over(server: GrantServer, store: str, kind: type[OverMessages] = OverMessages) -> Any:
    return closing(kind(server.thread.server.http_port, server.secrets, store))


@pytest.fixture
def reach(server: GrantServer) -> Iterator[OverMessages]:
    with over(server, "linked") as reach:
        yield reach


@pytest.mark.slow
@pytest.mark.parametrize(("grant_name", "step"), RUNS)
def test_reads_are_answered_as_by_their_handlers(
    grant_name: str, step: int, reach: OverMessages, world: World
) -> None:
    grant, core = GRANTS[grant_name], core_of(world.store)
    calls = [call for name in READS for call in CASES[name](world.ids)[::step]]  # type: ignore[misc]
    assert {call_name(type(call)) for call in calls} == set(READS)
    for call in calls:
        answer = flat(call, asked(core, grant, call, reach))
        if grant_name == ONE_AGENT:
            assert_nothing_foreign(call, world, reach.received)
        assert answer == flat(call, asked(core, grant, call)), call


@pytest.mark.slow
@pytest.mark.parametrize("kind", [OverMessages, OverWriteBatches])
@pytest.mark.parametrize(("grant_name", "step"), RUNS)
def test_writes_are_answered_as_by_their_handlers(
    kind: type[OverMessages], grant_name: str, step: int, server: GrantServer, tmp_path: Path
) -> None:
    grant = GRANTS[grant_name]
    store = f"{kind.__name__}-{grant_name}-{step}".lower().replace(" ", "-")
    with (
        over(server, store, kind) as reach,
        server.serving(store, whole()) as served,
        opened(whole(), tmp_path) as other,
    ):
        calls = [call for row in WRITE_CASES.values() for call in row(served.ids)[::step]]
        for number, call in enumerate(calls):
            answer = answered(served, grant, call, number, reach)
            assert answer == answered(other, grant, call, number), call


# What holds for every method, whatever its arguments are.


@pytest.mark.slow
def test_without_a_valid_token_nothing_is_answered(
    reach: OverMessages, server: GrantServer, world: World
) -> None:
    """The refusal comes before the message is read: one that is none makes no difference."""
    for name in (*METHODS, WRITE_METHOD):
        for secret in (None, "", "nonsense", f"{server.secrets[EVERYTHING]}x"):
            with pytest.raises(Unauthenticated):
                reach.send_message(name, secret, b"\xff")
        with pytest.raises(InvalidInput, match="the 1 bytes are no"):
            reach.send_message(name, server.secrets[EVERYTHING], b"\xff")
    assert core_of(world.store).head() == linked().head


@pytest.mark.slow
def test_another_store_looks_like_one_that_does_not_exist(
    server: GrantServer, world: World
) -> None:
    texts: dict[str, list[str]] = {"linked": [], "absent": []}
    for store, words in texts.items():
        with over(server, store) as reach:
            for method in METHODS.values():
                with pytest.raises(NotFound) as refused:
                    reach.messages(server.secret_of_store, example(method.kind, world))
                words.append(str(refused.value).replace("'absent'", "'linked'"))
            batch = write_batch([(7, codec.request_of(Write("a", "n", "k", {})))], store=store)
            (data,) = reach.send_message(
                WRITE_METHOD, server.secret_of_store, batch.SerializeToString()
            )
            ((_, outcome),) = outcomes_in(WRITE_OUTCOMES.FromString(data))
            assert isinstance(outcome, NotFound)
    assert texts["linked"] == texts["absent"]


def test_a_token_that_lacks_a_verb_is_refused_it(reach: OverMessages, world: World) -> None:
    head = core_of(world.store).head()
    for method in METHODS.values():
        call, verb = example(method.kind, world), method.kind.verb
        with pytest.raises(PermissionDenied, match=f"has no verb '{verb}'"):
            reach.answer(RESTRICTED[verb], call)
    assert core_of(world.store).head() == head


def test_calls_about_the_whole_store_are_refused(reach: OverMessages, world: World) -> None:
    kinds = [method.kind for method in METHODS.values()]
    refused = [
        kind for kind in kinds
        if call_name(kind) not in WRITE_CASES and CASES[call_name(kind)] is None
    ]  # fmt: skip
    assert refused
    for kind in refused:
        for grant in GRANTS.values():
            with pytest.raises(PermissionDenied, match="needs a grant that covers every"):
                reach.answer(grant, example(kind, world))
