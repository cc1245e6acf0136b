"""Progress and notes of a running command, on stderr."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from memoranda.cli.output import note, use_colour

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.status import Status

Item = TypeVar("Item")
DELAY_SECONDS = 2.0
"""A command that takes less shows no progress: most commands end before one could read it."""
_REFRESH_SECONDS = 0.1
"""Ten updates a second look continuous and cost little."""


class Meter:
    """A progress display that appears after a delay; the store calls it with its progress."""

    def __init__(
        self,
        title: str,
        *,
        enabled: bool,
        monotonic: Callable[[], float],
        display: Callable[[int | None], Progress] | None = None,
    ) -> None:
        self._title = title
        self._enabled = enabled
        self._monotonic = monotonic
        self._display = display or make_display
        self._due = monotonic() + DELAY_SECONDS
        self._progress: Progress | None = None

    @property
    def enabled(self) -> bool:
        """Whether there is a terminal to show it on; if not, a total need not be counted."""
        return self._enabled

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.clear()

    def clear(self) -> None:
        """Remove the display before a line of output; the next update draws it again."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def __call__(self, count: int, total: int | None = None) -> None:
        """Update the display, if it is time to."""
        if not self._enabled or self._monotonic() < self._due:
            return
        if self._progress is None:
            self._progress = self._display(total)
            self._progress.add_task(self._title, total=total)
            self._progress.start()
        self._progress.update(self._progress.task_ids[0], completed=count, total=total)
        self._progress.refresh()
        self._due = self._monotonic() + _REFRESH_SECONDS

    def counting(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items and show their count."""
        for count, item in enumerate(items, start=1):
            self(count)
            yield item


def make_display(total: int | None) -> Progress:
    """Return a transient line on stderr: a bar if the total is known, else a counter."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    counter = TextColumn("{task.completed:,}")
    columns = (counter,) if total is None else (BarColumn(), MofNCompleteColumn())
    return Progress(
        TextColumn("{task.description}"),
        *columns,
        TimeElapsedColumn(),
        console=Console(stderr=True, no_color=not use_colour()),
        transient=True,
        auto_refresh=False,
    )


def meter(title: str, *, beside_output: bool = True) -> Meter:
    """Return a meter on stderr, enabled if that is a terminal.

    With `beside_output=False` it is disabled if stdout is a terminal too: lines of data would break
    its display.
    """
    from memoranda.model.clock import SystemClock

    enabled = sys.stderr.isatty() and (beside_output or not sys.stdout.isatty())
    return Meter(title, enabled=enabled, monotonic=SystemClock().monotonic)


@contextmanager
def spinner(
    title: str,
    *,
    delay: float = DELAY_SECONDS,
    display: Callable[[str], Status] | None = None,
) -> Iterator[None]:
    """Show a spinner on a terminal, after a delay, while the block runs."""
    if display is None and not sys.stderr.isatty():
        yield
        return
    status = (display or make_status)(title)
    timer = threading.Timer(delay, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def make_status(title: str) -> Status:
    """Return a transient spinner on stderr."""
    from rich.console import Console

    return Console(stderr=True, no_color=not use_colour()).status(f"{title} …")


# Log messages of a search, such as that there is no embedder.

Tell = Callable[[str], None]


@contextmanager
def search_notes(tell: Tell = note) -> Iterator[None]:
    """Pass messages that the search logs inside the block to `tell`; by default, to stderr."""
    handler, logger = _Notes(tell), logging.getLogger("memoranda.search")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _Notes(logging.Handler):
    """A log handler that passes messages to a function."""

    def __init__(self, tell: Tell) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Pass the message on."""
        self._tell(record.getMessage())
