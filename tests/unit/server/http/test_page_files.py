"""The files of the page: what is served, with which headers, and how large it is."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest

from memoranda.server.http.page import PAGE_PREFIX, VIEWS, page_root, walk
from tests.http_app import Served, run

MAX_SCRIPT_BYTES = 60_000
"""Of what is loaded before anything is shown, compressed."""
FILES = dict(walk(page_root()))
TESTS = Path(__file__).parents[3]


def test_every_view_has_an_address_and_a_strict_policy(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        for path in ("/", *(f"/{view}" for view in VIEWS)):
            reply = await served.client.get(path)
            assert reply.status == 200
            assert reply.headers["content-type"] == "text/html; charset=utf-8"
            policy = dict(
                directive.strip().split(" ", 1)
                for directive in reply.headers["content-security-policy"].split(";")
            )
            assert policy["default-src"] == "'none'"
            assert "unsafe" not in reply.headers["content-security-policy"]
            assert "http" not in reply.headers["content-security-policy"]
            assert policy["frame-ancestors"] == "'none'"
        for path in ("/elsewhere", "/page/none.js", "/page/../app.py", "/page/"):
            assert (await served.client.get(path)).status == 404

    run(tmp_path, work)


@pytest.mark.parametrize(
    ("name", "content_type"),
    [
        ("app.js", "text/javascript; charset=utf-8"),
        ("style/tokens.css", "text/css; charset=utf-8"),
        ("vendor/preact.mjs", "text/javascript; charset=utf-8"),
        ("vendor/inter.woff2", "font/woff2"),
        ("icon.svg", "image/svg+xml"),
    ],
)
def test_a_file_is_sent_once(tmp_path: Path, name: str, content_type: str) -> None:
    async def work(served: Served) -> None:
        first = await served.client.get(PAGE_PREFIX + name)
        assert (first.status, first.body) == (200, FILES[name])
        assert first.headers["content-type"] == content_type
        again = await served.client.get(PAGE_PREFIX + name, if_none_match=first.headers["etag"])
        assert (again.status, again.body) == (304, b"")
        posted = await served.client.post(PAGE_PREFIX + name)
        assert posted.status == 405

    run(tmp_path, work)


def test_the_page_needs_no_token_and_its_data_does(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        served.secret()
        assert (await served.client.get("/")).status == 200
        assert (await served.client.get("/v1/session")).status == 401
        assert (await served.client.get("/v1/stores/acme/agents")).status == 401

    run(tmp_path, work, asks_for_tokens=True)


def test_another_name_of_the_server_does_not_show_the_page(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        assert (await served.client.get("/", host="evil.example")).status == 421

    run(tmp_path, work)


@pytest.mark.parametrize(
    "folder", [Path(str(page_root())) / "vendor", TESTS / "browser" / "vendor"]
)
def test_files_of_others_are_those_that_were_published(folder: Path) -> None:
    entries = json.loads((folder / "vendor.json").read_text("utf-8"))
    for entry in entries:
        assert hashlib.sha256((folder / entry["file"]).read_bytes()).hexdigest() == entry["sha256"]
        assert entry["version"]
        assert entry["license"]
        assert (folder / entry["license_file"]).exists()
    names = {path.name for path in folder.iterdir() if path.suffix in (".mjs", ".js", ".woff2")}
    assert names == {entry["file"] for entry in entries}


def test_what_is_loaded_first_is_small() -> None:
    imports = json.loads(
        re.findall(rb'<script type="importmap">(.*?)</script>', FILES["index.html"], re.DOTALL)[0]
    )["imports"]

    def resolve(specifier: str) -> str:
        if specifier.startswith("page/"):
            return specifier.removeprefix("page/")
        return str(imports[specifier]).removeprefix(PAGE_PREFIX)

    loaded: dict[str, bytes] = {}
    pending = ["app.js"]
    while pending:
        name = pending.pop()
        if name in loaded:
            continue
        loaded[name] = FILES[name]
        specifiers = re.findall(rb'\bfrom ?"([@\w/.-]+)"', FILES[name])
        pending += [resolve(specifier.decode()) for specifier in specifiers]
    size = sum(len(gzip.compress(body)) for body in loaded.values())
    print(f"{len(loaded)} modules, {size} bytes compressed")  # noqa: T201
    assert size <= MAX_SCRIPT_BYTES


def test_nothing_is_loaded_from_elsewhere_and_no_text_becomes_markup() -> None:
    for name, body in FILES.items():
        if name.startswith("vendor/") or not name.endswith((".js", ".css", ".html")):
            continue
        text = body.decode()
        assert re.findall(r"https?://(?!www\.w3\.org/)", text) == [], name
        pattern = (
            r"innerHTML|outerHTML|insertAdjacent|dangerously|document\.write|\beval\(|Function\("
        )
        assert re.findall(pattern, text) == [], name
        assert re.findall(r"<style|\son\w+=\"|\sstyle=\"", text) == [], name
