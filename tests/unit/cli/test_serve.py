"""`memoranda serve`: where it listens, what it refuses, and how it ends."""

from __future__ import annotations

import json
import re
import signal
from contextlib import suppress
from pathlib import Path

import grpc
import pytest

from memoranda.calls.key_writes import Write
from memoranda.calls.keys import GetState
from memoranda.calls.log import Replay
from memoranda.calls.subscriptions import Subscribe
from memoranda.calls.transactions import Commit
from memoranda.errors import TooManyRequests
from memoranda.wire import codec
from memoranda.wire.methods import METHOD_OF
from tests.grpc_client import GrpcClient, error_of
from tests.patience import wait_until
from tests.server_process import ServerProcess
from tests.unit.cli.runner import Cli

WRITE, READ = Write("a", "default", "k", {"n": 1}), GetState("a", "default", "k")


@pytest.mark.slow
def test_it_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    path = tmp_path / "acme.db"
    with ServerProcess("--db", str(path), "--log", "debug") as server:
        assert server.announced["url"] == f"grpc://{server.address}"
        with GrpcClient(server.address) as client:
            client.ask(WRITE)
            pages = client.stream(Subscribe("a", None, after_commit=0), stored=True)
            assert len([event for _ in range(2) for event in next(pages).events]) == 1
            server.signal(signal.SIGINT)
            with pytest.raises(grpc.RpcError, match="shutting down") as ended:
                next(pages)
            assert error_of(ended.value) is None, "a client tries again, whatever it has called"
        code, log = server.wait()
        assert code == 0
        lines = [json.loads(line) for line in log.splitlines()]
        routes = {line.get("route") for line in lines if line["message"] == "request"}
        assert "/memoranda.v1.MemorandaService/Write" in routes
        assert {line["level"] for line in lines} == {"debug", "info"}
    with ServerProcess("--db", str(path)) as again, GrpcClient(again.address) as client:
        assert client.ask(READ).value == {"n": 1}
        again.signal(signal.SIGTERM)
        assert again.wait() == (0, "")


@pytest.mark.slow
def test_another_server_of_the_same_store_is_refused(tmp_path: Path, cli: Cli) -> None:
    path = str(tmp_path / "acme.db")
    with ServerProcess("--db", path) as server:
        second = cli.run("serve", "--db", path, "--grpc", "127.0.0.1:0")
        assert second.exit_code == 1
        assert server.address in second.stderr
        port = server.announced["port"]
        third = cli.run("serve", "--db", f"{path}.other", "--grpc", f"127.0.0.1:{port}")
        assert third.exit_code == 1
        assert f"cannot listen on 127.0.0.1:{port}" in third.stderr


@pytest.mark.slow
def test_limits_of_tokens_can_be_set_for_all(tmp_path: Path, cli: Cli) -> None:
    path = str(tmp_path / "acme.db")
    slow = cli("token", "create", "--db", path).strip()
    fast = cli("token", "create", "--db", path, "--limit", "requests-per-second=99").strip()
    with ServerProcess("--db", path, "--limit", "requests-per-second=0.001") as server:
        assert server.announced["tokens"]
        with GrpcClient(server.address, token=slow) as client:
            client.ask(READ)
            with pytest.raises(TooManyRequests, match=r"the limit of this token is 0\.001"):
                client.ask(READ)
        with GrpcClient(server.address, token=fast) as client:
            for _ in range(5):
                client.ask(READ)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--grpc", "0.0.0.0:0"], "--tls-cert: is missing: at 0.0.0.0, others can connect"),
        (["--grpc", "example.org:0"], "--tls-cert: is missing: at example.org"),
        (["--grpc", "7420"], "--grpc: '7420' is no address"),
        (["--grpc", "localhost:99999"], "--grpc: there is no port 99999"),
        (["--limit", "calls=1"], "--limit: 'calls=1' is not NAME=N"),
        (["--tls-cert", "cert.pem"], "--tls-key: is missing"),
        (["--tls-client-ca", "ca.pem"], "--tls-client-ca: needs --tls-cert"),
        (["--tls-cert", "a.pem", "--tls-key", "b.pem"], "--tls-cert: a.pem cannot be read"),
    ],
)
def test_what_would_be_unsafe_is_refused_in_words(
    tmp_path: Path, cli: Cli, options: list[str], problem: str
) -> None:
    result = cli.run("serve", "--db", str(tmp_path / "acme.db"), *options)
    assert result.exit_code == 2
    assert problem in result.stderr
    assert not [*tmp_path.iterdir()]


def test_other_machines_are_served_without_tokens_only_if_told_so(tmp_path: Path, cli: Cli) -> None:
    certificate = tmp_path / "cert.pem"
    certificate.write_text("")
    files = ["--tls-cert", str(certificate), "--tls-key", str(certificate)]
    options = ["--db", str(tmp_path / "acme.db"), "--grpc", "0.0.0.0:0", "--no-tokens", *files]
    result = cli.run("serve", *options)
    assert result.exit_code == 2
    assert "--tokens: are not asked for: at 0.0.0.0" in result.stderr


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path, cli: Cli) -> None:
    result = cli.run("serve", "--grpc", "127.0.0.1:0", "--stores", str(tmp_path / "nowhere"))
    assert result.exit_code == 4
    assert "there is no folder" in result.stderr


@pytest.mark.slow
def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    arguments = ("--db", str(tmp_path / "acme.db"), "--drain", "600")
    with ServerProcess(*arguments) as server, GrpcClient(server.address) as client:
        large = {"text": "x" * 1_000_000}
        client.ask(Commit(tuple(Write("a", "default", f"k{n}", large) for n in range(20))))
        request = codec.request_of(Replay("a", None), stored=True).SerializeToString()
        call = client.send_all(METHOD_OF[Replay].path, [request])
        next(call)  # a client that reads no further keeps the server waiting
        server.signal(signal.SIGTERM)
        with suppress(grpc.RpcError):
            while True:  # until it takes no more calls
                client.ask(READ)
        assert server.process.poll() is None
        server.signal(signal.SIGTERM)
        assert server.wait()[0] in (0, 1)
        call.cancel()


@pytest.mark.slow
def test_jobs_are_told_of_by_stats(tmp_path: Path, cli: Cli) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    jobs = ("--job", "backup.every=1d", "--job", f"backup.to={folder}")
    with ServerProcess("--db", str(tmp_path / "acme.db"), *jobs) as server:
        url = f"grpc://{server.address}"
        wait_until(lambda: "ok at" in cli("stats", "--db", url))
        line = next(line for line in cli("stats", "--db", url).splitlines() if "job backup" in line)
        assert re.fullmatch(r"job backup +ok at .*: acme-.*Z\.db: 0 commits; .*; next at .*", line)
        (job,) = cli.row("stats", "--db", url)["jobs"]
        assert (job["name"], job["every"], job["last_outcome"]) == ("backup", "1d", "ok")
        wait_until(lambda: backed_up(folder) == ["acme", "acme.db-control"])


def backed_up(folder: Path) -> list[str]:
    """Return what the backups in a folder are of; those that are being written are hidden."""
    return sorted(path.name.partition("-2")[0] for path in folder.iterdir() if path.suffix == ".db")
