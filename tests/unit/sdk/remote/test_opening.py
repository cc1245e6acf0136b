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
from tests.server_process import ServerThread

NOWHERE = "grpc://127.0.0.1:1/acme"
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


def test_the_only_store_needs_no_name(tmp_path: Path) -> None:
    with (
        ServerThread(file=tmp_path / "one.db") as server,
        memoranda.open(f"grpc://{server.address}") as store,
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


def test_a_token_is_shown_nowhere() -> None:
    assert "topsecret" not in repr(remote_options(NOWHERE, SECRET, None, None))
    for error in open_both(NOWHERE, token=SECRET, timeout=0.1):
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
    for error in open_both("grpcs://127.0.0.1:1/acme", tls=tls):
        assert isinstance(error, InvalidInput)
        assert error.field == field


def test_certificates_need_encryption() -> None:
    for error in open_both(NOWHERE, tls="ca.pem"):
        assert str(error).startswith("tls: is of no use for grpc://127.0.0.1:1/acme")


def test_a_server_that_is_not_there() -> None:
    for error in open_both(NOWHERE, timeout=0.2):
        assert isinstance(error, Unavailable)
        assert str(error).startswith("grpc://127.0.0.1:1/acme does not answer: ")
        assert error.retryable


def test_a_store_that_is_not_there(server: ServerThread) -> None:
    for error in open_both(f"grpc://{server.address}/other"):
        assert isinstance(error, NotFound)
        assert "'other'" in str(error)


def test_who_has_no_token(tmp_path: Path) -> None:
    with ServerThread(folder=tmp_path, create=["acme"], tokens=True) as server:
        url = f"grpc://{server.address}/acme"
        for options in ({}, {"token": SECRET}):
            for error in open_both(url, **options):
                assert isinstance(error, Unauthenticated)


def test_without_grpc_the_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "grpc.py").write_text("raise ImportError('not here', name='grpc')")
    code = """
import asyncio, memoranda
for way in (memoranda.open, lambda url: asyncio.run(memoranda.open_async(url))):
    try:
        way("grpc://127.0.0.1:1/acme")
    except memoranda.Unavailable as error:
        assert "pip install 'memoranda[remote]'" in str(error), error
        assert not error.retryable
    else:
        raise AssertionError
"""
    path = os.pathsep.join([str(tmp_path), *sys.path])
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": path})


def test_a_program_without_servers_loads_neither_grpc_nor_protobuf() -> None:
    code = """
import sys, memoranda
with memoranda.open(":memory:", embedder=None) as store:
    store.write(agent_id="a", key="k", value={})
assert not {"grpc", "google.protobuf", "memoranda.wire.codec"} & sys.modules.keys()
"""
    path = os.pathsep.join(sys.path)
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": path})
