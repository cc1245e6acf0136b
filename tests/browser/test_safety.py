"""What is stored is shown, and never run; and everybody can use the page."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

import memoranda
from memoranda.server.control_store import ControlStore, control_path
from tests.browser.browser import PHONE, Viewer, needs_chromium
from tests.browser.story import HOSTILE, HOSTILE_AGENT, HOSTILE_SPACE, tell_hostile

pytestmark = [needs_chromium, pytest.mark.slow]
LOOKED_AT = (
    *("/timeline", "/timeline?at=30&b=5&space=default", "/timeline?q=no+such+words"),
    *("/why", "/why?key=orders/polaris&space=facts"),
    *("/inbox", "/inbox?status=resolved", "/inbox?status=stale"),
    *("/facts", "/facts?shape=graph", "/facts?at=40&valid=2022-06-01T00:00:00Z"),
    *("/recall", "/recall?query=Where+does+Ann+live&space=talks"),
    *("/trust", "/compare", "/compare?store=origin&other=whatif"),
)
"""Every view, in each of its states."""
PLACES = (
    "/",
    "/why",
    "/inbox",
    "/inbox?status=stale",
    "/facts",
    "/facts?shape=graph",
    "/inbox?status=resolved",
    "/timeline?b=3",
    "/recall?query=belief",
    "/trust",
)


_ATTRIBUTES = """() => [document.title, ...[...document.querySelectorAll('#app *')].flatMap(
    (element) => ['title', 'aria-label', 'alt', 'placeholder', 'aria-valuetext']
      .map((name) => element.getAttribute(name)).filter(Boolean))]"""
"""Returns what attributes show, or say to a screen reader."""


def check_nothing_ran(page: Page) -> None:
    """Check that stored text made no element, ran nothing, and hides no character."""
    assert page.evaluate("() => window.attacked") is None
    scripts = "#app script, #app img[src='x'], #app svg a, #app style"
    assert page.locator(scripts).count() == 0
    text = page.locator("body").inner_text()
    assert "\u202e" not in text
    assert "\u200b" not in text
    hidden = [value for value in page.evaluate(_ATTRIBUTES) if set(value) & {"\u202e", "\u200b"}]
    assert hidden == []


def test_stored_text_is_never_run(
    tmp_path: Path, serve: Callable[..., str], view: Callable[..., Viewer]
) -> None:
    path = tmp_path / "hostile.db"
    tell_hostile(path)
    viewer = view(serve(file=path))
    for place in PLACES:
        page = viewer.open(place)
        viewer.settle()
        check_nothing_ran(page)
    page = viewer.open("/")
    for _ in range(15):
        page.keyboard.press("ArrowLeft")
        viewer.settle()
        check_nothing_ran(page)
    page = viewer.open("/trust")
    desk = page.get_by_label("Erasure desk")
    desk.get_by_label("Its name in facts").fill(f"Ann {HOSTILE[0]}")
    desk.get_by_label("Reason").fill(HOSTILE[2])
    desk.get_by_role("button", name="Preview").click()
    desk.get_by_text("would lose").wait_for()
    check_nothing_ran(page)
    desk.get_by_role("button", name="Erase for good").click()
    page.locator(".certificate", has_text="<svg").wait_for()
    check_nothing_ran(page)
    page = viewer.open("/why")
    page.locator(".item", has_text="<script>").first.get_by_text("why", exact=True).click()
    page.locator(".tree").wait_for()
    assert HOSTILE[0] in page.locator("#main").inner_text()
    viewer.open("/why").get_by_text("U+202E").first.wait_for()
    assert page.evaluate("() => window.attacked") is None


def test_a_fork_with_hostile_text_stands_beside_its_origin(
    tmp_path: Path, serve: Callable[..., str], view: Callable[..., Viewer]
) -> None:
    folder = tmp_path / "stores"
    folder.mkdir()
    tell_hostile(folder / "origin.db")
    with memoranda.open(folder / "origin.db", embedder=None) as store:
        store.fork(folder / "whatif.db", at=6)
    with memoranda.open(folder / "whatif.db", embedder=None) as store:
        agent = store.bind(agent_id=HOSTILE_AGENT)
        for text in HOSTILE:
            agent.write(key=f"fork {text}", value={text: text}, namespace=HOSTILE_SPACE)
            agent.remember(f"fork {text}", title=text, namespace=HOSTILE_SPACE)
            agent.assert_fact(subject=f"Bo {text}", relation=text, object=f"{text} fork")
    viewer = view(serve(folder=folder))
    page = viewer.open("/compare?store=origin&other=whatif")
    page.get_by_text("The same up to commit 6").wait_for()
    viewer.settle()
    text = page.locator("#main").inner_text()
    for hostile in (*HOSTILE[:3], HOSTILE[4]):
        assert f"fork {hostile}" in text
    assert HOSTILE_SPACE in text
    assert "U+202E" in text
    check_nothing_ran(page)


_LEFT_EDGES = """() => ['input', '.problem', 'button']
    .map((part) => document.querySelector(`.sign-in ${part}`).getBoundingClientRect().left)"""
"""Returns where the parts of the sign-in form begin."""


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_everybody_can_use_it(shown: str, view: Callable[..., Viewer], look: str) -> None:
    viewer = view(shown, **({look: True} if look != "light" else {}))
    violations = []
    for place in LOOKED_AT:
        page = viewer.open(place)
        viewer.settle()
        violations += [f"{place} {violation}" for violation in viewer.violations()]
        if look == "phone":
            width = page.evaluate("() => document.documentElement.scrollWidth")
            assert width <= PHONE["width"], place
        name = re.sub(r"[^a-z]+", "-", place.strip("/").replace("query", ""))
        viewer.screenshot(f"page-{name.strip('-')}")
    assert violations == []


def test_everybody_can_sign_in(
    story: Path, serve: Callable[..., str], view: Callable[..., Viewer]
) -> None:
    with ControlStore(control_path(file=story)) as control:
        control.tokens.create(store=None, agent="clerk", namespaces=["*"], verbs=["read"])
    address = serve(file=story, tokens=None)
    for look in ("light", "dark", "phone"):
        viewer = view(address, **({look: True} if look != "light" else {}))
        page = viewer.open("/")
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("That token does not open anything").wait_for()
        edges = page.evaluate(_LEFT_EDGES)
        assert len(set(edges)) == 1, edges
        assert viewer.violations() == []
        viewer.screenshot("sign-in")
        viewer.complaints[:] = [line for line in viewer.complaints if "401" not in line]


def test_an_idle_page_asks_for_nothing(served: str, view: Callable[..., Viewer]) -> None:
    viewer = view(served)
    page = viewer.open("/")
    viewer.settle()
    page.wait_for_timeout(1500)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.wait_for_timeout(2500)
    assert requests == []
