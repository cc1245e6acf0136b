"""Progress, for those who wait long enough."""

from __future__ import annotations

import io
import re
from threading import Event

from rich.console import Console
from rich.progress import Progress
from rich.status import Status

from memoranda.cli.progress import PATIENCE, Meter, make_display, meter, waiting
from memoranda.testing import FixedClock


class Screen:
    """A terminal nobody looks at, and a clock to wait with."""

    def __init__(self) -> None:
        self.clock = FixedClock()
        self.written = io.StringIO()
        self.opened = 0

    def display(self, total: int | None) -> Progress:
        self.opened += 1
        progress = make_display(total)
        progress.live.console = Console(file=self.written, force_terminal=True, width=80)
        return progress

    def meter(self, *, shown: bool = True) -> Meter:
        return Meter("Verifying", shown=shown, monotonic=self.clock.monotonic, display=self.display)


def shown_on(screen: Screen) -> str:
    return screen.written.getvalue()


def test_what_is_quick_shows_nothing() -> None:
    screen = Screen()
    with screen.meter() as progress:
        for done in range(100):
            progress(done, 100)
    assert (screen.opened, shown_on(screen)) == (0, "")


def test_what_is_slow_shows_a_bar_and_takes_it_away() -> None:
    screen = Screen()
    with screen.meter() as progress:
        progress(1, 1000)
        screen.clock.advance(PATIENCE + 0.1)
        progress(500, 1000)
        progress(501, 1000)
        screen.clock.advance(1)
        progress(750, 1000)
    shown = shown_on(screen)
    assert screen.opened == 1
    assert "Verifying" in shown
    assert "500/1000" in shown
    assert "750/1000" in shown
    assert shown.endswith("\x1b[2K")


def test_what_has_no_end_in_sight_is_counted() -> None:
    screen = Screen()
    with screen.meter() as progress:
        for _ in progress.counting(range(5000)):
            screen.clock.advance(0.001)
    counts = re.findall(r"Verifying (\d,\d{3})", re.sub(r"\x1b\[[\d;]*m", "", shown_on(screen)))
    assert counts[0].startswith("2,0")
    assert counts == sorted(counts)
    assert len(set(counts)) > 2


def test_where_nobody_looks_nothing_is_shown() -> None:
    screen = Screen()
    with screen.meter(shown=False) as progress:
        screen.clock.advance(PATIENCE + 1)
        progress(1, 2)
    assert screen.opened == 0


def test_a_meter_is_for_terminals() -> None:
    with meter("Verifying") as progress:
        assert list(progress.counting("ab")) == ["a", "b"]


class Shown(Status):
    """A moving line that says whether it was ever begun."""

    def __init__(self, title: str) -> None:
        super().__init__(title, console=Console(file=io.StringIO(), force_terminal=True, width=80))
        self.begun = Event()

    def start(self) -> None:
        super().start()
        self.begun.set()


def test_what_cannot_say_how_far_it_is_is_seen_to_go_on() -> None:
    shown = Shown("Erasing")
    with waiting("Erasing", patience=0, display=lambda _: shown):
        assert shown.begun.wait(10)
    assert "Erasing" in shown.console.file.getvalue()  # type: ignore[attr-defined]


def test_what_is_over_soon_is_not_waited_for() -> None:
    shown = Shown("Erasing")
    with waiting("Erasing", patience=60, display=lambda _: shown):
        pass
    assert not shown.begun.is_set()
