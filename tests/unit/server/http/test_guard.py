"""Tokens, sessions of browsers, and requests that other sites make a browser send."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memoranda.model.clock import FixedClock
from memoranda.model.ids import FixedIds
from memoranda.server.http import sessions
from memoranda.server.http.guard import Guard
from memoranda.server.http.sessions import Sessions
from tests.http_app import Client, Served, run
from tests.unit.server.http.test_requests import members

KEY = "/v1/stores/acme/agents/a/keys/k"
VALUE: dict[str, Any] = {"value": {}}
OWN = {"origin": "http://127.0.0.1:7421", "memoranda_csrf": "1"}
"""What a page of the server's own sends with a change."""


# Tokens.


def test_a_token_is_asked_for(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        for headers in ({}, {"authorization": "Bearer nonsense"}, {"authorization": "Bearer "}):
            refused = await served.client.get(KEY, **headers)
            members(refused, 401, "Unauthenticated")
            assert refused.headers["www-authenticate"].startswith("Bearer")
        members(await served.client.get(KEY, authorization="Basic x"), 401)
        members(await served.with_token(agent="a").get(KEY), 404, "NotFound")

    run(tmp_path, work, asks_for_tokens=True)


def test_nothing_is_read_for_a_caller_without_a_token(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        exchange = served.client.begin("PUT", KEY, chunks=[b"{"] * 10)
        members(await exchange.whole(), 401, "Unauthenticated")
        assert len(exchange._chunks) == 10

    run(tmp_path, work, asks_for_tokens=True)


def test_a_caller_acts_for_an_agent(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        host = served.with_token()
        memory = {"content": "mine", "visibility": "private"}
        made = await host.post("/v1/stores/acme/memories", memory, memoranda_agent="%C3%BC")
        assert made.json["agent_id"] == "ü"
        path = f"/v1/stores/acme/memories/{made.json['id']}"
        assert (await host.get(path, memoranda_agent="%C3%BC")).status == 200
        members(await host.get(path, memoranda_agent="other"), 404, "NotFound")
        members(await host.post("/v1/stores/acme/memories", memory), 400, "InvalidInput")
        narrow = served.with_token(agent="a")
        members(await narrow.get("/v1/stores/other/agents"), 404, "NotFound")
        acting = await narrow.put(KEY, VALUE, memoranda_agent="b")
        assert acting.status == 200  # its token says for whom it acts
        events = await narrow.get("/v1/stores/acme/replay")
        assert [event["actor"] for event in events.json["items"]] == ["a"]
        members(await narrow.post("/v1/stores/acme/purge"), 403, "PermissionDenied")

    run(tmp_path, work)


def test_the_stores_of_a_caller(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        await served.stores.create("globex")
        everything = await served.with_token().get("/v1/stores")
        assert everything.json == {"items": [{"name": "acme"}, {"name": "globex"}]}
        one = served.with_token(store="globex")
        assert (await one.get("/v1/stores")).json == {"items": [{"name": "globex"}]}
        assert (await one.get("/v1/stores/-/agents")).status == 200
        members(await one.get("/v1/stores/acme/agents"), 404, "NotFound")

    run(tmp_path, work)


# Sessions.


async def session(served: Served, **token: Any) -> tuple[Client, str]:
    """Exchange a token for a session; return its client, and the token."""
    secret = served.secret(**token)
    opened = await served.client.post("/v1/session", {"token": secret}, origin=OWN["origin"])
    assert opened.status == 200, opened.json
    assert secret.encode() not in opened.body
    cookie, *attributes = opened.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(attributes)
    return Client(served.app, cookie=f"other=1; {cookie}"), secret


def test_a_session_stands_for_its_token(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        client, _ = await session(served, agent="a")
        members(await client.get(KEY), 404, "NotFound")
        assert (await client.put(KEY, VALUE, **OWN)).status == 200
        details = (await client.get("/v1/session")).json
        assert (details["agent_id"], details["asks_for_tokens"]) == ("a", True)
        closed = await client.send("DELETE", "/v1/session", **OWN)
        assert closed.status == 204
        assert "Max-Age=0" in closed.headers["set-cookie"]
        members(await client.get(KEY), 401, "Unauthenticated")

    run(tmp_path, work)


def test_a_session_can_be_opened_with_the_header_too(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        opened = await served.with_token().send("POST", "/v1/session")
        assert opened.status == 200
        assert "set-cookie" in opened.headers
        for body in ({"token": 5}, {"tokn": "x"}, ["x"]):
            members(await served.client.post("/v1/session", body), 400, "InvalidInput")
        members(await served.client.post("/v1/session", {"token": "no"}), 401, "Unauthenticated")

    run(tmp_path, work)


def test_without_tokens_there_is_no_cookie(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        opened = await served.client.send("POST", "/v1/session")
        assert (opened.status, opened.json["asks_for_tokens"]) == (200, False)
        assert "set-cookie" not in opened.headers

    run(tmp_path, work)


def test_a_session_ends_with_its_token(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        client, secret = await session(served)
        rotated, _ = await session(served)
        tokens = served.control.tokens
        tokens.revoke(secret)
        members(await client.get(KEY), 401, "Unauthenticated")
        assert len(served.app.sessions) == 1
        (other,) = [token.id for token in tokens.list() if token.revoked_at is None]
        tokens.rotate(other)
        members(await rotated.get(KEY), 401, "Unauthenticated")
        assert len(served.app.sessions) == 0

    run(tmp_path, work)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"memoranda_csrf": "1"},
        {"origin": OWN["origin"]},
        {"sec_fetch_site": "none", "memoranda_csrf": "1"},
    ],
)
def test_a_change_by_a_session_needs_proof_that_our_page_made_it(
    tmp_path: Path, headers: dict[str, str]
) -> None:
    async def work(served: Served) -> None:
        client, _ = await session(served)
        members(await client.put(KEY, VALUE, **headers), 403)
        members(await client.send("DELETE", "/v1/session", **headers), 403)
        assert (await client.get("/v1/session")).status == 200
        same = {"sec_fetch_site": "same-origin", "memoranda_csrf": "1"}
        assert (await client.put(KEY, VALUE, **same)).status == 200

    run(tmp_path, work)


def test_sessions_end_in_time_and_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FixedClock()
    book = Sessions(clock, FixedIds())
    cookie = book.open("secret", "t")
    clock.advance(sessions.IDLE_SECONDS - 1)
    assert book.secret(cookie) == "secret"
    clock.advance(sessions.IDLE_SECONDS - 1)
    assert book.secret(cookie) == "secret"
    clock.advance(sessions.IDLE_SECONDS)
    assert book.secret(cookie) is None
    second_cookie = book.open("secret", "t")
    for _ in range(sessions.SESSION_SECONDS // 3600 - 1):
        clock.advance(3600)
        assert book.secret(second_cookie) == "secret"
    clock.advance(3600)
    assert book.secret(second_cookie) is None
    monkeypatch.setattr(sessions, "MAX_SESSIONS_PER_TOKEN", 3)
    monkeypatch.setattr(sessions, "MAX_SESSIONS", 4)
    cookies = [book.open("s", "t") for _ in range(4)]
    assert [book.secret(cookie) for cookie in cookies] == [None, "s", "s", "s"]
    others = [book.open("o", owner) for owner in ("u", "v")]
    assert [book.secret(cookie) for cookie in cookies] == [None, None, "s", "s"]
    assert [book.secret(cookie) for cookie in others] == ["o", "o"]


def test_over_tls_the_cookie_is_for_this_host_only(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        secret = served.secret()
        opened = await served.client.post(
            "/v1/session", {"token": secret}, origin="https://127.0.0.1:7421"
        )
        cookie = opened.headers["set-cookie"]
        assert cookie.startswith("__Host-memoranda=")
        assert cookie.endswith("; Secure")
        client = Client(served.app, cookie=cookie.partition(";")[0])
        members(await client.get(KEY), 404, "NotFound")

    run(tmp_path, work)


# Names and origins.


def test_a_local_server_answers_under_names_of_this_machine_only(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        for host in ("localhost", "LOCALHOST:80", "127.0.0.1", "[::1]:7421", "my.name:7421"):
            assert (await served.client.get(KEY, host=host)).status == 404, host
        for host in ("evil.example", "127.0.0.1.evil.example", "", "localhost.evil", "[::2]:1"):
            members(await served.client.get(KEY, host=host), 421)
            members(await served.client.put(KEY, VALUE, host=host), 421)

    run(tmp_path, work, guard=Guard(is_local=True, host_names=["my.name"]))


def test_a_public_server_answers_under_any_name_unless_some_are_given(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        assert (await served.client.get(KEY, host="anything.example")).status == 404

    run(tmp_path, work, guard=Guard(is_local=False))

    async def named(served: Served) -> None:
        assert (await served.client.get(KEY, host="api.example")).status == 404
        members(await served.client.get(KEY, host="other.example"), 421)

    run(tmp_path, named, guard=Guard(is_local=False, host_names=["api.example"]))


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "http://127.0.0.1:7421.evil.example"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site", "sec_fetch_mode": "no-cors"},
    ],
)
def test_pages_of_other_origins_are_refused(tmp_path: Path, headers: dict[str, str]) -> None:
    async def work(served: Served) -> None:
        for method, path in (("GET", KEY), ("POST", "/v1/stores/acme/purge"), ("OPTIONS", KEY)):
            refused = await served.client.send(method, path, **headers)
            members(refused, 403)
            assert not any("access-control" in name for name in refused.headers)

    run(tmp_path, work)


def test_a_link_on_another_page_may_be_followed(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        navigation = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}
        assert (await served.client.get(KEY, **navigation)).status == 404
        own = {"sec_fetch_site": "same-origin", "origin": OWN["origin"]}
        assert (await served.client.put(KEY, VALUE, **own)).status == 200

    run(tmp_path, work)


def test_an_origin_can_be_allowed(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        allowed = {"origin": "https://app.example"}
        response = await served.client.send(
            "OPTIONS", KEY, **allowed, access_control_request_method="PUT"
        )
        assert response.status == 204
        assert "PUT" in response.headers["access-control-allow-methods"]
        assert "idempotency-key" in response.headers["access-control-allow-headers"]
        reply = await served.client.put(KEY, VALUE, **allowed)
        assert reply.headers["access-control-allow-origin"] == "https://app.example"
        assert "access-control-allow-credentials" not in reply.headers
        members(await served.client.get(KEY, origin="https://other.example"), 403)
        plain = await served.client.get(KEY)
        assert "access-control-allow-origin" not in plain.headers

    run(tmp_path, work, guard=Guard(is_local=True, origins=["https://app.example/"]))
