"""Progress on stderr, for people who have begun to wonder."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from memoranda.cli.output import colour_wanted

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.status import Status

Item = TypeVar("Item")
PATIENCE = 2.0
"""How many seconds something may take before its progress is shown."""
_INTERVAL = 0.1


class Meter:
    """Shows how far something is, once it takes long; takes what the store reports."""

    def __init__(
        self,
        title: str,
        *,
        shown: bool,
        monotonic: Callable[[], float],
        display: Callable[[int | None], Progress] | None = None,
    ) -> None:
        self._title = title
        self._shown = shown
        self._monotonic = monotonic
        self._display = display or make_display
        self._due = monotonic() + PATIENCE
        self._progress: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def __call__(self, done: int, total: int | None = None) -> None:
        """Take note of how far it is."""
        if not self._shown or self._monotonic() < self._due:
            return
        if self._progress is None:
            self._progress = self._display(total)
            self._progress.add_task(self._title, total=total)
            self._progress.start()
        self._progress.update(self._progress.task_ids[0], completed=done, total=total)
        self._progress.refresh()
        self._due = self._monotonic() + _INTERVAL

    def counting(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items and count them."""
        for count, item in enumerate(items, start=1):
            self(count)
            yield item


def make_display(total: int | None) -> Progress:
    """Return a line on stderr that leaves no trace when it is done; with a total, it is a bar."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    counter = TextColumn("{task.completed:,}")
    columns = (counter,) if total is None else (BarColumn(), MofNCompleteColumn())
    return Progress(
        TextColumn("{task.description}"),
        *columns,
        TimeElapsedColumn(),
        console=Console(stderr=True, no_color=not colour_wanted()),
        transient=True,
        auto_refresh=False,
    )


def meter(title: str, *, beside_output: bool = True) -> Meter:
    """Return a meter for a terminal on stderr; what prints all the while has no room for one."""
    from memoranda.model.clock import SystemClock

    free = beside_output or not sys.stdout.isatty()
    return Meter(title, shown=sys.stderr.isatty() and free, monotonic=SystemClock().monotonic)


@contextmanager
def waiting(
    title: str,
    *,
    patience: float = PATIENCE,
    display: Callable[[str], Status] | None = None,
) -> Iterator[None]:
    """Show on a terminal that something is under way that cannot say how far it is."""
    if display is None and not sys.stderr.isatty():
        yield
        return
    status = (display or make_status)(title)
    timer = threading.Timer(patience, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def make_status(title: str) -> Status:
    """Return a moving line on stderr that leaves no trace when it is stopped."""
    from rich.console import Console

    return Console(stderr=True, no_color=not colour_wanted()).status(f"{title} …")
