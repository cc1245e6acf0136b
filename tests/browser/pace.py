"""How much the page asks of a server and of a browser: requests, and the time of a step."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.browser.browser import Viewer

PAUSE_MS = 250
"""Between two steps of somebody who looks at each event."""
_STEP = """async (key) => {
  const commit = () => new URLSearchParams(location.search).get("at");
  const [before, start] = [commit(), performance.now()];
  dispatchEvent(new KeyboardEvent("keydown", { key }));
  const isDrawn = () => commit() !== before && !document.querySelector("[aria-busy]")
    && document.querySelector(".columns")?.dataset.commit === commit()
    && document.querySelector(".changes h2").textContent.includes(commit());
  await new Promise((done) => {
    const look = () => (isDrawn() ? done() : setTimeout(look, 1));
    look();
  });
  return performance.now() - start;
}"""


@contextmanager
def requests_of(viewer: Viewer) -> Iterator[list[str]]:
    """Collect the addresses that the page asks for in the block."""
    addresses: list[str] = []

    def note(request: object) -> None:
        addresses.append(getattr(request, "url", ""))

    viewer.page.on("request", note)
    try:
        yield addresses
    finally:
        viewer.page.remove_listener("request", note)


def open_timeline(viewer: Viewer) -> None:
    """Open the page, and wait until everything that it shows first is there."""
    viewer.open("/")
    viewer.page.locator(".events li.current").wait_for()
    viewer.page.locator(".columns").wait_for()
    viewer.settle()


def step_times(viewer: Viewer, steps: int, key: str = "ArrowLeft") -> Sequence[float]:
    """Step from event to event, and return the milliseconds until each is drawn with its moment."""
    times = []
    for _ in range(steps):
        viewer.page.wait_for_timeout(PAUSE_MS)
        times.append(float(viewer.page.evaluate(_STEP, key)))
    return times
