"""Opening a store of a server: its options, and what is told if it cannot be reached."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda import InvalidInput, NotFound, Store, Tls, Unauthenticated, Unavailable
from memoranda.sdk.open_remote import EMBEDDED_DEFAULTS
from memoranda.sdk.remote.options import remote_options
from tests.patience import wait_until
from tests.server_process import ServerThread

NOWHERE = "grpc://127.0.0.1:1/acme"
ANYWHERE = (NOWHERE, "http://127.0.0.1:1/acme")
SECRET = "mem_abc.topsecret"


def open_both(url: str, **options: Any) -> list[memoranda.MemorandaError]:
    """Return the errors of opening a store both ways."""

    def sync() -> object:
        return memoranda.open(url, **options)

    def asynchronous() -> object:
        return asyncio.run(memoranda.open_async(url, **options))

    errors = []
    for way in (sync, asynchronous):
        with pytest.raises(memoranda.MemorandaError) as refused:
            way()
        errors.append(refused.value)
    return errors


def test_it_is_named_by_its_url(store: Store, url: str) -> None:
    assert repr(store) == f"<Store {url} agent_id='a' namespace='default'>"
    store.close()
    assert repr(store) == f"<Store {url} agent_id='a' namespace='default', closed>"


def test_the_only_store_needs_no_name(tmp_path: Path, scheme: str) -> None:
    with (
        ServerThread(file=tmp_path / "one.db") as server,
        memoranda.open(server.url(scheme, "")) as store,
    ):
        assert store.write(agent_id="a", key="k", value={}).commit_ts == 1


@pytest.mark.parametrize(
    "option",
    [
        {"limits": memoranda.Limits()},
        {"durability": "relaxed"},
        {"create": False},
        {"allow_network_file_system": True},
        {"signer": "log.key"},
        {"checkpoint_every": 5},
        {"checkpoint_seconds": 5},
        {"embedder": None},
        {"progress": print},
        {"read_only": True},
        {"memory_budget": 1},
    ],
)
def test_options_of_who_has_the_file_are_refused_by_name(option: dict[str, Any]) -> None:
    (name,) = option
    for error in open_both(NOWHERE, **option):
        assert isinstance(error, InvalidInput)
        assert error.field == name
        assert "give it to the server" in str(error)


def test_their_defaults_are_those_of_open() -> None:
    for function in (memoranda.open, memoranda.open_async):
        parameters = inspect.signature(function).parameters
        assert {name: parameters[name].default for name in EMBEDDED_DEFAULTS} == EMBEDDED_DEFAULTS
        others = parameters.keys() - EMBEDDED_DEFAULTS.keys()
        assert others == {"url", "clock", "ids", "token", "tls", "timeout"}


@pytest.mark.parametrize("option", [{"token": SECRET}, {"tls": "ca.pem"}, {"timeout": 5}])
def test_options_of_a_connection_are_refused_for_a_file(option: dict[str, Any]) -> None:
    (name,) = option
    for error in open_both(":memory:", **option):
        assert isinstance(error, InvalidInput)
        assert error.field == name


@pytest.mark.parametrize("token", ["", "two words", "tök", "line\nbreak", 5, b"bytes"])
def test_a_token_that_is_none_is_not_shown(token: Any) -> None:
    for error in open_both(NOWHERE, token=token):
        assert str(error) == "token: is no token: give the text that `memoranda token create` shows"


@pytest.mark.parametrize("url", ANYWHERE)
def test_a_token_is_shown_nowhere(url: str) -> None:
    assert "topsecret" not in repr(remote_options(url, SECRET, None, None))
    for error in open_both(url, token=SECRET, timeout=0.1):
        assert "topsecret" not in f"{error!r} {error.__cause__!r}"


@pytest.mark.parametrize(
    ("tls", "field"),
    [
        (Tls(root="/nowhere/ca.pem"), "tls.root"),
        (Tls(certificate="c.pem"), "tls"),
        (Tls(key="k.pem"), "tls"),
        (5, "tls"),
    ],
)
def test_certificates_that_cannot_be_used(tls: Any, field: str) -> None:
    for url in ("grpcs://127.0.0.1:1/acme", "https://127.0.0.1:1/acme"):
        for error in open_both(url, tls=tls):
            assert isinstance(error, InvalidInput)
            assert error.field == field


@pytest.mark.parametrize("url", ANYWHERE)
def test_certificates_need_encryption(url: str) -> None:
    for error in open_both(url, tls="ca.pem"):
        assert str(error).startswith(f"tls: is of no use for {url}: connect to {url[:4]}s://")


@pytest.mark.parametrize("url", ANYWHERE)
def test_a_server_that_is_not_there(url: str) -> None:
    def is_noticed() -> bool:
        """On a busy machine, the time may be over before the connection is refused."""
        errors[:] = open_both(url, timeout=0.2)
        return not any("in time" in str(error) or "in 0.2" in str(error) for error in errors)

    errors: list[memoranda.MemorandaError] = []
    wait_until(is_noticed)
    for error in errors:
        assert isinstance(error, Unavailable)
        assert str(error).startswith(f"{url} does not answer: ")
        assert error.retryable
        assert error.gave_up


def test_a_store_that_is_not_there(server: ServerThread, scheme: str) -> None:
    for error in open_both(server.url(scheme, "other")):
        assert isinstance(error, NotFound)
        assert "'other'" in str(error)


def test_who_has_no_token(tmp_path: Path, scheme: str) -> None:
    with ServerThread(folder=tmp_path, create=["acme"], tokens=True) as server:
        url = server.url(scheme)
        for options in ({}, {"token": SECRET}):
            for error in open_both(url, **options):
                assert isinstance(error, Unauthenticated)


def run_without(tmp_path: Path, packages: tuple[str, ...], code: str, *arguments: str) -> None:
    """Run a program in a process that lacks some packages."""
    for name in packages:
        (tmp_path / f"{name}.py").write_text(f"raise ImportError('not here', name='{name}')")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    subprocess.run(
        [sys.executable, "-c", code, *arguments], check=True, env={**os.environ, "PYTHONPATH": path}
    )


@pytest.mark.parametrize(("package", "url"), [("grpc", NOWHERE), ("httpx2", ANYWHERE[1])])
def test_without_its_package_the_extra_is_named(tmp_path: Path, package: str, url: str) -> None:
    code = """
