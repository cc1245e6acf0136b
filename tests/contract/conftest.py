"""Every kind of store the contract holds for."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any, cast
from zlib import crc32

import pytest

import memoranda
from memoranda import Store
from memoranda.model.event import REQUEST_SIGNED, SELF_SIGNED
from memoranda.testing import FixedClock, FixedIds
from tests.contract.blocking import Blocking, Loop
from tests.contract.loopback import through_async_loopback, through_loopback
from tests.contract.opener import Opener
from tests.contract.remote import NOT_REMOTE, remote_opener
from tests.one_connection import watch_connections
from tests.postgres_server import new_store_url
from tests.quick import IS_WHOLE, rank

QUICK = ("sync-file", "async-memory")
"""The kinds `make test` runs: both sorts of calls, and both places. The others are slow."""
QUICK_REMOTE: Mapping[str, str] = {"sync-http": "test_replay", "async-http": "test_cursors"}
"""Of stores of a server, `make test` runs a part of a module: they have tests of their own."""
CASES_OF_A_KIND = 1
"""On a kind of store that only the slow run opens, it runs so many cases of a test."""
DEAR_IN_POSTGRES = frozenset({"test_fact_listings", "test_names", "test_subscribe_processes"})
"""Modules whose tests take seconds there: all of them are left to the slow run."""

# Calls of stores in memory go through bytes, as if a server were between; those on files do not.
IN_MEMORY = ("sync-memory", "async-memory")
ON_DISK = ("sync-file", "async-file")
REMOTE = ("sync-grpc", "async-grpc", "sync-http", "async-http")
"""Behind a server of their own, which listens on this machine."""
IN_POSTGRES = ("sync-postgres", "async-postgres")
"""In a database of a PostgreSQL server that the tests start."""
_BYTES = "it looks at the bytes of the store's file"
_STATEMENTS = "it runs a statement of SQLite"
_COMMANDS = "it runs a command on the store's file"
NOT_IN_POSTGRES: Mapping[str, str] = {
    "test_forget_targets::test_a_name_leaves_the_files_when_asked_to": _BYTES,
    "test_forget_targets::test_no_word_of_it_is_left_in_the_files": _BYTES,
    "test_forget_targets::test_no_word_is_left_in_the_files": _BYTES,
    "test_speakers::test_the_command_line_takes_names_too": _COMMANDS,
    "test_transcripts::test_a_transcript_that_is_gone_is_left_out_with_a_warning": _STATEMENTS,
}
"""The tests that do not hold for a store in PostgreSQL, and why; all others do."""

KINDS: Mapping[str, tuple[str, ...]] = {
    "open_store": (*IN_MEMORY, *ON_DISK, *REMOTE, *IN_POSTGRES),
    "reopen": (*ON_DISK, *REMOTE, *IN_POSTGRES),
}
"""The kinds of stores that a fixture opens."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test for every kind of store that it holds for.

    What is slow is not even collected for `make test`: that would take longer than many tests.
    """
    is_quick_run = metafunc.config.getoption("markexpr") == "not slow"
    chosen = {str(mark.args[0]) for mark in metafunc.definition.iter_markers("parametrize")}
    for fixture, kinds in KINDS.items():
        if fixture in metafunc.fixturenames and not any(fixture in names for names in chosen):
            params = [*_params(metafunc.definition, kinds, is_quick_run=is_quick_run)]
            metafunc.parametrize(fixture, params, indirect=True)


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Leave most cases of a test out on kinds of stores that only the slow run opens."""
    cases = yield
    if not isinstance(cases, list) or IS_WHOLE or collector.config.getoption("markexpr") != "slow":
        return cases
    by_kind: dict[str | None, list[pytest.Function]] = {}
    for case in sorted(cases, key=rank):
        by_kind.setdefault(_kind(case), []).append(case)
    left_out = {
        case
        for kind, of_kind in by_kind.items()
        if kind is not None and kind not in QUICK
        for case in of_kind[CASES_OF_A_KIND:]
    }
    return [case for case in cases if case not in left_out]


