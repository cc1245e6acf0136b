"""The page while others write: what arrives, what waits in the background, and what was erased."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route

from tests.browser.browser import Viewer, needs_chromium
from tests.patience import wait_until

pytestmark = [needs_chromium, pytest.mark.slow]
View = Callable[..., Viewer]
CONNECTIONS = 6
"""Those that a browser opens to one server over HTTP/1.1, for all its pages together."""
_WRITE = """(key) => fetch(`/v1/stores/-/agents/clerk/keys/${key}?namespace=default`, {
    method: 'PUT', headers: {'content-type': 'application/json'},
    body: '{"value": {"is": "new"}}'})"""
_WRITE_MANY = """async (count) => {
  for (let from = 0; from < count; from += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, index) =>
      fetch(`/v1/stores/-/agents/clerk/keys/many%2F${from + index}?namespace=default`, {
        method: 'PUT', headers: {'content-type': 'application/json'}, body: '{"value": {}}'})));
  }
}"""
_SEEN = """(isInSight) => {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => !isInSight });
  document.dispatchEvent(new Event('visibilitychange'));
}"""


def put_in_sight(page: Page, *, is_in_sight: bool) -> None:
    """Bring a page to the foreground, or to the background, as tabs of a browser are."""
    page.evaluate(_SEEN, is_in_sight)


def test_who_looks_at_the_past_stays_there(served: str, view: View) -> None:
    page = view(served).open("/timeline?at=5")
    page.locator(".events li.current .commit", has_text="5").wait_for()
    page.get_by_role("button", name="Live", exact=True).wait_for()
    page.evaluate(_WRITE, "fresh")
    page.locator(".events").evaluate("(box) => { box.scrollTop = box.scrollHeight; }")
    page.locator(".events .event", has_text="fresh").wait_for()
    assert page.get_by_role("slider").get_attribute("aria-valuenow") == "5"
    assert "at=5" in page.url
    page.get_by_role("button", name="Live", exact=True).click()
    page.locator(".events li.current", has_text="fresh").wait_for()


def test_a_burst_is_followed_to_its_end(served: str, view: View) -> None:
    viewer = view(served)
    page = viewer.open("/facts")
    moment = page.get_by_role("slider", name="The moment you look at")
    wait_until(lambda: moment.get_attribute("aria-valuenow") == "44")
    held: list[Route] = []

    is_writing = True

    def hold(route: Route) -> None:
        if is_writing:
            held.append(route)
        else:
            route.continue_()

    page.route("**/replay?*after_commit*", hold)
    page.evaluate(_WRITE_MANY, 600)  # more than what is read at once
    page.evaluate(_WRITE, "last")
    wait_until(lambda: bool(page.evaluate("1")) and bool(held))
    is_writing = False
    for route in held:
        route.continue_()
    wait_until(lambda: moment.get_attribute("aria-valuenow") == "645")
    page.get_by_role("link", name="Timeline").click()
    page.locator(".events li.current", has_text="last").wait_for()


def test_pages_in_the_background_leave_connections_to_others(served: str, view: View) -> None:
    viewer = view(served)
    page = viewer.open("/")
    page.locator(".events li.current").wait_for()
    others = [page.context.new_page() for _ in range(CONNECTIONS)]
    for other in others:
        put_in_sight(page, is_in_sight=False)
        other.goto(served)
        other.locator(".events li.current").wait_for()
        put_in_sight(other, is_in_sight=False)
    others[-1].evaluate(_WRITE, "meanwhile")
    assert page.locator(".event", has_text="meanwhile").count() == 0
    put_in_sight(page, is_in_sight=True)
    page.locator(".events li.current", has_text="meanwhile").wait_for()


def test_a_page_that_missed_much_reads_the_store_again(served: str, view: View) -> None:
    viewer = view(served)
    page = viewer.open("/")
    page.locator(".events li.current").wait_for()
    put_in_sight(page, is_in_sight=False)
    page.evaluate(_WRITE_MANY, 600)
    page.evaluate(_WRITE, "newest")
    streams: list[str] = []
    page.on("request", lambda request: streams.append(request.url))
    put_in_sight(page, is_in_sight=True)
    page.locator(".events li.current", has_text="newest").wait_for()
    (stream,) = (url for url in streams if "/subscribe?" in url)
    assert "after_commit=645" in stream  # it follows what comes, and not what it has read


def test_the_number_of_open_notices_is_live(served: str, view: View) -> None:
    page = view(served).open("/")
    page.locator(".events li.current").wait_for()
    inbox = page.get_by_role("link", name="Inbox")
    wait_until(lambda: inbox.inner_text().endswith("9"))
    page.evaluate(_WRITE, "policy")  # paid invoices rest on it
    wait_until(lambda: not inbox.inner_text().endswith("9"))


def test_what_is_erased_leaves_the_list_of_events(served: str, view: View) -> None:
    viewer = view(served)
    page = viewer.open("/timeline?at=32")
    row = page.locator(".events .event", has_text="orders/polaris")
    row.wait_for()
    page.get_by_role("link", name="Trust").click()
    desk = page.get_by_label("Erasure desk")
    desk.locator("select[name=target]").select_option(label="A key")
    desk.locator("input[name=value]").fill("orders/polaris")
    desk.locator("select[name=space]").select_option("facts")
    desk.get_by_role("button", name="Preview").click()
    desk.get_by_role("button", name="Erase for good").click()
    page.locator(".certificate").wait_for()
    page.get_by_role("link", name="Timeline").click()
    page.locator(".events li.current", has_text="erased content").wait_for()
    assert row.count() == 0
    viewer.settle()
    assert "orders/polaris" not in page.locator("#main").inner_text()