import asyncio, sys, memoranda
for way in (memoranda.open, lambda url: asyncio.run(memoranda.open_async(url))):
    try:
        way(sys.argv[1])
    except memoranda.Unavailable as error:
        assert f"install {sys.argv[2]}: pip install 'memoranda[remote]'" in str(error), error
        assert not error.retryable
    else:
        raise AssertionError
"""
    run_without(tmp_path, (package,), code, url, package)


def test_http_works_without_grpc(server: ServerThread, tmp_path: Path) -> None:
    code = """
import asyncio, sys, memoranda
with memoranda.open(sys.argv[1]) as store:
    assert store.write(agent_id="a", key="k", value={}).commit_ts == 1
async def work():
    async with await memoranda.open_async(sys.argv[1]) as store:
        assert (await store.write(agent_id="a", key="k", value={})).commit_ts == 2
asyncio.run(work())
"""
    folder = tmp_path / "packages"
    folder.mkdir()
    run_without(folder, ("grpc",), code, server.url("http"))


def test_a_program_without_servers_loads_no_packages_of_clients(tmp_path: Path) -> None:
    code = """
import sys, memoranda
with memoranda.open(":memory:", embedder=None) as store:
    store.write(agent_id="a", key="k", value={})
assert not {"grpc", "httpx2", "google.protobuf", "memoranda.wire.codec"} & sys.modules.keys()
"""
    run_without(tmp_path, (), code)
