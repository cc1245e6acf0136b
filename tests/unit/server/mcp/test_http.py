"""MCP over HTTP: whose request it is, what is refused before the SDK, and the end of a server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.shared.auth import ProtectedResourceMetadata
from mcp.shared.exceptions import MCPError

from memoranda.server import mcp_delegate
from memoranda.server.http.limits import HttpLimits
from memoranda.server.http.problems import HttpProblem
from memoranda.server.http.settings import HttpSettings
from memoranda.server.mcp.http_connection import connection_of
from memoranda.server.mcp.server import memory_server
from memoranda.server.metering import Meter
from memoranda.server.token_limits import CallLimits, TokenLimits
from memoranda.testing import FixedClock
from tests.http_app import Served, run
from tests.mcp_client import ERAS, Era, connected
from tests.mcp_messages import modern_request
from tests.mcp_transports import over_http
from tests.patience import HANG_SECONDS
from tests.server_process import ServerThread

ISSUER = "https://login.example"


class Site:
    """A server with the stores `acme` and `other`, its tokens, and requests to it."""

    def __init__(self, server: ServerThread) -> None:
        self.server = server
        control = server.server.dispatcher._control
        assert control is not None
        self._control = control
        self.url = f"http://127.0.0.1:{server.server.http_port}"
        self.mcp = f"{self.url}/v1/stores/acme/mcp"

    def token(self, **options: Any) -> str:
        secret, _ = self._control.tokens.create(**({"store": None} | options))
        return secret

    def revoke(self, secret: str) -> None:
        self._control.tokens.revoke(secret.split("_")[1])

    def stop(self) -> None:
        self.server.stop(HANG_SECONDS)

    def post(
        self,
        method: str = "tools/list",
        params: dict[str, Any] | None = None,
        *,
        secret: str | None = None,
        url: str | None = None,
        data: bytes | None = None,
        **headers: str,
    ) -> httpx2.Response:
        """Send one request of the revision without sessions."""
        request = modern_request(method, params, secret)
        request["headers"] |= {name.replace("_", "-"): text for name, text in headers.items()}
        if data is not None:
            del request["json"]
            request["content"] = data
        return httpx2.post(url or self.mcp, timeout=HANG_SECONDS, **request)

    def call(self, secret: str | None, name: str, url: str | None = None, **arguments: Any) -> Any:
        """Call a tool that succeeds, and return its structured answer."""
        params = {"name": name, "arguments": arguments}
        reply = self.post("tools/call", params, secret=secret, url=url)
        result = reply.json()["result"]
        assert not result.get("isError"), result
        return result["structuredContent"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("stores")
    http = HttpSettings(
        port=0, authorization_servers=(ISSUER,), limits=HttpLimits(body_bytes=100_000)
    )
    stores = ("acme", "other")
    with ServerThread(folder=folder, create=stores, tokens=True, http=http) as server:
        yield Site(server)


# Who acts, and where.


def test_the_token_says_who_acts_and_where(site: Site) -> None:
    secret = site.token(store="acme", agent="ann", namespaces=["team/*"])
    stored = site.call(secret, "memory_store", content="tea")
    operator = site.token(agent="operator", covers=["*"])
    url = f"{site.mcp}?tools=full&namespace=team"
    memory = site.call(operator, "memory_get", url, memory_id=stored["id"])["memory"]
    assert (memory["agent"], memory["namespace"]) == ("ann", "team")
    again = site.call(secret, "memory_store", f"{site.mcp}?agent=bob", content="milk")
    memory = site.call(operator, "memory_get", url, memory_id=again["id"])["memory"]
    assert memory["agent"] == "ann", "the agent of a token is not that of the address"


def test_a_token_without_an_agent_acts_for_that_of_the_address(site: Site) -> None:
    secret = site.token()
    stored = site.call(secret, "memory_store", f"{site.mcp}?agent=bob", content="tea")
    read = site.call(secret, "memory_get", f"{site.mcp}?tools=full", memory_id=stored["id"])
    assert read["memory"]["agent"] == "bob"
    stored = site.call(secret, "memory_store", content="tea")
    read = site.call(secret, "memory_get", f"{site.mcp}?tools=full", memory_id=stored["id"])
    assert read["memory"]["agent"] == "assistant"


def test_a_token_reaches_its_store_only_and_needs_no_name_for_it(site: Site) -> None:
    secret = site.token(store="other", agent="ann")
    stored = site.call(secret, "memory_store", f"{site.url}/mcp", content="tea")
    own, foreign = (f"{site.url}/v1/stores/{name}/mcp" for name in ("other", "acme"))
    assert site.call(secret, "memory_replay", own, memory_id=stored["id"])["transcripts"] == []
    params = {"name": "memory_inbox", "arguments": {}}
    result = site.post("tools/call", params, secret=secret, url=foreign).json()["result"]
    assert result["isError"]
    assert result["content"][0]["text"].startswith("NotFound: ")


def test_only_what_a_token_may_do_is_offered(site: Site) -> None:
    secret = site.token(store="acme", agent="ann", verbs=["read"])
    listed = site.post(secret=secret, url=f"{site.mcp}?tools=full").json()["result"]["tools"]
    assert {tool["annotations"]["readOnlyHint"] for tool in listed} == {True}
    params = {"name": "memory_store", "arguments": {"content": "tea"}}
    result = site.post("tools/call", params, secret=secret).json()["result"]
    assert result["content"][0]["text"].startswith("PermissionDenied: ")


def test_an_address_that_means_nothing_is_refused(site: Site) -> None:
    secret = site.token()
    for query, problem in (
        ("tool=full", "tools"),
        ("tools=all", "core, full"),
        ("read_only=1", "true, false"),
    ):
        reply = site.post(secret=secret, url=f"{site.mcp}?{query}")
        assert reply.status_code == 400
        assert problem in reply.json()["detail"]
    two = site.token(agent="ann", namespaces=["eng/*", "team/*"])
    reply = site.post(secret=two)
    assert (reply.status_code, "eng, team" in reply.json()["detail"]) == (400, True)
    assert site.post(secret=two, url=f"{site.mcp}?namespace=eng").status_code == 200


# What is refused before the SDK.


def test_who_has_no_token_is_told_where_to_get_one(site: Site) -> None:
    for secret in (None, "mmr_no_token"):
        reply = site.post(secret=secret)
        assert reply.status_code == 401
        challenge = reply.headers["www-authenticate"]
        assert challenge.startswith("Bearer ")
        url = challenge.partition('resource_metadata="')[2].rstrip('"')
        metadata = ProtectedResourceMetadata.model_validate(httpx2.get(url).json())
        assert str(metadata.resource) == site.mcp
        assert [str(server).rstrip("/") for server in metadata.authorization_servers] == [ISSUER]
    root = httpx2.get(f"{site.url}/.well-known/oauth-protected-resource").json()
    assert root["resource"] == f"{site.url}/mcp"
    for path in ("/v1/stores", "/v1/stores/a/b/mcp", "mcp"):
        url = f"{site.url}/.well-known/oauth-protected-resource{path}"
        assert httpx2.get(url).status_code == 404


def test_other_sites_are_refused(site: Site) -> None:
    secret = site.token()
    assert site.post(secret=secret, origin="https://evil.example").status_code == 403
    assert site.post(secret=secret, host="evil.example").status_code == 421
    assert site.post(secret=secret, origin=site.url).status_code == 200


def test_bodies_are_bounded_and_json(site: Site) -> None:
    secret = site.token()
    assert site.post(secret=secret, data=b"[" * 100_001).status_code == 413
    assert site.post(secret=secret, data=b"{}", content_type="text/plain").status_code == 415
    assert site.post(secret=secret, data=b"[" * 99_000).status_code == 400
    assert httpx2.put(site.mcp).status_code == 405


def test_requests_of_a_token_are_metered(site: Site) -> None:
    secret = site.token(limits=TokenLimits(requests_per_second=0.01))
    assert site.post(secret=secret).status_code == 200
    reply = site.post(secret=secret)
    assert (reply.status_code, reply.json()["error"]) == (429, "TooManyRequests")
    assert int(reply.headers["retry-after"]) > 1


def test_a_write_that_uses_up_the_calls_of_a_token_still_succeeds(tmp_path: Path) -> None:
    """One call is left: the write takes it, and the hash of the commit is not read any more."""

    async def work(served: Served) -> None:
        caller = served.dispatcher.caller(served.secret(agent="ann"))
        connection = connection_of(served.dispatcher, caller, "acme", b"")
        async with connected(memory_server(lambda _: connection)) as assistant:
            stored = await assistant.call("memory_store", content="tea")
            assert (stored["outcome"], "hash" in stored) == ("created", False)
            assert "TooManyRequests" in await assistant.fail("memory_inbox")

    meter = Meter(FixedClock(), CallLimits(requests_per_second=0.5))
    run(tmp_path, work, meter=meter, asks_for_tokens=True)


@pytest.mark.parametrize("era", ERAS)
def test_a_revoked_token_ends_at_the_next_request(era: Era, site: Site) -> None:
    async def main() -> None:
        secret = site.token(store="acme", agent="ann")
        async with asyncio.timeout(HANG_SECONDS), over_http(site.mcp, secret, era=era) as assistant:
            await assistant.call("memory_store", content="tea")
            await asyncio.to_thread(site.revoke, secret)
            with pytest.raises(MCPError):
                await assistant.call("memory_inbox")

    asyncio.run(main())


# Sessions, and calls in several rounds.


def _initialize(site: Site, secret: str) -> str:
    """Begin a session of an older revision, and return its id."""
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    reply = httpx2.post(site.mcp, json=message, headers=_headers(secret), timeout=HANG_SECONDS)
    assert reply.status_code == 200
    return reply.headers["mcp-session-id"]


def _headers(secret: str, session: str | None = None) -> dict[str, str]:
    return {
        "accept": "application/json, text/event-stream",
        "authorization": f"Bearer {secret}",
        **({} if session is None else {"mcp-session-id": session}),
    }


def test_a_session_belongs_to_its_token(site: Site) -> None:
    ann, bob = site.token(agent="ann"), site.token(agent="bob")
    session = _initialize(site, ann)
    message = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    for secret, status in ((bob, 404), (ann, 200)):
        reply = httpx2.post(site.mcp, json=message, headers=_headers(secret, session))
        assert reply.status_code == status
    assert httpx2.delete(site.mcp, headers=_headers(bob, session)).status_code == 404
    assert httpx2.delete(site.mcp, headers=_headers(ann, session)).status_code == 200


def test_the_state_of_a_call_belongs_to_its_token_and_its_arguments(site: Site) -> None:
    url = f"{site.mcp}?tools=full"
    ann, bob = (
        site.token(agent=name, covers=["*"], verbs=["read", "write", "forget"])
        for name in ("ann", "bob")
    )
    first, second = (site.call(ann, "memory_store", content=text)["id"] for text in ("a", "b"))

    def forget(secret: str, memory_id: str, **more: Any) -> Any:
        params = {"name": "memory_forget", "arguments": {"memory_id": memory_id}, **more}
        return site.post("tools/call", params, secret=secret, url=url).json()

    question = forget(ann, first)["result"]
    assert question["resultType"] == "input_required"
    yes = {
        "requestState": question["requestState"],
        "inputResponses": {"confirm": {"action": "accept", "content": {"erase": True}}},
    }
    for secret, memory_id in ((bob, first), (ann, second)):
        assert "requestState" in forget(secret, memory_id, **yes)["error"]["message"]
    assert forget(ann, first, **yes)["result"]["structuredContent"]["outcome"] == "deleted"


# The end of a server.


def test_a_server_that_stops_ends_the_streams_of_sessions(tmp_path: Path) -> None:
    http = HttpSettings(port=0)
    with ServerThread(folder=tmp_path, create=["acme"], http=http) as server:
        site = Site(server)
        secret = site.token()
        session = _initialize(site, secret)
        headers = _headers(secret, session) | {"accept": "text/event-stream"}
        with httpx2.stream("GET", site.mcp, headers=headers, timeout=HANG_SECONDS) as stream:
            assert stream.status_code == 200
            stopping = threading.Thread(target=site.stop)
            stopping.start()
            assert b"".join(stream.iter_bytes()).strip() == b"", "it is complete"
        stopping.join(HANG_SECONDS)
        assert not stopping.is_alive()


def test_without_the_package_it_says_so(site: Site) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mcp_delegate, "find_spec", lambda _: None)
        delegate = mcp_delegate.McpDelegate(site.server.server.dispatcher, HttpLimits())
        with pytest.raises(HttpProblem, match=r"memoranda\[mcp\]"):
            asyncio.run(delegate._start())


def test_a_server_without_tokens_has_no_metadata(tmp_path: Path) -> None:
    with ServerThread(folder=tmp_path, create=["acme"], http=HttpSettings(port=0)) as server:
        url = f"http://127.0.0.1:{server.server.http_port}"
        path = "/.well-known/oauth-protected-resource/v1/stores/acme/mcp"
        assert httpx2.get(url + path).status_code == 404