def _kind(case: pytest.Function) -> str | None:
    """Return the kind of store that a case opens, unless the test itself chose it."""
    chosen = {str(mark.args[0]) for mark in case.iter_markers("parametrize")}
    params = case.callspec.params if hasattr(case, "callspec") else {}
    kinds = (str(params[name]) for name in KINDS if name in params and name not in chosen)
    return next(kinds, None)


def _params(test: pytest.Function, kinds: tuple[str, ...], *, is_quick_run: bool) -> Iterator[Any]:
    """Yield the kinds of stores to run a test for; those of the slow run are marked."""
    module = test.path.stem
    for kind in kinds:
        exceptions = NOT_REMOTE if kind in REMOTE else NOT_IN_POSTGRES
        if kind in (*REMOTE, *IN_POSTGRES) and f"{module}::{test.originalname}" in exceptions:
            continue
        is_awaited = kind.startswith("async")
        if kind in (*REMOTE, *IN_POSTGRES) and is_awaited != _awaits(test) and not IS_WHOLE:
            continue
        is_quick = kind in QUICK or module == QUICK_REMOTE.get(kind)
        is_quick |= kind in IN_POSTGRES and module not in DEAR_IN_POSTGRES
        if is_quick or not is_quick_run:
            yield pytest.param(kind, marks=() if is_quick else pytest.mark.slow)


def _awaits(test: pytest.Function) -> bool:
    """Say whether a test awaits its calls of servers and databases: so half of all tests do.

    Stores on this machine, which every run opens, show that both sorts of calls do the same.
    """
    return crc32(test.name.encode()) % 2 == 1


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def ids() -> FixedIds:
    return FixedIds()


@pytest.fixture
def location(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """Where the store of a test is: what `memoranda.open` takes, or the file of its server."""
    params = request.node.callspec.params
    place = str(params.get("open_store") or params["reopen"]).partition("-")[2]
    if place == "postgres":
        watch_connections(monkeypatch)
        return new_store_url(tmp_path)
    return ":memory:" if place == "memory" else str(tmp_path / "store.db")


def _opener(
    flavour: str, url: str, path: Path, clock: FixedClock, ids: FixedIds
) -> Iterator[Callable[..., Store]]:
    way, place = flavour.split("-")
    if flavour in REMOTE:
        yield from remote_opener(way, place, path, clock, ids)
        return
    opened: list[Store] = []
    with Loop() as loop:

        def open_store(**options: Any) -> Store:
            options = {"clock": clock, "ids": ids, "durability": "relaxed", **options}
            if way == "sync":
                store = memoranda.open(url, **options)
                store = through_loopback(store) if place == "memory" else store
            else:
                target = loop.run(memoranda.open_async(url, **options))
                target = through_async_loopback(target) if place == "memory" else target
                store = cast(Store, Blocking(target, loop))
            opened.append(store)
            return store

        yield open_store
        for store in opened:
            store.close()


@pytest.fixture
def open_store(
    request: pytest.FixtureRequest, location: str, tmp_path: Path, clock: FixedClock, ids: FixedIds
) -> Iterator[Opener]:
    yield from _opener(request.param, location, tmp_path, clock, ids)


@pytest.fixture
def reopen(
    request: pytest.FixtureRequest, location: str, tmp_path: Path, clock: FixedClock, ids: FixedIds
) -> Iterator[Opener]:
    """Open a store on disk; call it again for a second handle on the same file, or server."""
    yield from _opener(request.param, location, tmp_path, clock, ids)


@pytest.fixture
def attest_level(request: pytest.FixtureRequest) -> str:
    """What an agent's signature attests: a client behind bytes does not see the commit."""
    return (
        SELF_SIGNED
        if request.node.callspec.params["open_store"] in (*ON_DISK, *IN_POSTGRES)
        else REQUEST_SIGNED
    )


@pytest.fixture
def store(open_store: Opener) -> Store:
    """A new store with nothing bound."""
    return open_store()


@pytest.fixture
def agent(store: Store) -> Store:
    """A new store bound to one agent."""
    return store.bind(agent_id="a1")


@pytest.fixture
def owner(store: Store) -> Store:
    """A new store bound to the agent that keeps something private."""
    return store.bind(agent_id="owner")


@pytest.fixture
def other(store: Store) -> Store:
    """The same store bound to an agent that must not see it."""
    return store.bind(agent_id="other")
