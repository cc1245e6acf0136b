"""Many clients at a time, each on a connection of its own to a server process: one effect each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from tests.patience import HANG_SECONDS
from tests.server_process import ServerProcess

CLIENTS = 32
ROUNDS = 3
MEMORIES = "/v1/stores/-/memories"
KEY = "/v1/stores/-/agents/a/keys/k"


class Reply(NamedTuple):
    status: int
    json: Any
    etag: str
    """Empty: it has none."""


class Client:
    """A connection, which is open before anybody sends."""

    def __init__(self, address: str) -> None:
        self._connection = HTTPConnection(address, timeout=HANG_SECONDS)
        self._connection.connect()

    def send(self, method: str, target: str, body: Any = None, **headers: str) -> Reply:
        data = None if body is None else msgspec.json.encode(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request(
            method, target, data, {"content-type": "application/json", **named}
        )
        response = self._connection.getresponse()
        return Reply(
            response.status, msgspec.json.decode(response.read()), response.headers["etag"]
        )

    def close(self) -> None:
        self._connection.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with one store, which syncs every commit."""
    path: Path = tmp_path_factory.mktemp("server") / "store.db"
    with ServerProcess("--db", str(path), "--http", "127.0.0.1:0", "--no-tokens") as running:
        yield str(running.announced["http"]).removeprefix("http://")


@pytest.fixture
def clients(server: str) -> Iterator[list[Client]]:
    opened = [Client(server) for _ in range(CLIENTS)]
    yield opened
    for client in opened:
        client.close()


def all_at_once(clients: list[Client], send: Callable[[Client, int], Reply]) -> list[Reply]:
    """Let every client send something in the same moment, and return the replies."""
    start = threading.Barrier(len(clients))
    replies: dict[int, Reply] = {}

    def work(number: int) -> None:
        start.wait(HANG_SECONDS)
        replies[number] = send(clients[number], number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(clients))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_SECONDS)
    return [replies[number] for number in range(len(clients))]


def commits(client: Client) -> int:
    count: int = client.send("GET", "/v1/stores/-/stats").json["commits"]
    return count


def test_one_key_has_one_effect(clients: list[Client]) -> None:
    def remember(client: Client, _: int) -> Reply:
        return client.send("POST", MEMORIES, body, idempotency_key=f'"{body["content"]}"')

    for round_ in range(ROUNDS):
        before = commits(clients[0])
        body = {"agent_id": "a", "content": f"Ann has lived in {round_} towns"}
        replies = all_at_once(clients, remember)
        assert {reply.status for reply in replies} == {200}
        assert len({(reply.json["id"], reply.json["commit_ts"]) for reply in replies}) == 1
        assert commits(clients[0]) == before + 1


@pytest.mark.slow
def test_one_key_with_other_contents_has_one_winner(clients: list[Client]) -> None:
    def remember(client: Client, number: int) -> Reply:
        body = {"agent_id": "a", "content": f"{number}"}
        return client.send("POST", MEMORIES, body, idempotency_key='"other"')

    before = commits(clients[0])
    replies = all_at_once(clients, remember)
    assert sorted(reply.status for reply in replies) == [200] + [422] * (CLIENTS - 1)
    refused = [reply.json for reply in replies if reply.status == 422]
    assert {problem["error"] for problem in refused} == {"IdempotencyMismatch"}
    assert commits(clients[0]) == before + 1


def test_one_version_has_one_winner(clients: list[Client]) -> None:
    def put(client: Client, number: int) -> Reply:
        return client.send("PUT", KEY, {"value": {"n": number}}, if_match=etag)

    etag = clients[0].send("PUT", KEY, {"value": {"n": -1}}).etag
    for _ in range(ROUNDS):
        before = commits(clients[0])
        replies = all_at_once(clients, put)
        assert sorted(reply.status for reply in replies) == [200] + [412] * (CLIENTS - 1)
        (winner,) = [number for number, reply in enumerate(replies) if reply.status == 200]
        record = clients[0].send("GET", KEY)
        assert record.json["value"] == {"n": winner}
        assert record.etag == replies[winner].etag
        assert commits(clients[0]) == before + 1
        etag = record.etag


def test_a_write_that_is_sent_again_with_both_is_answered_as_the_first(
    clients: list[Client],
) -> None:
    """The version has changed by its own first attempt, and it is no conflict."""
    target = f"{KEY}2"
    etag = clients[0].send("PUT", target, {"value": {}}).etag

    def put(client: Client, _: int) -> Reply:
        body = {"value": {"n": 1}}
        return client.send("PUT", target, body, if_match=etag, idempotency_key='"both"')

    replies = all_at_once(clients, put)
    assert {reply.status for reply in replies} == {200}
    assert len({reply.json["commit_ts"] for reply in replies}) == 1
    assert clients[0].send("GET", target).json["version"] == 2
