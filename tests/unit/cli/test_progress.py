"""Progress, for those who wait long enough."""

from __future__ import annotations

import io
import re
from threading import Event

from rich.console import Console
from rich.progress import Progress
from rich.status import Status

from memoranda.cli.progress import DELAY_SECONDS, Meter, make_display, meter, spinner
from memoranda.testing import FixedClock
from tests.patience import HANG_SECONDS


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

    def meter(self, *, enabled: bool = True) -> Meter:
        return Meter(
            "Verifying", enabled=enabled, monotonic=self.clock.monotonic, display=self.display
        )


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
        screen.clock.advance(DELAY_SECONDS + 0.1)
        progress(500, 1000)
        progress(501, 1000)
        screen.clock.advance(1)
        progress(750, 1000)
    output = shown_on(screen)
    assert screen.opened == 1
    assert "Verifying" in output
    assert "500/1000" in output
    assert "750/1000" in output
    assert output.endswith("\x1b[2K")


def test_a_bar_gives_way_to_a_line_of_output_and_comes_back() -> None:
    screen = Screen()
    with screen.meter() as progress:
        screen.clock.advance(DELAY_SECONDS + 0.1)
        progress(1, 3)
        progress.clear()
        assert shown_on(screen).endswith("\x1b[2K")
        screen.clock.advance(1)
        progress(2, 3)
    assert screen.opened == 2
    assert "2/3" in shown_on(screen)


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
    with screen.meter(enabled=False) as progress:
        screen.clock.advance(DELAY_SECONDS + 1)
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
    output = Shown("Erasing")
    with spinner("Erasing", delay=0, display=lambda _: output):
        assert output.begun.wait(HANG_SECONDS)
    assert "Erasing" in output.console.file.getvalue()  # type: ignore[attr-defined]


def test_what_is_over_soon_is_not_waited_for() -> None:
    output = Shown("Erasing")
    with spinner("Erasing", delay=60, display=lambda _: output):
        pass
    assert not output.begun.is_set()
