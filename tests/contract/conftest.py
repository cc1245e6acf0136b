"""Every kind of store the contract holds for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

import memoranda
from memoranda import Store
from memoranda.model.event import REQUEST_SIGNED, SELF_SIGNED
from memoranda.testing import FixedClock, FixedIds
from tests.contract.blocking import Blocking, Loop
from tests.contract.loopback import through_async_loopback, through_loopback
from tests.contract.opener import Opener
from tests.contract.remote import NOT_REMOTE, remote_opener

QUICK = ("sync-file", "async-memory")
"""The kinds `make test` runs: both sorts of calls, and both places. The others are slow."""
QUICK_REMOTE: Mapping[str, str] = {"sync-http": "test_replay", "async-http": "test_cursors"}
"""Of stores of a server, `make test` runs one module each: both have unit tests of their own."""

# Calls of stores in memory go through bytes, as if a server were between; those on files do not.
IN_MEMORY = ("sync-memory", "async-memory")
ON_DISK = ("sync-file", "async-file")
REMOTE = ("sync-grpc", "async-grpc", "sync-http", "async-http")
"""Behind a server of their own, which listens on this machine."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what cannot hold for a store of a server, and mark most of the rest as slow."""
    for item in items:
        kind = _kind_of(item)
        if kind in REMOTE and item.path.stem != QUICK_REMOTE.get(kind):
            item.add_marker(pytest.mark.slow)
    left_out = {item for item in items if _is_remote(item) and _name_of(item) in NOT_REMOTE}
    config.hook.pytest_deselected(items=[*left_out])
    items[:] = [item for item in items if item not in left_out]


def _is_remote(item: pytest.Item) -> bool:
    return _kind_of(item) in REMOTE


def _kind_of(item: pytest.Item) -> str | None:
    params = getattr(getattr(item, "callspec", None), "params", {})
    return params.get("open_store") or params.get("reopen")


def _name_of(item: pytest.Item) -> str:
    return f"{item.path.stem}::{getattr(item, 'originalname', '')}"


def _marked(*kinds: str) -> list[Any]:
    quick = (*QUICK, *REMOTE)  # of which most are marked later
    return [pytest.param(kind, marks=() if kind in quick else pytest.mark.slow) for kind in kinds]


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def ids() -> FixedIds:
    return FixedIds()


def _opener(
    flavour: str, path: Path, clock: FixedClock, ids: FixedIds
) -> Iterator[Callable[..., Store]]:
    way, place = flavour.split("-")
    if flavour in REMOTE:
        yield from remote_opener(way, place, path, clock, ids)
        return
    url = ":memory:" if place == "memory" else str(path / "store.db")
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


@pytest.fixture(params=_marked(*IN_MEMORY, *ON_DISK, *REMOTE))
def open_store(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock, ids: FixedIds
) -> Iterator[Opener]:
    yield from _opener(request.param, tmp_path, clock, ids)


@pytest.fixture(params=_marked(*ON_DISK, *REMOTE))
def reopen(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock, ids: FixedIds
) -> Iterator[Opener]:
    """Open a store on disk; call it again for a second handle on the same file, or server."""
    yield from _opener(request.param, tmp_path, clock, ids)


@pytest.fixture
def attest_level(request: pytest.FixtureRequest) -> str:
    """What an agent's signature attests: a client behind bytes does not see the commit."""
    return SELF_SIGNED if request.node.callspec.params["open_store"] in ON_DISK else REQUEST_SIGNED


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
