"""One browser, and one store with the demo's story, for the tests of a process."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from memoranda.server.http.settings import HttpSettings
from tests.browser.browser import Viewer, open_browser
from tests.browser.story import fork_story, tell
from tests.server_process import ServerThread


@pytest.fixture(scope="module")  # it runs an event loop, which other tests could not use theirs in
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("story") / "demo.db"
    tell(path)
    return path


@pytest.fixture
def story(told: Path, tmp_path: Path) -> Path:
    """The demo's story in a store that a test may change."""
    return Path(shutil.copy(told, tmp_path / "demo.db"))


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Start servers, which outlive the browser's windows; return their addresses."""
    with ExitStack() as servers:

        def start(**settings: Any) -> str:
            options: dict[str, Any] = {"tokens": False, "http": HttpSettings(port=0)}
            server = servers.enter_context(ServerThread(**(options | settings)))
            return f"http://{server.server.http_address}"

        yield start


@pytest.fixture
def served(story: Path, serve: Callable[..., str]) -> str:
    """The address of a server of the story, which a test may change."""
    return serve(file=story)


@pytest.fixture(scope="module")
def shown(told: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of the story and of a fork of it, which tests only look at."""
    folder = tmp_path_factory.mktemp("stores")
    shutil.copy(told, folder / "origin.db")
    fork_story(folder)
    with ServerThread(folder=folder, tokens=False, http=HttpSettings(port=0)) as server:
        yield f"http://{server.server.http_address}"


@pytest.fixture
def view(browser: Browser, serve: Callable[..., str]) -> Iterator[Callable[..., Viewer]]:
    """Make viewers; none may see an error in the console."""
    viewers: list[Viewer] = []

    def look(address: str, **options: Any) -> Viewer:
        viewers.append(Viewer(browser, address, **options))
        return viewers[-1]

    yield look
    for viewer in viewers:
        viewer.close()
    complaints = [complaint for viewer in viewers for complaint in viewer.complaints]
    assert complaints == []
