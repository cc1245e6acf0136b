"""Pages of long answers: tokens, limits, and what they are bound to."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from memoranda import InvalidInput
from memoranda.model.ids import FixedIds
from memoranda.server.http.page_tokens import PageTokens, context_of
from tests.http_app import Client, Reply, Served, run
from tests.unit.server.http.test_requests import members

AGENT = "/v1/stores/acme/agents/a"


async def fill(served: Served, count: int = 25) -> None:
    calls = [
        {"call": "write", "agent_id": "a", "key": f"k{number:02}", "value": {"n": number}}
        for number in range(count)
    ]
    await served.client.post("/v1/stores/acme/commit", {"calls": calls})


async def listed(client: Client, target: str) -> list[Reply]:
    """Return all pages of a listing."""
    pages = [await client.get(target)]
    while token := pages[-1].json["next_page_token"]:
        pages.append(await client.get(f"{target}&page_token={token}"))
    return pages


def test_pages_have_as_many_items_as_are_asked_for(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        await fill(served)
        pages = await listed(served.client, f"{AGENT}/keys?limit=10")
        assert [len(page.json["items"]) for page in pages] == [10, 10, 5]
        assert [key for page in pages for key in page.json["items"]] == [
            f"k{number:02}" for number in range(25)
        ]
        (whole,) = await listed(served.client, f"{AGENT}/keys?limit=25")
        assert len(whole.json["items"]) == 25
        (empty,) = await listed(served.client, f"{AGENT}/keys?prefix=x&limit=25")
        assert empty.json == {"items": [], "next_page_token": None}

    run(tmp_path, work)


def test_a_listing_is_as_of_its_first_page(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        await fill(served)
        first = (await served.client.get(f"{AGENT}/state?prefix=k&limit=3")).json
        for key in ("k01", "k10", "k99"):
            await served.client.put(f"{AGENT}/keys/{key}", {"value": {"new": True}})
        await served.client.send("DELETE", f"{AGENT}/keys/k20")
        token = first["next_page_token"]
        rest = (await served.client.get(f"{AGENT}/state?prefix=k&limit=50&page_token={token}")).json
        items = first["items"] + rest["items"]
        assert [item["value"] for item in items] == [{"n": number} for number in range(25)]

    run(tmp_path, work)


def test_a_token_fits_its_own_listing_only(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        await fill(served)
        await served.stores.create("globex")
        mine, other = served.with_token(store=None), served.with_token(store=None)
        token = (await mine.get(f"{AGENT}/keys?limit=2")).json["next_page_token"]
        page = f"limit=2&page_token={token}"
        assert (await mine.get(f"{AGENT}/keys?{page}")).json["items"] == ["k02", "k03"]
        elsewhere = "/v1/stores/globex/agents/a"
        for client, target in [
            (other, f"{AGENT}/keys?{page}"),
            (mine, f"{AGENT}/keys?prefix=k&{page}"),
            (mine, f"{AGENT}/state?prefix=&{page}"),
            (mine, f"{elsewhere}/keys?{page}"),
            (mine, f"{AGENT}/keys?limit=2&page_token={token[:-2]}"),
            (mine, f"{AGENT}/keys?page_token=nonsense"),
            (mine, f"{AGENT}/keys?page_token={'x' * 20_000}"),
        ]:
            refused = members(await client.get(target), 400, "InvalidInput")
            assert refused["attributes"]["field"] == "page_token"
        acting = await mine.get(f"{AGENT}/keys?{page}", memoranda_agent="a")
        members(acting, 400, "InvalidInput")

    run(tmp_path, work)


@pytest.mark.parametrize("limit", ["0", "1001", "-1", "x", "", "\u0661", "99999999999999999999"])
def test_limits_that_are_none(tmp_path: Path, limit: str) -> None:
    async def work(served: Served) -> None:
        refused = await served.client.get(f"{AGENT}/keys?limit={quote(limit)}")
        assert members(refused, 400, "InvalidInput")["attributes"]["field"] == "limit"

    run(tmp_path, work)


def test_rows_of_sql_have_one_page(tmp_path: Path) -> None:
    numbers = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 3000) " \
              "SELECT n FROM c"  # fmt: skip

    async def work(served: Served) -> None:
        page = await served.client.post("/v1/stores/acme/sql?limit=300", {"query": numbers})
        assert page.json["items"][-1] == {"n": 300}
        assert (page.json["next_page_token"], page.json["is_cut"]) == (None, True)
        whole = await served.client.post("/v1/stores/acme/sql?limit=3",
                                         {"query": "SELECT 1 AS n UNION SELECT 2"})  # fmt: skip
        assert whole.json == {"items": [{"n": 1}, {"n": 2}], "next_page_token": None}
        lines = await served.client.post("/v1/stores/acme/sql", {"query": numbers},
                                         accept="application/x-ndjson")  # fmt: skip
        assert len(lines.lines) == 3000

    run(tmp_path, work)


def test_what_is_read_for_a_page_is_bounded(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        for number in range(80):
            await served.client.put(f"{AGENT}/keys/k", {"value": {"n": number}})
        pages = await listed(served.client, f"{AGENT}/keys/k/history?limit=1000")
        assert [len(page.json["items"]) for page in pages] == [64, 16]

    run(tmp_path, work)


def test_a_position_cannot_be_read_from_its_token() -> None:
    tokens = PageTokens(FixedIds())
    context = context_of(b"a", b"b")
    token = tokens.seal([17, "Sesame"], context)
    assert tokens.open(token, context) == [17, "Sesame"]
    assert "Sesame" not in token
    assert tokens.seal([17, "Sesame"], context) != token
    for other, wrong in [
        (tokens, context_of(b"ab", b"")),
        (PageTokens(FixedIds("another server")), context),
    ]:
        with pytest.raises(InvalidInput):
            other.open(token, wrong)
    shared: Any = b"k" * 32
    first, second = PageTokens(FixedIds(), shared), PageTokens(FixedIds("b"), shared)
    assert second.open(first.seal([1], context), context) == [1]
